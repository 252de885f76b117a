//! How much is done before others have their turn.
//!
//! A client may have a transaction carry 100,000 objects, and end with as many. The driver does a
//! slice of such work at a time; the core has no clock, so a slice is counted in objects and bytes.

/// Objects that one slice translates, lets go of or ends: about 200 us' worth.
const SLICE_OBJECTS: usize = 256;
/// To tell a watcher of something wakes a thread, which takes as long as this many objects do.
pub(crate) const OBJECTS_OF_WATCHER: usize = 4;
/// Bytes of a receive buffer that one slice stores, or clears: with fresh pages about 100 us' worth.
pub(crate) const SLICE_BYTES: u32 = 256 << 10;

/// The objects that the slice under way may still deal with.
#[derive(Debug)]
pub(crate) struct Slice {
    objects: usize,
    left: usize,
}

impl Default for Slice {
    fn default() -> Self {
        Self::of(SLICE_OBJECTS)
    }
}

impl Slice {
    /// Slices of that many objects, at least one.
    pub(crate) fn of(objects: usize) -> Self {
        let objects = objects.max(1);
        Self { objects, left: objects }
    }

    /// How many objects each slice deals with.
    pub(crate) fn objects(&self) -> usize {
        self.objects
    }

    /// Begins the next.
    pub(crate) fn begin(&mut self) {
        self.left = self.objects;
    }

    pub(crate) fn has_room(&self) -> bool {
        self.left > 0
    }

    pub(crate) fn spend(&mut self, objects: usize) {
        self.left = self.left.saturating_sub(objects);
    }
}
