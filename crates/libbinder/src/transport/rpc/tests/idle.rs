//! Idle sessions, of which there may be many.

use std::fs;

use super::service::*;
use crate::transport::rpc::RpcSession;
use crate::{IBinder, SpIBinder};

/// Counts the threads of this process that serve connections or read.
fn threads() -> usize {
    let names = fs::read_dir("/proc/self/task").expect("it has threads").filter_map(|task| {
        // It may have ended meanwhile.
        fs::read_to_string(task.ok()?.path().join("comm")).ok()
    });
    names
        .filter(|name| ["rpc-server", "rpc-callbacks", "rpc-reader"].contains(&name.trim()))
        .count()
}

#[test]
fn an_idle_session_has_no_thread_and_answers() {
    let (view, server, name) = start(|server| server.set_max_threads(2));
    let sessions: Vec<(RpcSession, SpIBinder)> =
        (0..50).map(|_| connect(&name, |session| session.set_max_incoming_threads(1))).collect();
    // Other tests of this process have some as well.
    wait_until(|| threads() < 50);
    assert_eq!(server.sessions(), 50);
    for (number, (_, root)) in (0_u8..).zip(&sessions) {
        assert_eq!(echo(root, &[number]), Ok(vec![number]));
    }
    // A call out of the blue, to a client that is idle too.
    let ours = service();
    let root = &sessions[7].1;
    call(root, KEEP, 0, |data| data.write_binder(Some(&ours.binder))).expect("kept");
    wait_until(|| threads() < 50);
    call(&view.binder, NOTIFY, 0, |data| write_number(data, 4)).expect("sent");
    assert_eq!(ours.noted.recv_timeout(HANG_TIMEOUT), Ok(4));
    view.service.kept.lock().expect("no panic").clear();
    // The end of one is noticed, and so is that of a server.
    let mut sessions = sessions;
    sessions.truncate(20);
    wait_until(|| server.sessions() == 20);
    wait_until(|| threads() < 50);
    server.shutdown().expect("from outside of calls");
    wait_until(|| server.sessions() == 0);
    assert!(sessions.iter().all(|(_, root)| root.ping_binder().is_err()));
}
