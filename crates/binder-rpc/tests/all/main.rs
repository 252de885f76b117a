//! The session state machine from outside.

pub mod corpus;
mod faults;
pub mod relayed_corpus;
mod streams;
mod traces;
mod two_sides;
