//! The session state machine from outside.

pub mod corpus;
mod faults;
mod streams;
mod traces;
mod two_sides;
