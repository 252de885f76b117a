//! Checks of an [`IHost`]. Each library compiles them for itself: the module above says whose names these are.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::{env, thread};

use super::{
    Heard, IHost, ILLEGAL_ARGUMENT, ParcelFileDescriptor, SERVICE_SPECIFIC, Strong, Visitor, ping,
};
use crate::container::{CALLER_PID, CALLER_UID};
use crate::outcome::{Outcome, expect};

type Check = fn(&Strong<dyn IHost>) -> Outcome;

/// Makes every kind of call once or more.
///
/// # Errors
///
/// What the first wrong answer was.
pub fn check(host: &Strong<dyn IHost>) -> Outcome {
    let checks: [(&str, Check); 10] = [
        ("data goes there and back", check_data),
        ("a large array goes there and back", check_large_data),
        ("the driver names the caller", check_identity),
        ("one-way calls arrive in order", check_order),
        ("the host knows its own objects", check_host_objects),
        ("my object comes back as itself", check_own_object),
        ("calls nest on one thread", check_nesting),
        ("one-way callbacks arrive in order", check_callbacks),
        ("threads call at the same time", check_threads),
        ("errors arrive as they were raised", check_errors),
    ];
    for (what, run) in checks {
        run(host).map_err(|error| format!("{what}: {error}"))?;
    }
    Ok(())
}

fn check_data(host: &Strong<dyn IHost>) -> Outcome {
    ping(host)?;
    expect("greeting", host.greet("Zoe \u{1f980}")?, "Hello, Zoe \u{1f980}!")?;
    expect("greeting of nobody", host.greet("")?, "Hello, !")?;
    expect("numbers", host.reverse(&[1, -2, i32::MAX])?, [i32::MAX, -2, 1])?;
    expect("no numbers", host.reverse(&[])?, [])?;
    let words = ["one".to_owned(), String::new(), "three".to_owned()];
    expect("words", host.shout(&words)?, ["ONE", "", "THREE"])
}

fn check_large_data(host: &Strong<dyn IHost>) -> Outcome {
    // Eight clients share the 1 MiB of the host's mapping, and a buffer may be freed late.
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(60_001).collect();
    if host.mirror(&bytes)? != bytes {
        return Err("the mirrored bytes differ".into());
    }
    Ok(())
}

fn check_identity(host: &Strong<dyn IHost>) -> Outcome {
    // In a container, whose /proc is that of the machine, this is our number outside of it.
    let own_pid = || Ok::<_, io::Error>(std::fs::read_link("/proc/self")?.display().to_string());
    let pid = env::var(CALLER_PID).or_else(|_| own_pid())?;
    let uid = env::var(CALLER_UID).unwrap_or_else(|_| rustix::process::getuid().to_string());
    expect("pid", host.callerPid()?.to_string(), pid)?;
    expect("uid", host.callerUid()?.to_string(), uid)
}

fn check_order(host: &Strong<dyn IHost>) -> Outcome {
    let session = host.openSession("order")?;
    for number in 0..100 {
        session.post(number)?;
    }
    expect("posted", session.awaitPosted(100)?, (0..100).collect::<Vec<i32>>())
}

fn check_host_objects(host: &Strong<dyn IHost>) -> Outcome {
    let red = host.openSession("red")?;
    let blue = host.openSession("blue")?;
    if red.as_binder() == blue.as_binder() {
        return Err("two sessions have one handle".into());
    }
    expect("name", red.name()?, "red")?;
    expect("name", blue.name()?, "blue")?;
    expect("recognised", host.recognise(&blue)?.as_deref(), Some("blue"))?;
    expect("recognised", host.recognise(&red)?.as_deref(), Some("red"))?;
    let again = host.giveBack(&red.as_binder())?;
    expect("a handle sent there and back is the same", again == red.as_binder(), true)
}

fn check_own_object(host: &Strong<dyn IHost>) -> Outcome {
    let (visitor, _heard) = Visitor::new_binder(host);
    let object = visitor.as_binder();
    let back = host.giveBack(&object)?;
    expect("remote", back.is_remote(), false)?;
    expect("same object", back == object, true)
}

fn check_nesting(host: &Strong<dyn IHost>) -> Outcome {
    let (visitor, heard) = Visitor::new_binder(host);
    expect("calls", host.nest(host, &visitor, 7)?, 7)?;
    // A thread that waits for a reply takes the calls that its own call causes.
    let threads: Vec<Heard> = heard.try_iter().collect();
    expect("threads", &threads[..], [Heard::NestedOn(thread::current().id()); 4])
}

fn check_callbacks(host: &Strong<dyn IHost>) -> Outcome {
    let (visitor, heard) = Visitor::new_binder(host);
    host.tell(&visitor, 50)?;
    (0..50).try_for_each(|number| expect("told", heard.recv()?, Heard::Number(number)))
}

fn check_threads(host: &Strong<dyn IHost>) -> Outcome {
    thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|caller| {
                scope.spawn(move || {
                    (0..25).try_for_each(|call| {
                        let name = format!("{caller}.{call}");
                        let greeting = host.greet(&name).map_err(|error| error.to_string())?;
                        if greeting == format!("Hello, {name}!") {
                            Ok(())
                        } else {
                            Err(format!("thread {caller} got {greeting:?}"))
                        }
                    })
                })
            })
            .collect();
        for caller in callers {
            caller.join().map_err(|_| "a caller panicked")??;
        }
        Ok(())
    })
}

fn check_errors(host: &Strong<dyn IHost>) -> Outcome {
    let error = host.refuse(-77, "not today").expect_err("it always fails");
    expect("exception", error.exception_code(), SERVICE_SPECIFIC)?;
    expect("error", error.service_specific_error(), -77)?;
    expect("reason", error.message(), Some("not today"))?;
    let error = host.reject("bad name").expect_err("it always fails");
    expect("exception", error.exception_code(), ILLEGAL_ARGUMENT)?;
    expect("reason", error.message(), Some("bad name"))
}

/// Passes files both ways.
///
/// # Errors
///
/// What the first wrong answer was.
pub fn check_files(host: &Strong<dyn IHost>) -> Outcome {
    let lent = host.lend("from the host")?;
    let mut text = String::new();
    File::from(OwnedFd::from(lent)).read_to_string(&mut text)?;
    expect("text in the lent pipe", text, "from the host")?;

    let (mut reader, writer) = io::pipe()?;
    host.fill(&ParcelFileDescriptor::new(OwnedFd::from(writer)), "to the client")?;
    let mut text = String::new();
    reader.read_to_string(&mut text)?;
    expect("text in my pipe", text, "to the client")
}
