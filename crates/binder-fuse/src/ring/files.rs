//! Files that a ring's call brings: its thread takes them from a socket of its own, and tells their numbers.
//!
//! Nothing is done within the client, so this needs no right over it but to take the socket. All other descriptor work goes
//! as without a ring: the thread makes an ioctl.

use binder_core::{Errno, FdWork};
use binder_frontend::RequestContext;
use binder_os::client_files;
use binder_ring::{MAX_FILES, RequestKind, RingAnswer};

use super::file::{MovedFdWork, TakenRequest};
use super::rings::{BegunCall, new_call};
use crate::client_file::ClientFile;
use crate::device::{Batch, DeviceWork, Job};
use crate::fd_task;
use crate::files::HeldFile;
use crate::io_queue::IoRequest;
use crate::shared::SessionShared;

/// The answer to a thread whose call waits for descriptor work.
pub(super) fn way_of(work: &FdWork) -> i32 {
    let can_be_sent = fd_task::has_files_only(work) && work.install.len() <= MAX_FILES;
    if can_be_sent { RingAnswer::FILES } else { RingAnswer::DECLINED }
}

impl SessionShared {
    /// Runs a request that is about the files of the call before it, if its thread is known to be whom it was. Returns the first of
    /// what may take its time.
    pub(super) fn run_for_files(
        &self,
        begun: BegunCall,
        is_known: bool,
        batch: &mut Batch,
    ) -> Option<IoRequest> {
        match (begun.request.kind, &begun.request.moved) {
            _ if !is_known => {
                self.keep_moved(begun, RingAnswer::DECLINED);
                None
            }
            (RequestKind::Socket(number), Some(moved)) => {
                let sent = self.send_files(&begun.file, begun.request.tid, number, &moved.work);
                self.keep_moved(begun, if sent.is_ok() { 0 } else { RingAnswer::DECLINED });
                sent.ok().map(|socket| IoRequest::Close(vec![socket]))
            }
            (RequestKind::Numbers(count), Some(moved))
                if usize::try_from(count) == Ok(moved.work.install.len()) =>
            {
                self.take_numbers(begun, batch)
            }
            _ => {
                self.keep_moved(begun, RingAnswer::UNKNOWN_FILES);
                None
            }
        }
    }

    /// Answers a request after which the files are still to be taken.
    fn keep_moved(&self, begun: BegunCall, result: i32) {
        let BegunCall { ring, request: TakenRequest { id, call, moved, .. }, .. } = begun;
        if let Some(moved) = moved {
            ring.move_out(id, moved);
        }
        self.finish_in_ring(id, result, &call, &[]);
    }

    /// Sends files to a socket of the client's thread `tid`, the first one last. Returns the socket, which is to be closed.
    fn send_files(
        &self,
        file: &ClientFile,
        tid: u32,
        number: u32,
        work: &FdWork,
    ) -> Result<HeldFile, Errno> {
        let charge = file.another_charge()?;
        let socket = file.take_file(tid, number, charge, self.pool.clone())?;
        let to = socket.descriptor().ok_or(Errno::EBADF)?;
        let (first, others) = work.install.split_first().ok_or(Errno::EINVAL)?;
        let files = others.iter().chain([first]);
        let files = files.filter_map(|file| file.inner::<HeldFile>()?.descriptor());
        client_files::send(to, files).map_err(|error| {
            tracing::debug!(tid, %error, "files were not sent");
            Errno::EBADF
        })?;
        Ok(socket)
    }

    /// Goes on with a call whose thread has taken the files.
    fn take_numbers(&self, begun: BegunCall, batch: &mut Batch) -> Option<IoRequest> {
        let BegunCall { file, ring, request: TakenRequest { id, moved, .. } } = begun;
        let MovedFdWork { request: from, call, work } = *moved?;
        let FdWork { key, install, .. } = *work;
        let numbers = ring.read_numbers(id, install.len())?;
        let request = RequestContext { unique: id.to_unique(), ..from };
        let to = new_call(batch, &file, request, &call);
        let finish: DeviceWork = Box::new(move |state| {
            let memory = &mut state.clients;
            state.frontend.finish_moved_fd_work(from.unique, to, key, numbers, memory);
        });
        let left = self.bring(&file, &ring, id, Job::WorkFor(request.caller(), finish), batch);
        self.io_queue.push(IoRequest::Close(fd_task::held_files(install).collect()));
        left
    }
}
