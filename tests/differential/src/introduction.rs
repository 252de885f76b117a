//! How a play begins: objects of all are known to others.

use std::fmt::Write;

use binder_uapi::{
    BC_ACQUIRE, BC_REPLY, BC_TRANSACTION, BINDER_TYPE_BINDER, BINDER_TYPE_HANDLE, BinderWriteRead,
    FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject, TF_ACCEPT_FDS,
};
use zerocopy::IntoBytes;

use crate::command::Command;
use crate::message::Message;
use crate::play::{Play, note};
use crate::troupe::READ_BYTES;

impl Play<'_, '_> {
    /// Every process calls the context manager of its device with an object of its own, and gets what the others
    /// brought before.
    pub(crate) fn introduce_all(&mut self) {
        for index in 0..self.troupe.members.len() {
            let manager = self.troupe.manager_of(index);
            if index == manager {
                continue;
            }
            let flags = if index == 1 { 0 } else { FLAT_BINDER_FLAG_ACCEPTS_FDS };
            let number = index as u64;
            let own = FlatBinderObject {
                kind: BINDER_TYPE_BINDER,
                flags,
                binder: number << 12,
                cookie: number << 4,
            };
            self.introduce(index, BC_TRANSACTION, &[own], Command::Call);
            self.exchange(manager, Vec::new(), Vec::new(), READ_BYTES);
            let handles = self.troupe.members[manager].handles.clone();
            let (newest, others) = handles.split_last().expect("the one that came");
            self.acquire(manager, &[*newest]);
            let kind = BINDER_TYPE_HANDLE;
            let refer = |handle: &u32| FlatBinderObject {
                kind,
                flags: 0,
                binder: u64::from(*handle),
                cookie: 0,
            };
            // The first handle is the manager's own object to the others.
            let others: Vec<_> = others.iter().skip(1).map(refer).collect();
            self.introduce(manager, BC_REPLY, &others, Command::Reply);
            self.exchange(manager, Vec::new(), Vec::new(), READ_BYTES);
            self.exchange(index, Vec::new(), Vec::new(), READ_BYTES);
            let handles = self.troupe.members[index].handles[1..].to_vec();
            self.acquire(index, &handles);
        }
    }

    fn introduce(
        &mut self,
        index: usize,
        code: u32,
        objects: &[FlatBinderObject],
        command: Command,
    ) {
        let placed = self.place_message(index, &mut Message::of(objects));
        let data = binder_uapi::BinderTransactionData { flags: TF_ACCEPT_FDS, ..placed };
        let bytes = [code.as_bytes(), data.as_bytes()].concat();
        let written = vec![(bytes.len() as u64, command)];
        self.exchange(index, bytes, written, 0);
    }

    fn acquire(&mut self, index: usize, handles: &[u32]) {
        let commands = handles.iter().flat_map(|handle| [BC_ACQUIRE, *handle]);
        let bytes = commands.flat_map(u32::to_ne_bytes).collect();
        self.exchange(index, bytes, Vec::new(), 0);
    }

    fn exchange(
        &mut self,
        index: usize,
        bytes: Vec<u8>,
        written: Vec<(u64, Command)>,
        read_bytes: usize,
    ) {
        note!(self, "introduction p{index}t0");
        let request = BinderWriteRead {
            read_size: read_bytes as u64,
            read_buffer: self.troupe.members[index].seats[0].read_buffer,
            ..self.troupe.place_commands(index, &bytes)
        };
        self.run(index, 0, &request, &written);
    }
}
