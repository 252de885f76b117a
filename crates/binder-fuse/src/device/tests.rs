//! What a bug leaves of a device.

use binder_core::Errno;
use binder_frontend::{Action, Answer, Call, CallingThread, IoctlData, RequestContext};
use binder_os::{FileId, FuseDevice, SteadyClock, proc_files};
use binder_uapi::{BINDER_VERSION, BINDER_WRITE_READ, BinderWriteRead};
use zerocopy::IntoBytes;

use super::*;
use crate::client::Client;
use crate::descriptors::mappings;
use crate::mapping::{ReceiveBuffer, Route};
use crate::opener;
use crate::pids::Pids;
use crate::process_handles::ProcessHandles;
use crate::quota::Account;

/// A device without a mount: what it answers is seen here only.
struct UnmountedDevice {
    device: Arc<Device>,
    fuse: Arc<FuseDevice>,
}

impl UnmountedDevice {
    fn new() -> Self {
        Self::with_clock(None)
    }

    /// The same, whose things are dated by `clock`.
    fn with_clock(clock: Option<SteadyClock>) -> Self {
        let fuse = Arc::new(FuseDevice::open().expect("/dev/fuse can be opened"));
        let clients = Clients::new(fuse.clone(), Arc::default());
        let budget = MemoryBudget::new(1 << 20);
        let forget_expected = Box::new(|_| Vec::new());
        let (context, inheritance) = (Context::new(), Inheritance::Nothing);
        let state = DeviceState::new(context, clients, budget, forget_expected, inheritance, clock);
        Self { device: Arc::new(Device::new(0, "binder".into(), state)), fuse }
    }

    /// Opens the device for this very process.
    fn open(&self) -> ProcessKey {
        let payer = Account { pid: std::process::id(), uid: 0 };
        let pids = Pids::of_this_process().expect("/proc is there");
        let opener = opener::identify(&[payer.pid], payer.uid, &pids, "label").expect("it is ours");
        let buffer = ReceiveBuffer::new(Route::Store, &self.fuse, 1).expect("there is memory");
        let known = ProcessHandles::get(payer).expect("it is ours");
        let mapping = mappings().take(payer, 1).expect("there are mappings left");
        let id = FileId { device: proc_files::DeviceNumber { major: 0, minor: 0 }, inode: 1 };
        let file = Arc::new(ClientFile::new(self.device.clone(), known, id, None, false));
        let mut state = self.device.lock();
        let opened = state.frontend.open(opener, file.clone(), false, None);
        let process = opened.expect("there is no limit");
        state.clients.insert(process, Client { file, buffer, _mapping: mapping });
        process
    }

    /// Has a job run. Returns the actions that follow.
    fn run(&self, job: Job) -> Batch {
        let mut batch = Batch::default();
        self.device.run(Some(job), &mut batch);
        batch
    }

    fn ioctl(&self, process: ProcessKey, unique: u64, command: u32, bytes: &[u8]) -> Batch {
        let data = IoctlData::new(bytes).expect("a struct of the driver's");
        let call = Call::new(request(process, unique), data).into();
        self.run(Job::Event(Event::Ioctl { call, thread: CallingThread::default(), command }))
    }

    /// How a call to the device ends.
    fn call(&self, process: ProcessKey, unique: u64) -> Answer {
        let batch = self.ioctl(process, unique, BINDER_VERSION, &[0; 4]);
        answer(&batch, unique).expect("it is answered at once")
    }

    /// Has the process sleep in a read.
    fn sleep(&self, process: ProcessKey, unique: u64) {
        // A thread returns from its first read at once, unless it called before.
        assert_eq!(self.call(process, unique + 1), Answer::Done);
        let read = BinderWriteRead { read_size: 256, ..BinderWriteRead::default() };
        let mut batch = self.ioctl(process, unique, BINDER_WRITE_READ, read.as_bytes());
        // The beginning of what it reads is written.
        while let Some(Action::Access { access, .. }) = batch.actions.pop() {
            batch = self.run(Job::Event(Event::Accessed(access)));
        }
        assert!(answer(&batch, unique).is_none(), "there is nothing to read");
    }
}

fn request(process: ProcessKey, unique: u64) -> RequestContext {
    let tid = std::process::id();
    RequestContext { unique, process, tid, uid: 0, argument: 0, is_compat: false }
}

fn answer(batch: &Batch, to: u64) -> Option<Answer> {
    batch.actions.iter().find_map(|action| match action {
        Action::Answer { call, answer } if call.unique() == to => Some(*answer),
        _ => None,
    })
}

#[test]
fn a_bug_ends_the_open_file_that_met_it_and_no_other() {
    let unmounted = UnmountedDevice::new();
    let (unlucky, other) = (unmounted.open(), unmounted.open());
    unmounted.sleep(unlucky, 2);
    unmounted.sleep(other, 4);
    let bug: DeviceWork = Box::new(|_| panic!("this is the bug"));
    let batch = unmounted.run(Job::WorkFor(request(unlucky, 6).caller(), bug));
    assert_eq!(answer(&batch, 2), Some(Answer::Failed(Errno::EIO)));
    assert_eq!(answer(&batch, 4), None, "it sleeps on");
    {
        let mut state = unmounted.device.lock();
        assert!(state.clients.get(unlucky).is_none() && state.clients.get(other).is_some());
        assert!(!state.frontend.interrupt(2), "the call is over");
        assert_eq!(state.frontend.context().snapshot().processes.len(), 1);
    }
    assert_eq!(unmounted.call(unlucky, 8), Answer::Failed(Errno::EINVAL));
    assert_eq!(unmounted.call(other, 10), Answer::Done);
    assert!(unmounted.device.lock().frontend.interrupt(4), "it sleeps still");
}

#[test]
fn how_long_the_lock_is_held_is_noted_where_statistics_are_shown() {
    for (clock, holds) in [(None, 0), (Some(SteadyClock::start()), 2)] {
        let unmounted = UnmountedDevice::with_clock(clock);
        let process = unmounted.open();
        for unique in [2, 4] {
            assert_eq!(unmounted.call(process, unique), Answer::Done);
        }
        let usage = unmounted.device.lock().lock_usage();
        assert_eq!(usage.holds, holds);
        assert_eq!(usage.held_ns > 0, clock.is_some());
    }
}
