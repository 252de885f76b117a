//! Idle sessions.

use binder::transport::rpc::RpcSession;
use binder::{IBinder, SpIBinder};
use binder_testkit::wait_until;

use crate::server::{Server, may_open};

const SESSIONS: usize = 1000;
const MAX_THREADS: u64 = 8;
const MAX_KIB: u64 = 32 << 10;

#[test]
fn a_thousand_idle_sessions_cost_a_server_few_threads_and_little_memory() {
    if !may_open(8 * SESSIONS as u64) {
        return;
    }
    let name = format!("crowds-idle-{}", std::process::id());
    let server = Server::start(&name, Some(2 * SESSIONS));
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|_| {
            let session = RpcSession::new();
            session.set_max_outgoing_connections(1);
            let root = session.connect_unix(format!("\0{name}")).expect("room");
            (session, root)
        })
        .collect();
    wait_until(|| server.status("Threads") <= MAX_THREADS);
    let idle = server.status("VmRSS");
    println!("{} threads, {idle} KiB", server.status("Threads"));
    assert!(idle <= MAX_KIB, "{idle} KiB");
    assert!(sessions.iter().all(|(_, root)| root.ping_binder() == Ok(())));
    wait_until(|| server.status("Threads") <= MAX_THREADS);
    let again = server.status("VmRSS");
    println!("{} threads, {again} KiB", server.status("Threads"));
    assert!(again <= MAX_KIB, "{again} KiB");
    // Of those that were busy few have a thread still.
    let is_busy = |(_, root): &(_, SpIBinder)| (0..300).all(|_| root.ping_binder() == Ok(()));
    assert!(sessions[..20].iter().all(is_busy));
    wait_until(|| server.status("Threads") <= MAX_THREADS);
    println!("{} threads", server.status("Threads"));
    assert!(sessions.iter().all(|(_, root)| root.ping_binder() == Ok(())));
}
