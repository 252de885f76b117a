//! The object that a client of our own library shows to the host.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, ThreadId};

use aidl_tests::aidl::foreign::IHost::IHost;
use aidl_tests::aidl::foreign::IVisitor::{BnVisitor, IVisitor};
use binder::{BinderFeatures, ExceptionCode, Interface, Result, SpIBinder, Status, Strong};

/// This client's own object.
pub struct Visitor {
    host: SpIBinder,
    heard: Sender<Heard>,
}

/// A call that a visitor received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Heard {
    /// A one-way call with this number.
    Number(i32),
    /// A call within a call, on this thread.
    NestedOn(ThreadId),
}

impl Visitor {
    /// Makes a visitor of `host`, and the end where that comes out which it hears.
    #[must_use]
    pub fn new_binder(host: &Strong<dyn IHost>) -> (Strong<dyn IVisitor>, Receiver<Heard>) {
        let (heard, receiver) = mpsc::channel();
        let host = host.as_binder();
        let visitor = Self { host, heard };
        (BnVisitor::new_binder(visitor, BinderFeatures::default()), receiver)
    }

    /// Notes a call; whether anyone still wants to know of it is not the caller's business.
    fn note(&self, heard: Heard) {
        let _ = self.heard.send(heard);
    }
}

impl Interface for Visitor {}

impl IVisitor for Visitor {
    fn name(&self) -> Result<String> {
        Ok("visitor".to_owned())
    }

    fn nest(
        &self,
        host: &Strong<dyn IHost>,
        visitor: &Strong<dyn IVisitor>,
        depth: i32,
    ) -> Result<i32> {
        if host.as_binder() != self.host || visitor.as_binder().is_remote() {
            let what = c"not the host I know, or not myself";
            return Err(Status::new_exception(ExceptionCode::ILLEGAL_ARGUMENT, Some(what)));
        }
        self.note(Heard::NestedOn(thread::current().id()));
        match depth {
            ..=0 => Ok(0),
            _ => Ok(1 + host.nest(host, visitor, depth - 1)?),
        }
    }

    fn tell(&self, number: i32) -> Result<()> {
        self.note(Heard::Number(number));
        Ok(())
    }
}
