//! Opening a file of the mount, above all a device.

use std::io;
use std::os::fd::AsFd;

use binder_core::{Errno, ProcessKey};
use binder_os::{FileId, proc_files};
use fuse_wire::flags::{FOPEN_DIRECT_IO, FOPEN_KEEP_CACHE, FOPEN_PASSTHROUGH};
use fuse_wire::{Header, OpenedFile, reply};

use super::{EINVAL, File, SessionShared, insert_file};
use crate::client::{self, Client};
use crate::descriptors::mappings;
use crate::driver::{DeviceId, EIO, Job, O_NONBLOCK};
use crate::exit_watcher::Watched;
use crate::mapping::{ReceiveBuffer, Route};
use crate::options::BufferRoute;
use crate::process_handles::ProcessHandles;
use crate::quota::Account;
use crate::tree::{InodeKind, Sharing};
use crate::wire::send;

impl SessionShared {
    pub(super) fn open(&self, header: &Header, flags: u32) {
        let unique = header.unique;
        let place = self.tree().place(header.node);
        match place {
            Ok(InodeKind::Device(device)) => self.open_device(header, device, flags),
            Ok(InodeKind::Control) => self.opened(unique, File::Control, FOPEN_DIRECT_IO, 0),
            Ok(InodeKind::Feature) => {
                let text = self.tree().feature_text(header.node);
                self.opened(unique, File::Feature(text), FOPEN_DIRECT_IO, 0);
            }
            Ok(InodeKind::Log(log)) => self.open_log(unique, log),
            Ok(InodeKind::Root | InodeKind::Features | InodeKind::Logs) | Err(_) => {
                self.refuse(unique, EINVAL);
            }
        }
    }

    /// Opens a device: the calling process gets a receive buffer and becomes a process of the
    /// device's context.
    fn open_device(&self, header: &Header, device: DeviceId, flags: u32) {
        let unique = header.unique;
        let taken = self.tree().take_for_open(header.node, header.pid);
        let sharing = match taken {
            Ok(sharing) => sharing,
            Err(refused) => return self.refuse(unique, refused as i32),
        };
        let (opener, client) = match self.meet(header, sharing, flags) {
            Ok(met) => met,
            Err(error) => {
                tracing::debug!(%error, tid = header.pid, "a process could not open the device");
                self.tree().abandon_open(device);
                return self.refuse(unique, error.raw_os_error().unwrap_or(EIO));
            }
        };
        let (fuse, files) = (self.fuse.clone(), self.files.clone());
        let memory = client.buffer.readable().cloned();
        let backing = client.buffer.backing();
        let pid = opener.pid.number();
        self.tree().arrive(pid);
        let opened = Box::new(move |process: Result<ProcessKey, Errno>| {
            let process = match process {
                Ok(process) => process,
                Err(error) => return send(&fuse, &reply::error(unique, error.number())),
            };
            let file = File::Device { device, process, pid, memory };
            let (flags, backing_id) = match backing {
                Some(id) => (FOPEN_PASSTHROUGH, i32::try_from(id.get()).unwrap_or(0)),
                // What was stored must survive the open, and later ones of other inodes.
                None => (FOPEN_KEEP_CACHE, 0),
            };
            let fh = insert_file(&files, file);
            send(&fuse, &reply::open(unique, &OpenedFile { fh, flags, backing_id }));
        });
        self.take_turn(Job::Open { unique, device, opener, client: Box::new(client), opened });
    }

    /// Finds out who opens a file, and makes its receive buffer.
    fn meet(
        &self,
        header: &Header,
        sharing: Sharing,
        flags: u32,
    ) -> io::Result<(binder_core::Opener, Client)> {
        // Whoever waits for us is there; a /proc mounted with `hidepid` may not show him.
        let numbers = proc_files::pid_numbers(header.pid)
            .map_err(|error| self.out_of_reach(header.pid, &error))?;
        let pid = numbers.first().copied().ok_or(io::ErrorKind::NotFound)?;
        let payer = Account { pid, uid: header.uid };
        let mapping = mappings().take(payer, 1)?;
        let known = ProcessHandles::get(payer)?;
        // Whatever it asked for, its commands could not be read: it learns that now.
        let tid = header.pid;
        known.memory.check_access(tid).map_err(|error| self.out_of_reach(tid, &error))?;
        if let Some(name) = Watched::Process(pid).to_u64() {
            self.threads.add_process(known.pidfd.as_fd(), name)?;
        }
        let opener = client::identify(&numbers, header.uid, &self.pids, &self.security_label)?;
        let route = match sharing {
            Sharing::Exclusive => self.route(),
            Sharing::Shared => Route::Private,
        };
        let buffer = ReceiveBuffer::new(route, &self.fuse, header.node)?;
        let file = FileId { device: self.device(), inode: header.node };
        let is_nonblocking = flags & O_NONBLOCK != 0;
        Ok((opener, Client::new(known, file, buffer, is_nonblocking, mapping)))
    }

    /// What a client gets whose memory we may not access, and the log.
    fn out_of_reach(&self, tid: u32, error: &io::Error) -> io::Error {
        if self.warnings.is_due() {
            tracing::warn!(%error, tid, "a process is refused: its memory is out of reach");
        }
        io::Error::from_raw_os_error(Errno::EPERM.number())
    }

    pub(super) fn opened(&self, unique: u64, file: File, flags: u32, backing_id: i32) {
        let fh = insert_file(&self.files, file);
        send(&self.fuse, &reply::open(unique, &OpenedFile { fh, flags, backing_id }));
    }

    /// How receive buffers reach clients: found out at the first need, since the kernel must have
    /// agreed on passthrough before it can be tried.
    fn route(&self) -> Route {
        *self.route.get_or_init(|| {
            let route = match self.delivery {
                BufferRoute::Passthrough => Route::Passthrough,
                BufferRoute::Store => Route::Store,
                BufferRoute::Auto => match ReceiveBuffer::new(Route::Passthrough, &self.fuse, 0) {
                    Ok(buffer) => {
                        buffer.close(&self.fuse);
                        Route::Passthrough
                    }
                    Err(_) => Route::Store,
                },
            };
            tracing::info!(?route, "the way of receive buffers to their clients is chosen");
            route
        })
    }
}
