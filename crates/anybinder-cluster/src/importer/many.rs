//! A service with many instances: calls go to those that are within reach, and the others are tried again.
//!
//! One thread decides, from what it is told: by the manager, by a thread for each instance that is being connected to, and
//! by sessions that end.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use binder::SpIBinder;
use binder::transport::driver::DriverDevice;
use service_manager::Balancing;

use super::wanted::WantedInstances;
use super::{FoundInstance, MachineFiles, connect, nothing, parse, register, tell_calls};
use crate::balance::{BalancedInstance, BalancedProxy, InstanceKey};
use crate::importers::{CALLS_ASKED, ImportSource, READ_AGAIN};
use crate::options::{ClusterError, failed};

/// A service that has been found is given up once each of its instances has failed this often in a row: some seconds in which
/// machines may come back, without its clients having to look for it again.
const FAILURES_MAX: u32 = 4;

/// What the deciding thread is told.
enum ImportEvent {
    /// The manager has said something.
    Told(String),
    /// The manager is gone.
    ManagerGone,
    /// An instance was tried.
    Tried(InstanceKey, Result<Box<FoundInstance>, ClusterError>),
    /// An instance that was called is gone.
    Lost(InstanceKey),
}

/// Stands for the service until the manager is gone, or no instance is within reach.
pub(super) fn run(
    files: MachineFiles,
    device: &DriverDevice,
    balancing: Balancing,
    sources: Vec<ImportSource>,
) -> Result<(), ClusterError> {
    let (sender, events) = channel();
    listen(sender.clone())?;
    let mut wanted = WantedInstances::default();
    wanted.want(sources, Instant::now());
    let proxy = Arc::new(BalancedProxy::new(balancing));
    let import = ManyImport { files, device, proxy, wanted, sender, is_registered: false };
    import.follow(&events)
}

/// Passes on what the manager says.
fn listen(events: Sender<ImportEvent>) -> Result<(), ClusterError> {
    let listen = move || {
        let told = io::stdin().lines().map_while(Result::ok).map(ImportEvent::Told);
        let all = told.chain([ImportEvent::ManagerGone]);
        // It may have ended meanwhile.
        all.map(|event| events.send(event)).take_while(Result::is_ok).for_each(drop);
    };
    start_thread("listener", listen)
}

fn start_thread(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), ClusterError> {
    let started = thread::Builder::new().name(name.into()).spawn(run);
    started.map(drop).map_err(failed("starting a thread"))
}

struct ManyImport<'a> {
    files: MachineFiles,
    device: &'a DriverDevice,
    proxy: Arc<BalancedProxy>,
    wanted: WantedInstances,
    sender: Sender<ImportEvent>,
    is_registered: bool,
}

impl ManyImport<'_> {
    fn follow(mut self, events: &Receiver<ImportEvent>) -> Result<(), ClusterError> {
        loop {
            for source in self.wanted.take_due(Instant::now()) {
                self.try_instance(source)?;
            }
            match self.next(events) {
                None => {}
                Some(ImportEvent::ManagerGone) => return Ok(()),
                Some(ImportEvent::Told(line)) => self.take_line(&line)?,
                Some(ImportEvent::Tried(key, found)) => self.take_found(key, found)?,
                Some(ImportEvent::Lost(key)) => {
                    tracing::info!(address = %key.0, "an instance is gone");
                    self.proxy.retain(|it| *it != key);
                    self.wanted.note_failed(&key, Instant::now());
                }
            }
            let times = if self.is_registered { FAILURES_MAX } else { 1 };
            if self.wanted.have_all_failed(times) {
                return Err(nothing());
            }
        }
    }

    /// The next event, or `None` once an instance is to be tried.
    fn next(&self, events: &Receiver<ImportEvent>) -> Option<ImportEvent> {
        // There is always a sender: its own.
        match self.wanted.next_due() {
            None => events.recv().ok(),
            Some(due) => events.recv_timeout(due.saturating_duration_since(Instant::now())).ok(),
        }
    }

    fn try_instance(&self, source: ImportSource) -> Result<(), ClusterError> {
        let (files, events) = (self.files.clone(), self.sender.clone());
        let connect = move || {
            let found = connect(&files, &source).map(Box::new);
            // It may have ended meanwhile.
            let _ = events.send(ImportEvent::Tried(source.key, found));
        };
        start_thread("connector", connect)
    }

    fn take_line(&mut self, line: &str) -> Result<(), ClusterError> {
        match line {
            CALLS_ASKED => tell_calls(&self.proxy.counts()),
            READ_AGAIN => {
                self.files.read_again();
                Ok(())
            }
            line => {
                self.wanted.want(parse(line)?, Instant::now());
                self.proxy.retain(|key| self.wanted.wants(key));
                Ok(())
            }
        }
    }

    fn take_found(
        &mut self,
        key: InstanceKey,
        found: Result<Box<FoundInstance>, ClusterError>,
    ) -> Result<(), ClusterError> {
        if !self.wanted.is_connecting(&key) {
            return Ok(());
        }
        match found.and_then(|found| self.watch(&key, found)) {
            Ok(instance) => {
                self.proxy.add(instance);
                self.wanted.note_connected(&key);
            }
            Err(error) => {
                let failures = self.wanted.note_failed(&key, Instant::now());
                if failures == 1 {
                    tracing::warn!(address = %key.0, %error, "an instance is not within reach");
                } else {
                    tracing::info!(address = %key.0, %error, failures, "it is not yet");
                }
                return Ok(());
            }
        }
        if !self.is_registered {
            register(
                &self.files.options,
                self.device,
                &SpIBinder::from_remote(self.proxy.clone()),
            )?;
            self.is_registered = true;
        }
        Ok(())
    }

    /// An instance whose end is told.
    fn watch(
        &self,
        key: &InstanceKey,
        found: Box<FoundInstance>,
    ) -> Result<BalancedInstance, ClusterError> {
        let (events, lost) = (self.sender.clone(), key.clone());
        // It may have ended meanwhile.
        let tell = move || drop(events.send(ImportEvent::Lost(lost.clone())));
        let recipient = found.watch(tell)?;
        let (object, counts) = (found.object.clone(), Arc::clone(&found.counts));
        let kept = Box::new((recipient, found));
        BalancedInstance::new(key.clone(), &object, counts, kept).ok_or(()).map_err(|()| nothing())
    }
}
