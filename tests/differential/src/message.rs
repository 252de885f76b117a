//! What transactions carry, by chance.

use binder_testkit::Dice;
use binder_uapi::{
    BINDER_BUFFER_FLAG_HAS_PARENT, BINDER_TYPE_BINDER, BINDER_TYPE_FD, BINDER_TYPE_FDA,
    BINDER_TYPE_HANDLE, BINDER_TYPE_PTR, BINDER_TYPE_WEAK_BINDER, BINDER_TYPE_WEAK_HANDLE,
    BinderBufferObject, BinderFdArrayObject, FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject,
};
use zerocopy::IntoBytes;

/// How many objects of its own a process offers.
const OWN_OBJECTS: u64 = 5;

/// Data and objects of a transaction, and the pieces beside it.
#[derive(Default)]
pub(crate) struct Message {
    pub(crate) data: Vec<u8>,
    pub(crate) offsets: Vec<u64>,
    /// Where in the data the address of a piece belongs, and its bytes; none for a bad address.
    pub(crate) pieces: Vec<(usize, Option<Vec<u8>>)>,
    /// The room for pieces, if the scatter-gather command is to be used.
    pub(crate) extra_bytes: Option<u64>,
}

impl Message {
    /// A message that may be in order, by a process that has these handles.
    pub(crate) fn random(dice: &mut Dice, handles: &[u32]) -> Self {
        // No object is at offset 0, where the C driver takes no parent to be.
        let data = dice.roll(1 << 40).to_le_bytes().to_vec();
        let mut message = Self { data, ..Self::default() };
        let objects = if dice.one_in(2) { 0 } else { 1 + dice.roll(3) };
        let gathers = dice.one_in(3);
        if gathers && objects > 0 && dice.one_in(2) {
            message.gather_in_order(dice);
        } else {
            for _ in 0..objects {
                if gathers {
                    message.gather(dice);
                } else {
                    message.refer(dice, handles);
                }
            }
        }
        if gathers && dice.one_in(6) {
            message.extra_bytes = message.extra_bytes.map(|room| room.saturating_sub(8));
        }
        if dice.one_in(12) && !message.offsets.is_empty() {
            let at = dice.roll_index(message.offsets.len());
            message.offsets[at] = dice.pick(&[0, 4, 9, 24, 1 << 20, u64::MAX - 7]);
        }
        message
    }

    /// A message of these.
    pub(crate) fn of(objects: &[FlatBinderObject]) -> Self {
        let mut message = Self { data: vec![0; 8], ..Self::default() };
        objects.iter().for_each(|object| message.object(object.as_bytes()));
        message
    }

    fn object(&mut self, object: &[u8]) {
        self.data.resize(self.data.len().next_multiple_of(8), 0);
        self.offsets.push(self.data.len() as u64);
        self.data.extend_from_slice(object);
    }

    fn refer(&mut self, dice: &mut Dice, handles: &[u32]) {
        let flags = if dice.one_in(2) { FLAT_BINDER_FLAG_ACCEPTS_FDS } else { 0 };
        let own = dice.roll(OWN_OBJECTS) + 1;
        let handle = if handles.is_empty() || dice.one_in(10) {
            u64::from(dice.pick(&[0_u32, 7, 99]))
        } else {
            u64::from(dice.pick(handles))
        };
        let (kind, binder, cookie) = match dice.roll(10) {
            0..4 => (BINDER_TYPE_BINDER, own << 12, own << 4),
            4 => (BINDER_TYPE_WEAK_BINDER, own << 12, own << 4),
            // The same object by another cookie.
            5 => (BINDER_TYPE_BINDER, own << 12, dice.roll(2)),
            6 | 7 => (BINDER_TYPE_HANDLE, handle, 0),
            8 => (BINDER_TYPE_WEAK_HANDLE, handle, 0),
            _ => (BINDER_TYPE_FD, dice.pick(&[0, 0, 0, 98]), 5),
        };
        self.object(FlatBinderObject { kind, flags, binder, cookie }.as_bytes());
    }

    /// A piece, what it points to, and the descriptors in one of them.
    fn gather_in_order(&mut self, dice: &mut Dice) {
        let length = dice.pick(&[24, 32]);
        self.piece(dice, length, None);
        let mut parent = 0;
        if dice.one_in(2) {
            let (length, offset) = (dice.pick(&[8, 16, 13]), dice.pick(&[0, 8]));
            self.piece(dice, length, Some((0, offset)));
            parent = dice.roll(2);
        }
        if dice.one_in(2) {
            // A pointer is not the number of a descriptor that there is.
            let offset = if parent == 0 && self.offsets.len() == 2 { 16 } else { 0 };
            self.array(dice.pick(&[1, 1, 2]), (parent, offset));
        }
    }

    fn gather(&mut self, dice: &mut Dice) {
        let parent = dice.roll(self.offsets.len() as u64 + 1);
        let parent_offset = dice.pick(&[0, 0, 8, 16, 12, 4, 24, 2, 1 << 20]);
        if dice.one_in(4) && !self.offsets.is_empty() {
            self.array(dice.pick(&[0, 1, 1, 2, u64::MAX / 4]), (parent, parent_offset));
            return;
        }
        let length = dice.pick(&[0_u64, 8, 16, 24, 32, 13]);
        let has_parent = !self.offsets.is_empty() && dice.one_in(2);
        self.piece(dice, length, has_parent.then_some((parent, parent_offset)));
    }

    fn array(&mut self, num_fds: u64, (parent, parent_offset): (u64, u64)) {
        let kind = BINDER_TYPE_FDA;
        let array = BinderFdArrayObject { kind, pad: 0, num_fds, parent, parent_offset };
        self.object(array.as_bytes());
        self.extra_bytes.get_or_insert(0);
    }

    fn piece(&mut self, dice: &mut Dice, length: u64, parent: Option<(u64, u64)>) {
        let flags = if parent.is_some() { BINDER_BUFFER_FLAG_HAS_PARENT } else { 0 };
        let kind = BINDER_TYPE_PTR;
        let (parent, parent_offset) = parent.unwrap_or_default();
        let object = BinderBufferObject { kind, flags, buffer: 0, length, parent, parent_offset };
        self.object(object.as_bytes());
        let at = self.data.len() - size_of::<BinderBufferObject>()
            + core::mem::offset_of!(BinderBufferObject, buffer);
        // Zeros are numbers of a descriptor that there is.
        let len = usize::try_from(length).expect("a short piece");
        self.pieces.push((at, (!dice.one_in(20)).then(|| vec![0; len])));
        let room = self.extra_bytes.unwrap_or(0) + length.next_multiple_of(8);
        self.extra_bytes = Some(room);
    }
}
