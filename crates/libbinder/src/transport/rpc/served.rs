//! Connections on which the peer calls: each has a thread while it is in use, and none while it is idle.
//!
//! A thread that serves a connection waits there for the next call, by the system call that brings it. When none comes for
//! a while it leaves the connection to the [reader], and when something comes there, the thread that
//! happens to read goes on with it.

use std::fmt;
use std::sync::Arc;

use binder_rpc::Ending;

use super::connection::Connection;
use super::reader::{self, ConnectionWatcher, Until};
use super::shared::SharedSession;

/// The listener for threads that serve a connection.
pub(super) trait ServingHost: Send + Sync {
    /// This thread begins to serve, also again.
    fn begin(&self);

    /// It stops, for now or for good; what `begin` has changed of the thread is as before.
    fn stop(&self);

    /// The connection is over, as is perhaps its session.
    fn end(&self, session: &Arc<SharedSession>, ending: Ending);
}

/// A connection on which the peer calls, but for the connection itself.
pub(super) struct ServedConnection {
    session: Arc<SharedSession>,
    host: Box<dyn ServingHost>,
}

impl ServedConnection {
    pub(super) fn new(session: Arc<SharedSession>, host: Box<dyn ServingHost>) -> Box<Self> {
        Box::new(Self { session, host })
    }

    /// Serves the connection with this thread until it is idle.
    pub(super) fn serve(self: Box<Self>, mut connection: Box<Connection>) {
        // It runs code of the program, for as long as that likes.
        reader::step_down();
        self.host.begin();
        loop {
            connection = match self.session.serve_connection(connection) {
                Ok(idle) => idle,
                Err(ending) => {
                    self.host.end(&self.session, ending);
                    return self.host.stop();
                }
            };
            // Without a thread that reads, this one waits on.
            if let Some(reader) = reader::appoint() {
                connection.rest();
                self.host.stop();
                // All that had come was read.
                return reader.watch(connection, ConnectionWatcher::Served(self), Until::Ready);
            }
        }
    }

    /// Ends the session.
    pub(super) fn fail(&self, ending: Ending) {
        self.host.begin();
        self.host.end(&self.session, ending);
        self.host.stop();
    }
}

impl fmt::Debug for ServedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Served").field(&self.session).finish()
    }
}
