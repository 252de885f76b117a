//! Whether threads under seccomp filters may have a ring, and lanes: their programs make system calls of their own then, which a filter may
//! refuse, or end the program for.
//!
//! The kernel shows filters of a thread that is stopped. So a thread that asks for a ring is stopped on its way out of that ioctl, by a pool
//! thread.

use std::sync::Arc;

use binder_core::Errno;
use binder_os::ThreadStatus;
use binder_os::injection::{self, Answered, StoppedThread};
use binder_os::seccomp::{LibraryCalls, SeccompFilter};
use fuse_wire::reply;

use crate::blocking_pool::WorkStart;
use crate::client_file::ClientFile;
use crate::fd_work::is_supervised;
use crate::filter_verdict::FilterVerdict;
use crate::shared::SessionShared;
use crate::wire::send;

/// More filters than any thread has: none of them keeps a thread from being stopped, for it makes no call of ours.
const ANY_FILTERS: u32 = u32::MAX;

impl SessionShared {
    /// What the filters of a thread let pass, of the process that has a file open.
    ///
    /// # Errors
    ///
    /// The thread's status if they have not been read.
    pub(super) fn filter_verdict(
        &self,
        file: &ClientFile,
        tid: u32,
    ) -> Result<FilterVerdict, ThreadStatus> {
        let usual = self.supervision.client_filters();
        // One that has ended needs no answer.
        let status = ThreadStatus::of(tid).ok().filter(|status| status.filters > usual);
        let Some(status) = status else { return Ok(FilterVerdict::OF_USUAL_FILTERS) };
        let known = file.filter_verdict();
        if status.filters > known.filters { Err(status) } else { Ok(known) }
    }

    /// Has the filters of a thread read, which asks for a ring, and hears what follows from them.
    pub(super) fn read_filters(
        &self,
        unique: u64,
        file: &Arc<ClientFile>,
        tid: u32,
        status: ThreadStatus,
    ) {
        let (session, file) = (self.this.clone(), file.clone());
        self.pool.run_for_request(file.payer(), unique, move |start| {
            let Some(shared) = session.upgrade() else { return };
            match start {
                WorkStart::OnPool => shared.judge_filters(unique, &file, tid, &status),
                WorkStart::Killed => shared.refuse(unique, Errno::EPERM),
            }
        });
    }

    fn judge_filters(&self, unique: u64, file: &ClientFile, tid: u32, status: &ThreadStatus) {
        let mut is_answered = false;
        let stopped = StoppedThread::stop(tid, status, ANY_FILTERS, || {
            is_answered = true;
            send(&self.fuse, &reply::ioctl(unique, injection::REPEAT_ALWAYS, &[]));
            Answered::Itself
        });
        let mut stopped = match stopped {
            Ok(stopped) => stopped,
            // A debugger has it.
            Err(_) if !is_answered => {
                let verdict = FilterVerdict::of_unknown(status.filters);
                file.note_filter_verdict(verdict);
                return self.refuse(unique, verdict.answer());
            }
            // It has ended.
            Err(_) => return,
        };
        let verdict = match stopped.filters() {
            Ok(filters) => FilterVerdict::of(status.filters, |calls| allow(&filters, tid, calls)),
            Err(error) => {
                tracing::debug!(tid, %error, "the program's seccomp filters are not shown");
                let of_world = self.verdict_of_world(tid, status.filters, &mut stopped);
                of_world.unwrap_or(FilterVerdict::of_unknown(status.filters))
            }
        };
        file.note_filter_verdict(verdict);
        // It does not ask once more: to repeat a call takes another one on some processors, which a filter may refuse.
        stopped.finish(-verdict.answer().number());
    }

    /// What the filters of a stopped thread let pass if the supervisor has seen all that its world's threads have.
    fn verdict_of_world(
        &self,
        tid: u32,
        filters: u32,
        stopped: &mut StoppedThread,
    ) -> Option<FilterVerdict> {
        let verdict = self.supervision.trap_handler()?.installed_filters().verdict(filters);
        // One that may have a filter against rings is not asked: that takes a call which rings take as well.
        let is_of_world = !verdict.allows_rings || is_supervised(self, tid, stopped);
        is_of_world.then_some(verdict)
    }
}

fn allow(filters: &[SeccompFilter], tid: u32, calls: LibraryCalls) -> bool {
    let refused = filters.iter().find_map(|filter| filter.first_refused(calls));
    if let Some(call) = refused {
        tracing::debug!(tid, call, ?calls, "a seccomp filter does not let this system call pass");
    }
    refused.is_none()
}
