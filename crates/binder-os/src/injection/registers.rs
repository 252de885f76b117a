//! The registers of a thread that leaves a system call, of each processor in its way.
//!
//! A thread that is to make its call again looks different when it is stopped: on x86-64 the kernel
//! has yet to look for that, on aarch64 it has seen to it.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(super) use aarch64::Aarch64Registers as Registers;
#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::{PLACE_OF_NUMBER, X86Registers as Registers};

use rustix::io::Errno;

const ERRORS: std::ops::RangeInclusive<i64> = -4095..=-1;

/// What a call returned, of ours: no address.
fn value(result: i64) -> Result<u32, Errno> {
    match u32::try_from(result) {
        Ok(value) => Ok(value),
        Err(_) if ERRORS.contains(&result) => {
            let number = i32::try_from(-result).expect("at most 4095");
            Err(Errno::from_raw_os_error(number))
        }
        Err(_) => Err(Errno::IO),
    }
}
