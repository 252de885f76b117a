//! From the bytes of one read of `/dev/fuse` to a typed request.

use zerocopy::FromBytes;

use crate::abi::InHeader;
use crate::body::{Body, BodyFault};
use crate::opcode::{FUSE_BATCH_FORGET, FUSE_FORGET, FUSE_INTERRUPT, name_of};
use crate::operation::Operation;

/// Extensions are counted in units of this many bytes.
const EXTENSION_UNIT: usize = 8;

/// The caller, and the node of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// One of [`opcode`](crate::opcode).
    pub opcode: u32,
    /// What the reply must name.
    pub unique: u64,
    /// The node asked about; the directory where there is a name.
    pub node: u64,
    /// The caller's filesystem user.
    pub uid: u32,
    /// The caller's filesystem group.
    pub gid: u32,
    /// The calling *thread*, in the pid namespace of the mount; 0 where there is none.
    pub pid: u32,
}

/// A request of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The caller.
    pub header: Header,
    /// The operation.
    pub operation: Operation<'a>,
}

impl<'a> Request<'a> {
    /// Reads the one request that `bytes` must be.
    ///
    /// Names and data stay where they are. Extensions after the body are left out.
    ///
    /// # Errors
    ///
    /// [`ParseError`] unless every length agrees and every name has an end. Nothing is taken on
    /// trust, though it is the kernel that speaks: a server may be given any descriptor.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let (header, body) =
            InHeader::read_from_prefix(bytes).map_err(|_| ParseError::Header(bytes.len()))?;
        let InHeader { opcode, unique, .. } = header;
        let operation = check_length(header.len, bytes.len())
            .and_then(|()| without_extensions(body, header.total_extlen))
            .and_then(|body| Operation::parse(opcode, Body::new(body)))
            .map_err(|fault| ParseError::Body { unique, opcode, fault })?;
        let header = Header {
            opcode,
            unique,
            node: header.nodeid,
            uid: header.uid,
            gid: header.gid,
            pid: header.pid,
        };
        Ok(Self { header, operation })
    }
}

/// Bytes that are not a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// There are fewer bytes than a header has.
    #[error("{0} bytes are too few for a request")]
    Header(usize),
    /// What follows the header is not what the header demands.
    #[error("request {unique}, {}: {fault}", name_of(*.opcode))]
    Body {
        /// The request's number.
        unique: u64,
        /// The request's opcode.
        opcode: u32,
        /// The error.
        fault: BodyFault,
    },
}

impl ParseError {
    /// The request that waits for an error in reply, if one does: without it, its caller waits on.
    #[must_use]
    pub const fn reply_to(&self) -> Option<u64> {
        match *self {
            Self::Header(_)
            | Self::Body { opcode: FUSE_FORGET | FUSE_BATCH_FORGET | FUSE_INTERRUPT, .. } => None,
            Self::Body { unique, .. } => Some(unique),
        }
    }
}

fn check_length(declared: u32, got: usize) -> Result<(), BodyFault> {
    match usize::try_from(declared) {
        Ok(declared) if declared == got => Ok(()),
        _ => Err(BodyFault::Length { declared, got }),
    }
}

/// The body itself: extensions lie at its end.
fn without_extensions(body: &[u8], units: u16) -> Result<&[u8], BodyFault> {
    let need = usize::from(units) * EXTENSION_UNIT;
    let own = body.len().checked_sub(need).ok_or(BodyFault::Short { need, got: body.len() })?;
    Ok(&body[..own])
}
