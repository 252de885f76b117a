//! Generated code: called, awaited, fed with anything.

mod asynchronous;
mod generated;
mod hostile;
mod local;
mod objects;
mod rpc;
