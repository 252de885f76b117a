//! Calls without a thread that waits.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::service::*;
use crate::interface::FLAG_ONEWAY;
use crate::transport::rpc::{Ending, FileDescriptorTransportMode, RpcSession, SessionLimits};
use crate::transport::{CallStart, Object, Parcel, PendingReply, TransactionCode};
use crate::{DeathRecipient, IBinder, SpIBinder, StatusCode};

/// Wakes a thread that is parked.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

pub(super) type Answer = Result<Parcel, StatusCode>;

/// Waits for an answer with this thread.
pub(super) fn answer(reply: PendingReply) -> Answer {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut reply = pin!(reply);
    let start = Instant::now();
    loop {
        if let Poll::Ready(answer) = reply.as_mut().poll(&mut Context::from_waker(&waker)) {
            return answer;
        }
        assert!(start.elapsed() < HANG_TIMEOUT, "it never came");
        thread::park_timeout(HANG_TIMEOUT);
    }
}

/// Begins a call whose answer does not come at once.
pub(super) fn begin(
    binder: &SpIBinder,
    code: TransactionCode,
    flags: u32,
    write: impl FnOnce(&mut Parcel) -> Result<(), StatusCode>,
) -> PendingReply {
    match begun(binder, code, flags, write) {
        CallStart::Pending(reply) => reply,
        CallStart::Finished(answer) => Box::pin(std::future::ready(answer)),
        CallStart::MustBlock(_) => unreachable!("this thread serves no call"),
    }
}

fn begun(
    binder: &SpIBinder,
    code: TransactionCode,
    flags: u32,
    write: impl FnOnce(&mut Parcel) -> Result<(), StatusCode>,
) -> CallStart {
    let Object::Remote(object) = binder.object() else {
        unreachable!("a proxy");
    };
    let mut data = Parcel::for_codec(object.codec());
    data.write_interface_token(DESCRIPTOR).expect("a short name");
    write(&mut data).expect("room");
    Arc::clone(object).begin_transact(code, data, flags)
}

pub(super) fn begin_echo(binder: &SpIBinder, bytes: &[u8]) -> PendingReply {
    begin(binder, ECHO, 0, |data| {
        write_number(data, i32::try_from(bytes.len()).expect("short"))?;
        data.write_with(|writer| writer.raw(bytes));
        Ok(())
    })
}

pub(super) fn echoed(answer: Answer) -> Result<Vec<u8>, StatusCode> {
    let reply = answer?;
    let length = usize::try_from(read_number(&reply)?).expect("a length");
    reply.read_with(|reader| reader.raw(length).map(<[u8]>::to_vec))
}

pub(super) fn one_connection(session: &RpcSession) {
    session.set_max_outgoing_connections(1);
}

#[test]
fn calls_wait_for_a_connection_in_their_order() {
    let (view, _server, name) = start(|_| {});
    let (session, root) = connect(&name, one_connection);
    let first = begin(&root, WAIT, 0, |_| Ok(()));
    let others: Vec<_> = (0..100_u8).map(|number| begin_echo(&root, &[number; 3])).collect();
    let notes: Vec<_> = (0..100)
        .map(|number| begin(&root, NOTE, FLAG_ONEWAY, |data| write_number(data, number)))
        .collect();
    view.gate.send(()).expect("it waits");
    assert!(answer(first).is_ok());
    for (number, other) in (0..).zip(others) {
        assert_eq!(echoed(answer(other)), Ok(vec![number; 3]));
    }
    for (number, noted) in (0..).zip(notes) {
        assert!(answer(noted).is_ok());
        assert_eq!(view.noted.recv_timeout(HANG_TIMEOUT), Ok(number));
    }
    assert_eq!(echo(&root, b"blocking"), Ok(b"blocking".to_vec()));
    wait_until(|| session.objects() == (0, 1));
}

#[test]
fn threads_and_awaited_calls_share_a_connection() {
    let (_view, _server, name) = start(|_| {});
    let (_session, root) = connect(&name, one_connection);
    thread::scope(|scope| {
        for caller in 0..3_u8 {
            let root = &root;
            scope.spawn(move || {
                for call in 0..200_u8 {
                    assert_eq!(echo(root, &[caller, call]), Ok(vec![caller, call]));
                }
            });
            scope.spawn(move || {
                for call in 0..50_u8 {
                    let calls: Vec<_> = (0..4).map(|it| begin_echo(root, &[call, it])).collect();
                    for (it, reply) in (0..).zip(calls) {
                        assert_eq!(echoed(answer(reply)), Ok(vec![call, it]));
                    }
                }
            });
        }
    });
}

#[test]
fn a_call_that_is_dropped_under_way_is_drained() {
    let (view, _server, name) = start(|_| {});
    let (session, root) = connect(&name, one_connection);
    drop(begin(&root, WAIT, 0, |_| Ok(())));
    // Its answer names an object.
    let dropped = begin(&root, CHILD, 0, |_| Ok(()));
    view.gate.send(()).expect("it waits");
    wait_until(|| view.children() == 1);
    drop(dropped);
    assert_eq!(echo(&root, b"after it"), Ok(b"after it".to_vec()));
    assert_eq!(echoed(answer(begin_echo(&root, b"too"))), Ok(b"too".to_vec()));
    view.wait_until_childless();
    wait_until(|| session.objects() == (0, 1));
}

#[test]
fn a_call_that_is_dropped_before_it_was_sent_is_not_made() {
    let (view, _server, name) = start(|_| {});
    let (session, root) = connect(&name, one_connection);
    let ours = service();
    let first = begin(&root, WAIT, 0, |_| Ok(()));
    let note = |number| begin(&root, NOTE, 0, |data| write_number(data, number));
    let (never, then) = (note(1), note(2));
    let kept = begin(&root, KEEP, 0, |data| data.write_binder(Some(&ours.binder)));
    assert_eq!(session.objects(), (1, 1));
    drop((never, kept));
    assert_eq!(session.objects(), (0, 1), "what its parcel named is taken back");
    view.gate.send(()).expect("it waits");
    assert!(answer(first).is_ok() && answer(then).is_ok());
    assert_eq!(view.noted.recv_timeout(HANG_TIMEOUT), Ok(2));
}

#[test]
fn a_session_that_ends_ends_its_calls() {
    let (view, server, name) = start(|server| server.set_max_threads(2));
    let (session, root) = connect(&name, one_connection);
    let calls = [begin(&root, WAIT, 0, |_| Ok(())), begin_echo(&root, b"queued")];
    view.wait_until_waiting();
    session.shutdown();
    for call in calls {
        assert_eq!(answer(call).err(), Some(StatusCode::DEAD_OBJECT));
    }
    let late = begun(&root, ECHO, 0, |_| Ok(()));
    assert!(matches!(late, CallStart::Finished(Err(StatusCode::DEAD_OBJECT))));
    view.gate.send(()).expect("it waits");
    view.wait_until_done();

    // The other side ends it, and a death recipient makes calls when it is told.
    let (_session, root) = connect(&name, |session| {
        one_connection(session);
        session.set_max_incoming_threads(1);
    });
    let (again, name_again) = (root.clone(), name.clone());
    let (tell, told) = std::sync::mpsc::channel();
    let recipient = DeathRecipient::new(move || {
        tell.send((again.ping_binder(), RpcSession::new().connect_unix(&name_again).is_err()))
            .expect("the test listens");
    });
    root.link_to_death(&recipient).expect("a connection for it");
    let calls = [begin(&root, WAIT, 0, |_| Ok(())), begin_echo(&root, b"queued")];
    view.wait_until_waiting();
    thread::scope(|scope| {
        scope.spawn(|| server.shutdown().expect("from outside of calls"));
        for call in calls {
            assert_eq!(answer(call).err(), Some(StatusCode::DEAD_OBJECT));
        }
        assert_eq!(told.recv_timeout(HANG_TIMEOUT), Ok((Err(StatusCode::DEAD_OBJECT), true)));
        view.gate.send(()).expect("it waits");
    });
}

#[test]
fn a_session_ends_although_a_dropped_call_is_under_way() {
    let (view, _server, name) = start(|_| {});
    let (session, root) = connect(&name, |_| {});
    let awaited = begin(&root, WAIT, 0, |_| Ok(()));
    drop((session, root));
    let ours = service();
    let (session, root) = connect(&name, |_| {});
    // The first call keeps its session as long as it is awaited.
    assert_eq!(echoed(answer(begin_echo(&root, b"another"))), Ok(b"another".to_vec()));
    view.gate.send(()).expect("it waits");
    assert!(answer(awaited).is_ok());

    let alone = Arc::strong_count(&ours.service);
    call(&root, KEEP, 0, |data| data.write_binder(Some(&ours.binder))).expect("kept");
    let awaited = begin(&root, WAIT, 0, |_| Ok(()));
    drop((session, root));
    assert_eq!(Arc::strong_count(&ours.service), alone + 1, "the session holds what it sent");
    drop(awaited);
    assert_eq!(Arc::strong_count(&ours.service), alone, "the session is over");
    view.gate.send(()).expect("it waits");
}

#[test]
fn calls_back_are_served_while_others_are_read() {
    let (view, _server, name) = start(|_| {});
    let (session, root) = connect(&name, one_connection);
    let (_other_view, _other_server, other_name) = start(|_| {});
    let (_other_session, other) = connect(&other_name, one_connection);
    let ours = service();
    view.service.kept.lock().expect("no panic").push(view.binder.clone());
    ours.service.kept.lock().expect("no panic").push(ours.binder.clone());
    for _ in 0..3 {
        // Ten calls within each other; the reader serves those to us.
        let nested = begin(&root, PING_PONG, 0, |data| {
            write_number(data, 10)?;
            data.write_binder(Some(&ours.binder))
        });
        assert_eq!(answer(nested).and_then(|reply| read_number(&reply)), Ok(10));
        // One that takes its time.
        let slow = begin(&root, CALL_BACK_TO_WAIT, 0, |data| data.write_binder(Some(&ours.binder)));
        for _ in 0..3 {
            assert_eq!(echoed(answer(begin_echo(&other, b"now"))), Ok(b"now".to_vec()));
        }
        ours.gate.send(()).expect("it waits");
        assert!(answer(slow).is_ok());
    }
    view.service.kept.lock().expect("no panic").clear();
    ours.service.kept.lock().expect("no panic").clear();
    assert_eq!(root.ping_binder(), Ok(()));
    wait_until(|| session.objects() == (0, 1));
}

#[test]
fn a_message_for_which_there_is_no_room_does_not_keep_its_sender() {
    let (view, _server, name) = start(|_| {});
    let (_session, root) = connect(&name, one_connection);
    let bytes: Vec<u8> = (0..500_000).map(|n: i32| n.to_le_bytes()[0]).collect();
    for flags in [0, FLAG_ONEWAY] {
        // Until this has run the server does not read.
        answer(begin(&root, WAIT, FLAG_ONEWAY, |_| Ok(()))).expect("sent");
        let start = Instant::now();
        let large = begin(&root, ECHO, flags, |data| {
            write_number(data, 500_000)?;
            data.write_with(|writer| writer.raw(&bytes));
            Ok(())
        });
        let next = begin_echo(&root, b"next");
        assert!(start.elapsed() < SessionLimits::default().max_stall);
        view.gate.send(()).expect("it waits");
        let large = answer(large);
        assert!(large.is_ok());
        if flags == 0 {
            assert_eq!(echoed(large).as_ref(), Ok(&bytes));
        }
        assert_eq!(echoed(answer(next)), Ok(b"next".to_vec()));
    }
}

#[test]
fn files_go_with_awaited_calls_even_if_there_is_no_room() {
    let mode = FileDescriptorTransportMode::Unix;
    let (view, _server, name) =
        start(|server| server.set_supported_file_descriptor_transport_modes(&[mode]));
    let (_session, root) = connect(&name, |session| {
        one_connection(session);
        session.set_file_descriptor_transport_mode(mode);
    });
    let file = std::fs::File::open("/proc/self/status").expect("a file");
    let lent = || {
        use std::os::fd::AsFd;
        begin(&root, FILE, 0, |data| data.write_file(file.as_fd()))
    };
    assert!(answer(lent()).and_then(|reply| reply.read_file()).is_ok());
    answer(begin(&root, WAIT, FLAG_ONEWAY, |_| Ok(()))).expect("sent");
    // Fills the socket: one-way calls that the server does not read yet.
    let full: Vec<_> = (0..8)
        .map(|_| {
            begin(&root, ECHO, FLAG_ONEWAY, |data| {
                write_number(data, 0)?;
                data.write_with(|writer| writer.raw(&[0; 50_000]));
                Ok(())
            })
        })
        .collect();
    let last = lent();
    view.gate.send(()).expect("it waits");
    assert!(full.into_iter().all(|sent| answer(sent).is_ok()));
    assert!(answer(last).and_then(|reply| reply.read_file()).is_ok());
}

#[test]
fn a_peer_that_reads_nothing_ends_awaited_calls_too() {
    let (view, server, name) = start(|_| {});
    let (session, root) = connect(&name, |session| {
        one_connection(session);
        session.set_limits(SessionLimits {
            max_stall: Duration::from_millis(100),
            ..SessionLimits::default()
        });
    });
    // Until this has run the server does not read.
    answer(begin(&root, WAIT, FLAG_ONEWAY, |_| Ok(()))).expect("sent");
    let large = begin(&root, ECHO, 0, |data| {
        write_number(data, 500_000)?;
        data.write_with(|writer| writer.raw(&[0; 500_000]));
        Ok(())
    });
    let next = begin_echo(&root, b"queued");
    assert_eq!(answer(large).err(), Some(StatusCode::DEAD_OBJECT));
    assert_eq!(answer(next).err(), Some(StatusCode::DEAD_OBJECT));
    assert!(matches!(session.ended(), Some(Ending::Unread { unsent: 1.., .. })));
    view.gate.send(()).expect("it waits");
    wait_until(|| server.sessions() == 0);
}
