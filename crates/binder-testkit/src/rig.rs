//! What a check may do to a driver, whichever driver it is.
//!
//! A check is written once, against [`Stage`](crate::Stage), and runs on every [`Rig`]: on the pure
//! core with fake memory, and on a real device node with real processes. The trait is small on
//! purpose: it is the system call interface, and a `BINDER_WRITE_READ` is one ioctl among others.

use rustix::io::Errno;

use crate::{CoreRig, Descriptors};

/// An operating system process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(pub usize);

/// An open file of a device: what the driver calls a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process(pub usize);

/// A thread of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thread(pub usize);

/// A thread that calls into the driver through one open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The open file.
    pub process: Process,
    /// The calling thread.
    pub thread: Thread,
}

/// Which driver answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// `binder-core` with fake memory.
    Core,
    /// This project's driver behind a file system in user space.
    UserSpace,
    /// The kernel's own driver.
    Kernel,
}

/// Which of the devices at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// The one under test.
    First,
    /// Another one, with a context of its own.
    Second,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Reads wait.
    Blocking,
    /// Reads that would wait fail with `EAGAIN`.
    Nonblocking,
}

/// What a receive area is mapped for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// `PROT_READ`.
    ReadOnly,
    /// `PROT_READ | PROT_WRITE`.
    Writable,
}

/// How readiness is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiter {
    /// `poll(2)`.
    Poll,
    /// A fresh `epoll(7)` instance of the calling thread.
    Epoll,
}

/// Where a system call has got to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It returned.
    Done(Result<(), Errno>),
    /// It waits for another thread.
    Parked,
}

/// What `poll(2)` said, without waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// `POLLIN`.
    pub is_readable: bool,
    /// `POLLOUT`.
    pub is_writable: bool,
    /// `POLLERR` or `POLLHUP`.
    pub has_failed: bool,
}

/// A driver under test, with everything around it.
///
/// Every host has memory of its own. Addresses are those of the host.
pub trait Rig {
    /// Which driver answers.
    fn driver(&self) -> Driver;

    /// Starts a process of the operating system.
    fn start_host(&self) -> Host;

    /// Changes the effective user of a host.
    ///
    /// # Errors
    ///
    /// Where the tests run without that privilege.
    fn set_user(&self, host: Host, uid: u32) -> Result<(), Errno>;

    /// The number under which others see the host.
    fn pid(&self, host: Host) -> i32;

    /// Kills a host: its files close, its threads end.
    fn kill(&self, host: Host);

    /// Starts a thread of a host.
    fn start_thread(&self, host: Host) -> Thread;

    /// Opens a device.
    fn open(&self, host: Host, device: Device, mode: Mode) -> Result<Process, Errno>;

    /// Maps the receive area of `process` and returns its address.
    fn map(&self, process: Process, len: usize, protection: Protection) -> Result<u64, Errno>;

    /// Switches `O_NONBLOCK` of an open file.
    fn set_mode(&self, process: Process, mode: Mode);

    /// Duplicates the descriptor of `process` and closes the duplicate.
    fn close_duplicate(&self, process: Process);

    /// Closes an open file; what follows from it may happen later.
    fn close(&self, process: Process);

    /// Starts an ioctl, `argument` being an address of the caller's host.
    fn ioctl(&self, caller: Caller, request: u32, argument: u64) -> Progress;

    /// Starts to wait until the file is readable for the caller.
    fn wait_readable(&self, caller: Caller, waiter: Waiter) -> Progress;

    /// What has become of the call that `thread` started, once nothing more happens by itself.
    fn settle(&self, thread: Thread) -> Progress;

    /// Waits until the call that `thread` started has returned.
    ///
    /// # Panics
    ///
    /// When it never does.
    fn finish(&self, thread: Thread) -> Result<(), Errno>;

    /// Sends a signal to a parked thread.
    fn interrupt(&self, thread: Thread);

    /// Asks for readiness without waiting.
    fn poll(&self, caller: Caller) -> Readiness;

    /// Sets aside `len` bytes of a host's memory, at a multiple of eight.
    fn allocate(&self, host: Host, len: usize) -> u64;

    /// The first address of a host's memory that nothing is mapped at; what precedes is usable.
    fn guard(&self, host: Host) -> u64;

    /// Writes a host's memory.
    fn poke(&self, host: Host, address: u64, bytes: &[u8]);

    /// Reads a host's memory, its receive areas too.
    ///
    /// # Errors
    ///
    /// Where nothing is mapped.
    fn peek(&self, host: Host, address: u64, bytes: &mut [u8]) -> Result<(), Errno>;

    /// The file descriptors of hosts.
    fn descriptors(&self) -> &dyn Descriptors;

    /// What only a real operating system can do; `None` without one.
    fn system(&self) -> Option<&dyn System> {
        None
    }

    /// What only fakes can do; `None` without them.
    fn core(&self) -> Option<&CoreRig> {
        None
    }

    /// Ends every host and checks what can be checked: that the driver holds nothing any more.
    fn tear_down(&self);
}

/// What a check may do around a driver where there is an operating system.
pub trait System {
    /// Makes the receive area at `address` writable.
    fn make_writable(&self, host: Host, address: u64, len: usize) -> Result<(), Errno>;

    /// Maps the receive area of `process` as another host, which got the descriptor.
    fn map_as(&self, host: Host, process: Process, len: usize) -> Result<u64, Errno>;

    /// Moves the receive area of `process` to another address, and returns that.
    fn move_area(&self, process: Process) -> Result<u64, Errno>;

    /// Has the host flush an open file by fsync(2).
    fn sync(&self, process: Process) -> Result<(), Errno>;

    /// Whether a child that the host forks finds something mapped at `address`.
    fn is_mapped_in_child(&self, host: Host, address: u64) -> bool;

    /// Has the caller serve and watch all who call its file, on its own from here on. It answers
    /// [`STATUS`](crate::STATUS) with its [`Ledger`](crate::Ledger).
    fn serve(&self, caller: Caller);

    /// Has the caller play games with the server behind handle 0, on its own until it is killed.
    fn churn(&self, caller: Caller, seed: u64);

    /// Passes the descriptor of `process` on to another host, which may then call through it too.
    fn share(&self, process: Process, host: Host) -> Process;

    /// Asks the `binder-control` beside the device for another device.
    fn add_device(&self, name: &[u8]) -> Result<(), Errno>;

    /// The same of any `binder-control`.
    fn add_device_by(&self, control: &std::path::Path, name: &[u8]) -> Result<(), Errno>;

    /// Mounts binderfs at a directory as root of a user namespace of its own, with which the mount
    /// ends at once.
    fn mount_in_user_namespace(
        &self,
        directory: &std::path::Path,
        options: &str,
    ) -> Result<(), Errno>;

    /// The path of the device.
    fn device_path(&self) -> &std::path::Path;
}
