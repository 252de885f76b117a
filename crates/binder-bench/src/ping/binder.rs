//! Two processes and a binder device.

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use binder_os::BinderClient;

use super::caller::{self, Echo};
use crate::actor::Actor;
use crate::affinity;
use crate::error::{BenchError, failed};

/// What the server is asked to do, the only thing it can.
const ECHO: u32 = 1;

/// How often to try for the role of context manager, a millisecond apart: the process that had it
/// may have been ended a moment ago.
const TRIES: u32 = 2000;

pub(super) fn start(device: &Path, core: Option<usize>) -> Result<(Actor, Actor), BenchError> {
    let open = || {
        core.map_or(Ok(()), affinity::pin_self)?;
        BinderClient::open(device).map_err(failed(format!("opening {}", device.display())))
    };
    let mut server = Actor::start("binder server", |link| {
        let server = open()?;
        become_context_manager(&server)?;
        link.answer(&())?;
        match server.serve(|call| call.data).map_err(failed("serving calls"))? {}
    })?;
    server.expect_ready()?;
    let client = Actor::start("binder client", |link| caller::play(link, &mut open()?))?;
    Ok((client, server))
}

impl Echo for BinderClient {
    fn round_trip(&mut self, message: &[u8], reply: &mut Vec<u8>) -> Result<(), BenchError> {
        *reply = self.call(ECHO, message)?;
        Ok(())
    }
}

fn become_context_manager(server: &BinderClient) -> Result<(), BenchError> {
    let mut tries = 0;
    loop {
        match server.become_context_manager() {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && tries < TRIES => {
                tries += 1;
                thread::sleep(Duration::from_millis(1));
            }
            result => return result.map_err(failed("becoming the context manager")),
        }
    }
}
