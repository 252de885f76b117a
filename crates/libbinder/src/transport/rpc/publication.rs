//! Where published servers are found, and how they are read.
//!
//! Each process that publishes has a socket `PID.sock` in the directory `anybinder/rpc` of its user, and writes a line
//! of JSON for each server to each reader. Names are for people: the writer's identity is what the system says.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
};
use rustix::process::geteuid;

use super::socket_file::{self, SocketFile};

/// How many processes of other pid namespaces may have this one's number.
const NAMESAKES: u32 = 16;

/// How long all processes together may take to tell.
const READ_TIME: Duration = Duration::from_secs(1);

/// How many sockets of a user are looked at, and how much each may tell.
const READ_SOCKETS: usize = 256;
const READ_BYTES: usize = 4 << 20;

/// What a process tells of the servers that it publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedReport {
    /// The process, by the system's word; 0 if it has no number here.
    pub pid: u32,
    /// Its user, by the system's word.
    pub uid: u32,
    /// A line of JSON for each server, as the process says.
    pub text: String,
}

/// Asks the processes that publish servers: this user's, and for root all users'. It takes a second at most; who does
/// not tell in that time is left out.
///
/// The files of sockets at which no process listens any more are removed.
#[must_use]
pub fn published_reports() -> Vec<PublishedReport> {
    let deadline = Instant::now() + READ_TIME;
    let mut readers: Vec<_> = readable_directories().iter().flat_map(|dir| open_all(dir)).collect();
    loop {
        let time = deadline.saturating_duration_since(Instant::now());
        let open: Vec<_> = readers.iter_mut().filter(|reader| !reader.is_done).collect();
        if open.is_empty() || time.is_zero() || wait(&open, time).is_err() {
            break;
        }
        open.into_iter().for_each(ReportReader::read);
    }
    let mut reports: Vec<_> = readers.into_iter().filter_map(ReportReader::finish).collect();
    reports.sort_by_key(|report| report.pid);
    reports
}

/// Makes the socket of this process.
pub(super) fn bind() -> io::Result<(UnixListener, SocketFile)> {
    let dir = own_directory()?;
    for number in 0..NAMESAKES {
        let name = match number {
            0 => format!("{}.sock", process::id()),
            _ => format!("{}-{number}.sock", process::id()),
        };
        let path = dir.join(name);
        match SocketFile::bind(&path, &SocketAddr::from_pathname(&path)?) {
            Ok((listener, file)) => {
                // No other process gets into the directory before.
                fs::set_permissions(&path, Permissions::from_mode(0o600))?;
                return Ok((listener, file));
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from(io::ErrorKind::AddrInUse))
}

/// The directories in which a user may have one for what belongs to running programs: the first that is there is taken.
fn runtime_directories(uid: u32) -> Vec<PathBuf> {
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let mut found: Vec<_> = named.into_iter().chain([format!("/run/user/{uid}").into()]).collect();
    if uid == 0 {
        found.push("/run".into());
    }
    found.retain(|dir| dir.is_absolute() && is_kept_by(dir, uid, 0o022));
    found
}

/// Whether a directory is a user's, and gives others none of these rights.
fn is_kept_by(dir: &Path, uid: u32, rights: u32) -> bool {
    fs::symlink_metadata(dir)
        .is_ok_and(|found| found.is_dir() && found.uid() == uid && found.mode() & rights == 0)
}

/// Where sockets are, below the directory for what belongs to running programs.
fn below(runtime: &Path) -> PathBuf {
    runtime.join("anybinder/rpc")
}

/// Makes the missing parts of this user's directory.
fn own_directory() -> io::Result<PathBuf> {
    let uid = geteuid().as_raw();
    let Some(runtime) = runtime_directories(uid).into_iter().next() else {
        let reason = "there is no directory $XDG_RUNTIME_DIR of this user";
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    };
    let dir = below(&runtime);
    // Others may look at what else is of this program.
    for (dir, mode) in [(runtime.join("anybinder"), 0o755), (dir.clone(), 0o700)] {
        match DirBuilder::new().mode(mode).create(&dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        if !is_kept_by(&dir, uid, 0o777 & !mode) {
            let reason = format!("{} is open to others", dir.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
    }
    Ok(dir)
}

/// The directories that this user reads.
fn readable_directories() -> Vec<PathBuf> {
    let uid = geteuid().as_raw();
    let mut found: Vec<_> = runtime_directories(uid).iter().map(|dir| below(dir)).collect();
    if uid == 0
        && let Ok(users) = fs::read_dir("/run/user")
    {
        found.extend(users.filter_map(Result::ok).map(|user| below(&user.path())));
    }
    found.sort();
    found.dedup();
    found
}

/// Connects to each socket of a directory that is its owner's alone.
fn open_all(dir: &Path) -> Vec<ReportReader> {
    let Ok(found) = fs::symlink_metadata(dir) else { return Vec::new() };
    if !is_kept_by(dir, found.uid(), 0o077) {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let entries = entries.filter_map(Result::ok).take(READ_SOCKETS);
    entries.filter_map(|entry| ReportReader::open(&entry.path(), found.uid())).collect()
}

/// Waits until one of them has something to say.
fn wait(readers: &[&mut ReportReader], time: Duration) -> io::Result<()> {
    let polled = readers.iter().map(|reader| PollFd::new(&reader.socket, PollFlags::IN));
    let time = Timespec::try_from(time).map_err(|_| Errno::INVAL)?;
    match poll(&mut polled.collect::<Vec<_>>(), Some(&time)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A process that is asked.
struct ReportReader {
    socket: UnixStream,
    pid: u32,
    uid: u32,
    bytes: Vec<u8>,
    is_done: bool,
}

impl ReportReader {
    /// Connects to a process of `owner`'s.
    fn open(path: &Path, owner: u32) -> Option<Self> {
        if !fs::symlink_metadata(path).ok()?.file_type().is_socket() {
            return None;
        }
        let socket = connect_now(path);
        if socket.as_ref().is_err_and(|error| *error == Errno::CONNREFUSED)
            && let Err(error) = socket_file::remove_abandoned(path)
        {
            tracing::debug!(path = %path.display(), %error, "the file of a socket stays");
        }
        let socket = UnixStream::from(socket.ok()?);
        let credentials = sockopt::socket_peercred(&socket).ok()?;
        let uid = credentials.uid.as_raw();
        let pid = u32::try_from(credentials.pid.as_raw_pid()).ok()?;
        (uid == owner).then(|| Self { socket, pid, uid, bytes: Vec::new(), is_done: false })
    }

    /// Takes what has come.
    fn read(&mut self) {
        let mut part = [0; 16 << 10];
        match self.socket.read(&mut part) {
            Ok(0) => self.is_done = true,
            Ok(count) => {
                self.bytes.extend_from_slice(&part[..count]);
                self.is_done = self.bytes.len() > READ_BYTES;
            }
            Err(error) => {
                let is_early =
                    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
                self.is_done = !is_early;
            }
        }
    }

    /// Returns the lines that have come whole.
    fn finish(mut self) -> Option<PublishedReport> {
        let end = self.bytes.iter().rposition(|byte| *byte == b'\n')? + 1;
        self.bytes.truncate(end);
        let text = String::from_utf8(self.bytes).ok()?;
        Some(PublishedReport { pid: self.pid, uid: self.uid, text })
    }
}

/// Connects to a socket that has room, with a socket that does not wait.
fn connect_now(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}
