//! Opening a file of the mount, above all a device.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use binder_core::Errno;
use binder_os::{FileId, proc_files};
use fuse_wire::flags::{FOPEN_DIRECT_IO, FOPEN_KEEP_CACHE, FOPEN_PASSTHROUGH};
use fuse_wire::{Header, OpenedFile, reply};

use crate::client::{Client, Opened};
use crate::client_file::ClientFile;
use crate::descriptors::mappings;
use crate::device::{Deferred, Device, DeviceWork, Job};
use crate::mapping::{ReceiveBuffer, Route};
use crate::open_mode::O_NONBLOCK;
use crate::opener;
use crate::options::BufferRoute;
use crate::process_handles::ProcessHandles;
use crate::quota::Account;
use crate::shared::{File, SessionShared, insert_file};
use crate::strings::errno;
use crate::tree::{DeviceId, InodeKind, Sharing};
use crate::watched::Watched;
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
            Ok(InodeKind::Log(log)) => self.open_log(header, log),
            Ok(InodeKind::Root | InodeKind::Features | InodeKind::Logs) | Err(_) => {
                self.refuse(unique, Errno::EINVAL);
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
            Err(refused) => return self.refuse(unique, refused),
        };
        let met = self.device_numbered(device).ok_or_else(|| io::ErrorKind::NotFound.into());
        let (opener, client) = match met.and_then(|it| self.meet(header, it, sharing, flags)) {
            Ok(met) => met,
            Err(error) => {
                tracing::debug!(%error, tid = header.pid, "a process could not open the device");
                self.tree().abandon_open(device);
                return self.refuse(unique, errno(&error));
            }
        };
        self.tree().arrive(opener.pid.number());
        let file = client.file.clone();
        let priority = self.priorities.of_process(file.pid);
        let is_nonblocking = flags & O_NONBLOCK != 0;
        let open: DeviceWork = Box::new(move |state| {
            let opened = state.frontend.open(opener, client.file.clone(), is_nonblocking, priority);
            match opened {
                Ok(process) => {
                    let opened = Opened::new(unique, process, &client);
                    state.clients.insert(process, client);
                    state.defer(Deferred::AnswerOpen(opened.into()));
                }
                Err(error) => {
                    let client = client.into();
                    state.defer(Deferred::RefuseOpen { unique, client, error });
                }
            }
        });
        self.submit_in_line(&file.device, Job::Work(open));
    }

    /// Answers an open that has made a process.
    pub(crate) fn end_open(&self, opened: Opened) {
        let Opened { unique, process, file, memory, backing } = opened;
        let (flags, backing_id) = match backing {
            Some(id) => (FOPEN_PASSTHROUGH, i32::try_from(id.get()).unwrap_or(0)),
            // What was stored must survive the open, and later ones of other inodes.
            None => (FOPEN_KEEP_CACHE, 0),
        };
        self.opened(unique, File::Device { file, process, memory }, flags, backing_id);
    }

    /// Answers an open that has made none.
    pub(crate) fn refuse_open(&self, unique: u64, client: &Client, error: Errno) {
        client.buffer.close(&self.fuse);
        self.tree().close(client.file.device.id, client.file.pid);
        self.refuse(unique, error);
    }

    /// Identifies the process that opens a file, and makes its receive buffer.
    fn meet(
        &self,
        header: &Header,
        device: Arc<Device>,
        sharing: Sharing,
        flags: u32,
    ) -> io::Result<(binder_core::Opener, Client)> {
        // The opener waits for us, so it is there; a /proc mounted with `hidepid` may not show it.
        let numbers = proc_files::pid_numbers(header.pid)
            .map_err(|error| self.out_of_reach(header.pid, &error))?;
        let pid = numbers.first().copied().ok_or(io::ErrorKind::NotFound)?;
        let payer = Account { pid, uid: header.uid };
        let _mapping = mappings().take(payer, 1)?;
        let known = ProcessHandles::get(payer)?;
        // Whatever it asked for, its commands could not be read: it learns that now.
        let tid = header.pid;
        known.memory.check_access(tid).map_err(|error| self.out_of_reach(tid, &error))?;
        if let Some(name) = Watched::Process(pid).to_u64() {
            self.threads.add_process(known.pidfd.as_fd(), name)?;
        }
        let opener = opener::identify(&numbers, header.uid, &self.pids, &self.security_label)?;
        let route = match sharing {
            Sharing::Exclusive => self.route(),
            Sharing::Shared => Route::Private,
        };
        let buffer = ReceiveBuffer::new(route, &self.fuse, header.node)?;
        let file = FileId { device: self.device(), inode: header.node };
        let is_nonblocking = flags & O_NONBLOCK != 0;
        let file = Arc::new(ClientFile::new(
            device,
            known,
            file,
            buffer.private_mapping().cloned(),
            is_nonblocking,
        ));
        Ok((opener, Client { file, buffer, _mapping }))
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
            tracing::info!(?route, "the route of receive buffers to their clients is chosen");
            route
        })
    }
}
