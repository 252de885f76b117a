//! A command in a world that has a name, seen from where it was asked for.
//!
//! The command runs in another session than its caller, so no terminal of that can control it. Where files 0 and
//! 1 are a terminal the command gets one of its own, and the caller's shows it, raw, so that keys that mean
//! something mean it there. Else the command has the caller's files, and signals are passed on.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use binder_os::UserAndGroup;
use binder_os::packet_socket::PacketSocket;
use binder_os::processes::{self, Inheritable, Signal};
use binder_os::readiness::{self, Readiness};
use binder_os::signals::{Arrived, Sender, SignalStream};
use binder_os::terminal::{self, Pty, RawTerminal};

use super::protocol::{self, Invocation, SignalTarget, Words, WorldRequest, WorldResponse};
use super::registry::WorldDir;
use crate::failure::{Failure, failed};
use crate::log;
use crate::world::PASSED_ON;

/// The request.
pub(super) struct JoinRequest<'r> {
    pub(super) command: &'r [OsString],
    pub(super) user: Option<UserAndGroup>,
    pub(super) attachment: Attachment,
}

/// The bond between the caller and a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attachment {
    /// It waits for it, and gives it its files.
    Attached,
    /// Nothing, once it runs.
    Detached,
}

/// Connects to the process of a world.
pub(super) fn connect(world: &WorldDir) -> Result<PacketSocket, Failure> {
    PacketSocket::connect(&world.socket()).map_err(|error| {
        Failure::new(format!("connecting to the world '{}'", world.name), error)
            .advise("anybinder world list")
    })
}

/// Runs a command in a world and returns its exit status; that of a detached one is 0.
pub(super) fn run(world: &WorldDir, request: &JoinRequest<'_>) -> Result<u8, Failure> {
    let socket = connect(world)?;
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let is_attached = request.attachment == Attachment::Attached;
    let is_shown = |file: BorrowedFd<'_>| is_attached && terminal::is_terminal(file);
    let terminal = if is_shown(stdin.as_fd()) && is_shown(stdout.as_fd()) {
        Some(Pty::like(stdin.as_fd()).map_err(failed("making a terminal"))?)
    } else {
        None
    };
    let words = words_of(request)?.to_file().map_err(failed("writing down the command"))?;
    let used = terminal.as_ref().map(|(_, used): &(Pty, OwnedFd)| used.as_fd());
    let given = |own: BorrowedFd<'_>| used.filter(|_| terminal::is_terminal(own));
    let mut files = vec![words.as_fd()];
    if is_attached {
        for own in [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()] {
            let theirs = given(own);
            // Both have the same life: that of the streams and of the terminal.
            files.push(theirs.unwrap_or(own));
        }
    }
    let own = Inheritable::own().map_err(failed("finding out about this process"))?;
    let invocation = Invocation::new(terminal.is_some(), request.user, own);
    // Before the command can end or stop, so that none of what it causes is missed.
    let signals = SignalStream::block(&PASSED_ON).map_err(failed("blocking signals"))?;
    protocol::send(&socket, &WorldRequest::Run(invocation), &files)
        .map_err(failed("asking the world"))?;
    drop(files);
    let client = CommandCaller { world, socket, signals };
    let first = client.next()?;
    match first {
        WorldResponse::Started if !is_attached => Ok(0),
        WorldResponse::Started => match terminal {
            Some((pty, used)) => {
                drop(used);
                client.show(pty)
            }
            None => client.wait(),
        },
        WorldResponse::Refused(why) => {
            Err(Failure::new(format!("running a command in the world '{}'", world.name), why))
        }
        WorldResponse::Ended { .. } | WorldResponse::Stopped => {
            Err(Failure::new("hearing from the world", format!("{first:?}, of what has not begun")))
        }
    }
}

fn words_of(request: &JoinRequest<'_>) -> Result<Words, Failure> {
    Ok(Words {
        directory: current_directory(),
        command: request.command.to_vec(),
        environment: env::vars_os().collect(),
    })
}

/// The directory that the command starts in: this process's, unless that was removed.
fn current_directory() -> PathBuf {
    env::current_dir().unwrap_or_else(|error| {
        log::tell(format_args!(
            "anybinder: the current directory cannot be found ({error}): in / instead"
        ));
        PathBuf::from("/")
    })
}

/// The caller of a command that runs.
struct CommandCaller<'w> {
    world: &'w WorldDir,
    socket: PacketSocket,
    signals: SignalStream,
}

/// The caller's reaction to a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaction {
    PassOn(SignalTarget),
    Resize,
    Stop,
    Nothing,
}

impl CommandCaller<'_> {
    /// Waits for what the world tells next.
    fn next(&self) -> Result<WorldResponse, Failure> {
        let tried = || format!("hearing from the world '{}'", self.world.name);
        match protocol::receive(&self.socket) {
            Ok(Some((told, _))) => Ok(told),
            Ok(None) => Err(Failure::new(tried(), "it has ended").advise("anybinder world list")),
            Err(error) => Err(Failure::new(tried(), error)),
        }
    }

    /// Waits for the end of a command that has the caller's files.
    fn wait(&self) -> Result<u8, Failure> {
        loop {
            let files = [self.socket.as_fd(), self.signals.as_fd()].map(|it| (it, Readiness::Read));
            let ready = readiness::wait(&files, None).map_err(failed("waiting for the command"))?;
            if ready[1] {
                let arrived = self.signals.next().map_err(failed("waiting for signals"))?;
                // The command is not in the group of processes that the terminal has sent it to.
                let to = match arrived.sender {
                    Sender::Kernel => SignalTarget::Group,
                    Sender::Process => SignalTarget::Process,
                };
                self.pass_on(arrived.signal, to);
            }
            if ready[0] {
                match self.next()? {
                    WorldResponse::Ended { status, ends_world } => {
                        return Ok(self.end(status, ends_world));
                    }
                    WorldResponse::Stopped => {
                        // The shell that watches us must see it; its SIGCONT goes on to the command.
                        processes::stop_self().map_err(failed("stopping with the command"))?;
                    }
                    WorldResponse::Started | WorldResponse::Refused(_) => {}
                }
            }
        }
    }

    /// Shows a command's terminal until it ends.
    fn show(&self, mut pty: Pty) -> Result<u8, Failure> {
        // Not by the library's buffers: what they hold back, no wait tells of.
        let own = |file: BorrowedFd<'_>| file.try_clone_to_owned().map(File::from);
        let duplicated =
            own(io::stdin().as_fd()).and_then(|it| Ok((it, own(io::stdout().as_fd())?)));
        let (mut stdin, mut stdout) = duplicated.map_err(failed("preparing the terminal"))?;
        let raw = RawTerminal::make(stdin.as_fd()).map_err(failed("preparing the terminal"))?;
        // It may have changed before we were told of that.
        drop(pty.take_size_of(stdin.as_fd()));
        let mut typed = Typed::default();
        let mut is_open = true;
        loop {
            let to_pty = match (is_open, typed.is_empty()) {
                (false, _) => Readiness::Nothing,
                (true, true) => Readiness::Read,
                (true, false) => Readiness::ReadOrWrite,
            };
            let from_stdin = typed.wants_more();
            let files = [
                (self.socket.as_fd(), Readiness::Read),
                (self.signals.as_fd(), Readiness::Read),
                (pty.as_fd(), to_pty),
                (stdin.as_fd(), from_stdin),
            ];
            let ready = readiness::wait(&files, None).map_err(failed("waiting for the command"))?;
            if ready[2] {
                typed.give_to(&mut pty).map_err(failed("writing to the command's terminal"))?;
                is_open = print_once(&mut pty, &mut stdout)?;
            }
            if ready[3] {
                typed.take_from(&mut stdin);
            }
            if ready[1] {
                let arrived = self.signals.next().map_err(failed("waiting for signals"))?;
                match reaction(arrived) {
                    Reaction::PassOn(to) => self.pass_on(arrived.signal, to),
                    // A terminal that has hung up has no size.
                    Reaction::Resize => drop(pty.take_size_of(stdin.as_fd())),
                    Reaction::Stop => {
                        raw.suspend().map_err(failed("giving the terminal back"))?;
                        processes::stop_self().map_err(failed("stopping"))?;
                        raw.resume().map_err(failed("preparing the terminal"))?;
                        drop(pty.take_size_of(stdin.as_fd()));
                    }
                    Reaction::Nothing => {}
                }
            }
            if ready[0]
                && let WorldResponse::Ended { status, ends_world } = self.next()?
            {
                // The command's output is complete, even if processes of it still run.
                while has_printed(&pty)? && print_once(&mut pty, &mut stdout)? {}
                return Ok(self.end(status, ends_world));
            }
        }
    }

    /// Returns the status of the command, once the world is gone if that ends with it.
    fn end(&self, status: u8, ends_world: bool) -> u8 {
        if ends_world {
            // Nothing more is told, so this waits for the end of the connection.
            let _ = protocol::receive::<WorldResponse>(&self.socket);
        }
        status
    }

    fn pass_on(&self, signal: Signal, to: SignalTarget) {
        // A world that has ended says so by the connection.
        let _ = protocol::send(&self.socket, &WorldRequest::signal(signal, to), &[]);
    }
}

/// The reaction of a caller whose terminal shows the command's.
fn reaction(arrived: Arrived) -> Reaction {
    match (arrived.signal, arrived.sender) {
        (Signal::WINCH, _) => Reaction::Resize,
        (Signal::TSTP, _) => Reaction::Stop,
        (Signal::CONT, _) => Reaction::Nothing,
        (_, Sender::Kernel) => Reaction::PassOn(SignalTarget::Group),
        (_, Sender::Process) => Reaction::PassOn(SignalTarget::Process),
    }
}

fn has_printed(pty: &Pty) -> Result<bool, Failure> {
    let files = [(pty.as_fd(), Readiness::Read)];
    let ready = readiness::wait(&files, Some(Duration::ZERO));
    Ok(ready.map_err(failed("waiting for the command"))?[0])
}

/// Prints what a command has printed, if it has. Says whether it may print more.
fn print_once(pty: &mut Pty, stdout: &mut File) -> Result<bool, Failure> {
    let mut buffer = [0; 4096];
    let tried = "reading from the command's terminal";
    match pty.read(&mut buffer).map_err(failed(tried))? {
        None => Ok(true),
        Some(0) => Ok(false),
        Some(len) => {
            // A caller's terminal that has hung up shows nothing, and the command learns of it by the signal.
            let _ = stdout.write_all(&buffer[..len]);
            Ok(true)
        }
    }
}

/// Typed bytes that the command has not read yet.
#[derive(Debug, Default)]
struct Typed {
    bytes: Vec<u8>,
    has_ended: bool,
}

impl Typed {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn wants_more(&self) -> Readiness {
        if self.has_ended || !self.is_empty() { Readiness::Nothing } else { Readiness::Read }
    }

    fn take_from(&mut self, stdin: &mut File) {
        let mut buffer = [0; 4096];
        match stdin.read(&mut buffer) {
            Ok(0) | Err(_) => self.has_ended = true,
            Ok(len) => self.bytes.extend_from_slice(&buffer[..len]),
        }
    }

    fn give_to(&mut self, pty: &mut Pty) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let given = pty.write(&self.bytes)?;
        self.bytes.drain(..given);
        Ok(())
    }
}
