//! Reading requests: each kind, every wrong length, and bytes that are nothing.

mod samples;

use fuse_wire::abi::{InHeader, InitIn, InitInRest};
use fuse_wire::flags::{FUSE_INIT_EXT, FUSE_PASSTHROUGH};
use fuse_wire::opcode::*;
use fuse_wire::{BodyFault, Operation, ParseError, Request};
use proptest::collection::vec;
use proptest::prelude::*;
use samples::{Sample, request, samples};
use zerocopy::{FromZeros, IntoBytes};

const HEADER: usize = size_of::<InHeader>();

/// Makes the header of `bytes` declare their length.
fn with_true_length(mut bytes: Vec<u8>) -> Vec<u8> {
    let len = u32::try_from(bytes.len()).expect("a short request");
    bytes[..4].copy_from_slice(&len.to_ne_bytes());
    bytes
}

fn fault_of(bytes: &[u8]) -> BodyFault {
    match Request::parse(bytes) {
        Err(ParseError::Body { fault, .. }) => fault,
        other => panic!("not a fault of the body: {other:?}"),
    }
}

#[test]
fn each_kind_of_request_is_read_whole() {
    for Sample { opcode, bytes, operation } in samples() {
        let request = Request::parse(&bytes).unwrap();
        assert_eq!(request.operation, operation, "{}", name_of(opcode));
        let header = request.header;
        assert_eq!((header.opcode, header.unique), (opcode, 0x1111_2222_3333_4444));
        assert_eq!((header.node, header.uid, header.gid, header.pid), (0x5555, 1000, 1001, 4711));
    }
}

#[test]
fn a_request_that_ends_early_is_refused_wherever_it_ends() {
    for Sample { opcode, bytes, .. } in samples() {
        for len in 0..bytes.len() {
            assert!(Request::parse(&bytes[..len]).is_err(), "{} at {len}", name_of(opcode));
            if len >= HEADER && opcode != FUSE_SETLK {
                let shorter = with_true_length(bytes[..len].to_vec());
                assert!(Request::parse(&shorter).is_err(), "{} of {len}", name_of(opcode));
            }
        }
    }
}

#[test]
fn a_request_that_goes_on_is_refused() {
    for Sample { opcode, mut bytes, .. } in samples() {
        bytes.push(0);
        let declared = u32::try_from(bytes.len() - 1).unwrap();
        assert_eq!(fault_of(&bytes), BodyFault::Length { declared, got: bytes.len() });
        if !matches!(opcode, FUSE_INIT | FUSE_SETLK) {
            let longer = with_true_length(bytes);
            assert_eq!(fault_of(&longer), BodyFault::Trailing(1), "{}", name_of(opcode));
        }
    }
}

#[test]
fn names_are_neither_empty_nor_endless() {
    for name in [&b""[..], b"\0", b"endless"] {
        assert_eq!(fault_of(&request(FUSE_LOOKUP, name)), BodyFault::Name);
    }
    assert_eq!(fault_of(&request(FUSE_SYMLINK, b"link\0")), BodyFault::Name);
    assert_eq!(fault_of(&request(FUSE_LOOKUP, b"two\0names\0")), BodyFault::Trailing(6));
}

#[test]
fn a_count_beyond_the_request_is_refused() {
    let endless = request(FUSE_BATCH_FORGET, &[0xff; 24]);
    let need = u32::MAX as usize * 16;
    assert_eq!(fault_of(&endless), BodyFault::Short { need, got: 16 });
}

#[test]
fn a_newer_kernel_offers_more_features() {
    let flags = u32::try_from(FUSE_INIT_EXT).unwrap();
    let init = InitIn { major: 7, minor: 44, max_readahead: 0, flags };
    let rest = InitInRest {
        flags2: u32::try_from(FUSE_PASSTHROUGH >> 32).unwrap(),
        ..InitInRest::new_zeroed()
    };
    let body = [init.as_bytes(), rest.as_bytes(), &[1; 8]].concat();
    let bytes = request(FUSE_INIT, &body);
    let Operation::Init(offer) = Request::parse(&bytes).unwrap().operation else {
        panic!("not INIT");
    };
    assert_eq!((offer.minor, offer.features), (44, FUSE_INIT_EXT | FUSE_PASSTHROUGH));
}

#[test]
fn extensions_are_left_out() {
    let mut bytes = request(FUSE_LOOKUP, b"binder\0extended");
    bytes[HEADER - 4] = 1;
    let operation = Request::parse(&bytes).unwrap().operation;
    assert_eq!(operation, Operation::Lookup { name: b"binder" });
    bytes[HEADER - 4] = 2;
    assert_eq!(fault_of(&bytes), BodyFault::Short { need: 16, got: 15 });
}

#[test]
fn only_those_who_wait_are_told_of_an_error() {
    let error = Request::parse(&request(FUSE_LOOKUP, b"")).unwrap_err();
    assert_eq!(error.reply_to(), Some(0x1111_2222_3333_4444));
    for opcode in [FUSE_FORGET, FUSE_BATCH_FORGET, FUSE_INTERRUPT] {
        assert_eq!(Request::parse(&request(opcode, b"")).unwrap_err().reply_to(), None);
    }
    assert_eq!(Request::parse(b"").unwrap_err().reply_to(), None);
}

#[test]
fn an_error_says_what_is_wrong_with_which_request() {
    let error = Request::parse(&request(FUSE_IOCTL, &[0; 30])).unwrap_err();
    let text = "request 1229801703532086340, FUSE_IOCTL: 32 bytes are needed where 30 are left";
    assert_eq!(error.to_string(), text);
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = Request::parse(&bytes);
    }

    #[test]
    fn random_bodies_never_panic(opcode in 0..60u32, body in vec(any::<u8>(), 0..200)) {
        let _ = Request::parse(&request(opcode, &body));
    }

    #[test]
    fn changed_requests_never_panic(
        nth in any::<prop::sample::Index>(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut samples = samples();
        let mut bytes = samples.swap_remove(nth.index(samples.len())).bytes;
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let _ = Request::parse(&bytes);
    }
}
