//! Threads that are on their way to the supervisor, and what they come for.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use binder_core::{ProcessKey, SuspendedCallKey};
use binder_frontend::RequestContext;
use binder_uapi::BinderWriteRead;

use crate::client_file::ClientFile;
use crate::files::HeldFile;
use crate::quota::Account;
use crate::tree::DeviceId;

/// A thread that is on its way to the supervisor.
pub(crate) struct ExpectedCall {
    pub(crate) file: Arc<ClientFile>,
    pub(crate) request: RequestContext,
    pub(crate) call: BinderWriteRead,
    pub(crate) work: SuspendedCallKey,
    pub(crate) files: Vec<HeldFile>,
}

impl ExpectedCall {
    /// The account that pays for the work.
    pub(crate) fn payer(&self) -> Account {
        self.file.payer_of(&self.request)
    }
}

/// Threads that are expected at the supervisor.
#[derive(Default)]
pub(crate) struct ExpectedCalls {
    /// By their numbers.
    expected: Mutex<HashMap<u32, Expected>>,
    /// How many there are, for a look without the lock. A thread is expected before it can call again.
    count: AtomicUsize,
}

enum Expected {
    Call(Box<ExpectedCall>),
    /// It asks whether the supervisor is there.
    Question,
}

impl ExpectedCalls {
    /// Takes what a thread comes for that gives `argument` as the address of its struct.
    pub(crate) fn take(&self, tid: u32, argument: u64) -> Option<ExpectedCall> {
        self.with_expected(|expected| match expected.remove(&tid)? {
            Expected::Call(call) if call.request.argument == argument => Some(*call),
            other => {
                expected.insert(tid, other);
                None
            }
        })
    }

    /// Forgets a thread that has ended, or makes another call instead.
    pub(crate) fn forget(&self, tid: u32) -> Option<ExpectedCall> {
        // Mostly no thread is expected, and a lock is saved with each call.
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        match self.with_expected(|expected| expected.remove(&tid))? {
            Expected::Call(call) => Some(*call),
            Expected::Question => None,
        }
    }

    /// Forgets the threads of a process, and returns the requests that they were to have answered.
    pub(crate) fn forget_process(&self, device: DeviceId, process: ProcessKey) -> Vec<u64> {
        let is_its = |expected: &Expected| match expected {
            Expected::Call(call) => {
                (call.file.device.id, call.request.process) == (device, process)
            }
            Expected::Question => false,
        };
        let gone: Vec<_> =
            self.with_expected(|expected| expected.extract_if(|_, it| is_its(it)).collect());
        let unique = |expected| match expected {
            Expected::Call(call) => Some(call.request.unique),
            Expected::Question => None,
        };
        gone.into_iter().filter_map(|(_, expected): (u32, _)| unique(expected)).collect()
    }

    /// Expects the question of a thread, until it is forgotten.
    pub(crate) fn expect_question(&self, tid: u32) {
        self.with_expected(|expected| expected.insert(tid, Expected::Question));
    }

    /// Whether a thread was to ask.
    pub(crate) fn is_asking(&self, tid: u32) -> bool {
        self.with_expected(|expected| matches!(expected.get(&tid), Some(Expected::Question)))
    }

    pub(crate) fn expect(&self, call: ExpectedCall) {
        let tid = call.request.tid;
        let call = Expected::Call(Box::new(call));
        self.with_expected(|expected| expected.insert(tid, call));
    }

    fn with_expected<T>(&self, work: impl FnOnce(&mut HashMap<u32, Expected>) -> T) -> T {
        let mut expected = self.expected.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let result = work(&mut expected);
        self.count.store(expected.len(), Ordering::Release);
        result
    }
}
