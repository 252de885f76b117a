//! A service that answers with what it hears, for `echo_client`.
//!
//! It makes itself known at handle 0, so that the example needs no service manager. With one it would
//! say `binder::add_service("echo", service.as_binder())`.

#[path = "interface/echo.rs"]
mod echo;

use std::error::Error;

use binder::{BinderFeatures, Interface, ProcessState, Result, ThreadState};
use echo::{BnEcho, IEcho};

struct Echo;

impl Interface for Echo {}

impl IEcho for Echo {
    fn echo(&self, text: &str) -> Result<String> {
        Ok(text.to_owned())
    }

    fn caller_pid(&self) -> Result<i32> {
        Ok(ThreadState::get_calling_pid())
    }
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let service = BnEcho::new_binder(Echo, BinderFeatures::default());
    let device = ProcessState::device()?;
    device.become_context_manager(&service.as_binder())?;
    println!("service: process {} serves {}", std::process::id(), device.path().display());
    match device.join_thread_pool()? {}
}
