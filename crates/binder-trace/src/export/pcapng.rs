//! A capture for Wireshark: pcapng, with a packet for each call, reply and failure, of a link type that is free for use.
//!
//! What a packet holds, [`DISSECTOR`] tells Wireshark: numbers of fixed length, the highest byte first, and then strings
//! and data behind their lengths. The format of the file: <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html>.

use alloc::vec::Vec;

use super::CallLog;
use crate::calls::{CallParty, TracedCall};
use crate::line::{printable, status_words};
use crate::record::{SendKind, SentRecord};

/// The dissector for Wireshark and tshark, in Lua.
pub const DISSECTOR: &str = include_str!("dissector.lua");

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// `LINKTYPE_USER0`.
const LINK_TYPE: u16 = 147;
const OPTION_END: u16 = 0;
const OPTION_IF_NAME: u16 = 2;
const OPTION_IF_TSRESOL: u16 = 9;
/// Times are in nanoseconds: ten to the minus nine seconds.
const NANOSECONDS: u8 = 9;
/// Of the format of a packet.
const VERSION: u8 = 1;

/// The kinds of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PacketKind {
    Call = 0,
    Oneway = 1,
    Reply = 2,
    Failure = 3,
}

/// Writes a trace as a capture.
pub fn pcapng(log: &CallLog) -> Vec<u8> {
    let mut file = Vec::new();
    let header: Vec<u8> = [
        &BYTE_ORDER.to_le_bytes()[..],
        &1_u16.to_le_bytes(),
        &0_u16.to_le_bytes(),
        // The length of the section is not told.
        &u64::MAX.to_le_bytes(),
    ]
    .concat();
    put_block(&mut file, SECTION_HEADER, &header);
    let mut interface = [LINK_TYPE.to_le_bytes(), [0; 2]].concat();
    // Packets are as long as they are.
    interface.extend(0_u32.to_le_bytes());
    put_option(&mut interface, OPTION_IF_NAME, b"binder");
    put_option(&mut interface, OPTION_IF_TSRESOL, &[NANOSECONDS]);
    put_option(&mut interface, OPTION_END, &[]);
    put_block(&mut file, INTERFACE, &interface);
    let mut packets: Vec<_> = log.calls.iter().flat_map(|call| packets(log, call)).collect();
    packets.sort_by_key(|(at_ns, _)| *at_ns);
    for (at_ns, packet) in packets {
        put_packet(&mut file, at_ns, &packet);
    }
    file
}

/// The packets of a call, each with its time: its send, and its end if that is another moment.
fn packets(log: &CallLog, call: &TracedCall) -> Vec<(u64, Vec<u8>)> {
    let is_oneway = call.sent.kind == SendKind::Oneway;
    let kind = if is_oneway { PacketKind::Oneway } else { PacketKind::Call };
    let unix_ns = |at_ns: u64| log.tracker.unix_ns(at_ns);
    let mut packets = Vec::from([(unix_ns(call.sent.at_ns), packet(log, call, kind, &call.sent))]);
    let end = match (&call.reply, call.status.is_error()) {
        (_, true) => call.ended_ns.map(|ended_ns| (ended_ns, PacketKind::Failure, &call.sent)),
        (Some(reply), false) => Some((reply.sent.at_ns, PacketKind::Reply, &reply.sent)),
        (None, false) => None,
    };
    packets.extend(end.map(|(at_ns, kind, sent)| (unix_ns(at_ns), packet(log, call, kind, sent))));
    packets
}

fn packet(log: &CallLog, call: &TracedCall, kind: PacketKind, sent: &SentRecord) -> Vec<u8> {
    let sender = CallParty { pid: sent.from_pid, tid: sent.from_tid };
    let (from, to) = match kind {
        PacketKind::Call | PacketKind::Oneway => (sender, call.receiver),
        PacketKind::Reply | PacketKind::Failure => (call.receiver, call.sender()),
    };
    let naming = log.methods.naming(&call.sent);
    let mut packet = Vec::from([VERSION, kind as u8]);
    let node = call.sent.node;
    for word in
        [call.sent.id, call.sent.within, from.pid, from.tid, to.pid, to.tid, node, naming.code]
    {
        packet.extend(word.to_be_bytes());
    }
    packet.extend(sent.flags.to_be_bytes());
    let [queue_ns, service_ns] =
        [call.queue_ns(), call.service_ns()].map(Option::unwrap_or_default);
    for wide in [sent.data_bytes, queue_ns, service_ns] {
        packet.extend(wide.to_be_bytes());
    }
    let name = |pid: u32| log.tracker.name(pid).unwrap_or_default();
    let status = status_words(call.status);
    for text in [
        &*call.sent.device,
        name(from.pid),
        name(to.pid),
        naming.interface.unwrap_or_default(),
        &naming.method_words(),
        &status,
    ] {
        // tshark shows them on terminals.
        put_short(&mut packet, printable(text).as_bytes());
    }
    let data = if kind == PacketKind::Failure { &[][..] } else { &sent.data };
    put_short(&mut packet, data);
    packet
}

/// Appends bytes behind their length, as many as that can tell.
fn put_short(packet: &mut Vec<u8>, bytes: &[u8]) {
    let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    packet.extend(len.to_be_bytes());
    packet.extend(&bytes[..usize::from(len)]);
}

fn put_packet(file: &mut Vec<u8>, at_ns: u64, packet: &[u8]) {
    let [low, high] = [at_ns & u64::from(u32::MAX), at_ns >> 32];
    let mut body = 0_u32.to_le_bytes().to_vec();
    // Halves of the time, the upper first, each as a number of this file's order.
    body.extend(&high.to_le_bytes()[..4]);
    body.extend(&low.to_le_bytes()[..4]);
    let len = u32::try_from(packet.len()).unwrap_or(u32::MAX).to_le_bytes();
    body.extend([len, len].concat());
    body.extend(packet);
    put_block(file, ENHANCED_PACKET, &body);
}

fn put_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend(u16::try_from(value.len()).unwrap_or_default().to_le_bytes());
    body.extend(value);
    pad(body);
}

fn put_block(file: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let mut body = body.to_vec();
    pad(&mut body);
    let len = u32::try_from(body.len() + 12).unwrap_or(u32::MAX).to_le_bytes();
    file.extend(kind.to_le_bytes());
    file.extend(len);
    file.extend(body);
    file.extend(len);
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{log_of, story};
    use super::*;
    use crate::methods::MethodNames;
    use crate::record::TraceRecord;
    use crate::record::tests::call;

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn blocks_fill_the_file_and_packets_are_in_the_order_of_time() {
        let file = pcapng(&story());
        let (mut at, mut kinds, mut times) = (0, Vec::new(), Vec::new());
        while at < file.len() {
            let (kind, len) = (word(&file, at), word(&file, at + 4) as usize);
            assert!(len.is_multiple_of(4) && word(&file, at + len - 4) as usize == len);
            if kind == ENHANCED_PACKET {
                kinds.push(file[at + 29]);
                times.push(u64::from(word(&file, at + 12)) << 32 | u64::from(word(&file, at + 16)));
            }
            at += len;
        }
        // A call, one within it, their replies, a one-way, a call that fails, and one that has no end.
        assert_eq!(kinds, [0, 0, 2, 2, 1, 0, 3, 0]);
        assert_eq!(times[0], 1_000_000_001_000);
        assert!(times.is_sorted());
    }

    #[test]
    fn no_text_acts_on_a_terminal() {
        let records = [
            TraceRecord::Named { pid: 10, name: "a\u{1b}[31m".into() },
            TraceRecord::Sent(call(1, 1_000)),
        ];
        let bytes = pcapng(&log_of(records, MethodNames::default()));
        assert!(bytes.windows(5).any(|it| it == b"a[31m"));
        assert!(!bytes.windows(5).any(|it| it == b"\x1b[31m"));
    }
}
