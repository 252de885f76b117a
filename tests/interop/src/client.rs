//! Checks of an `IHost`, made through our own client library.

#![expect(clippy::unwrap_used, reason = "every check may fail")]

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::thread;

use aidl_tests::aidl::foreign::IHost::IHost;
use binder::{ExceptionCode, IBinder as _, ParcelFileDescriptor, Strong};
use binder_testkit::HANG_TIMEOUT;
use foreign::library::visitor::{Heard, Visitor};

/// Makes every kind of call once or more, but for files.
pub fn check(host: &Strong<dyn IHost>) {
    data(host);
    order(host);
    objects(host);
    nesting(host);
    threads(host);
    errors(host);
}

/// Passes data both ways.
pub fn data(host: &Strong<dyn IHost>) {
    host.as_binder().ping_binder().unwrap();
    assert_eq!(host.greet("Zoe \u{1f980}").unwrap(), "Hello, Zoe \u{1f980}!");
    assert_eq!(host.greet("").unwrap(), "Hello, !");
    assert_eq!(host.reverse(&[1, -2, i32::MAX]).unwrap(), [i32::MAX, -2, 1]);
    assert!(host.reverse(&[]).unwrap().is_empty());
    let words = ["one".to_owned(), String::new(), "three".to_owned()];
    assert_eq!(host.shout(&words).unwrap(), ["ONE", "", "THREE"]);
    for length in [0, 1, 4095, 60_001, 90_000] {
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
        assert_eq!(host.mirror(&bytes).unwrap(), bytes);
    }
}

/// One-ways to one object arrive in their order.
pub fn order(host: &Strong<dyn IHost>) {
    let session = host.openSession("order").unwrap();
    (0..500).for_each(|number| session.post(number).unwrap());
    assert_eq!(session.awaitPosted(500).unwrap(), (0..500).collect::<Vec<i32>>());
}

/// Objects are the same after they have been sent.
pub fn objects(host: &Strong<dyn IHost>) {
    let red = host.openSession("red").unwrap();
    let blue = host.openSession("blue").unwrap();
    assert_ne!(red.as_binder(), blue.as_binder());
    assert_eq!(red.name().unwrap(), "red");
    assert_eq!(host.recognise(&blue).unwrap().as_deref(), Some("blue"));
    assert_eq!(host.recognise(&red).unwrap().as_deref(), Some("red"));
    assert_eq!(host.giveBack(&red.as_binder()).unwrap(), red.as_binder());
    let (visitor, _heard) = Visitor::new_binder(host);
    let back = host.giveBack(&visitor.as_binder()).unwrap();
    assert!(!back.is_remote());
    assert_eq!(back, visitor.as_binder());
}

/// Calls within calls come on the thread that waits.
pub fn nesting(host: &Strong<dyn IHost>) {
    let (visitor, heard) = Visitor::new_binder(host);
    assert_eq!(host.nest(host, &visitor, 7).unwrap(), 7);
    let threads: Vec<Heard> = heard.try_iter().collect();
    assert_eq!(threads, [Heard::NestedOn(thread::current().id()); 4]);
}

/// One-way calls of the host arrive in their order.
pub fn callbacks(host: &Strong<dyn IHost>) {
    let (visitor, heard) = Visitor::new_binder(host);
    host.tell(&visitor, 50).unwrap();
    for number in 0..50 {
        assert_eq!(heard.recv_timeout(HANG_TIMEOUT), Ok(Heard::Number(number)));
    }
}

/// Threads call at the same time.
pub fn threads(host: &Strong<dyn IHost>) {
    thread::scope(|scope| {
        for caller in 0..4 {
            scope.spawn(move || {
                for call in 0..100 {
                    let greeting = host.greet(&format!("{caller}.{call}")).unwrap();
                    assert_eq!(greeting, format!("Hello, {caller}.{call}!"));
                }
            });
        }
    });
}

/// Errors arrive as they were raised.
pub fn errors(host: &Strong<dyn IHost>) {
    let error = host.refuse(-77, "not today").unwrap_err();
    assert_eq!(error.exception_code(), ExceptionCode::SERVICE_SPECIFIC);
    assert_eq!(error.service_specific_error(), -77);
    let error = host.reject("bad name").unwrap_err();
    assert_eq!(error.exception_code(), ExceptionCode::ILLEGAL_ARGUMENT);
    assert!(error.get_description().contains("bad name"), "{}", error.get_description());
}

/// Files go both ways.
pub fn files(host: &Strong<dyn IHost>) {
    let lent = host.lend("from the host").unwrap();
    let mut text = String::new();
    let mut file = File::from(lent.as_ref().try_clone().unwrap());
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "from the host");

    let (mut reader, writer) = io::pipe().unwrap();
    let writer = ParcelFileDescriptor::new(OwnedFd::from(writer));
    host.fill(&writer, "to the client").unwrap();
    drop(writer);
    text.clear();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "to the client");
}
