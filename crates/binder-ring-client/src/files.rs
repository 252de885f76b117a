//! Files that a call brings.
//!
//! Only a process itself can add to its descriptors. So the thread makes a pair of sockets, has the driver send the files to
//! the one, takes them from the other, and says which numbers they have got. When the call is over the sockets are gone.

#![expect(unsafe_code, reason = "the numbers are copied through pointers")]

use core::mem::MaybeUninit;
use core::ptr;

use binder_ring::{MAX_FILES, MemoryWindows, RequestKind, RingAnswer, RingRequest, SlotIndex};
use binder_uapi::{BinderWriteRead, Errno};
use rustix::fd::{AsRawFd, IntoRawFd, OwnedFd};
use rustix::io::{DupFlags, IoSliceMut};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SocketFlags,
    SocketType,
};

use crate::caller::{CallMemory, RingSystem};
use crate::exchange::NoAnswer;
use crate::ring::ClientRing;

/// Files in the order in which a call brings them, and an empty place behind them.
///
/// They lie where the caller has them, once: a thread of a program may have little stack.
type Files = [Option<OwnedFd>; MAX_FILES + 1];

impl ClientRing {
    /// Takes the files that the call of a slot brings, and has it go on. Returns its result.
    #[cold]
    pub(crate) fn fetch_files(
        &self,
        slot: SlotIndex,
        call: &mut BinderWriteRead,
        system: &impl RingSystem,
        memory: &impl CallMemory,
    ) -> Result<Result<i32, Errno>, NoAnswer> {
        const DECLINED: Result<Result<i32, Errno>, NoAnswer> = Ok(Ok(RingAnswer::DECLINED));
        let request = |kind, call| RingRequest { kind, call, windows: MemoryWindows::default() };
        let (stream, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
        let sockets = rustix::net::socketpair(AddressFamily::UNIX, stream, flags, None);
        let Ok((own, drivers)) = sockets else { return DECLINED };
        let kind = RequestKind::Socket(drivers.as_raw_fd().cast_unsigned());
        self.ask(slot, &request(kind, *call), system)?;
        // Its number is to be free for a file.
        drop(drivers);
        if self.segment.read_answer(slot).result != 0 {
            return DECLINED;
        }
        let mut files: Files = [const { None }; MAX_FILES + 1];
        let Some(count) = receive(own, &mut files) else { return DECLINED };
        for (at, file) in files.iter().flatten().enumerate() {
            let number = file.as_raw_fd().cast_unsigned();
            let at = at * size_of::<u32>();
            // SAFETY: a variable can be read.
            unsafe { self.segment.copy_in(slot, at, ptr::from_ref(&number).cast(), 4) };
        }
        self.ask(slot, &request(RequestKind::Numbers(count), *call), system)?;
        let taken = self.take_answer(slot, call, memory);
        if taken == Ok(RingAnswer::UNKNOWN_FILES) {
            return Ok(Err(Errno::EINTR));
        }
        // They are the program's.
        for file in files.iter_mut().filter_map(Option::take) {
            let _ = file.into_raw_fd();
        }
        Ok(taken)
    }
}

/// Receives the files that were sent to a socket, and returns how many. None if there are none, or not all had room.
///
/// The first one came last: it takes the socket's number, which was the lowest that was free.
#[inline(never)]
fn receive(mut socket: OwnedFd, files: &mut Files) -> Option<u32> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let bytes = &mut [IoSliceMut::new(&mut byte)];
    let received = rustix::net::recvmsg(&socket, bytes, &mut ancillary, flags).ok()?;
    let mut count = 0;
    for message in ancillary.drain() {
        let RecvAncillaryMessage::ScmRights(received) = message else { continue };
        for (file, place) in received.zip(&mut files[1..]) {
            *place = Some(file);
            count += 1;
        }
    }
    if count == 0 || received.flags.contains(ReturnFlags::CTRUNC) {
        return None;
    }
    let first = files[count].take()?;
    rustix::io::dup3(first, &mut socket, DupFlags::CLOEXEC).ok()?;
    files[0] = Some(socket);
    u32::try_from(count).ok()
}
