//! Notices that memory is short, and passes it on to the housekeeper.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use binder_os::MemoryPressure;

use crate::shared::SessionShared;

/// A shortage that goes on is heard of this often at most.
const PAUSE: Duration = Duration::from_millis(250);

/// The thread that listens.
pub(crate) struct PressureThread {
    thread: JoinHandle<()>,
    pressure: Arc<MemoryPressure>,
}

impl PressureThread {
    /// Starts the listener of a session.
    pub(crate) fn start(shared: &Arc<SessionShared>) -> io::Result<Self> {
        let pressure = Arc::new(MemoryPressure::watch()?);
        let sources: Vec<_> = pressure.sources().collect();
        tracing::debug!(?sources, "what tells that memory is short");
        let (kept, heard) = (shared.clone(), pressure.clone());
        let listen = move || loop {
            match heard.wait(PAUSE) {
                Ok(true) => kept.housekeeping.note_pressure(),
                Ok(false) => return,
                Err(error) => {
                    // Pages that are idle for long go back all the same.
                    tracing::warn!(%error, "a shortage of memory is not heard of any more");
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("pressure".into()).spawn(listen)?;
        Ok(Self { thread, pressure })
    }

    /// Ends it and waits for its end.
    pub(crate) fn stop(self) {
        self.pressure.stop();
        if self.thread.join().is_err() {
            tracing::error!("the listener met a bug");
        }
    }
}
