//! The files `transaction_log` and `failed_transaction_log`.

use alloc::string::String;
use alloc::vec::Vec;

use binder_core::{LogEntry, SendEnd, TransactionKind};
use binder_uapi::BR_FAILED_REPLY;

use crate::TextLines;

/// Entries that a log of a mount shows.
const LOG_ENTRIES: usize = 32;

/// An entry, and the name of the device it is of.
pub type DeviceEntry<N> = (N, LogEntry);

/// Of the entries of several devices, the newest of all, the oldest first.
///
/// `latest_id` is the debug id given last: ids go on from zero when they have reached their end.
pub fn newest_entries<N>(
    entries: impl Iterator<Item = DeviceEntry<N>>,
    latest_id: u32,
) -> Vec<DeviceEntry<N>> {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by_key(|(_, entry)| core::cmp::Reverse(latest_id.wrapping_sub(entry.id)));
    entries.drain(..entries.len().saturating_sub(LOG_ENTRIES));
    entries
}

/// The text of either log.
pub fn transaction_log(entries: &[DeviceEntry<&str>]) -> String {
    let mut text = TextLines::default();
    for (device, entry) in entries {
        put_entry(&mut text, device, entry);
    }
    text.0
}

fn put_entry(text: &mut TextLines, device: &str, entry: &LogEntry) {
    let kind = match entry.kind {
        TransactionKind::Call => "call ",
        TransactionKind::Oneway => "async",
        TransactionKind::Reply => "reply",
    };
    let (code, errno) = match entry.end {
        SendEnd::Incomplete | SendEnd::Accepted => (0, 0),
        SendEnd::Refused { code, errno, .. } => (code, -errno),
        SendEnd::Undelivered { errno, .. } => (BR_FAILED_REPLY, -errno),
    };
    let LogEntry { id, from_pid, from_tid, to_pid, to_tid, .. } = entry;
    text.put(format_args!(
        "{id}: {kind} from {from_pid}:{from_tid} to {to_pid}:{to_tid} context {device} \
         node {} handle {} size {}:{} ret {code}/{errno} l=0",
        entry.node, entry.handle, entry.data_size, entry.offsets_size,
    ));
    let is_incomplete = entry.end == SendEnd::Incomplete;
    text.line(format_args!("{}", if is_incomplete { " (incomplete)" } else { "" }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u32, end: SendEnd) -> LogEntry {
        LogEntry {
            id,
            kind: TransactionKind::Call,
            from_pid: 400,
            from_tid: 401,
            to_pid: 345,
            to_tid: 0,
            node: 5,
            handle: 1,
            code: 1,
            flags: 0x10,
            data_size: 72,
            offsets_size: 8,
            end,
        }
    }

    #[test]
    fn a_line_tells_who_sent_what_to_whom_and_how_it_ended() {
        let refused = SendEnd::Refused { code: BR_FAILED_REPLY, errno: 22, excess: None };
        let oneway = LogEntry { kind: TransactionKind::Oneway, ..entry(8, refused) };
        let reply = LogEntry { kind: TransactionKind::Reply, ..entry(9, SendEnd::Incomplete) };
        let entries = [("binder", entry(7, SendEnd::Accepted)), ("x", oneway), ("binder", reply)];
        assert_eq!(
            transaction_log(&entries),
            "7: call  from 400:401 to 345:0 context binder node 5 handle 1 size 72:8 ret 0/0 l=0\n\
             8: async from 400:401 to 345:0 context x node 5 handle 1 size 72:8 ret 29201/-22 l=0\n\
             9: reply from 400:401 to 345:0 context binder node 5 handle 1 size 72:8 ret 0/0 l=0 \
             (incomplete)\n"
        );
    }

    #[test]
    fn entries_of_several_devices_are_one_log_of_32_also_when_ids_begin_anew() {
        let ids = |start: u32, step: u32| (0..30).map(move |n| start.wrapping_add(n * step));
        let first = ids(u32::MAX - 20, 2).map(|id| ("a", entry(id, SendEnd::Accepted)));
        let second = ids(u32::MAX - 19, 2).map(|id| ("b", entry(id, SendEnd::Accepted)));
        let latest_id = (u32::MAX - 19).wrapping_add(58);
        let newest = newest_entries(first.chain(second), latest_id);
        let expected: Vec<_> = (0..32).rev().map(|age| latest_id.wrapping_sub(age)).collect();
        assert_eq!(newest.iter().map(|(_, entry)| entry.id).collect::<Vec<_>>(), expected);
        assert_eq!(newest[31].0, "b");
    }
}
