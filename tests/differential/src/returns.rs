//! What threads read, by names that are the same on every driver.

use binder_testkit::{Return, Rig, parse_returns};
use binder_uapi::{
    BINDER_BUFFER_FLAG_HAS_PARENT, BINDER_TYPE_BINDER, BINDER_TYPE_FD, BINDER_TYPE_FDA,
    BINDER_TYPE_HANDLE, BINDER_TYPE_PTR, BINDER_TYPE_WEAK_BINDER, BINDER_TYPE_WEAK_HANDLE,
    BinderBufferObject, BinderFdArrayObject, BinderTransactionData, FlatBinderObject, TF_ONE_WAY,
};
use std::fmt::Write;
use zerocopy::FromBytes;

use crate::play::{Play, note};

impl Play<'_, '_> {
    /// Notes what a thread has read, and what its process knows by that.
    pub(crate) fn note_returns(&mut self, index: usize, seat: usize, bytes: &[u8]) {
        for returned in parse_returns(bytes) {
            let name = format!("{returned:?}");
            let end = name.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(name.len());
            self.troupe.count(&name[..end]);
            let member = &mut self.troupe.members[index];
            match returned {
                Return::Transaction(data) => {
                    if data.flags & TF_ONE_WAY == 0 {
                        member.seats[seat].serves += 1;
                        if member.seats[seat].awaits {
                            self.troupe.count("a call to a thread that waits for a reply");
                        }
                    }
                    self.note_transaction("Transaction", index, &data);
                    // A reply by a lane is one of who has opened the file.
                    if data.sender_euid != 0 {
                        note!(self, " for user {}", data.sender_euid);
                        self.troupe.count("a call for another user");
                    }
                    continue;
                }
                Return::Reply(data) => {
                    member.seats[seat].awaits = false;
                    self.note_transaction("Reply", index, &data);
                    continue;
                }
                Return::FailedReply | Return::DeadReply | Return::FrozenReply => {
                    (member.seats[seat].awaits, member.seats[seat].must_read) = (false, false);
                }
                Return::Increfs(ptr, cookie) => member.notices.push((false, ptr, cookie)),
                Return::Acquire(ptr, cookie) => {
                    member.has_been_referred_to = true;
                    member.notices.push((true, ptr, cookie));
                }
                Return::DeadBinder(cookie) => member.deaths.push(cookie),
                _ => {}
            }
            note!(self, " {returned:x?}");
        }
    }

    fn note_transaction(&mut self, what: &str, index: usize, data: &BinderTransactionData) {
        let members = &self.troupe.members;
        let sender = members.iter().position(|member| member.pid == data.sender_pid);
        let sender = sender.map_or_else(|| data.sender_pid.to_string(), |at| format!("p{at}"));
        let end = (data.offsets + data.offsets_size).max(data.buffer + data.data_size);
        let number = self.troupe.members[index].take_buffer(data.buffer, end - data.buffer);
        let BinderTransactionData { target, cookie, code, flags, data_size, .. } = data;
        note!(self, " {what}(to {target:x}/{cookie:x} code {code} flags {flags:x} from {sender}");
        note!(self, " {data_size} in b{number}");
        let len = length(data.data_size);
        let bytes = self.troupe.peek(index, data.buffer, len);
        let count = length(data.offsets_size / 8);
        let offsets: Vec<u64> = (0..count)
            .map(|at| self.troupe.peek_value(index, data.offsets + 8 * at as u64))
            .collect();
        let end_of_plain = offsets.first().map_or(bytes.len(), |at| length(*at));
        note!(self, " {:x?}", &bytes[..end_of_plain.min(bytes.len())]);
        for offset in &offsets {
            self.note_object(index, data, &bytes, &offsets, *offset);
        }
        note!(self, ")");
    }

    fn note_object(
        &mut self,
        index: usize,
        data: &BinderTransactionData,
        bytes: &[u8],
        offsets: &[u64],
        offset: u64,
    ) {
        let at = length(offset);
        let object = FlatBinderObject::read_from_prefix(&bytes[at..]);
        let (object, _) = object.expect("an object in the data");
        match object.kind {
            BINDER_TYPE_BINDER | BINDER_TYPE_WEAK_BINDER => {
                let FlatBinderObject { kind, flags, binder, cookie } = object;
                note!(self, " own {kind:x} {flags:x} {binder:x} {cookie:x}");
            }
            BINDER_TYPE_HANDLE | BINDER_TYPE_WEAK_HANDLE => {
                let FlatBinderObject { kind, flags, cookie, .. } = object;
                let handle = object.handle();
                note!(self, " handle {kind:x} {flags:x} {handle} {cookie:x}");
                let handles = &mut self.troupe.members[index].handles;
                if !handles.contains(&handle) {
                    handles.push(handle);
                }
            }
            BINDER_TYPE_FD => {
                let member = &self.troupe.members[index];
                note!(self, " fd {} {:x}", member.name_of_fd(object.binder), object.cookie);
                self.troupe.count("a file that arrives");
                let host = self.troupe.members[index].host;
                self.troupe.rig.descriptors().close_descriptor(host, object.binder);
            }
            BINDER_TYPE_PTR => {
                let (piece, _) =
                    BinderBufferObject::read_from_prefix(&bytes[at..]).expect("a whole object");
                let place = piece.buffer.wrapping_sub(data.buffer);
                let BinderBufferObject { length, parent, parent_offset, flags, .. } = piece;
                note!(self, " piece {flags} {length} in {parent}+{parent_offset} at {place:x}");
                let has_parent = flags & BINDER_BUFFER_FLAG_HAS_PARENT != 0;
                self.troupe.count(if has_parent { "a piece with a parent" } else { "a piece" });
            }
            BINDER_TYPE_FDA => {
                let (array, _) =
                    BinderFdArrayObject::read_from_prefix(&bytes[at..]).expect("a whole object");
                note!(self, " fds {} in {}", array.num_fds, array.parent);
                if array.num_fds == 0 {
                    return;
                }
                self.troupe.count("an array of files");
                let parent = length(offsets[length(array.parent)]);
                let (parent, _) =
                    BinderBufferObject::read_from_prefix(&bytes[parent..]).expect("the parent");
                for number in 0..array.num_fds {
                    let address = parent.buffer + array.parent_offset + 4 * number;
                    let fd: u32 = self.troupe.peek_value(index, address);
                    note!(self, " {}", self.troupe.members[index].name_of_fd(fd.into()));
                }
            }
            kind => note!(self, " unknown {kind:x}"),
        }
    }
}

fn length(bytes: u64) -> usize {
    usize::try_from(bytes).expect("a length that there can be")
}
