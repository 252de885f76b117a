//! Generated code within one process: called directly, and through parcels.

use aidl_tests::aidl::anybinder::test::ITest::{BpTest, ITest};
use aidl_tests::service::new_test_service;
use aidl_tests::suite::{self, Without};
use binder::Strong;
use binder::binder_impl::Proxy;

/// A proxy of a service of this process: every call goes through parcels.
#[expect(clippy::unwrap_used, reason = "a test's own service")]
fn through_parcels(service: &Strong<dyn ITest>) -> Strong<dyn ITest> {
    Strong::new(Box::new(BpTest::from_binder(service.as_binder()).unwrap()))
}

#[test]
fn a_service_is_called_directly() {
    suite::run(&new_test_service(), Without::default());
}

#[test]
fn a_service_is_called_through_parcels() {
    suite::run(&through_parcels(&new_test_service()), Without::default());
}
