//! Real processes that do nothing, for the kernel to show.

use std::collections::VecDeque;
use std::io::{self, PipeWriter, Read};
use std::process::{Child, Command, Stdio};

/// A shell and those it starts: programs that wait for its input, and end with it.
///
/// It tells when it has started as many as its first argument says, itself among them.
const FAMILY: &str = "exec 3<&0
    n=1
    while [ $n -lt $0 ]; do cat <&3 >/dev/null & n=$((n + 1)); done
    echo
    wait";

/// How many processes a family has at most.
///
/// A tree is as wide as those of machines that run so many: `pstree` sorts children as it meets them, which
/// for ten thousand of one parent would take it longer than to read about them.
const FAMILY_SIZE: u32 = 100;

/// Families that sleep until this is dropped, or this process ends.
///
/// Each process has executed a program, as processes have: forks that only share the pages of their parent
/// would be cheaper to show than those of any machine, and dearer to start.
#[derive(Default)]
pub(super) struct SleepingFamilies(VecDeque<SleeperFamily>);

struct SleeperFamily {
    head: Child,
    /// What keeps them asleep.
    input: Option<PipeWriter>,
    count: u32,
}

impl SleepingFamilies {
    /// Starts `wanted` processes, or as many families as this machine allows; then also returns why not
    /// more.
    pub(super) fn start(wanted: u32) -> (Self, Option<io::Error>) {
        let mut sleepers = Self::default();
        let refused = sleepers.add(wanted).err();
        (sleepers, refused)
    }

    pub(super) fn count(&self) -> u32 {
        self.0.iter().map(|family| family.count).sum()
    }

    /// Ends the oldest families, with `count` processes or some more, and starts as many others.
    pub(super) fn replace(&mut self, count: u32) -> io::Result<()> {
        let mut ended = 0;
        while ended < count {
            let Some(oldest) = self.0.pop_front() else { break };
            ended += oldest.count;
        }
        self.add(ended)
    }

    fn add(&mut self, count: u32) -> io::Result<()> {
        let mut rest = count;
        while rest > 0 {
            let family = SleeperFamily::start(rest.min(FAMILY_SIZE))?;
            rest -= family.count;
            self.0.push_back(family);
        }
        Ok(())
    }
}

impl SleeperFamily {
    fn start(count: u32) -> io::Result<Self> {
        let (stdin, input) = io::pipe()?;
        let mut command = Command::new("sh");
        command.args(["-c", FAMILY, &count.to_string()]);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut family = Self { head: command.spawn()?, input: Some(input), count };
        // The reader's end of the input is the family's alone.
        drop(command);
        let told = family.head.stdout.take().map(|mut told| told.read(&mut [0])).transpose()?;
        match told {
            Some(1) => Ok(family),
            _ => Err(io::Error::other("a shell could not start more")),
        }
    }
}

impl Drop for SleeperFamily {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.head.wait();
    }
}

#[cfg(test)]
mod tests {
    use binder_os::ProcDir;

    use super::*;

    #[test]
    fn families_sleep_until_they_are_replaced_and_end() {
        let (mut sleepers, refused) = SleepingFamilies::start(FAMILY_SIZE + 3);
        assert!(refused.is_none(), "{refused:?}");
        let heads = |sleepers: &SleepingFamilies| {
            sleepers.0.iter().map(|it| it.head.id()).collect::<Vec<_>>()
        };
        let first = heads(&sleepers);
        assert_eq!((sleepers.count(), first.len()), (FAMILY_SIZE + 3, 2));
        let proc = ProcDir::open().unwrap();
        let children = |head: u32| {
            let children = proc.read(format!("{head}/task/{head}/children")).unwrap();
            String::from_utf8(children).unwrap().split_whitespace().count()
        };
        assert_eq!((children(first[0]), children(first[1])), (FAMILY_SIZE as usize - 1, 2));
        sleepers.replace(1).unwrap();
        assert_eq!((sleepers.count(), heads(&sleepers)[0]), (FAMILY_SIZE + 3, first[1]));
        let second = heads(&sleepers)[1];
        drop(sleepers);
        for head in [first[0], first[1], second] {
            assert!(proc.read(format!("{head}/stat")).is_err(), "{head} has been waited for");
        }
    }
}
