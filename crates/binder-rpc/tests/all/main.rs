//! The session state machine from outside.

pub mod corpus;
mod faults;
pub mod relayed_streams;
mod streams;
mod traces;
mod two_sides;
