//! Requests and replies from outside.

#[path = "../../../binder-uapi/tests/all/c_facts.rs"]
mod c_facts;
pub mod corpus;
mod header;
mod replies;
mod requests;
