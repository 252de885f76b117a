//! One socket of a session, with what has arrived on it and whose turn it is.
//!
//! What every call goes through is inlined always, here, in what lies below and in what a parcel is made
//! by: between two system calls nothing is in the nearest caches any more, and code that runs once is
//! the faster the less there is of it (`docs/rpc.md`, "What a call costs").

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use binder_rpc::{
    CallDirection, CallStack, Ending, Inbox, Partial, ProtocolVersion, RpcMessage, SessionLimits,
};

use super::link::{ReadMode, StreamSocket};
use super::quota::{ServerCharge, ServerResource};
use crate::transport::take_buffer;

/// How often room is tried for, before a peer that makes none is given up.
const TRIES: u32 = 8;

/// From which length on a message of which a part is missing is charged.
const CHARGED_BYTES: usize = 64 << 10;

/// After how many one-way calls their connection is looked at.
const DRAIN_EACH: u32 = 32;

/// How exactly a caller's waits are bounded. The system is told only when the bound is another one than before, and
/// that of calls with the same timeout is the same, rounded up to this.
const DUE_GRAIN: Duration = Duration::from_millis(4);

/// A connection, which belongs to the thread that uses it.
#[derive(Debug)]
pub(super) struct Connection {
    link: Arc<StreamSocket>,
    inbox: Inbox<OwnedFd>,
    files: Vec<OwnedFd>,
    /// Descriptors that have come and are with no call that runs or waits.
    held_files: ServerCharge,
    /// What has come of a long message of which a part is missing.
    held_bytes: ServerCharge,
    /// Messages that came while we had the turn.
    early: VecDeque<RpcMessage<OwnedFd>>,
    pub(super) call_stack: CallStack,
    version: ProtocolVersion,
    limits: SessionLimits,
    /// Memory for what goes before and after a parcel.
    scratch: Vec<u8>,
    /// Bytes that did not fit into the socket when the sender was not to wait, and the descriptors
    /// that go with the first of them. They precede the next message.
    unsent: Vec<u8>,
    unsent_files: Vec<OwnedFd>,
    /// One-way calls since the last look at what has come.
    undrained: u32,
    /// Since when the rest of a message is waited for, and since when nothing unsent has gone.
    within_since: Option<Instant>,
    stuck_since: Option<Instant>,
    /// When the caller stops waiting.
    due: Option<Instant>,
    /// How long the socket waits for input, as it was told last.
    socket_timeout: Option<Duration>,
    /// Whether it has waited for that long since something came last.
    has_expired: bool,
}

/// What a wait is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitFor {
    /// A call. Until it comes nothing is due, but once it has begun all of it is.
    Call,
    /// The answer to a call of ours, which may take any time. References given back may precede it, and
    /// the peer sends that as there is room: also in part, before it does what we wait for.
    Answer,
}

impl Connection {
    /// Takes a link on which nothing has been said yet.
    pub(super) fn new(link: Arc<StreamSocket>, limits: SessionLimits) -> Self {
        let held_files = link.account().charge(ServerResource::Files);
        let held_bytes = link.account().charge(ServerResource::WaitingBytes);
        Self {
            link,
            inbox: Inbox::new(take_buffer),
            files: Vec::new(),
            held_files,
            held_bytes,
            early: VecDeque::new(),
            call_stack: CallStack::new(CallDirection::Outgoing),
            version: ProtocolVersion::NEWEST,
            limits,
            scratch: Vec::new(),
            unsent: Vec::new(),
            unsent_files: Vec::new(),
            undrained: 0,
            within_since: None,
            stuck_since: None,
            due: None,
            socket_timeout: None,
            has_expired: false,
        }
    }

    /// Lends memory, empty, to be put back.
    pub(super) fn take_scratch(&mut self) -> Vec<u8> {
        mem::take(&mut self.scratch)
    }

    pub(super) fn put_scratch(&mut self, mut scratch: Vec<u8>) {
        scratch.clear();
        self.scratch = scratch;
    }

    /// Says what was agreed on in the handshake.
    pub(super) fn agree(&mut self, version: ProtocolVersion, direction: CallDirection) {
        self.version = version;
        self.call_stack = CallStack::new(direction);
    }

    pub(super) fn link(&self) -> &Arc<StreamSocket> {
        &self.link
    }

    /// Returns the bytes that have come and are no message, for the handshake.
    pub(super) fn bytes(&self) -> &[u8] {
        self.inbox.bytes()
    }

    /// Forgets bytes that the handshake has read.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.inbox.consume(bytes);
    }

    /// Receives once.
    #[inline(always)]
    pub(super) fn receive(&mut self, patience: ReadMode) -> Result<(), Ending> {
        let usual_bytes = self.inbox.usual_bytes();
        let received = self
            .link
            .receive(self.inbox.room(), usual_bytes, &mut self.files, patience)
            .map_err(|error| lost(&error))?;
        if received.lost_files {
            return Err(Ending::LostDescriptors);
        }
        if received.is_end {
            return Err(self.inbox.closed());
        }
        if !self.files.is_empty() {
            self.inbox.add_files(self.files.drain(..));
            self.charge_files()?;
        }
        Ok(())
    }

    /// Charges the peer with the descriptors that have come and that no call has.
    fn charge_files(&mut self) -> Result<(), Ending> {
        let early: usize = self.early.iter().map(RpcMessage::files).sum();
        Ok(self.held_files.set(self.inbox.files() + early)?)
    }

    /// Receives once if there is something; says whether there was.
    pub(super) fn receive_now(&mut self) -> Result<bool, Ending> {
        match self.receive(ReadMode::Now) {
            Err(ending) if is_again(&ending) => Ok(false),
            result => result.map(|()| true),
        }
    }

    /// Returns the next message if it has come.
    pub(super) fn arrived(&mut self) -> Result<Option<RpcMessage<OwnedFd>>, Ending> {
        if let Some(message) = self.early.pop_front() {
            self.charge_files()?;
            return Ok(Some(message));
        }
        if self.inbox.is_empty() {
            // As before nearly every wait.
            return Ok(None);
        }
        let message = self.inbox.next(self.version, &self.limits);
        if let Ok(Some(_)) = &message {
            self.within_since = None;
            if self.held_files.amount() > 0 {
                self.charge_files()?;
            }
            if self.held_bytes.amount() > 0 {
                self.held_bytes.set(0)?;
            }
        }
        message
    }

    /// Returns whether more may have come than the system tells of.
    pub(super) fn may_have_read(&self) -> bool {
        !self.early.is_empty() || self.link.reads_ahead()
    }

    /// Waits until something comes: within a message no longer than the peer may stop there.
    ///
    /// A socket with a timeout costs the system a timer in each wait, so only waits within a message
    /// have one, of their own.
    #[inline(always)]
    pub(super) fn wait(&mut self, what: WaitFor) -> Result<(), Ending> {
        let Some(partial) = self.partial(what) else {
            return match (self.due, self.socket_timeout) {
                (None, None) => self.receive(ReadMode::Wait),
                (due, _) => self.receive_within(due.and_then(|_| self.due_in())).map(drop),
            };
        };
        let since = *self.within_since.get_or_insert_with(Instant::now);
        if partial.received >= CHARGED_BYTES {
            self.held_bytes.set(partial.received)?;
        }
        let left = self.max_stall().saturating_sub(since.elapsed());
        if left.is_zero() {
            return Err(self.stalled(partial));
        }
        if !self.receive_now()? {
            let left = left.min(self.due_in().unwrap_or(left));
            self.link.wait_for_input(left).map_err(|error| lost(&error))?;
        }
        Ok(())
    }

    /// Receives once, or nothing for that long; says whether the time is over.
    ///
    /// The system is told of a timeout only if the one that it knows does not do: a shorter one does until it is over
    /// for the first time.
    fn receive_within(&mut self, timeout: Option<Duration>) -> Result<bool, Ending> {
        let wanted = timeout.map(|left| {
            if self.socket_timeout == Some(left) {
                // As before nearly every call.
                return left;
            }
            let grains = left.as_nanos().div_ceil(DUE_GRAIN.as_nanos()).max(1);
            DUE_GRAIN.saturating_mul(u32::try_from(grains).unwrap_or(u32::MAX))
        });
        let does = match (self.socket_timeout, wanted) {
            (None, None) => true,
            (None, Some(_)) => false,
            (Some(_), None) => !self.has_expired,
            (Some(known), Some(wanted)) => known == wanted || known < wanted && !self.has_expired,
        };
        if !does {
            self.set_socket_timeout(wanted)?;
        }
        match self.receive(ReadMode::Wait) {
            Err(ending) if self.socket_timeout.is_some() && is_again(&ending) => {
                self.has_expired = true;
                Ok(wanted.is_some() && self.socket_timeout == wanted)
            }
            received => {
                self.has_expired = false;
                received.map(|()| false)
            }
        }
    }

    /// Waits for a call as [`wait`](Self::wait) does, but for no longer than that before one has begun; says whether the
    /// connection is idle.
    #[inline(always)]
    pub(super) fn wait_for_call(&mut self, at_most: Option<Duration>) -> Result<bool, Ending> {
        if self.partial(WaitFor::Call).is_some() {
            return self.wait(WaitFor::Call).map(|()| false);
        }
        if at_most.is_none() && self.socket_timeout.is_some() {
            // It would do, but is to cost nothing.
            self.set_socket_timeout(None)?;
        }
        self.receive_within(at_most)
    }

    fn set_socket_timeout(&mut self, timeout: Option<Duration>) -> Result<(), Ending> {
        self.link.set_receive_timeout(timeout).map_err(|error| lost(&error))?;
        self.socket_timeout = timeout;
        Ok(())
    }

    /// Gives up memory that an idle connection does not need.
    pub(super) fn rest(&mut self) {
        self.inbox.rest();
        self.scratch = Vec::new();
    }

    /// Says when the caller stops waiting, for an answer and for room.
    pub(super) fn set_due(&mut self, due: Option<Instant>) {
        self.due = due;
    }

    /// Returns when the caller stops waiting.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns how long the caller waits still.
    fn due_in(&self) -> Option<Duration> {
        self.due.map(|due| due.saturating_duration_since(Instant::now()))
    }

    /// Returns whether the caller has stopped waiting.
    pub(super) fn is_overdue(&self) -> bool {
        self.due_in() == Some(Duration::ZERO)
    }

    /// Returns how much has come of a message that the peer must go on with.
    fn partial(&self, what: WaitFor) -> Option<Partial> {
        let partial = self.inbox.partial();
        match what {
            WaitFor::Answer => partial.filter(|partial| !partial.may_be_release),
            WaitFor::Call if partial.is_none() && self.link.is_within_record() => {
                Some(Partial::NOTHING)
            }
            WaitFor::Call => partial,
        }
    }

    fn stalled(&self, Partial { received, expected, .. }: Partial) -> Ending {
        Ending::Stalled { received, expected, after: self.limits.max_stall }
    }

    /// Returns the limit as the system takes it.
    fn max_stall(&self) -> Duration {
        self.limits.max_stall.clamp(Duration::from_millis(1), Duration::from_secs(u32::MAX.into()))
    }

    /// Returns in how much time the peer of an awaited call must have gone on with what it is within,
    /// or why the session is over if it has not.
    pub(super) fn time_left(&mut self) -> Result<Option<Duration>, Ending> {
        let partial = self.partial(WaitFor::Answer);
        if partial.is_some() {
            self.within_since.get_or_insert_with(Instant::now);
        }
        if self.has_unsent() {
            self.stuck_since.get_or_insert_with(Instant::now);
        }
        let left = |since: Instant| self.max_stall().saturating_sub(since.elapsed());
        let within = partial.and(self.within_since).map(left);
        let stuck = self.stuck_since.map(left);
        match (within, stuck, partial) {
            (Some(Duration::ZERO), _, Some(partial)) => Err(self.stalled(partial)),
            (_, Some(Duration::ZERO), _) => Err(self.unread(self.unsent.len())),
            (within, stuck, _) => Ok(within.into_iter().chain(stuck).min()),
        }
    }

    fn unread(&self, unsent: usize) -> Ending {
        Ending::Unread { unsent, after: self.limits.max_stall }
    }

    /// Sends a message, in one write if there is room. `files` go with its first byte.
    ///
    /// While there is none, `returned` is told of references that come back: two sides that write
    /// to each other would wait for ever if neither read. Without patience what there is no room for
    /// stays [unsent](Self::has_unsent).
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        message: &[u8],
        files: &[BorrowedFd<'_>],
        patience: ReadMode,
        mut returned: impl FnMut(RpcMessage<OwnedFd>) -> Result<(), Ending>,
    ) -> Result<(), Ending> {
        if !self.unsent.is_empty() {
            let patience = if files.is_empty() { patience } else { ReadMode::Wait };
            self.send_unsent(patience, &mut returned)?;
        }
        self.send_all(message, files, patience, &mut returned)
    }

    /// Sends a few bytes if there is room at once; says whether. The rest of what went in part stays
    /// unsent.
    pub(super) fn try_send(&mut self, bytes: &[u8]) -> Result<bool, Ending> {
        if bytes.is_empty() {
            return Ok(true);
        }
        if self.has_unsent() {
            self.send_unsent_now()?;
            if self.has_unsent() {
                return Ok(false);
            }
        }
        match self.link.send_now(bytes, &[]) {
            Ok(sent) => {
                self.unsent.extend_from_slice(&bytes[sent..]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(lost(&error)),
        }
    }

    /// Returns whether something waits for room to be sent.
    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty() || self.link.has_unsent()
    }

    /// Sends what a caller that stopped waiting has left unsent.
    pub(super) fn send_rest(
        &mut self,
        mut returned: impl FnMut(RpcMessage<OwnedFd>) -> Result<(), Ending>,
    ) -> Result<(), Ending> {
        if self.has_unsent() { self.send_unsent(ReadMode::Wait, &mut returned) } else { Ok(()) }
    }

    /// Sends what waits for room, as far as there is some.
    pub(super) fn send_unsent_now(&mut self) -> Result<(), Ending> {
        self.send_unsent(ReadMode::Now, &mut |_| Ok(()))
    }

    fn send_unsent(
        &mut self,
        patience: ReadMode,
        returned: &mut impl FnMut(RpcMessage<OwnedFd>) -> Result<(), Ending>,
    ) -> Result<(), Ending> {
        let (bytes, files) = (mem::take(&mut self.unsent), mem::take(&mut self.unsent_files));
        let files: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
        self.send_all(&bytes, &files, patience, returned)
    }

    /// Takes in what has come on a connection on which no thread waits, now and then: after a number
    /// of one-way calls, each of which makes the peer give something back.
    pub(super) fn drain_at_times(
        &mut self,
        returned: impl FnMut(RpcMessage<OwnedFd>) -> Result<(), Ending>,
    ) -> Result<(), Ending> {
        self.undrained += 1;
        if self.undrained < DRAIN_EACH {
            return Ok(());
        }
        self.drain(returned)
    }

    /// Takes in what has come on a connection on which no thread waits.
    pub(super) fn drain(
        &mut self,
        mut returned: impl FnMut(RpcMessage<OwnedFd>) -> Result<(), Ending>,
    ) -> Result<(), Ending> {
        self.undrained = 0;
        self.take_in_arrived(&mut returned)
    }

    #[inline(always)]
    fn send_all(
        &mut self,
        mut bytes: &[u8],
        mut files: &[BorrowedFd<'_>],
        patience: ReadMode,
        returned: &mut impl FnMut(RpcMessage<OwnedFd>) -> Result<(), Ending>,
    ) -> Result<(), Ending> {
        if !self.unsent.is_empty() && self.keep(bytes, files) {
            return Ok(());
        }
        while !bytes.is_empty() {
            match self.link.send_now(bytes, files) {
                Ok(sent) => {
                    bytes = &bytes[sent..];
                    files = &[];
                    self.stuck_since = None;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let gives_up = patience == ReadMode::Now || self.is_overdue();
                    if gives_up && self.keep(bytes, files) {
                        return Ok(());
                    }
                    self.wait_for_room(bytes.len(), returned)?;
                }
                Err(error) => return Err(lost(&error)),
            }
        }
        loop {
            match self.link.flush_now() {
                Ok(is_all) => {
                    self.stuck_since = None;
                    if is_all {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if patience == ReadMode::Now || self.is_overdue() {
                        return Ok(());
                    }
                    self.wait_for_room(0, returned)?;
                }
                Err(error) => return Err(lost(&error)),
            }
        }
    }

    /// Keeps for later what there is no room for; says whether it could.
    fn keep(&mut self, bytes: &[u8], files: &[BorrowedFd<'_>]) -> bool {
        let copies: io::Result<Vec<OwnedFd>> =
            files.iter().map(BorrowedFd::try_clone_to_owned).collect();
        let Ok(copies) = copies else {
            return false;
        };
        self.unsent.extend_from_slice(bytes);
        self.unsent_files.extend(copies);
        true
    }

    /// Waits for room to send, and takes in meanwhile what comes, up to one message that has to
    /// wait.
    ///
    /// The system tells of room when most of what was sent has been read. A peer that reads now and then
    /// makes less, so that it is tried for at times.
    fn wait_for_room(
        &mut self,
        unsent: usize,
        returned: &mut impl FnMut(RpcMessage<OwnedFd>) -> Result<(), Ending>,
    ) -> Result<(), Ending> {
        let since = *self.stuck_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.limits.max_stall {
            return Err(self.unread(unsent));
        }
        let may_read = self.early.is_empty();
        let at_most = self.max_stall() / TRIES;
        let at_most = at_most.min(self.due_in().unwrap_or(at_most));
        if !self.link.wait_for_room(may_read, at_most).map_err(|error| lost(&error))? {
            return Ok(());
        }
        self.take_in_arrived(returned)
    }

    fn take_in_arrived(
        &mut self,
        returned: &mut impl FnMut(RpcMessage<OwnedFd>) -> Result<(), Ending>,
    ) -> Result<(), Ending> {
        self.receive_now()?;
        while let Some(message) = self.inbox.next(self.version, &self.limits)? {
            match message {
                message @ RpcMessage::DecStrong { .. } => returned(message)?,
                message => self.early.push_back(message),
            }
        }
        Ok(())
    }
}

/// Returns whether a wait was over before anything came.
pub(super) fn is_again(ending: &Ending) -> bool {
    *ending == Ending::Socket { errno: rustix::io::Errno::AGAIN.raw_os_error() }
}

/// Returns the end of a session whose socket failed.
fn lost(error: &io::Error) -> Ending {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Ending::Closed,
        _ => Ending::Socket { errno: error.raw_os_error().unwrap_or(0) },
    }
}
