//! The receive buffer of an open file, and the routes by which its bytes reach the client's mapping.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::Arc;

use binder_os::{BackingId, FuseDevice, MappedMemory, ReplyOutcome, page_bytes};
use fuse_wire::notify;

use crate::page_bits::PageBits;
use crate::private_mapping::PrivateMapping;
use crate::wire::send;

/// Bytes of every receive buffer's file: the most that the driver ever uses of a mapping.
pub(crate) const BUFFER_BYTES: usize = 4 << 20;
/// As many pages as a receive buffer has, or more: those of 4096 bytes, than which none are smaller.
pub(crate) const MAX_PAGES: usize = BUFFER_BYTES / 4096;

/// How stored bytes reach a client's mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// The client maps the daemon's own memory file: a store is a copy, and no more.
    Passthrough,
    /// The client maps the page cache, into which the daemon has the kernel copy.
    Store,
    /// The client maps an inode that others have open too, and gets pages of its own.
    Private,
}

/// The receive buffer of one open file, as the daemon has it.
#[derive(Debug)]
pub(crate) struct ReceiveBuffer {
    memory: Arc<MappedMemory>,
    route: RouteState,
}

#[derive(Debug)]
enum RouteState {
    Passthrough(BackingId),
    Store {
        node: u64,
        /// Pages that the page cache has as a whole.
        cached: Box<PageBits>,
    },
    Private(Arc<PrivateMapping>),
}

impl ReceiveBuffer {
    /// Makes the buffer of a file that is being opened as inode `node`.
    pub(crate) fn new(route: Route, device: &FuseDevice, node: u64) -> io::Result<Self> {
        Ok(match route {
            Route::Passthrough => {
                let mut memory = MappedMemory::shared(BUFFER_BYTES)?;
                let file = memory.as_fd().ok_or(io::ErrorKind::Unsupported)?;
                let backing = device.register_backing(file)?;
                // The kernel has its own hold of it.
                memory.close_file();
                Self { memory: Arc::new(memory), route: RouteState::Passthrough(backing) }
            }
            Route::Store => Self {
                memory: Arc::new(MappedMemory::private(BUFFER_BYTES)?),
                route: RouteState::Store { node, cached: Box::new(PageBits::NONE) },
            },
            Route::Private => {
                let memory = Arc::new(MappedMemory::private(BUFFER_BYTES)?);
                let mapping = Arc::new(PrivateMapping::new(node, memory.clone()));
                Self { memory, route: RouteState::Private(mapping) }
            }
        })
    }

    /// The number that the reply to FUSE_OPEN passes on, if the client maps our memory itself.
    pub(crate) fn backing(&self) -> Option<BackingId> {
        match self.route {
            RouteState::Passthrough(backing) => Some(backing),
            RouteState::Store { .. } | RouteState::Private(_) => None,
        }
    }

    /// What the kernel may read when the client touches a page that nothing was stored to: pages of
    /// an inode that others have open too must not show what was stored for one of them.
    pub(crate) fn readable(&self) -> Option<&Arc<MappedMemory>> {
        match self.route {
            RouteState::Passthrough(_) | RouteState::Store { .. } => Some(&self.memory),
            RouteState::Private(_) => None,
        }
    }

    /// The client's own pages, if it maps an inode that others have open too.
    pub(crate) fn private_mapping(&self) -> Option<&Arc<PrivateMapping>> {
        match &self.route {
            RouteState::Private(mapping) => Some(mapping),
            RouteState::Passthrough(_) | RouteState::Store { .. } => None,
        }
    }

    pub(crate) fn memory(&self) -> &Arc<MappedMemory> {
        &self.memory
    }

    /// Makes bytes that were stored visible to the client: pages of its own are [written](PrivateMapping::write_marked) when it
    /// is about to be told of them.
    pub(crate) fn publish(
        &mut self,
        device: &FuseDevice,
        offset: usize,
        len: usize,
    ) -> io::Result<()> {
        let (node, cached) = match &mut self.route {
            RouteState::Passthrough(_) => return Ok(()),
            RouteState::Private(mapping) => return mapping.mark(offset, len),
            RouteState::Store { node, cached } => (node, cached),
        };
        // A page that is not in the cache yet goes there whole: half a page would be read back
        // from us when the client touches it.
        let page_bytes = page_bytes();
        let (first, end) = (offset / page_bytes, (offset + len).div_ceil(page_bytes));
        let start = if cached.has(first) { offset } else { first * page_bytes };
        let stop = if cached.has(end - 1) { offset + len } else { end * page_bytes };
        let mut bytes = vec![0; stop - start];
        self.memory.read(start, &mut bytes).map_err(io::Error::other)?;
        let message = notify::store(*node, start as u64, &bytes);
        match device.write(&message.slices().map(IoSlice::new))? {
            ReplyOutcome::Delivered => {
                (first..end).for_each(|page| cached.insert(page));
                Ok(())
            }
            // The client has closed its file, and no process reads it any more. The request that says so is on its way to us:
            // a sender is told then, as if that had come a moment before.
            ReplyOutcome::Gone => Ok(()),
        }
    }

    /// Gives the memory of these bytes, whole pages, back to the system; they read as zeros until they are stored to again.
    pub(crate) fn release_pages(
        &mut self,
        device: &FuseDevice,
        bytes: Range<usize>,
    ) -> io::Result<()> {
        if let RouteState::Private(_) = self.route {
            // The client's own copy would stay, and show bytes that ours no longer has.
            return Ok(());
        }
        self.memory.release_pages(bytes.start, bytes.len())?;
        if let RouteState::Store { node, cached } = &mut self.route {
            let page_bytes = page_bytes();
            (bytes.start / page_bytes..bytes.end / page_bytes).for_each(|page| cached.remove(page));
            let [start, len] = [bytes.start, bytes.len()].map(i64::try_from);
            let message = notify::inval_inode(
                *node,
                start.map_err(io::Error::other)?,
                len.map_err(io::Error::other)?,
            );
            send(device, &message);
        }
        Ok(())
    }

    /// Takes back what the kernel holds for the buffer, at the end of the file.
    pub(crate) fn close(&self, device: &FuseDevice) {
        if let RouteState::Passthrough(backing) = self.route
            && let Err(error) = device.unregister_backing(backing)
        {
            tracing::error!(%error, "a backing file could not be unregistered");
        }
    }
}
