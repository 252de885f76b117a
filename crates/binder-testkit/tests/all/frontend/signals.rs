//! Signals that come while a call waits for what no signal ends.

use binder_testkit::{CoreRig, Mode, Progress, Stage, commands};
use rustix::io::Errno;

use super::actor::{manager, message};

#[test]
fn a_signal_during_descriptor_work_ends_the_read_that_would_sleep_after_it() {
    let stage = Stage::new(Box::new(CoreRig::default()));
    let core = stage.rig().core().expect("a rig on the core");
    let (m, p) = (manager(&stage), stage.party());
    // A file that comes cannot be installed: there is nothing to read after all.
    stage.rig().descriptors().limit_descriptors(m.host(), 1);
    m.park();
    core.hold_fd_work();
    p.write(commands().oneway(0, message()));
    stage.rig().interrupt(m.caller().thread);
    assert!(m.is_parked(), "it waits for its files");
    core.let_fd_work_go();
    assert_eq!(stage.rig().settle(m.caller().thread), Progress::Done(Err(Errno::INTR)));
    // The signal is handled: the next read sleeps.
    m.park();
    stage.tear_down();
}

#[test]
fn a_signal_while_returns_are_written_does_not_lose_them() {
    let stage = Stage::new(Box::new(CoreRig::default()));
    let core = stage.rig().core().expect("a rig on the core");
    let (m, p) = (manager(&stage), stage.party());
    m.park();
    core.hold_windows();
    p.start(p.writing(&commands().oneway(0, message().flags(0))));
    assert!(core.pass_window(), "the one-way is sent");
    stage.rig().interrupt(m.caller().thread);
    assert!(m.is_parked(), "its returns are on their way");
    core.let_windows_pass();
    let call = m.woken_by_call();
    assert_eq!(m.data(&call)[..4], *b"some");
    m.set_mode(Mode::Nonblocking);
    stage.tear_down();
}
