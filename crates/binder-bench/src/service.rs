//! The server of a bench, behind handle 0 of the device.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use binder_os::BinderClient;
use binder_uapi::{
    BC_ACQUIRE, BC_INCREFS, BC_REQUEST_FREEZE_NOTIFICATION, BINDER_TYPE_HANDLE, BinderHandleCookie,
    FlatBinderObject,
};
use zerocopy::FromBytes;

use crate::actor::Actor;
use crate::affinity;
use crate::error::{BenchError, failed};
use crate::session::DriverSession;

/// Answers with the bytes of the call.
pub(crate) const ECHO: u32 = 1;
/// Keeps the object of the call for ever, and answers with its handle.
pub(crate) const KEEP: u32 = 2;
/// Has completions of replies ride along from here on, if the first byte of the call is not 0.
pub(crate) const DEFER: u32 = 3;
/// Answers with the object whose handle, here, is the data of the call.
pub(crate) const LEND: u32 = 4;
/// The same as [`KEEP`], and is told when the owner of the object is frozen or thawed.
pub(crate) const WATCH: u32 = 5;
/// Answers with the object that was kept last.
pub(crate) const LEND_LAST: u32 = 6;
/// The handle that stands for an object that did not arrive as one.
pub(crate) const NO_HANDLE: u32 = 0;

/// How often to try for the role of context manager, a millisecond apart: the process that had it
/// may have been ended a moment ago.
const TRIES: u32 = 2000;

/// Starts a server with several threads, which does nothing but echo, and waits until it serves.
pub(crate) fn start_threads(
    device: &Path,
    threads: u32,
    open: OpenSession,
) -> Result<Actor, BenchError> {
    let mut server = Actor::start("binder server", |link| {
        let session = open(device)?;
        become_context_manager(session.client())?;
        link.answer(&())?;
        let sessions = (0..threads).map(|_| session.for_another_thread());
        serve_in_threads(sessions, |mut session| serve(&mut session))
    })?;
    server.expect_ready()?;
    Ok(server)
}

/// In a server: serves each client, or each seat at a device, in a thread of its own until one of them
/// fails, and returns why that did.
pub(crate) fn serve_in_threads<S: Send + 'static>(
    served: impl IntoIterator<Item = S>,
    serve: impl Fn(S) -> Result<Infallible, BenchError> + Clone + Send + 'static,
) -> Result<(), BenchError> {
    let (told, outcomes) = mpsc::channel();
    for one in served {
        let (serve, told) = (serve.clone(), told.clone());
        let thread = thread::Builder::new().spawn(move || {
            // The process ends with the first that is told.
            let _ = told.send(serve(one));
        });
        thread.map_err(failed("starting a thread"))?;
    }
    drop(told);
    match outcomes.recv() {
        Ok(outcome) => match outcome? {},
        Err(_) => Err(BenchError::System {
            tried: "serving".into(),
            source: io::Error::other("a thread panicked"),
        }),
    }
}

/// How a process of a bench opens the device.
pub(crate) type OpenSession = fn(&Path) -> Result<DriverSession, BenchError>;

/// Starts the server and waits until it serves.
pub(crate) fn start(device: &Path, core: Option<usize>) -> Result<Actor, BenchError> {
    start_with(device, core, DriverSession::open)
}

/// The same, for a server that opens the device in this way.
pub(crate) fn start_with(
    device: &Path,
    core: Option<usize>,
    open: OpenSession,
) -> Result<Actor, BenchError> {
    let mut server = Actor::start("binder server", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        let mut session = open(device)?;
        become_context_manager(session.client())?;
        // A call may bring a file, which stays: to close it is no part of a round trip.
        let raised = binder_os::processes::raise_open_file_limit();
        raised.map_err(failed("raising the limit of open files"))?;
        link.answer(&())?;
        match serve(&mut session)? {}
    })?;
    server.expect_ready()?;
    Ok(server)
}

/// Makes a process the owner of handle 0, as soon as no other process is.
pub(crate) fn become_context_manager(server: &BinderClient) -> Result<(), BenchError> {
    let mut tries = 0;
    loop {
        match server.become_context_manager_with_files() {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && tries < TRIES => {
                tries += 1;
                thread::sleep(Duration::from_millis(1));
            }
            result => return result.map_err(failed("becoming the context manager")),
        }
    }
}

fn serve(session: &mut DriverSession) -> Result<Infallible, BenchError> {
    session.enter_looper();
    let mut data = Vec::new();
    let mut last_kept = NO_HANDLE;
    loop {
        let call = session.next_call(&mut data)?;
        if call.code == DEFER {
            let is_wanted = data.first().is_some_and(|byte| *byte != 0);
            let asked = session.client().defer_completions(is_wanted);
            asked.map_err(failed("asking for deferred completions"))?;
        }
        if [LEND, LEND_LAST].contains(&call.code) {
            let named = u32::read_from_bytes(&data).unwrap_or(NO_HANDLE);
            let handle = if call.code == LEND { named } else { last_kept };
            let object = FlatBinderObject::from_handle(BINDER_TYPE_HANDLE, 0, handle);
            session.reply_object(&call, &object)?;
            continue;
        }
        if ![KEEP, WATCH].contains(&call.code) {
            // They go back as they came, and close when they are on their way.
            let files = session.files_of(&call)?;
            let offsets = session.offsets_of(&call)?;
            session.reply_with(&call, &data, &offsets)?;
            drop(files);
            continue;
        }
        let handle = handle_of(&data);
        if handle != NO_HANDLE {
            last_kept = handle;
            session.push(BC_INCREFS, &handle);
            session.push(BC_ACQUIRE, &handle);
            if call.code == WATCH {
                let cookie = handle.into();
                session
                    .push(BC_REQUEST_FREEZE_NOTIFICATION, &BinderHandleCookie { handle, cookie });
            }
        }
        session.reply(&call, &handle.to_ne_bytes())?;
    }
}

/// Returns the handle that the data is.
fn handle_of(data: &[u8]) -> u32 {
    let object = FlatBinderObject::read_from_bytes(data).ok();
    let handle = object.filter(|object| object.kind == BINDER_TYPE_HANDLE);
    handle.map_or(NO_HANDLE, |object| object.handle())
}

#[cfg(test)]
mod tests {
    use binder_uapi::BINDER_TYPE_BINDER;
    use zerocopy::IntoBytes;

    use super::*;

    #[test]
    fn only_a_handle_is_kept() {
        let object = |kind| FlatBinderObject::from_handle(kind, 0, 7);
        assert_eq!(handle_of(object(BINDER_TYPE_HANDLE).as_bytes()), 7);
        assert_eq!(handle_of(object(BINDER_TYPE_BINDER).as_bytes()), NO_HANDLE);
        assert_eq!(handle_of(b"sh"), NO_HANDLE);
    }
}
