//! A second reader, for when the first is stuck.
//!
//! One thread answers all requests; with two, every other request would cost a switch between them.
//! But the one may be stuck: it touches client memory, and a page of that may be served by this very
//! file system. So another thread stands by. Called, it reads and answers requests for as long as the
//! first does not come back. It may then sleep in a read that finds nothing, and answers the request
//! that ends it: that does no harm, and is why nobody else is given this duty.

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use crate::session::Shared;

/// What the reserve is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    StandBy,
    /// Read while the first reader is where it was at this step.
    Read(u64),
    End,
}

/// How the reserve is called.
#[derive(Debug)]
pub(crate) struct Bell {
    order: Mutex<Order>,
    changed: Condvar,
}

impl Default for Bell {
    fn default() -> Self {
        Self { order: Mutex::new(Order::StandBy), changed: Condvar::new() }
    }
}

impl Bell {
    /// Calls the reserve: the first reader is stuck at `step`.
    pub(crate) fn ring(&self, step: u64) {
        self.give(Order::Read(step));
    }

    fn give(&self, order: Order) {
        if let Ok(mut place) = self.order.lock()
            && *place != Order::End
        {
            *place = order;
            self.changed.notify_one();
        }
    }

    /// Waits to be called. `None` is the end.
    fn wait(&self) -> Option<u64> {
        let order = self.order.lock().ok()?;
        let is_idle = |order: &mut Order| *order == Order::StandBy;
        let mut order = self.changed.wait_while(order, is_idle).ok()?;
        match *order {
            Order::StandBy | Order::End => None,
            Order::Read(step) => {
                *order = Order::StandBy;
                Some(step)
            }
        }
    }
}

/// The thread that stands by.
pub(crate) struct Reserve {
    thread: JoinHandle<()>,
    shared: Arc<Shared>,
}

impl Reserve {
    /// Starts the reserve of a session.
    pub(crate) fn start(shared: &Arc<Shared>) -> io::Result<Self> {
        let kept = shared.clone();
        let stand_by = move || {
            let mut buffer = Vec::new();
            while let Some(step) = kept.bell.wait() {
                while kept.watch.is_at(step) && kept.answer_one_request(&mut buffer) {}
            }
        };
        let thread = thread::Builder::new().name("reserve".into()).spawn(stand_by)?;
        Ok(Self { thread, shared: shared.clone() })
    }

    /// Ends it and waits for its end, which comes once the file system is unmounted.
    pub(crate) fn stop(self) {
        self.shared.bell.give(Order::End);
        if self.thread.join().is_err() {
            tracing::error!("the reserve met a bug");
        }
    }
}
