//! Every system call and every unsafe block of the driver side.
