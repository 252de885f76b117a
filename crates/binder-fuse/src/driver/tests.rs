//! What a bug leaves of a driver.

use super::*;
use crate::calls::Check;
use crate::client;
use crate::descriptors::mappings;
use crate::mapping::{ReceiveBuffer, Route};
use crate::memory_op::IoQueueLen;
use crate::pids::Pids;
use crate::process_handles::ProcessHandles;
use crate::quota::Account;
use binder_core::{Commands, Outcome};
use binder_os::{FileId, proc_files};
use binder_uapi::BinderWriteRead;

/// A driver with one device, and no mount: what it answers goes nowhere.
fn driver() -> Driver {
    let fuse = Arc::new(FuseDevice::open().expect("/dev/fuse can be opened"));
    let left = IoQueue::counted_by(Arc::<IoQueueLen>::default());
    let threads = Arc::new(ThreadWatch::new().expect("there are descriptors left"));
    let options = Options::default();
    let (runners, diversions, alarm) = (Arc::default(), Arc::default(), Arc::default());
    let mut driver = Driver::new(fuse, &options, runners, diversions, left, alarm, threads);
    driver.run(Job::AddDevice { device: 0, name: "binder".into() });
    driver
}

/// Opens the device for this very process.
fn open(driver: &mut Driver) -> ProcessKey {
    let payer = Account { pid: std::process::id(), uid: 0 };
    let pids = Pids::of_this_process().expect("/proc is there");
    let opener = client::identify(&[payer.pid], payer.uid, &pids, "label").expect("it is ours");
    let buffer = ReceiveBuffer::new(Route::Store, &driver.fuse, 1).expect("there is memory");
    let known = ProcessHandles::get(payer).expect("it is ours");
    let mapping = mappings().take(payer, 1).expect("there are mappings left");
    let device = proc_files::DeviceNumber { major: 0, minor: 0 };
    let client = Client::new(known, FileId { device, inode: 1 }, buffer, false, mapping);
    driver.open(0, opener, client).expect("there is no limit")
}

fn asker(process: ProcessKey, unique: u64) -> RequestContext {
    let tid = std::process::id();
    RequestContext { unique, device: 0, process, tid, uid: 0, argument: 0, is_compat: false }
}

/// Has the process sleep in a read.
fn sleep(driver: &mut Driver, process: ProcessKey, unique: u64) {
    let asker = asker(process, unique);
    let caller = driver.caller(&asker).expect("it is the opener");
    let Device { context, clients, calls, .. } = &mut driver.devices[0];
    // A thread returns from its first call at once.
    context.note_call(&caller);
    let mut request = BinderWriteRead { read_size: 256, ..BinderWriteRead::default() };
    let mut none = Commands::none(&request);
    let mut run = context.write_read(&caller, &mut request, &mut none, clients);
    // The beginning of what it reads into.
    if let Ok(Outcome::CopyOut(beginning)) = run {
        run = context.finish_copy_out(beginning, Ok(()), &mut request, clients);
    }
    let Ok(Outcome::Park(thread)) = run else { panic!("there is nothing to read: {run:?}") };
    let state = CallState::Asleep(thread, Check::Fresh);
    calls.insert(Call { state, ..Call::new(asker, request) });
}

#[test]
fn a_bug_ends_the_open_file_that_met_it_and_no_other() {
    let mut driver = driver();
    let (unlucky, other) = (open(&mut driver), open(&mut driver));
    sleep(&mut driver, unlucky, 2);
    sleep(&mut driver, other, 4);
    driver.run(Job::Bug(asker(unlucky, 6)));
    let Device { context, clients, calls, .. } = &driver.devices[0];
    assert!(clients.get(unlucky).is_none() && calls.get(2).is_none());
    assert!(clients.get(other).is_some() && calls.get(4).is_some());
    assert_eq!(context.snapshot().processes.len(), 1);
    assert_eq!(driver.caller(&asker(unlucky, 8)).err(), Some(Errno::EINVAL));
    assert!(driver.caller(&asker(other, 10)).is_ok());
}
