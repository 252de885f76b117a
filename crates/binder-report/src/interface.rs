//! The interface that a call speaks, where its parcel shows one.
//!
//! A parcel of Android's libbinder begins with an interface token: the caller's strict mode policy,
//! the work source, four letters for the partition it comes from, and the interface's name in
//! UTF-16, each of 32 bits but the name, which begins with its length.
//!
//! Of a parcel no more is read than this takes: first whether there is a token, then its name.

use alloc::collections::BTreeMap;
use alloc::string::String;

use binder_core::{
    ProcessKey, SnapshotItem, StackSide, TransactionKind, TransactionView, WorkView,
};

const PARTITION_START: usize = 8;
const NAME_START: usize = 16;
const MAX_NAME_CHARS: usize = 120;

/// Partitions: a system, a vendor's, a recovery image, a host.
const PARTITIONS: [u32; 4] = [
    u32::from_be_bytes(*b"SYST"),
    u32::from_be_bytes(*b"VNDR"),
    u32::from_be_bytes(*b"RECO"),
    u32::from_be_bytes(*b"UNKN"),
];

/// Reads the receive buffer of a process from an offset, or says no.
pub type Peek<'a> = &'a dyn Fn(ProcessKey, usize, &mut [u8]) -> bool;

/// The interfaces that calls under way speak, by their debug ids.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Interfaces(BTreeMap<u32, String>);

impl Interfaces {
    /// Notes those of a slice of a snapshot: before any of the calls in it can come to its end, and its
    /// data with it.
    pub fn of_slice(slice: &[SnapshotItem], peek: Peek<'_>) -> Self {
        let interface_of = |transaction: &TransactionView| {
            Some((transaction.id, interface_of(transaction, peek)?))
        };
        Self(slice.iter().filter_map(at_receiver).filter_map(interface_of).collect())
    }

    /// Adds those of another slice.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    pub(crate) fn get(&self, transaction: u32) -> Option<&str> {
        self.0.get(&transaction).map(String::as_str)
    }
}

/// The transaction of an item, if it was sent to the process that the item belongs to.
fn at_receiver(item: &SnapshotItem) -> Option<&TransactionView> {
    match item {
        SnapshotItem::StackEntry(entry) => {
            (entry.direction == StackSide::Incoming).then_some(&entry.transaction)
        }
        SnapshotItem::ThreadWork(WorkView::Transaction(transaction))
        | SnapshotItem::Work(WorkView::Transaction(transaction))
        | SnapshotItem::WaitingOneway(transaction) => Some(transaction),
        _ => None,
    }
}

/// The interface that the data of a transaction shows. A reply has no interface token.
fn interface_of(transaction: &TransactionView, peek: Peek<'_>) -> Option<String> {
    let buffer = transaction.buffer.filter(|_| transaction.kind != TransactionKind::Reply)?;
    let receiver = transaction.to?;
    interface_of_data(|at, into| {
        at + into.len() <= buffer.data_len as usize
            && peek(receiver, buffer.start as usize + at, into)
    })
}

/// The name in the interface token at the start of a parcel.
///
/// `read` fills its second argument from the parcel, beginning at the byte of its first; it says no
/// where there are not as many bytes. Only a name is returned that could be one: bytes of another
/// kind of payload are not shown.
pub fn interface_of_data(read: impl Fn(usize, &mut [u8]) -> bool) -> Option<String> {
    let mut head = [0; NAME_START - PARTITION_START];
    let (partition, len_chars) = read(PARTITION_START, &mut head).then(|| {
        let (partition, len_chars) = head.split_at(4);
        (word(partition), word(len_chars) as usize)
    })?;
    if !PARTITIONS.contains(&partition) || !(1..=MAX_NAME_CHARS).contains(&len_chars) {
        return None;
    }
    let mut units = [0; 2 * MAX_NAME_CHARS];
    let units = &mut units[..2 * len_chars];
    if !read(NAME_START, units) {
        return None;
    }
    let mut name = String::with_capacity(len_chars);
    for unit in units.chunks_exact(2) {
        name.push(name_char(u16::from_le_bytes([unit[0], unit[1]]))?);
    }
    Some(name)
}

fn word(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

fn name_char(unit: u16) -> Option<char> {
    let is_of_names = |char: &char| char.is_ascii_alphanumeric() || "._$@:/-".contains(*char);
    char::from_u32(u32::from(unit)).filter(is_of_names)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn parcel(partition: &[u8; 4], name: &str) -> Vec<u8> {
        let mut bytes = [0x4200_0004_u32.to_le_bytes(), u32::MAX.to_le_bytes()].concat();
        bytes.extend(u32::from_be_bytes(*partition).to_le_bytes());
        bytes.extend(u32::try_from(name.len()).unwrap().to_le_bytes());
        bytes.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
        bytes.extend([0; 4]);
        bytes
    }

    fn read(parcel: &[u8]) -> Option<String> {
        interface_of_data(|at, into| {
            let found = parcel.get(at..at + into.len());
            found.inspect(|bytes| into.copy_from_slice(bytes)).is_some()
        })
    }

    #[test]
    fn an_interface_token_shows_its_name() {
        let name = "android.os.IServiceManager";
        for partition in [b"SYST", b"UNKN"] {
            assert_eq!(read(&parcel(partition, name)).as_deref(), Some(name));
        }
    }

    #[test]
    fn other_payloads_show_nothing() {
        let good = parcel(b"SYST", "a.b.IC");
        for len in 0..good.len() - 4 {
            assert_eq!(read(&good[..len]), None, "{len} bytes");
        }
        for bytes in [parcel(b"SECR", "a.b.IC"), parcel(b"SYST", ""), parcel(b"SYST", "two words")]
        {
            assert_eq!(read(&bytes), None);
        }
        assert_eq!(read(&parcel(b"SYST", &"x".repeat(MAX_NAME_CHARS + 1))), None);
    }
}
