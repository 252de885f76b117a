//! Serves [`IHost`](foreign::IHost) through rsbinder until it is killed.

use std::error::Error;

use foreign::{HOST_NAME, READY};
use rsbinder::ProcessState;

fn main() -> Result<(), Box<dyn Error>> {
    ProcessState::init_default()?;
    ProcessState::start_thread_pool();
    rsbinder::hub::add_service(HOST_NAME, foreign::host::new_host())?;
    println!("{READY}");
    ProcessState::join_thread_pool()?;
    Ok(())
}
