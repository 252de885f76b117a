//! The process of a world that has a name: it starts the commands that run there, and ends with them.
//!
//! It has one thread, for it forks, and waits for no client: each has a connection, by which it wants something and
//! is told what becomes of it. All that runs in the world descends from this process, also what has lost its parents,
//! and has its seccomp filter: so the driver has one supervisor for all, and the end of all is known.
//!
//! A connection that ends takes its command with it: what has a terminal is hung up by the kernel, and the
//! rest is killed.

use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use binder_os::descendants;
use binder_os::packet_socket::{PacketListener, PacketSocket};
use binder_os::processes::{self, Change, Child, Fork, Signal};
use binder_os::readiness::{self, Readiness};

use super::member::{self, MemberContext};
use super::protocol::{self, Invocation, SignalTarget, WorldRequest, WorldResponse};
use crate::failure::{Failure, failed};
use crate::world::World;

/// How long the processes of a world have to end when its own process is asked to end by a signal.
const PATIENCE: Duration = Duration::from_secs(10);
/// No client can ask for more.
const PATIENCE_MAX: Duration = Duration::from_secs(86_400);
/// Killed processes need a moment to go; what they have just started is killed in the next.
const KILL_INTERVAL: Duration = Duration::from_millis(5);
/// How many clients are served at a time: fewer than files may be open.
const CONNECTIONS_MAX: usize = 256;

/// The process of a world.
pub(super) struct WorldMonitor {
    pub(super) world: World,
    pub(super) listener: PacketListener,
    pub(super) context: MemberContext,
    pub(super) lifetime: Lifetime,
    /// By this the world counts as running.
    pub(super) _mark: File,
    connections: Vec<ClientConnection>,
    ending: WorldEnding,
}

/// When a world ends by itself.
#[derive(Debug)]
pub(super) enum Lifetime {
    /// It does not.
    Kept,
    /// With its last process, which is yet to come as long as this is open at the other end.
    OfProcesses(Option<PipeReader>),
}

/// How far the world is on its way to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorldEnding {
    No,
    /// Its processes were asked, and are killed at this time.
    Asked(Instant),
    /// They are being killed.
    Killing,
}

/// A client.
pub(super) struct ClientConnection {
    socket: PacketSocket,
    command: Option<ConnectedCommand>,
}

/// A command that a client has started, and waits for.
#[derive(Debug, Clone, Copy)]
struct ConnectedCommand {
    process: Child,
    has_terminal: bool,
}

impl WorldMonitor {
    pub(super) fn new(
        world: World,
        listener: PacketListener,
        context: MemberContext,
        lifetime: Lifetime,
        mark: File,
    ) -> Self {
        let connections = Vec::new();
        Self {
            world,
            listener,
            context,
            lifetime,
            _mark: mark,
            connections,
            ending: WorldEnding::No,
        }
    }

    /// Serves clients until the world ends, and ends all processes that are left in it. Returns the failure, if the driver
    /// ended first or a system call failed, and the connections of callers that wait for the end.
    pub(super) fn serve(mut self) -> (Result<(), Failure>, Vec<ClientConnection>) {
        let served = self.serve_until_over();
        if let Err(failure) = &served {
            failure.print();
            self.ending = WorldEnding::Killing;
            // A second failure is left to the end of the world.
            let _ = self.serve_until_over();
        }
        let Self { world, connections, listener, .. } = self;
        drop(listener);
        world.close();
        (served, connections)
    }

    fn serve_until_over(&mut self) -> Result<(), Failure> {
        while !self.is_over()? {
            if matches!(self.ending, WorldEnding::Asked(when) if when <= Instant::now()) {
                self.ending = WorldEnding::Killing;
            }
            if self.ending == WorldEnding::Killing {
                descendants::signal(&[Signal::KILL], Some(self.world.driver().pid()));
            }
            self.wait()?;
        }
        Ok(())
    }

    fn is_over(&self) -> Result<bool, Failure> {
        let may_end = match (&self.lifetime, self.ending) {
            (_, WorldEnding::Asked(_) | WorldEnding::Killing) => true,
            (Lifetime::Kept | Lifetime::OfProcesses(Some(_)), WorldEnding::No) => false,
            (Lifetime::OfProcesses(None), WorldEnding::No) => true,
        };
        let count = || processes::count_children(self.world.driver().pid());
        Ok(may_end && count().map_err(failed("counting the processes of the world"))? == 0)
    }

    /// Waits for an event, and handles it.
    fn wait(&mut self) -> Result<(), Failure> {
        let within = match self.ending {
            WorldEnding::No => None,
            WorldEnding::Asked(when) => Some(when.saturating_duration_since(Instant::now())),
            WorldEnding::Killing => Some(KILL_INTERVAL),
        };
        let creator = match &self.lifetime {
            Lifetime::OfProcesses(Some(creator)) => Some(creator.as_fd()),
            Lifetime::OfProcesses(None) | Lifetime::Kept => None,
        };
        let for_new = match self.connections.len() < CONNECTIONS_MAX {
            true => Readiness::Read,
            false => Readiness::Nothing,
        };
        let own =
            [(self.world.signals().as_fd(), Readiness::Read), (self.listener.as_fd(), for_new)];
        let sockets = self.connections.iter().map(|it| it.socket.as_fd()).chain(creator);
        let watched: Vec<(BorrowedFd<'_>, _)> =
            own.into_iter().chain(sockets.map(|fd| (fd, Readiness::Read))).collect();
        let ready = readiness::wait(&watched, within).map_err(failed("waiting for clients"))?;
        let (own, clients) = ready.split_at(own.len());
        if clients.get(self.connections.len()) == Some(&true) {
            self.lifetime = Lifetime::OfProcesses(None);
        }
        // From the last on, so that places stay what they are.
        for at in (0..self.connections.len()).rev().filter(|at| clients[*at]) {
            self.receive_from(at);
        }
        if own[1] {
            self.accept();
        }
        if own[0] {
            self.take_signal()?;
        }
        Ok(())
    }

    fn accept(&mut self) {
        match self.listener.accept() {
            Ok(Some(socket)) if is_own_user(&socket) => {
                self.connections.push(ClientConnection { socket, command: None });
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "a client cannot connect"),
        }
    }

    /// Takes what a client wants, or its end.
    fn receive_from(&mut self, at: usize) {
        let (request, files) = match protocol::receive::<WorldRequest>(&self.connections[at].socket)
        {
            Ok(Some(request)) => request,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Ok(None) => return self.end_connection(at),
            Err(error) => {
                tracing::warn!(%error, "a client is not understood");
                return self.end_connection(at);
            }
        };
        match request {
            WorldRequest::Run(_) if self.connections[at].command.is_some() => {
                self.respond(
                    at,
                    &WorldResponse::Refused("this client waits for a command already".to_owned()),
                );
            }
            WorldRequest::Run(invocation) => {
                let response = match self.start(invocation, files) {
                    Ok(command) => {
                        self.connections[at].command = command;
                        if let Lifetime::OfProcesses(creator) = &mut self.lifetime {
                            *creator = None;
                        }
                        WorldResponse::Started
                    }
                    Err(failure) => WorldResponse::Refused(failure.to_string()),
                };
                self.respond(at, &response);
            }
            WorldRequest::Signal { number, to } => {
                let signal = Signal::from_named_raw(number);
                if let (Some(command), Some(signal)) = (self.connections[at].command, signal) {
                    let sent = match to {
                        SignalTarget::Process => command.process.signal(signal),
                        SignalTarget::Group => processes::signal_group(command.process, signal),
                    };
                    if let Err(error) = sent {
                        tracing::warn!(%error, "a signal was not passed on");
                    }
                }
            }
            WorldRequest::Stop { patience_ms } => self.stop(Duration::from_millis(patience_ms)),
            WorldRequest::Watch => {}
        }
    }

    /// Starts a command; returns it if a client waits for it.
    fn start(
        &self,
        invocation: Invocation,
        files: Vec<OwnedFd>,
    ) -> Result<Option<ConnectedCommand>, Failure> {
        if self.ending != WorldEnding::No {
            return Err(Failure::new("starting the command", "the world is about to end"));
        }
        let is_connected = files.len() > 1;
        let this = std::process::id();
        match processes::fork().map_err(failed("starting a process"))? {
            Fork::Child => {
                let mask = self.world.signals().mask_before();
                member::become_member(&self.context, this, &mask, &invocation, files)
            }
            Fork::Parent(process) => {
                let has_terminal = invocation.has_terminal;
                Ok(is_connected.then_some(ConnectedCommand { process, has_terminal }))
            }
        }
    }

    fn end_connection(&mut self, at: usize) {
        let connection = self.connections.swap_remove(at);
        if let Some(command) = connection.command.filter(|command| !command.has_terminal)
            && let Err(error) = processes::signal_group(command.process, Signal::KILL)
        {
            tracing::warn!(%error, "a command outlives its client");
        }
    }

    fn respond(&self, at: usize, response: &WorldResponse) {
        // A client that is gone, or does not read, does without.
        if let Err(error) = protocol::send(&self.connections[at].socket, response, &[]) {
            tracing::debug!(%error, ?response, "a client was not told");
        }
    }

    fn take_signal(&mut self) -> Result<(), Failure> {
        let arrived = self.world.signals().next().map_err(failed("waiting for signals"))?;
        match arrived.signal {
            Signal::CHILD => self.collect()?,
            Signal::TERM | Signal::INT | Signal::HUP | Signal::QUIT => self.stop(PATIENCE),
            _ => {}
        }
        Ok(())
    }

    /// Looks what happened to our children.
    fn collect(&mut self) -> Result<(), Failure> {
        let driver = self.world.driver().pid();
        let (mut driver_end, mut ended) = (None, Vec::new());
        while let Some((pid, change)) =
            processes::next_change().map_err(failed("waiting for the processes of the world"))?
        {
            let is_it =
                |it: &ClientConnection| it.command.is_some_and(|it| it.process.pid() == pid);
            let client = self.connections.iter().position(is_it);
            match (client, change.exit_status()) {
                (Some(at), Some(status)) => {
                    self.connections[at].command = None;
                    ended.push((at, status));
                }
                (Some(at), None) => self.respond(at, &WorldResponse::Stopped),
                (None, _) if pid == driver && !matches!(change, Change::Stopped(_)) => {
                    driver_end = Some(change);
                }
                // An orphan that came to us, or a stop of another process, which is ignored.
                (None, _) => {}
            }
        }
        for (at, status) in ended {
            let ends_world = self.is_over()?;
            self.respond(at, &WorldResponse::Ended { status, ends_world });
        }
        match driver_end {
            None => Ok(()),
            Some(change) => {
                let answer = format!("it ended unexpectedly: {change}");
                Err(Failure::new("serving binder to the world", answer))
            }
        }
    }

    /// Asks all processes of the world to end, and has those killed that have not within some time.
    fn stop(&mut self, patience: Duration) {
        let when = Instant::now() + patience.min(PATIENCE_MAX);
        self.ending = match self.ending {
            WorldEnding::No => {
                let asked = [Signal::TERM, Signal::CONT];
                descendants::signal(&asked, Some(self.world.driver().pid()));
                // A shell at a terminal does not mind the other.
                let commands = self.connections.iter().filter_map(|connection| connection.command);
                for command in commands.filter(|command| command.has_terminal) {
                    let _ = command.process.signal(Signal::HUP);
                }
                WorldEnding::Asked(when)
            }
            WorldEnding::Asked(before) => WorldEnding::Asked(before.min(when)),
            WorldEnding::Killing => WorldEnding::Killing,
        };
    }
}

/// Whether a client is of our own user: others are kept out by the directory, too.
fn is_own_user(client: &PacketSocket) -> bool {
    client.peer_uid().is_ok_and(|uid| uid == processes::user().0)
}
