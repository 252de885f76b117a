//! Notices threads that end without a word, and processes that leave open files behind.
//!
//! A thread of a client may be killed, or end without `BINDER_THREAD_EXIT`. A caller that waits for its
//! reply is told, and what it was handed goes back to its process. A file of a process that has ended
//! may be open elsewhere, where no process can use it: it ends with its process.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::device::{DeviceState, Job};
use crate::housekeeping::{SPENT_AFTER, give_up_own};
use crate::shared::SessionShared;
use crate::watched::{ThreadName, Watched};

/// The thread that waits for the ends of others.
pub(crate) struct ExitWatcher {
    thread: JoinHandle<()>,
    shared: Arc<SessionShared>,
}

impl ExitWatcher {
    /// Starts the one of a session.
    pub(crate) fn start(shared: &Arc<SessionShared>) -> io::Result<Self> {
        let kept = shared.clone();
        let watch = move || {
            let mut most = None;
            loop {
                match kept.threads.wait(most) {
                    Ok(Some(names)) if names.is_empty() => {
                        give_up_own();
                        most = None;
                    }
                    Ok(Some(names)) => {
                        most = Some(SPENT_AFTER);
                        for name in names {
                            match Watched::from_u64(name) {
                                Watched::Thread(name) => kept.end_named_thread(name),
                                Watched::Process(pid) => kept.end_process(pid),
                            }
                        }
                    }
                    Ok(None) => return,
                    Err(error) => {
                        return tracing::error!(%error, "ends of threads are noticed no more");
                    }
                }
            }
        };
        let thread = thread::Builder::new().name("exit-watcher".into()).spawn(watch)?;
        Ok(Self { thread, shared: shared.clone() })
    }

    /// Ends it and waits for its end.
    pub(crate) fn stop(self) {
        self.shared.threads.stop();
        if self.thread.join().is_err() {
            tracing::error!("the thread that waits for the ends of others met a bug");
        }
    }
}

impl SessionShared {
    /// Ends a thread that was seen to end, unless that is another's name now.
    pub(crate) fn end_named_thread(&self, ThreadName { device, slot, tid }: ThreadName) {
        let Some(device) = self.device_numbered(device) else { return };
        let find = move |state: &mut DeviceState| {
            let found = state.frontend.file_in_slot(slot);
            found.map(|(process, file)| (process, file.clone()))
        };
        if let Some((process, file)) = self.ask(&device, find).flatten() {
            self.end_thread(&file, process, tid);
        }
    }

    /// Ends the open files of a process that was seen to end. Others may have them open still, as children
    /// that inherited them, but no process that may use them.
    ///
    /// Differs from Linux, where they end when the last descriptor is closed.
    fn end_process(&self, pid: u32) {
        for (process, file) in self.device_files(|file| file.pid == pid) {
            if file.has_process_ended() {
                let end = Box::new(move |state: &mut DeviceState| state.end_file(process));
                self.submit(&file.device, Job::Work(end));
            }
        }
    }
}
