//! Reads of files and directories.

use binder_core::Errno;
use fuse_wire::{DirentBuffer, Header, Read, reply};

use crate::mapping::BUFFER_BYTES;
use crate::shared::{File, SessionShared, index};
use crate::texts;
use crate::wire::send;

impl SessionShared {
    /// Reads a file of text, or a page of a receive buffer that a client touches.
    pub(super) fn read(&self, header: &Header, read: &Read) {
        let unique = header.unique;
        let files = self.files();
        let memory = match files.get(index(read.fh)) {
            Some(File::Log { log, text }) => {
                let (log, text) = (*log, text.clone());
                drop(files);
                return self.read_log(header, read, log, text);
            }
            Some(File::Events(follower)) => {
                let follower = *follower;
                drop(files);
                return self.read_events(unique, follower, read);
            }
            Some(File::Trace(follower)) => {
                let follower = *follower;
                drop(files);
                return self.read_trace(unique, follower, read);
            }
            Some(File::Device { memory: Some(memory), .. }) => memory.clone(),
            Some(File::Device { memory: None, .. }) => {
                let zeros = vec![0; (read.size as usize).min(BUFFER_BYTES)];
                return send(&self.fuse, &reply::data(unique, &zeros));
            }
            Some(File::Feature(text)) => {
                let part = texts::part(text, read.offset, read.size);
                return send(&self.fuse, &reply::data(unique, part));
            }
            Some(File::Control) | None => return self.refuse(unique, Errno::EINVAL),
        };
        drop(files);
        let start = usize::try_from(read.offset).unwrap_or(usize::MAX).min(BUFFER_BYTES);
        let mut bytes = vec![0; (read.size as usize).min(BUFFER_BYTES - start)];
        match memory.read(start, &mut bytes) {
            Ok(()) => send(&self.fuse, &reply::data(unique, &bytes)),
            Err(_) => self.refuse(unique, Errno::EIO),
        }
    }

    pub(super) fn read_dir(&self, unique: u64, node: u64, read: &Read) {
        let entries = match self.tree().list(node) {
            Ok(entries) => entries,
            Err(refused) => return self.refuse(unique, refused),
        };
        let mut bytes = vec![0; (read.size as usize).min(64 << 10)];
        let mut listed = DirentBuffer::new(&mut bytes);
        let skipped = usize::try_from(read.offset).unwrap_or(usize::MAX);
        for (at, (inode, mode, name)) in entries.iter().enumerate().skip(skipped) {
            if listed.push(*inode, at as u64 + 1, *mode, name).is_err() {
                break;
            }
        }
        send(&self.fuse, &reply::data(unique, listed.into_bytes()));
    }
}
