//! Memory of parcels, for the next parcel of the thread.
//!
//! A call needs two buffers for a moment. Given back to the allocator each time, large ones go back
//! to the kernel as well, and come again page by page.

use std::cell::RefCell;

/// How many buffers a thread keeps: two calls' worth, one nested in the other.
const KEPT: usize = 4;

/// Larger ones are not kept: no call needs them unless limits are raised, and each thread may keep some.
const LARGEST_BYTES: usize = 1 << 20;

thread_local! {
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer, with room if this thread has one to reuse.
#[must_use]
pub fn take() -> Vec<u8> {
    // At the thread's end there are none left to reuse.
    BUFFERS.try_with(|buffers| buffers.borrow_mut().pop()).ok().flatten().unwrap_or_default()
}

/// Keeps a buffer for the next to take.
pub(super) fn give(mut buffer: Vec<u8>) {
    if buffer.capacity() == 0 || buffer.capacity() > LARGEST_BYTES {
        return;
    }
    buffer.clear();
    let _ = BUFFERS.try_with(|buffers| {
        let mut buffers = buffers.borrow_mut();
        if buffers.len() < KEPT {
            buffers.push(buffer);
        }
    });
}
