//! The strings that a system call of another process names by address.

use std::io;

use binder_core::Errno;
use binder_os::ClientMemory;

/// How long a path, a type or the options of a mount may be, with the zero that ends it.
const LEN_MAX_BYTES: usize = 4096;
const PAGE_BYTES: u64 = 4096;

/// The memory of a caller. Each string is read once, and what was read is acted on.
pub(crate) struct Strings {
    memory: ClientMemory,
}

impl Strings {
    /// Those of thread `tid`.
    pub(crate) fn of(tid: u32) -> io::Result<Self> {
        Ok(Self { memory: ClientMemory::of_thread(tid)? })
    }

    /// Reads the string at `address`; none at 0.
    ///
    /// # Errors
    ///
    /// `EFAULT`, or `ENAMETOOLONG` for one that does not end.
    pub(crate) fn read(&mut self, address: u64) -> Result<Option<Vec<u8>>, Errno> {
        if address == 0 {
            return Ok(None);
        }
        let mut text = Vec::new();
        while text.len() < LEN_MAX_BYTES {
            let from = address.checked_add(text.len() as u64).ok_or(Errno::EFAULT)?;
            // What lies behind the end of a page may be unmapped.
            let len = usize::try_from(PAGE_BYTES - from % PAGE_BYTES).unwrap_or(LEN_MAX_BYTES);
            let mut piece = [0; LEN_MAX_BYTES];
            let piece = &mut piece[..len.min(LEN_MAX_BYTES - text.len())];
            self.memory.read(from, piece).map_err(|_| Errno::EFAULT)?;
            match piece.iter().position(|byte| *byte == 0) {
                Some(end) => {
                    text.extend_from_slice(&piece[..end]);
                    return Ok(Some(text));
                }
                None => text.extend_from_slice(piece),
            }
        }
        Err(Errno::ENAMETOOLONG)
    }
}

/// The errno of an error, for the caller; `EIO` for an error that has none.
pub(crate) fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().and_then(Errno::from_number).unwrap_or(Errno::EIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_ends_at_its_zero_or_is_none() {
        let mut strings = Strings::of(std::process::id()).unwrap();
        let mut long = vec![b'x'; 3 * LEN_MAX_BYTES];
        assert_eq!(strings.read(long.as_ptr() as u64), Err(Errno::ENAMETOOLONG));
        long[LEN_MAX_BYTES - 1] = 0;
        assert_eq!(strings.read(long.as_ptr() as u64).unwrap().unwrap(), long[..LEN_MAX_BYTES - 1]);
        assert_eq!(strings.read(0), Ok(None));
        assert_eq!(strings.read(8), Err(Errno::EFAULT));
        assert_eq!(strings.read(u64::MAX), Err(Errno::EFAULT));
    }
}
