//! A client of an [`IHost`] through rsbinder.

#[path = "checks.rs"]
mod checks;

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, ThreadId};

use rsbinder::{
    BinderResult, ExceptionCode, Interface, ParcelFileDescriptor, SIBinder, StatusCode, Strong,
};

use crate::IHost::IHost;
use crate::IVisitor::{BnVisitor, IVisitor};

pub use checks::{check, check_files};

const SERVICE_SPECIFIC: ExceptionCode = ExceptionCode::ServiceSpecific;
const ILLEGAL_ARGUMENT: ExceptionCode = ExceptionCode::IllegalArgument;

fn ping(host: &Strong<dyn IHost>) -> Result<(), StatusCode> {
    host.as_binder().ping_binder()
}

/// This client's own object.
pub struct Visitor {
    host: SIBinder,
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
        (BnVisitor::new_binder(Self { host, heard }), receiver)
    }

    /// Notes a call; whether anyone still wants to know of it is not the caller's business.
    fn note(&self, heard: Heard) {
        let _ = self.heard.send(heard);
    }
}

impl Interface for Visitor {}

impl IVisitor for Visitor {
    fn name(&self) -> BinderResult<String> {
        Ok("visitor".to_owned())
    }

    fn nest(
        &self,
        host: &Strong<dyn IHost>,
        visitor: &Strong<dyn IVisitor>,
        depth: i32,
    ) -> BinderResult<i32> {
        if host.as_binder() != self.host || visitor.as_binder().is_remote() {
            return Err(
                (ExceptionCode::IllegalArgument, "not the host I know, or not myself").into()
            );
        }
        self.note(Heard::NestedOn(thread::current().id()));
        match depth {
            ..=0 => Ok(0),
            _ => Ok(1 + host.nest(host, visitor, depth - 1)?),
        }
    }

    fn tell(&self, number: i32) -> BinderResult<()> {
        self.note(Heard::Number(number));
        Ok(())
    }
}
