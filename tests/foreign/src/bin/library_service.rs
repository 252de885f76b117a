//! Serves `IHost` and `ITest` through our own library until it is killed; with the argument `lazy`, `IHost` until
//! nobody uses it.

use std::error::Error;

use aidl_tests::aidl::anybinder::test::ITest;
use aidl_tests::service::new_test_service;
use binder::ProcessState;
use foreign::library::host;
use foreign::{HOST_NAME, READY};

fn main() -> Result<(), Box<dyn Error>> {
    ProcessState::start_thread_pool();
    let host = host::new_host();
    match std::env::args().nth(1).as_deref() {
        Some("lazy") => binder::register_lazy_service(HOST_NAME, host.as_binder())?,
        _ => {
            binder::add_service(HOST_NAME, host.as_binder())?;
            binder::add_service(ITest::NAME, new_test_service().as_binder())?;
        }
    }
    // The process lives by its services, not by this.
    drop(host);
    println!("{READY}");
    ProcessState::join_thread_pool();
    Err("the device has failed".into())
}
