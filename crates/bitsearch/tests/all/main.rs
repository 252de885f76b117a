//! The searches from outside.

mod areas;
mod changes;
mod finds;
mod indexed;
mod sets;
mod words;
