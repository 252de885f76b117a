//! Servers of this process that publish their figures to `anybinder ps` and `top`.
//!
//! They have one socket together, and one thread, which sleeps until a reader connects. It serves one reader after the other,
//! each for a second at most.

use std::env;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{Shutdown, shutdown, sockopt};
use rustix::process::{getegid, geteuid, getgid, getuid};

use super::super::error::RpcError;
use super::super::publication;
use super::super::socket_file::SocketFile;
use super::{Inner, RpcServer};

/// What a user sets to 1 for a program that is to publish each server.
const VARIABLE: &str = "ANYBINDER_PUBLISH_RPC";

/// How long one reader may take.
const READER_TIME: Duration = Duration::from_secs(1);

/// How long a socket rests that accepts nothing, for want of descriptors most likely.
const FAILURE_PAUSE: Duration = Duration::from_millis(100);

static PUBLISHED: Mutex<Published> = Mutex::new(Published { servers: Vec::new(), socket: None });

struct Published {
    servers: Vec<Weak<Inner>>,
    /// While there is a server.
    socket: Option<ReportSocket>,
}

struct ReportSocket {
    listener: Arc<UnixListener>,
    file: SocketFile,
}

impl RpcServer {
    /// Shows this server, its sessions and what they use to `anybinder ps` and `anybinder top`, of this user and of root,
    /// until it is shut down or dropped. All servers of a process that do so have one socket, in a directory of the user
    /// below `$XDG_RUNTIME_DIR` or `/run`, and one thread, which sleeps until a reader connects; no call costs anything.
    ///
    /// Programs that are started with `ANYBINDER_PUBLISH_RPC=1` in their environment do this with each server.
    ///
    /// # Errors
    ///
    /// [`RpcError::System`] without such a directory or a thread, or for a server that is shut down.
    pub fn publish_statistics(&self) -> Result<(), RpcError> {
        let published = publish(&self.inner);
        published.map_err(RpcError::system("publish a server"))
    }
}

/// Publishes a server if the user who started this program has asked for that.
pub(super) fn publish_if_asked_for(server: &Arc<Inner>) {
    static IS_ASKED_FOR: OnceLock<bool> = OnceLock::new();
    // A program with rights that its caller lacks does not take the caller's word for where files go.
    let ask = || {
        let has_callers_rights = (getuid(), getgid()) == (geteuid(), getegid());
        has_callers_rights && env::var_os(VARIABLE).is_some_and(|value| value == "1")
    };
    if *IS_ASKED_FOR.get_or_init(ask)
        && let Err(error) = publish(server)
    {
        tracing::warn!(%error, "{VARIABLE} is set, and a server is not published");
    }
}

/// Removes a server. With the last one the socket goes.
pub(super) fn withdraw(server: &Inner) {
    let mut published = published();
    published.servers.retain(|it| !ptr::eq(it.as_ptr(), server) && it.strong_count() > 0);
    if published.servers.is_empty()
        && let Some(socket) = published.socket.take()
    {
        socket.file.remove();
        // It ends the thread. A socket that is closed already is as good.
        let _ = shutdown(socket.listener.as_fd(), Shutdown::Both);
    }
}

fn published() -> MutexGuard<'static, Published> {
    PUBLISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn publish(server: &Arc<Inner>) -> io::Result<()> {
    let mut published = published();
    // Read under the lock, which the thread that shuts the server down takes afterwards.
    if server.is_closing() {
        return Err(io::Error::from(io::ErrorKind::NotConnected));
    }
    if published.servers.iter().any(|it| ptr::eq(it.as_ptr(), &raw const **server)) {
        return Ok(());
    }
    if published.socket.is_none() {
        let (listener, file) = publication::bind()?;
        let listener = Arc::new(listener);
        let accepting = Arc::clone(&listener);
        let thread = thread::Builder::new().name("rpc-published".to_owned());
        if let Err(error) = thread.spawn(move || tell_all(&accepting)) {
            file.remove();
            return Err(error);
        }
        published.socket = Some(ReportSocket { listener, file });
    }
    published.servers.push(Arc::downgrade(server));
    Ok(())
}

/// Tells each reader, until the socket is shut down.
fn tell_all(listener: &UnixListener) {
    loop {
        match listener.accept() {
            Ok((reader, _)) => {
                if let Err(error) = tell(&reader) {
                    tracing::debug!(%error, "a reader was not told of all servers");
                }
            }
            // It is shut down.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return,
            Err(error) => {
                tracing::debug!(%error, "a reader was not accepted");
                thread::sleep(FAILURE_PAUSE);
            }
        }
    }
}

/// Writes a line for each server.
fn tell(reader: &UnixStream) -> io::Result<()> {
    let uid = sockopt::socket_peercred(reader).map_err(io::Error::from)?.uid;
    // The file's mode says the same; a directory's may have been changed.
    if uid != geteuid() && !uid.is_root() {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    let servers = published().servers.clone();
    let mut text = String::new();
    servers.iter().filter_map(Weak::upgrade).for_each(|server| server.write_report(&mut text));
    write_within(reader, text.as_bytes(), READER_TIME)
}

/// Writes all of it to a reader that reads in time.
fn write_within(mut reader: &UnixStream, mut left: &[u8], time: Duration) -> io::Result<()> {
    let deadline = Instant::now() + time;
    while !left.is_empty() {
        let time = deadline.saturating_duration_since(Instant::now());
        if time.is_zero() {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        reader.set_write_timeout(Some(time))?;
        match reader.write(left) {
            Ok(written) => left = &left[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_reads_nothing_is_given_up() {
        let (ours, _theirs) = UnixStream::pair().expect("a socket");
        let error = write_within(&ours, &vec![b' '; 8 << 20], Duration::from_millis(20));
        let kind = error.expect_err("there is no room").kind();
        assert!(matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{kind}");
    }
}
