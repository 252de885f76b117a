//! Serves [`IHost`](foreign::IHost) and `ITest` through rsbinder until it is killed.

use std::error::Error;

use foreign::types::anybinder::test::ITest;
use foreign::{HOST_NAME, READY};
use rsbinder::{Interface as _, ProcessState};

fn main() -> Result<(), Box<dyn Error>> {
    ProcessState::init_default()?;
    ProcessState::start_thread_pool();
    rsbinder::hub::add_service(HOST_NAME, foreign::host::new_host())?;
    let test = foreign::test_service::new_test_service();
    rsbinder::hub::add_service(ITest::NAME, test.as_binder())?;
    println!("{READY}");
    ProcessState::join_thread_pool()?;
    Ok(())
}
