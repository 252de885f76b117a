//! The bytes of a received parcel.

use std::cell::RefCell;
use std::mem;

use crate::transport::ReceivedBytes;

/// Bytes copied out of the receive buffer. Their memory is used again by the same thread.
pub(super) struct Inbox {
    bytes: Vec<u8>,
    is_sensitive: bool,
}

/// How many pieces of memory a thread keeps, and how large one may be.
const SPARE_PIECES: usize = 4;
const SPARE_BYTES: usize = 256 * 1024;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

impl Inbox {
    pub(super) fn new(is_sensitive: bool) -> Self {
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop());
        Self { bytes: spare.ok().flatten().unwrap_or_default(), is_sensitive }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl ReceivedBytes for Inbox {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        if self.is_sensitive {
            self.bytes.fill(0);
            // Seen by somebody, so that the writes are not for nothing.
            std::hint::black_box(&*self.bytes);
        }
        let mut bytes = mem::take(&mut self.bytes);
        if bytes.capacity() <= SPARE_BYTES {
            // A thread that is ending keeps nothing.
            let _ = SPARE.try_with(|spare| {
                let mut spare = spare.borrow_mut();
                if spare.len() < SPARE_PIECES {
                    bytes.clear();
                    spare.push(bytes);
                }
            });
        }
    }
}
