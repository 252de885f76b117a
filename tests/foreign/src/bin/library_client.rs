//! Calls [`IHost`] through our own library and checks every answer; ends with status 1 at the first wrong one.
//!
//! ```text
//! library_client check        all calls, each way of passing data and objects
//! library_client files        the same for files
//! library_client names        looks services up
//! library_client stay NAME    leaves an object with the host and waits to be killed
//! library_client visit NAME   calls the object left as NAME and waits for its owner's death
//! library_client outlive      waits for the host's death
//! ```

use std::error::Error;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{self, ExitCode};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use aidl_tests::aidl::foreign::IHost::IHost;
use aidl_tests::aidl::foreign::IVisitor::IVisitor;
use binder::transport::rpc::RpcServer;
use binder::{
    Accessor, ConnectionInfo, DeathRecipient, ExceptionCode, IBinder as _, ParcelFileDescriptor,
    ProcessState, ServiceManager, SpIBinder, StatusCode, Strong,
};
use foreign::client::{Outcome, expect};
use foreign::library::visitor::{Heard, Visitor};
use foreign::{HOST_NAME, READY};

type Check = fn(&Strong<dyn IHost>) -> Outcome;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args[..] {
        ["check"] => connect().and_then(|host| check(&host)),
        ["files"] => connect().and_then(|host| check_files(&host)),
        ["names"] => connect().and_then(|host| check_names(&host)),
        ["stay", name] => connect().and_then(|host| stay(&host, name)),
        ["visit", name] => connect().and_then(|host| visit(&host, name)),
        ["outlive"] => connect().and_then(|host| outlive(&host)),
        _ => Err("usage: library_client  check | files | stay NAME | visit NAME | outlive".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("library_client[{}]: {error}", process::id());
            ExitCode::FAILURE
        }
    }
}

fn connect() -> Result<Strong<dyn IHost>, Box<dyn Error>> {
    ProcessState::start_thread_pool();
    Ok(binder::check_interface(HOST_NAME)?)
}

/// Makes every kind of call once or more.
fn check(host: &Strong<dyn IHost>) -> Outcome {
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
    host.as_binder().ping_binder()?;
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
    let pid = rustix::process::getpid().as_raw_pid();
    let uid = rustix::process::getuid().as_raw();
    expect("pid", host.callerPid()?, pid)?;
    expect("uid", u32::try_from(host.callerUid()?)?, uid)
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
    expect("exception", error.exception_code(), ExceptionCode::SERVICE_SPECIFIC)?;
    expect("error", error.service_specific_error(), -77)?;
    expect("reason", error.message(), Some("not today"))?;
    let error = host.reject("bad name").expect_err("it always fails");
    expect("exception", error.exception_code(), ExceptionCode::ILLEGAL_ARGUMENT)?;
    expect("reason", error.message(), Some("bad name"))
}

fn check_files(host: &Strong<dyn IHost>) -> Outcome {
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

/// Asks the service manager for what is there and for what is not.
fn check_names(host: &Strong<dyn IHost>) -> Outcome {
    let nobody = "foreign.INobody/default";
    expect("what is there", binder::check_service(HOST_NAME), Some(host.as_binder()))?;
    expect("what comes", binder::wait_for_service(HOST_NAME), Some(host.as_binder()))?;
    expect("nobody", binder::try_check_service(nobody)?, None)?;
    let missing = binder::check_interface::<dyn IHost>(nobody).err();
    expect("nobody's interface", missing, Some(StatusCode::NAME_NOT_FOUND))?;
    let wrong = binder::check_interface::<dyn IVisitor>(HOST_NAME).err();
    expect("another interface", wrong, Some(StatusCode::BAD_TYPE))?;
    let a_moment = Duration::from_millis(50);
    expect("who never comes", binder::try_wait_for_service(nobody, a_moment)?, None)?;
    expect("declared", binder::is_declared(nobody)?, false)?;
    expect("instances", binder::get_declared_instances("foreign.INobody")?, Vec::<String>::new())?;

    // Somebody who is waited for, and told of by a thread of the pool.
    let name = format!("foreign.IVisitor/{}", process::id());
    let waited_for = name.clone();
    let waiting = thread::spawn(move || binder::wait_for_service(&waited_for));
    thread::sleep(a_moment);
    let (visitor, _heard) = Visitor::new_binder(host);
    binder::add_service(&name, visitor.as_binder())?;
    let found = waiting.join().map_err(|_| "the waiting thread panicked")?;
    expect("who came", found, Some(visitor.as_binder()))?;
    let manager = ServiceManager::of(&ProcessState::device()?)?;
    expect("listed", manager.list()?.contains(&name), true)?;
    check_accessor(host)
}

/// Finds a service behind a socket, of which the service manager knows how to get there.
fn check_accessor(host: &Strong<dyn IHost>) -> Outcome {
    let name = format!("foreign.IVisitor/{}.socket", process::id());
    let address = SocketAddr::from_abstract_name(&name)?;
    let listener = UnixListener::bind_addr(&address)?;
    let (visitor, _heard) = Visitor::new_binder(host);
    let server = RpcServer::new_bound_socket(visitor.as_binder(), listener.into())?;
    server.start()?;
    let accessor = Accessor::new(&name, move |_| Some(ConnectionInfo::Unix(address.clone())));
    binder::add_service(&name, accessor.as_binder().ok_or("an accessor is an object")?)?;
    for found in [binder::check_interface(&name)?, binder::wait_for_interface(&name)?] {
        let found: Strong<dyn IVisitor> = found;
        expect("visitor behind a socket", found.name()?, "visitor")?;
        expect("remote", found.as_binder().is_remote(), true)?;
    }
    Ok(())
}

/// Leaves an object with the host, so that its death can be watched.
fn stay(host: &Strong<dyn IHost>, name: &str) -> Outcome {
    let (visitor, _heard) = Visitor::new_binder(host);
    host.admit(name, &visitor)?;
    println!("{READY}");
    ProcessState::join_thread_pool();
    Err("the device has failed".into())
}

/// Calls another client, waits for its death and hears from the host that it has noticed too.
fn visit(host: &Strong<dyn IHost>, name: &str) -> Outcome {
    let visitor = host.find(name)?.ok_or("the host does not know the visitor")?;
    expect("visitor's name", visitor.name()?, "visitor")?;
    await_death(&visitor.as_binder())?;
    expect(
        "call to the dead",
        visitor.name().map_err(|error| error.transaction_error()),
        Err(StatusCode::DEAD_OBJECT),
    )?;
    host.awaitDeparture(name)?;
    Ok(())
}

/// Waits for the host's death.
fn outlive(host: &Strong<dyn IHost>) -> Outcome {
    await_death(&host.as_binder())?;
    expect(
        "call to the dead",
        host.greet("you").map_err(|error| error.transaction_error()),
        Err(StatusCode::DEAD_OBJECT),
    )
}

/// Links to the death of `object`, says so, and waits for it.
fn await_death(object: &SpIBinder) -> Outcome {
    let (sender, deaths) = mpsc::channel();
    let recipient = DeathRecipient::new(move || {
        // Nobody listens once the first death has been heard of.
        let _ = sender.send(());
    });
    object.link_to_death(&recipient)?;
    println!("{READY}");
    Ok(deaths.recv()?)
}
