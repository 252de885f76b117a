//! Codes and layouts, beside the system's own.

mod c_facts;
mod codes;
mod header;
