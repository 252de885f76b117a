//! Calls [`IHost`] through rsbinder and checks every answer; ends with status 1 at the first wrong one.
//!
//! ```text
//! rsbinder_client check        all calls, each way of passing data and objects
//! rsbinder_client files        the same for files
//! rsbinder_client stay NAME    leaves an object with the host and waits to be killed
//! rsbinder_client visit NAME   calls the object left as NAME and waits for its owner's death
//! rsbinder_client outlive      waits for the host's death
//! ```

use std::error::Error;
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use foreign::IHost::IHost;
use foreign::client::{Visitor, check, check_files};
use foreign::outcome::{Outcome, expect};
use foreign::{HOST_NAME, READY};
use rsbinder::{DeathRecipient, ProcessState, SIBinder, StatusCode, Strong, WIBinder};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args[..] {
        ["check"] => connect().and_then(|host| check(&host)),
        ["files"] => connect().and_then(|host| check_files(&host)),
        ["stay", name] => connect().and_then(|host| stay(&host, name)),
        ["visit", name] => connect().and_then(|host| visit(&host, name)),
        ["outlive"] => connect().and_then(|host| outlive(&host)),
        _ => Err("usage: rsbinder_client check | files | stay NAME | visit NAME | outlive".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rsbinder_client[{}]: {error}", process::id());
            ExitCode::FAILURE
        }
    }
}

fn connect() -> Result<Strong<dyn IHost>, Box<dyn Error>> {
    ProcessState::init_default()?;
    ProcessState::start_thread_pool();
    Ok(rsbinder::hub::check_interface(HOST_NAME)?)
}

/// Leaves an object with the host, so that its death can be watched.
fn stay(host: &Strong<dyn IHost>, name: &str) -> Outcome {
    let (visitor, _heard) = Visitor::new_binder(host);
    host.admit(name, &visitor)?;
    println!("{READY}");
    ProcessState::join_thread_pool()?;
    Ok(())
}

/// Calls another client, waits for its death and hears from the host that it has noticed too.
fn visit(host: &Strong<dyn IHost>, name: &str) -> Outcome {
    let visitor = host.find(name)?.ok_or("the host does not know the visitor")?;
    expect("visitor's name", visitor.name()?, "visitor")?;
    await_death(&visitor.as_binder())?;
    expect(
        "call to the dead",
        visitor.name().map_err(StatusCode::from),
        Err(StatusCode::DeadObject),
    )?;
    host.awaitDeparture(name)?;
    Ok(())
}

/// Waits for the host's death.
fn outlive(host: &Strong<dyn IHost>) -> Outcome {
    await_death(&host.as_binder())?;
    expect(
        "call to the dead",
        host.greet("you").map_err(StatusCode::from),
        Err(StatusCode::DeadObject),
    )
}

/// Links to the death of `object`, says so, and waits for it.
fn await_death(object: &SIBinder) -> Outcome {
    let (sender, deaths) = mpsc::channel();
    let recipient = Arc::new(DeathSender(sender));
    object.link_to_death_arc(&recipient)?;
    println!("{READY}");
    let dead = deaths.recv()?;
    expect("the dead is whom I watched", dead == *object, true)
}

/// Sends on what it is told of deaths.
struct DeathSender(Sender<WIBinder>);

impl DeathRecipient for DeathSender {
    fn binder_died(&self, who: &WIBinder) {
        // The receiver is gone once the first death has been heard of.
        let _ = self.0.send(who.clone());
    }
}
