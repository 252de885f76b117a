//! Calls `echo_service` with each of its arguments.
//!
//! ```text
//! anybinder run -- sh -c './echo_service & ./echo_client hello world; kill $!'
//! ```

#[path = "interface/echo.rs"]
mod echo;

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use binder::{FromIBinder as _, ProcessState, SpIBinder, StatusCode};
use echo::IEcho;

fn main() -> Result<(), Box<dyn Error>> {
    let echo = <dyn IEcho>::try_from(find()?)?;
    for word in std::env::args().skip(1) {
        println!("client: \"{word}\" comes back as \"{}\"", echo.echo(&word)?);
    }
    println!("client: the service knows me as process {}", echo.caller_pid()?);
    Ok(())
}

/// Waits a few seconds for a service behind handle 0. For a service with a name it would be
/// `binder::wait_for_interface::<dyn IEcho>("echo")`.
fn find() -> Result<SpIBinder, Box<dyn Error>> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match ProcessState::device()?.context_object() {
            Err(StatusCode::DEAD_OBJECT) if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(10));
            }
            found => return Ok(found?),
        }
    }
}
