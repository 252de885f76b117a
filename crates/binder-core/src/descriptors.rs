//! File descriptors in transactions: captured when sent, given numbers when delivered.
//!
//! A captured file is a value: it lies in the buffer of its transaction until that is delivered, and
//! is given up with the buffer on whichever way that comes to its end. The receiver gets numbers of
//! its own while its thread leaves the ioctl that reads the transaction (`suspended_call`).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;

use binder_uapi::{BinderFdArrayObject, BinderFdObject};
use zerocopy::IntoBytes;

use crate::account::{Excess, LimitHolder, Resource, SHARE};
use crate::context::Context;
use crate::env::ReceiveBuffers;
use crate::error::Errno;
use crate::image::{Image, ObjectResources};
use crate::process::ProcessKey;
use crate::thread::ThreadKey;
use crate::trace_log::TracedObject;
use crate::transaction::Draft;

/// Bytes of a descriptor's number.
const NUMBER_BYTES: usize = size_of::<u32>();

/// An open file of a client, in the front end's own terms. The front end makes it from what it likes
/// and gets that back; dropping it gives the file up.
///
/// It may be dropped within any call into the driver: that must not block.
#[derive(Debug)]
pub struct CapturedFile(Box<dyn Any + Send>);

impl CapturedFile {
    /// Wraps what the front end holds the file by.
    pub fn new(file: impl Any + Send) -> Self {
        Self(Box::new(file))
    }

    /// Lends what it was made from; `None` if that was something else.
    #[must_use]
    pub fn inner<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// What it was made from; `None` if that was something else.
    pub fn into_inner<T: Any>(self) -> Option<T> {
        self.0.downcast().ok().map(|file| *file)
    }
}

/// A captured file in the buffer of its transaction.
#[derive(Debug)]
pub(crate) struct FileInTransit {
    pub(crate) file: CapturedFile,
    pub(crate) place: NumberPlace,
}

/// Where a descriptor's number belongs.
#[derive(Debug)]
pub(crate) struct NumberPlace {
    /// From the start of the buffer.
    at: u32,
    /// It lies in an array: the driver closes it with the buffer.
    closes_with_buffer: bool,
    _charges: Charges,
}

/// An array of descriptors in a piece: those whose files are not captured yet.
#[derive(Debug, Default)]
pub(crate) struct DescriptorArray {
    /// Where the number of the next lies in the image.
    next: usize,
    count: usize,
}

impl DescriptorArray {
    /// The array whose object lies at `start`, and where that ends. Its numbers lie in a piece copied
    /// before.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the piece is closed, or has no room for them.
    pub(crate) fn at(image: &mut Image, start: usize) -> Result<(Self, usize), Errno> {
        let array: BinderFdArrayObject = image.object(start)?;
        let end = start + size_of::<BinderFdArrayObject>();
        let parent = image.pieces.go_up_to(array.parent)?;
        if array.num_fds == 0 {
            parent.pass(array.parent_offset)?;
            return Ok((Self::default(), end));
        }
        let len = array.num_fds.checked_mul(NUMBER_BYTES as u64).ok_or(Errno::EINVAL)?;
        let next = parent.fix_up(array.parent_offset, len)?;
        if !parent.source.is_multiple_of(NUMBER_BYTES as u64) {
            return Err(Errno::EINVAL);
        }
        image.require_piece(next)?;
        let count = usize::try_from(array.num_fds).map_err(|_| Errno::EINVAL)?;
        Ok((Self { next, count }, end))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Counts the files on their way for which a process, or a user, pays.
#[derive(Debug, Default)]
pub(crate) struct FilesInTransit {
    all: Tally,
    /// Files on their way to each other user, which could keep them waiting for ever.
    to_others: BTreeMap<u32, Tally>,
}

/// Counts the charges that there are.
#[derive(Debug, Default)]
struct Tally(Arc<()>);

/// One of a tally: it counts as long as this lasts.
#[derive(Debug)]
struct TallyCharge(#[expect(dead_code, reason = "it counts by being there")] Arc<()>);

/// What one file is counted as: of all of the process and the user, and of those to another user.
type Charges = [Option<TallyCharge>; 4];

impl Tally {
    fn count(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }

    fn charge(&self) -> TallyCharge {
        TallyCharge(self.0.clone())
    }
}

impl FilesInTransit {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.count()
    }

    /// Counts another, if there are fewer than `limit`. Those to one `other` user may be a
    /// [share](SHARE) of that.
    ///
    /// # Errors
    ///
    /// Whose share it is that is used up, if it is not all.
    fn charge(
        &mut self,
        limit: usize,
        other: Option<u32>,
    ) -> Result<[Option<TallyCharge>; 2], Option<u32>> {
        if self.count() >= limit {
            return Err(None);
        }
        let Some(uid) = other else { return Ok([Some(self.all.charge()), None]) };
        if !self.to_others.contains_key(&uid) {
            self.to_others.retain(|_, tally| tally.count() > 0);
        }
        let to_other = self.to_others.entry(uid).or_default();
        if to_other.count() >= limit.div_ceil(SHARE) {
            return Err(other);
        }
        Ok([Some(self.all.charge()), Some(to_other.charge())])
    }
}

impl Context {
    /// Captures the file of the descriptor object at `start`, and returns where the object ends.
    ///
    /// The object's number is zero until the receiver has one.
    pub(crate) fn translate_descriptor(
        &mut self,
        draft: &Draft<'_>,
        image: &mut Image,
        start: usize,
        resources: &mut ObjectResources,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<usize, Errno> {
        let object: BinderFdObject = image.object(start)?;
        let at = start + core::mem::offset_of!(BinderFdObject, fd);
        self.capture(draft, object.fd, at, false, resources, memory)?;
        Ok(image.put(start, &BinderFdObject { fd: 0, pad: 0, ..object }))
    }

    /// Captures the next file of an array. The number of its descriptor lies in a piece.
    pub(crate) fn translate_in_array(
        &mut self,
        draft: &Draft<'_>,
        image: &mut Image,
        array: &mut DescriptorArray,
        resources: &mut ObjectResources,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<(), Errno> {
        let at = array.next;
        array.next += NUMBER_BYTES;
        array.count -= 1;
        let number = &mut image.bytes[at..at + NUMBER_BYTES];
        let mut fd = 0_u32;
        fd.as_mut_bytes().copy_from_slice(number);
        number.fill(0);
        self.capture(draft, fd, at, true, resources, memory)
    }

    fn capture(
        &mut self,
        draft: &Draft<'_>,
        fd: u32,
        at: usize,
        closes_with_buffer: bool,
        resources: &mut ObjectResources,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<(), Errno> {
        if !draft.accepts_fds {
            return Err(Errno::EPERM);
        }
        let (payer, charges) = self.charge_for_file(draft)?;
        let file = memory.capture_file(draft.sender, fd, payer)?;
        let at = u32::try_from(at).map_err(|_| Errno::EINVAL)?;
        let place = NumberPlace { at, closes_with_buffer, _charges: charges };
        resources.files.push(FileInTransit { file, place });
        if self.journal.is_traced() {
            self.trace_object(draft, TracedObject::File { fd });
        }
        Ok(())
    }

    /// Charges a file to the process that wants it to arrive, and can have it wait.
    ///
    /// With a reply that is the caller, which waits for it and may leave it unread for ever. Else it is
    /// the sender; so that its receivers cannot have it wait with all that it may send, no user gets more
    /// than a share of it.
    fn charge_for_file(&mut self, draft: &Draft<'_>) -> Result<(ProcessKey, Charges), Errno> {
        let is_reply = draft.target.is_none();
        let payer = if is_reply { draft.receiver } else { draft.sender };
        let uid_of = |process: ProcessKey| self.processes[process].opener.uid;
        let (uid, to) = (uid_of(payer), uid_of(draft.receiver));
        let other = (uid != to).then_some(to);
        let resource = Resource::Descriptors;

        let limit = self.limits.per_file[resource];
        let state = &mut self.processes[payer];
        let holder = LimitHolder::Process(state.opener.pid.number());
        let [all, to_other] = state
            .files
            .charge(limit, other)
            .map_err(|caused_by| self.exceed(Excess { resource, holder, limit, caused_by }))?;
        let limit = self.limits.per_user[resource];
        let holder = LimitHolder::User(uid);
        let of_user = self.user_of(payer).files.charge(limit, other);
        let [all_of_user, to_other_of_user] = of_user
            .map_err(|caused_by| self.exceed(Excess { resource, holder, limit, caused_by }))?;
        Ok((payer, [all, to_other, all_of_user, to_other_of_user]))
    }

    /// Puts the numbers that files got in the receiver where the buffer at `start` wants them.
    pub(crate) fn write_numbers(
        &mut self,
        receiver: ProcessKey,
        start: u32,
        places: &[NumberPlace],
        numbers: &[u32],
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<(), Errno> {
        debug_assert_eq!(numbers.len(), places.len(), "all files are installed or none");
        if numbers.len() != places.len() {
            return Err(Errno::EINVAL);
        }
        let mapping = self.processes[receiver].mapping.as_mut();
        let buffer = mapping.and_then(|mapping| mapping.get_mut(start)).ok_or(Errno::ESRCH)?;
        for (place, number) in places.iter().zip(numbers) {
            memory.store(receiver, start + place.at, number.as_bytes())?;
        }
        memory.publish(receiver, start, buffer.layout.slot_len)?;
        let in_arrays = places.iter().zip(numbers).filter(|(place, _)| place.closes_with_buffer);
        buffer.array_descriptors = in_arrays.map(|(_, number)| *number).collect();
        Ok(())
    }

    /// Closes descriptors of the thread's process once the thread leaves its ioctl, which it does
    /// soon.
    pub(crate) fn close_on_return(&mut self, thread: ThreadKey, numbers: Vec<u32>) {
        if !numbers.is_empty() {
            let state = &mut self.threads[thread];
            state.need_return = true;
            state.closing.extend(numbers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_captured_file_is_what_the_front_end_made_it_from() {
        assert_eq!(CapturedFile::new(7_u8).inner::<u8>(), Some(&7));
        assert_eq!(CapturedFile::new(7_u8).inner::<i8>(), None);
        assert_eq!(CapturedFile::new(7_u8).into_inner::<u8>(), Some(7));
        assert_eq!(CapturedFile::new(7_u8).into_inner::<i8>(), None);
    }

    #[test]
    fn a_file_counts_until_it_is_given_up() {
        let mut files = FilesInTransit::default();
        let mut charges: Vec<_> = (0..3).map(|_| files.charge(3, None).unwrap()).collect();
        assert_eq!(files.charge(3, None).unwrap_err(), None);
        charges.pop();
        assert!(files.charge(3, None).is_ok());
        drop(charges);
        assert_eq!(files.count(), 0);
    }

    #[test]
    fn no_other_user_has_more_than_a_quarter_wait() {
        let mut files = FilesInTransit::default();
        let slow: Vec<_> = (0..2).map(|_| files.charge(8, Some(7)).unwrap()).collect();
        assert_eq!(files.charge(8, Some(7)).unwrap_err(), Some(7));
        let others: Vec<_> = (0..6).map(|uid| files.charge(8, Some(uid)).unwrap()).collect();
        assert_eq!(files.charge(8, Some(6)).unwrap_err(), None);
        drop(slow);
        assert!(files.charge(8, Some(7)).is_ok());
        drop(others);
        assert!(files.charge(8, Some(9)).is_ok());
        assert_eq!(files.to_others.len(), 1, "nothing is kept of who has received all");
    }
}
