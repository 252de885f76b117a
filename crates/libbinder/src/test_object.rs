//! An object for tests.

use crate::binder_impl::{Binder, BorrowedParcel, Remotable, TransactionCode};
use crate::{Interface as _, SpIBinder, StatusCode};

/// Does nothing but what it is to do when it is dropped.
struct TestObject(Box<dyn Fn() + Send + Sync>);

/// Makes an object that knows no call, and does this when it is dropped.
pub(crate) fn new(last: impl Fn() + Send + Sync + 'static) -> SpIBinder {
    Binder::new(TestObject(Box::new(last))).as_binder()
}

impl Drop for TestObject {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl Remotable for TestObject {
    fn get_descriptor() -> &'static str {
        "test.Object"
    }

    fn on_transact(
        &self,
        _: TransactionCode,
        _: &BorrowedParcel<'_>,
        _: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        Err(StatusCode::UNKNOWN_TRANSACTION)
    }
}
