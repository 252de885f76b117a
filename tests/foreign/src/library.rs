//! The objects of programs that use our own client library, over whatever transport, and their checks.

#[path = "checks.rs"]
mod checks;
pub mod host;
pub mod visitor;

use aidl_tests::aidl::foreign::IHost::IHost;
use binder::{ExceptionCode, IBinder as _, ParcelFileDescriptor, StatusCode, Strong};

pub use checks::{check, check_files};
use visitor::{Heard, Visitor};

const SERVICE_SPECIFIC: ExceptionCode = ExceptionCode::SERVICE_SPECIFIC;
const ILLEGAL_ARGUMENT: ExceptionCode = ExceptionCode::ILLEGAL_ARGUMENT;

fn ping(host: &Strong<dyn IHost>) -> Result<(), StatusCode> {
    host.as_binder().ping_binder()
}
