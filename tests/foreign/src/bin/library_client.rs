//! Calls [`IHost`] through our own library and checks every answer; ends with status 1 at the first wrong one.
//!
//! ```text
//! library_client check        all calls, each way of passing data and objects
//! library_client files        the same for files
//! library_client types        all calls of `ITest`, with each type of AIDL
//! library_client names        looks services up
//! library_client stay NAME    leaves an object with the host and waits to be killed
//! library_client visit NAME   calls the object left as NAME and waits for its owner's death
//! library_client outlive      waits for the host's death
//! ```

use std::error::Error;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{self, ExitCode};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use aidl_tests::aidl::anybinder::test::ITest;
use aidl_tests::aidl::foreign::IHost::IHost;
use aidl_tests::aidl::foreign::IVisitor::IVisitor;
use aidl_tests::suite::{self, Without};
use binder::transport::rpc::RpcServer;
use binder::{
    Accessor, ConnectionInfo, DeathRecipient, IBinder as _, ProcessState, ServiceManager,
    SpIBinder, StatusCode, Strong,
};
use foreign::library::visitor::Visitor;
use foreign::library::{check, check_files};
use foreign::outcome::{Outcome, expect};
use foreign::{HOST_NAME, READY, SOCKET_ACCESSOR_NAME, SOCKET_NAME};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args[..] {
        ["check"] => connect().and_then(|host| check(&host)),
        ["files"] => connect().and_then(|host| check_files(&host)),
        ["types"] => check_types(),
        ["names"] => connect().and_then(|host| check_names(&host)),
        ["stay", name] => connect().and_then(|host| stay(&host, name)),
        ["visit", name] => connect().and_then(|host| visit(&host, name)),
        ["outlive"] => connect().and_then(|host| outlive(&host)),
        _ => Err("usage: library_client  check | files | types | names | stay NAME | visit NAME | outlive".into()),
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

/// Passes each type of AIDL there and back.
fn check_types() -> Outcome {
    ProcessState::start_thread_pool();
    suite::run(&binder::check_interface(ITest::NAME)?, Without::default());
    Ok(())
}

/// Asks the service manager for names that are registered and for one that is not.
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

    // A service that is waited for, and told of by a thread of the pool.
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
    let (name, door) = (SOCKET_NAME, SOCKET_ACCESSOR_NAME);
    let address = SocketAddr::from_abstract_name(format!("{name}-{}", process::id()))?;
    let listener = UnixListener::bind_addr(&address)?;
    let (visitor, _heard) = Visitor::new_binder(host);
    let server = RpcServer::new_bound_socket(visitor.as_binder(), listener.into())?;
    server.start()?;
    let accessor = Accessor::new(name, move |_| Some(ConnectionInfo::Unix(address.clone())));
    // rsbinder's manager knows an accessor by its interface; ours, as Android's, by what it was told of the service.
    for place in [name, door] {
        binder::add_service(place, accessor.as_binder().ok_or("an accessor is an object")?)?;
    }
    for found in [binder::check_interface(name)?, binder::wait_for_interface(name)?] {
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
        // The receiver is gone once the first death has been heard of.
        let _ = sender.send(());
    });
    object.link_to_death(&recipient)?;
    println!("{READY}");
    Ok(deaths.recv()?)
}
