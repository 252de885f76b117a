//! The searches from outside.

mod areas;
mod finds;
mod indexed;
