//! Calls that end although they are not answered.

use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use binder_rpc::{ProtocolVersion, special};

use super::awaited::{answer, begin, begin_echo, echoed, one_connection};
use super::raw::{Raw, call_bytes, code_of};
use super::service::*;
use crate::interface::FLAG_ONEWAY;
use crate::transport::rpc::RpcSession;
use crate::transport::rpc::endpoint::unix_address;
use crate::{IBinder, SpIBinder, StatusCode, with_timeout};

const MOMENT: Duration = Duration::from_millis(20);

fn wait_for_a_moment(binder: &SpIBinder) -> Option<StatusCode> {
    with_timeout(MOMENT, || call(binder, WAIT, 0, |_| Ok(()))).err()
}

fn remaining(binder: &SpIBinder) -> i32 {
    call(binder, REMAINING, 0, |_| Ok(())).and_then(|reply| read_number(&reply)).expect("a number")
}

#[test]
fn callers_that_stop_waiting_leave_a_connection_to_the_next() {
    let (view, server, name) = start(|server| server.set_max_threads(4));
    let (session, root) = connect(&name, |_| {});
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(wait_for_a_moment(&root), Some(StatusCode::TIMED_OUT)));
        }
    });
    // All four still run at the server.
    assert_eq!(echo(&root, b"next"), Ok(b"next".to_vec()));
    (0..4).for_each(|_| view.gate.send(()).expect("they wait"));
    assert_eq!(echo(&root, b"goes on"), Ok(b"goes on".to_vec()));
    assert_eq!((session.ended(), server.sessions()), (None, 1));
    wait_until(|| session.objects() == (0, 1));
}

#[test]
fn awaited_calls_that_are_dropped_leave_a_connection_to_the_next() {
    let (view, _server, name) = start(|server| server.set_max_threads(4));
    let (_session, root) = connect(&name, |_| {});
    let calls: Vec<_> = (0..4).map(|_| begin(&root, WAIT, 0, |_| Ok(()))).collect();
    let queued = begin_echo(&root, b"queued");
    drop(calls);
    assert_eq!(echoed(answer(queued)), Ok(b"queued".to_vec()));
    assert_eq!(echo(&root, b"next"), Ok(b"next".to_vec()));
    (0..4).for_each(|_| view.gate.send(()).expect("they wait"));
}

#[test]
fn a_connection_that_was_handed_over_serves_again_when_the_late_answer_has_come() {
    let (view, _server, name) = start(|_| {});
    let session = RpcSession::new();
    session.set_max_outgoing_connections(1);
    let socket = || Some(Raw::connect(&name).0.into());
    let root = session.connect_preconnected(socket).expect("a server");
    assert_eq!(wait_for_a_moment(&root), Some(StatusCode::TIMED_OUT));
    assert_eq!(with_timeout(MOMENT, || echo(&root, b"early")), Err(StatusCode::TIMED_OUT));
    view.gate.send(()).expect("it waits");
    assert_eq!(echo(&root, b"late"), Ok(b"late".to_vec()));
}

#[test]
fn awaited_calls_end_in_time_whether_they_were_sent_or_not() {
    let (view, _server, name) = start(|_| {});
    let (session, root) = connect(&name, one_connection);
    let ours = service();
    let alone = Arc::strong_count(&ours.service);
    let held = begin(&root, WAIT, 0, |_| Ok(()));
    let queued = begin(&root, KEEP, 0, |data| {
        data.set_deadline(Instant::now().checked_add(MOMENT));
        data.write_binder(Some(&ours.binder))
    });
    assert_eq!(answer(queued).err(), Some(StatusCode::TIMED_OUT));
    assert_eq!(Arc::strong_count(&ours.service), alone, "it was not sent");
    view.gate.send(()).expect("it waits");
    assert!(answer(held).is_ok());
    let sent = begin(&root, WAIT, 0, |data| {
        data.set_deadline(Instant::now().checked_add(MOMENT));
        Ok(())
    });
    assert_eq!(answer(sent).err(), Some(StatusCode::TIMED_OUT));
    assert_eq!(echoed(answer(begin_echo(&root, b"next"))), Ok(b"next".to_vec()));
    view.gate.send(()).expect("it waits");
    view.wait_until_done();
    assert_eq!(session.ended(), None);
}

#[test]
fn a_server_knows_how_long_its_caller_waits() {
    let minute = Duration::from_secs(60);
    let about_a_minute = 30_000..=60_000;
    let (_view, _server, name) = start(|_| {});
    let (_session, root) = connect(&name, |_| {});
    assert_eq!(remaining(&root), -1);
    assert!(about_a_minute.contains(&with_timeout(minute, || remaining(&root))));
    assert!(about_a_minute.contains(&remaining(&root.clone().with_timeout(minute))));
    let shorter = with_timeout(minute, || remaining(&root.clone().with_timeout(2 * minute)));
    assert!(about_a_minute.contains(&shorter));
    assert_eq!(remaining(&root), -1);
    let local = service().binder;
    assert_eq!(remaining(&local), -1);
    assert!(about_a_minute.contains(&with_timeout(minute, || remaining(&local))));

    let (_session, root) = connect(&name, |session| session.set_call_timeout(minute));
    let awaited = answer(begin(&root, REMAINING, 0, |_| Ok(()))).expect("an answer");
    assert!(about_a_minute.contains(&read_number(&awaited).expect("a number")));
    assert!(about_a_minute.contains(&remaining(&root)));
}

#[test]
fn words_of_a_peer_that_has_not_asked_mean_nothing() {
    let (_view, _server, name) = start(|_| {});
    let mut raw = Raw::open(&name);
    raw.ask_for_root();
    let remaining = |raw: &mut Raw| {
        let text: Vec<u8> = DESCRIPTOR.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let units = u32::try_from(text.len() / 2).expect("short");
        let mut token = [&units.to_le_bytes()[..], &text].concat();
        token.resize((token.len() + 2).next_multiple_of(4), 0);
        let mut call = call_bytes([3, 0], 0, 0);
        let bytes = u32::try_from(token.len()).expect("short");
        call[4..8].copy_from_slice(&(40 + bytes).to_le_bytes());
        call[24..28].copy_from_slice(&REMAINING.to_le_bytes());
        call[40..44].copy_from_slice(&bytes.to_le_bytes());
        // A minute, in microseconds.
        call[44..52].copy_from_slice(&60_000_000_u64.to_le_bytes());
        call.extend(token);
        raw.send(&call);
        // What is given back comes before.
        raw.receive(16 + 16);
        let answer = raw.receive(16 + 20 + 4);
        i32::from_le_bytes(answer[36..].try_into().expect("four bytes"))
    };
    assert_eq!(remaining(&mut raw), -1);
    let mut question = call_bytes([0, 0], 0, 0);
    question[24..28].copy_from_slice(&special::GET_EXTENSIONS.to_le_bytes());
    raw.send(&question);
    assert_eq!(raw.receive(16 + 20 + 8)[36..], special::Extensions::ALL.answer());
    assert!((30_000..=60_000).contains(&remaining(&mut raw)));
}

#[test]
fn a_peer_that_knows_no_deadlines_is_sent_none() {
    let (near, far) = UnixStream::pair().expect("a pair");
    let server = thread::spawn(move || {
        let mut raw = Raw(far);
        raw.serve_opening();
        let unknown = StatusCode::UNKNOWN_TRANSACTION.code();
        assert_eq!(code_of(&raw.answer_next(unknown, &[])), special::GET_EXTENSIONS);
        // Asked once.
        [(); 2].map(|()| {
            let call = raw.answer_next(0, &[]);
            assert_eq!(call[44..], [0; 12], "reserved words of Android's protocol");
            code_of(&call)
        })
    });
    let mut near = Some(near.into());
    let session = RpcSession::new();
    session.set_protocol_version(ProtocolVersion::V1);
    session.set_call_timeout(HANG_TIMEOUT);
    let root = session.connect_preconnected(move || near.take()).expect("a server");
    assert_eq!([root.ping_binder(), root.ping_binder()], [Ok(()), Ok(())]);
    let ping = u32::from_be_bytes(*b"_PNG");
    assert_eq!(server.join().expect("no panic"), [ping, ping]);
}

#[test]
fn a_server_that_leaves_a_further_connection_unanswered_is_not_waited_for() {
    let name = format!("\0anybinder-silent-{}", std::process::id());
    let address = unix_address(name.as_ref()).expect("a name");
    let listener = UnixListener::bind_addr(&address).expect("a free name");
    let server = thread::spawn(move || {
        let accept = || {
            let (socket, _) = listener.accept().expect("a client");
            socket.set_read_timeout(Some(HANG_TIMEOUT)).expect("a timeout");
            Raw(socket)
        };
        let mut first = accept();
        first.serve_opening();
        let mut further = accept();
        further.receive(16 + 40);
        let call = further.receive(16 + 40);
        assert_eq!(code_of(&call), special::GET_MAX_THREADS);
        further.wait_for_the_end();
    });
    let session = RpcSession::new();
    session.set_protocol_version(ProtocolVersion::V1);
    session.set_handshake_timeout(Duration::from_millis(200));
    let root = session.connect_unix(&name).expect("a server");
    for _ in 0..2 {
        assert_eq!(with_timeout(MOMENT, || root.ping_binder()), Err(StatusCode::TIMED_OUT));
    }
    server.join().expect("no panic");
}

#[test]
fn a_call_back_ends_in_time_and_the_call_around_it_is_answered() {
    let (view, _server, name) = start(|_| {});
    let (session, root) = connect(&name, one_connection);
    let ours = service();
    thread::scope(|scope| {
        let called = scope.spawn(|| {
            call(&root, CALL_BACK_IN_TIME, 0, |data| data.write_binder(Some(&ours.binder)))
        });
        let status = view.noted.recv_timeout(HANG_TIMEOUT);
        assert_eq!(status, Ok(StatusCode::TIMED_OUT.code()));
        ours.gate.send(()).expect("it waits");
        assert!(called.join().expect("no panic").is_ok());
    });
    assert_eq!(echo(&root, b"goes on"), Ok(b"goes on".to_vec()));
    wait_until(|| session.objects() == (0, 1));
}

#[test]
fn a_message_for_which_there_is_no_room_in_time_is_sent_to_its_end() {
    let (view, _server, name) = start(|_| {});
    for flags in [0, FLAG_ONEWAY] {
        let (session, root) = connect(&name, one_connection);
        // Known, so that the large call is the next message.
        with_timeout(HANG_TIMEOUT, || root.ping_binder()).expect("an answer");
        // Until this has run the server does not read.
        call(&root, WAIT, FLAG_ONEWAY, |_| Ok(())).expect("sent");
        view.wait_until_waiting();
        let large = with_timeout(MOMENT, || {
            call(&root, ECHO, flags, |data| {
                write_number(data, 500_000)?;
                data.write_with(|writer| writer.raw(&[1; 500_000]));
                Ok(())
            })
        });
        assert_eq!(large.err(), Some(StatusCode::TIMED_OUT));
        view.gate.send(()).expect("it waits");
        assert_eq!(echo(&root, b"next"), Ok(b"next".to_vec()));
        assert_eq!(session.ended(), None);
    }
}

#[test]
fn a_deadline_that_has_passed_sends_nothing() {
    let (view, _server, name) = start(|_| {});
    let (_session, root) = connect(&name, |_| {});
    let late = with_timeout(Duration::ZERO, || note(&root, 1));
    assert_eq!(late, Err(StatusCode::TIMED_OUT));
    let late = with_timeout(Duration::ZERO, || call(&root, NOTE, 0, |data| write_number(data, 2)));
    assert_eq!(late.err(), Some(StatusCode::TIMED_OUT));
    note(&root, 3).expect("sent");
    assert_eq!(view.noted.recv_timeout(HANG_TIMEOUT), Ok(3));
}
