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

/// The system calls that threads are made to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InjectedCall {
    Close,
    Dup3,
    Getpid,
    Ioctl,
    PidfdGetfd,
    PidfdOpen,
}

impl InjectedCall {
    /// Its number for programs of this processor's own width.
    fn number(self) -> u64 {
        let number = match self {
            Self::Close => libc::SYS_close,
            Self::Dup3 => libc::SYS_dup3,
            Self::Getpid => libc::SYS_getpid,
            Self::Ioctl => libc::SYS_ioctl,
            Self::PidfdGetfd => libc::SYS_pidfd_getfd,
            Self::PidfdOpen => libc::SYS_pidfd_open,
        };
        number.cast_unsigned()
    }

    /// Its number for 32-bit programs (Linux `arch/x86/entry/syscalls/syscall_32.tbl`, `arch/arm/tools/syscall.tbl`).
    fn number_of_32_bit(self) -> u64 {
        match self {
            Self::Close => 6,
            Self::Dup3 if cfg!(target_arch = "x86_64") => 330,
            Self::Dup3 => 358,
            Self::Getpid => 20,
            Self::Ioctl => 54,
            Self::PidfdGetfd => 438,
            Self::PidfdOpen => 434,
        }
    }
}

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
