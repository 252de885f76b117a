//! Bytes as what happens to the two ends of a relayed stream, or to one whose other end lies.
//!
//! The first byte chooses which, and the directions; each two that follow are a step and an amount.

use std::collections::VecDeque;

use binder_rpc::relay::{
    RELAY_PIECE_BYTES, RELAY_WINDOW_BYTES, RelayEnd, RelayMessage, RelayOutput,
};

/// What a unit of an amount stands for.
const UNIT_BYTES: usize = 700;
/// How many pieces may be on their way, however short they are.
const PIECES_MAX: usize = RELAY_WINDOW_BYTES >> 10;

/// Plays the steps, and checks what holds whatever they are.
///
/// # Panics
///
/// Panics if the state machine does, or if a bound does not hold, or if something is lost on the way.
pub fn check(bytes: &[u8]) {
    let [choice, script @ ..] = bytes else {
        return;
    };
    let (is_reading, is_writing) =
        [(true, true), (true, false), (false, true), (true, true)][usize::from(choice >> 1 & 3)];
    let steps = script.chunks_exact(2).map(|step| (step[0], usize::from(step[1]) * UNIT_BYTES));
    if choice & 1 == 0 {
        let sides = [Side::new(is_reading, is_writing), Side::new(is_writing, is_reading)];
        Pair { sides }.play(steps);
    } else {
        play_a_liar(RelayEnd::new(is_reading, is_writing), steps);
    }
}

fn piece(from: usize, bytes: usize) -> Vec<u8> {
    (from..from + bytes).map(|at| at.to_le_bytes()[0]).collect()
}

/// An end and its file, and what is on its way to it.
struct Side {
    end: RelayEnd,
    /// Nothing is that the other end is gone.
    inbox: VecDeque<Option<RelayMessage>>,
    /// How much has been read from the file and told, and how much was written to it.
    given: usize,
    got: usize,
    is_broken: bool,
    is_gone: bool,
}

impl Side {
    fn new(is_reading: bool, is_writing: bool) -> Self {
        let end = RelayEnd::new(is_reading, is_writing);
        let inbox = VecDeque::new();
        Self { end, inbox, given: 0, got: 0, is_broken: false, is_gone: false }
    }

    /// Reads from the file, or its end.
    fn read(&mut self, bytes: usize) -> Option<RelayMessage> {
        let bytes = bytes.min(self.end.readable());
        let told = (self.end.readable() > 0).then(|| self.end.read(&piece(self.given, bytes)));
        self.given += bytes;
        told
    }

    fn write(&mut self, bytes: usize) -> Option<RelayMessage> {
        let unwritten = self.end.unwritten();
        let bytes = bytes.min(unwritten.len());
        assert!(unwritten[..bytes] == piece(self.got, bytes), "it is what was read");
        self.end.wrote(bytes);
        self.got += bytes;
        self.end.take_taken()
    }

    /// Takes what has come first; returns whether there was something.
    fn receive(&mut self) -> bool {
        let Some(message) = self.inbox.pop_front() else { return false };
        match message {
            _ if self.is_gone => {}
            Some(message) => self.end.receive(message).expect("neither lies"),
            None => self.end.lose(),
        }
        true
    }

    fn is_piece(message: &Option<RelayMessage>) -> bool {
        matches!(message, Some(RelayMessage::Data(_)))
    }
}

/// Two that do as they should.
struct Pair {
    sides: [Side; 2],
}

impl Pair {
    fn play(mut self, steps: impl Iterator<Item = (u8, usize)>) {
        for (step, amount) in steps {
            self.step(usize::from(step & 1), step >> 1, amount);
        }
        // All files end now, and all is read that was written.
        while self.finish() {}
        let [one, other] = &self.sides;
        assert!(one.is_gone && other.is_gone, "none waits for ever");
        for (from, to) in [(one, other), (other, one)] {
            assert!(to.got == from.given || to.is_broken, "{} of {}", to.got, from.given);
        }
    }

    fn step(&mut self, at: usize, step: u8, amount: usize) {
        let side = &mut self.sides[at];
        let told = match step % 5 {
            _ if side.is_gone => {
                side.receive();
                None
            }
            0 => side.read(amount),
            1 => side.write(amount),
            2 => {
                side.receive();
                None
            }
            3 => {
                while side.receive() {}
                None
            }
            _ => {
                side.is_broken = true;
                side.end.break_output()
            }
        };
        self.tell(at, told);
    }

    /// Ends what it can; returns whether something has changed.
    fn finish(&mut self) -> bool {
        let mut has_changed = false;
        for at in 0..2 {
            let side = &mut self.sides[at];
            while side.receive() {
                has_changed = true;
            }
            if side.is_gone {
                continue;
            }
            let is_written = !side.end.unwritten().is_empty();
            let taken = side.write(usize::MAX);
            self.tell(at, taken);
            if self.sides[at].is_gone {
                continue;
            }
            let ended = self.sides[at].read(0);
            has_changed |= is_written || ended.is_some();
            self.tell(at, ended);
        }
        has_changed
    }

    /// Tells the other, and ends an end that is over.
    fn tell(&mut self, at: usize, told: Option<RelayMessage>) {
        let [one, two] = &mut self.sides;
        let (side, other) = if at == 0 { (one, two) } else { (two, one) };
        other.inbox.extend(told.map(Some));
        if side.end.output() == RelayOutput::Finished {
            side.end.close_output();
        }
        if side.end.is_over() && !side.is_gone {
            side.is_gone = true;
            other.inbox.push_back(None);
        }
        assert!(side.end.unwritten().len() <= RELAY_WINDOW_BYTES);
        assert!(other.inbox.iter().filter(|it| Side::is_piece(it)).count() <= PIECES_MAX);
    }
}

/// One that is told anything.
fn play_a_liar(mut end: RelayEnd, steps: impl Iterator<Item = (u8, usize)>) {
    let (mut sent, mut taken) = (0, 0);
    for (step, amount) in steps {
        let received = match step % 8 {
            0 => end.receive(RelayMessage::Data(piece(0, amount))),
            1 => {
                let received = end.receive(RelayMessage::Taken(amount));
                taken += amount;
                received
            }
            2 => end.receive(RelayMessage::End),
            3 => end.receive(RelayMessage::Broken),
            4 => {
                let bytes = amount.min(end.readable());
                if end.readable() > 0 && matches!(end.read(&piece(0, bytes)), RelayMessage::Data(_))
                {
                    sent += bytes.max(1 << 10);
                }
                Ok(())
            }
            5 => {
                end.wrote(amount);
                let _ = end.take_taken();
                Ok(())
            }
            6 => {
                end.lose();
                Ok(())
            }
            _ => {
                let _ = end.break_output();
                Ok(())
            }
        };
        assert!(end.unwritten().len() <= RELAY_WINDOW_BYTES);
        assert!(end.readable() <= RELAY_PIECE_BYTES);
        if received.is_err() {
            return;
        }
        assert!(taken <= sent && sent - taken <= RELAY_WINDOW_BYTES, "{taken} of {sent}");
    }
}
