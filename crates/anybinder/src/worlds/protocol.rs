//! The messages between clients and the process of a world: packets of JSON.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use binder_os::packet_socket::PacketSocket;
use binder_os::processes::{Inheritable, Signal};
use binder_os::{UserAndGroup, packet_socket};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A packet has this many bytes at most.
const PACKET_BYTES_MAX: usize = 4096;
/// The words of an invocation have this many bytes at most; the kernel's limit is a quarter of the stack's.
const WORDS_BYTES_MAX: u64 = 16 << 20;

/// A client's request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum WorldRequest {
    /// A command to be run. The [words](Words) come along as a file, and after that what are to be its files 0 to
    /// 2, unless its output goes to the log.
    Run(Invocation),
    /// A signal to the command.
    Signal { number: i32, to: SignalTarget },
    /// The end of the world, after that many milliseconds at most.
    Stop { patience_ms: u64 },
    /// Nothing: the connection ends with the world.
    Watch,
}

/// The receivers of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SignalTarget {
    /// The command's process.
    Process,
    /// All of the process group that began with it, as from a terminal.
    Group,
}

/// How a command is to be run.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Invocation {
    /// Whether its file 0 is to control its session.
    pub(crate) has_terminal: bool,
    /// The user as which it runs, if not as the world.
    user: Option<(u32, u32)>,
    umask: u32,
    no_new_privileges: bool,
}

/// The answer to a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum WorldResponse {
    /// The command has a process.
    Started,
    /// It is stopped by a signal of job control.
    Stopped,
    /// It has ended, with this status, as a shell tells it. The world ends with it if that says so, and
    /// the connection when the world has.
    Ended { status: u8, ends_world: bool },
    /// There will be no process, because of this.
    Refused(String),
}

/// The words of a command: what may be longer than a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) directory: PathBuf,
    pub(crate) command: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
}

impl Invocation {
    pub(crate) fn new(has_terminal: bool, user: Option<UserAndGroup>, own: Inheritable) -> Self {
        let Inheritable { umask, no_new_privileges } = own;
        let user = user.map(|user| (user.uid, user.gid));
        Self { has_terminal, user, umask, no_new_privileges }
    }

    pub(crate) fn user(&self) -> Option<UserAndGroup> {
        self.user.map(|(uid, gid)| UserAndGroup { uid, gid })
    }

    pub(crate) fn inheritable(&self) -> Inheritable {
        Inheritable { umask: self.umask, no_new_privileges: self.no_new_privileges }
    }
}

impl WorldRequest {
    pub(crate) fn signal(signal: Signal, to: SignalTarget) -> Self {
        Self::Signal { number: signal.as_raw(), to }
    }
}

impl Words {
    /// Writes them into a file: how many words the command has, and then all words, each with a NUL after it.
    pub(crate) fn to_file(&self) -> io::Result<File> {
        let mut bytes = Vec::new();
        let mut add = |parts: &[&OsStr]| {
            parts.iter().for_each(|part| bytes.extend_from_slice(part.as_bytes()));
            bytes.push(0);
        };
        add(&[self.directory.as_os_str()]);
        self.command.iter().for_each(|word| add(&[word]));
        self.environment.iter().for_each(|(name, value)| add(&[name, OsStr::new("="), value]));
        let count = u32::try_from(self.command.len()).map_err(io::Error::other)?;
        let mut file = packet_socket::unnamed_file()?;
        file.write_all(&count.to_ne_bytes())?;
        file.write_all(&bytes)?;
        Ok(file)
    }

    /// Reads them again.
    pub(crate) fn from_file(file: OwnedFd) -> io::Result<Self> {
        let mut file = File::from(file);
        file.rewind()?;
        let mut count = [0; size_of::<u32>()];
        file.read_exact(&mut count)?;
        let count = u32::from_ne_bytes(count) as usize;
        let mut bytes = Vec::new();
        file.take(WORDS_BYTES_MAX).read_to_end(&mut bytes)?;
        let mut words = bytes.split_inclusive(|byte| *byte == 0).map(|word| {
            let word = word.strip_suffix(&[0]).ok_or(io::ErrorKind::InvalidData)?;
            Ok::<_, io::Error>(OsString::from_vec(word.to_vec()))
        });
        let directory = words.next().ok_or(io::ErrorKind::InvalidData)??.into();
        let command = words.by_ref().take(count).collect::<Result<Vec<_>, _>>()?;
        if command.len() != count {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let environment = words.map(|word| {
            let word = word?.into_vec();
            // A name may begin with '=', as a shell of another system has them.
            let end = word.iter().skip(1).position(|byte| *byte == b'=').map(|at| at + 1);
            let end = end.ok_or(io::ErrorKind::InvalidData)?;
            let value = OsString::from_vec(word[end + 1..].to_vec());
            Ok::<_, io::Error>((OsString::from_vec(word[..end].to_vec()), value))
        });
        let environment = environment.collect::<Result<_, _>>()?;
        Ok(Self { directory, command, environment })
    }
}

/// Sends something, and files with it.
pub(crate) fn send<T: Serialize>(
    to: &PacketSocket,
    what: &T,
    files: &[BorrowedFd<'_>],
) -> io::Result<()> {
    to.send(&serde_json::to_vec(what)?, files)
}

/// Receives something, and the files that came along; `None` once the other end is closed.
pub(crate) fn receive<T: DeserializeOwned>(
    from: &PacketSocket,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let Some(packet) = from.receive(PACKET_BYTES_MAX)? else { return Ok(None) };
    Ok(Some((serde_json::from_slice(&packet.bytes)?, packet.files)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_way() {
        let odd = OsString::from_vec(b"\xff=\n".to_vec());
        let words = Words {
            directory: "/a b".into(),
            command: vec!["sh".into(), "".into(), odd.clone(), "".into()],
            environment: vec![
                ("A".into(), "".into()),
                ("B".into(), odd),
                ("=C:".into(), "=d".into()),
            ],
        };
        assert_eq!(Words::from_file(words.to_file().unwrap().into()).unwrap(), words);
        let few =
            Words { directory: "/".into(), command: vec!["x".into()], environment: Vec::new() };
        assert_eq!(Words::from_file(few.to_file().unwrap().into()).unwrap(), few);
    }

    #[test]
    fn what_is_no_list_of_words_is_refused() {
        for bytes in [
            &b""[..],
            b"\0\0\0\0",
            b"\0\0\0\0/",
            b"\x02\0\0\0/\0sh\0",
            b"\x01\0\0\0/\0sh\0novalue\0",
            b"\x01\0\0\0/\0sh\0A=unfinished",
            b"\xff\xff\xff\xff/\0sh\0",
        ] {
            let mut file = packet_socket::unnamed_file().unwrap();
            file.write_all(bytes).unwrap();
            assert!(Words::from_file(file.into()).is_err(), "{bytes:?}");
        }
    }
}
