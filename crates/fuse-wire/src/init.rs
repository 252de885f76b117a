//! The opening of the conversation: version and features.

use crate::abi;
use crate::body::{Body, BodyFault};
use crate::flags::{FUSE_INIT_EXT, FUSE_MAX_PAGES, FUSE_PASSTHROUGH};
use crate::{FUSE_KERNEL_MINOR_VERSION, FUSE_KERNEL_VERSION, OLDEST_MINOR_VERSION};

/// What the kernel offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitOffer {
    /// The kernel's major version.
    pub major: u32,
    /// The kernel's minor version.
    pub minor: u32,
    /// The most it would read ahead, in bytes.
    pub max_readahead: u32,
    /// The features it has.
    pub features: u64,
}

/// The terms of the conversation: as the server wishes them, or as both have agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitTerms {
    /// The features in use.
    pub features: u64,
    /// The most to read ahead, in bytes.
    pub max_readahead: u32,
    /// The most bytes of one WRITE.
    pub max_write: u32,
    /// The most pages of one request; counts with [`FUSE_MAX_PAGES`].
    pub max_pages: u16,
    /// How many requests may wait in the background.
    pub max_background: u16,
    /// From how many on the kernel slows their senders.
    pub congestion_threshold: u16,
    /// The resolution of times, in nanoseconds.
    pub time_granularity_ns: u32,
    /// How deep filesystems may lie on each other; [`FUSE_PASSTHROUGH`] needs at least 1.
    pub max_stack_depth: u32,
}

/// The kernel speaks a version that we do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the kernel speaks FUSE {major}.{minor}; we need 7.{OLDEST_MINOR_VERSION} or later")]
pub struct UnsupportedVersion {
    /// The kernel's major version.
    pub major: u32,
    /// The kernel's minor version.
    pub minor: u32,
}

impl InitOffer {
    pub(crate) fn parse(body: &mut Body<'_>) -> Result<Self, BodyFault> {
        let abi::InitIn { major, minor, max_readahead, flags } = body.take()?;
        let mut features = u64::from(flags);
        if features & FUSE_INIT_EXT != 0
            && let Some(rest) = body.take_if_present::<abi::InitInRest>()
        {
            features |= u64::from(rest.flags2) << 32;
        }
        // The one body that may grow: no version has been agreed on yet.
        body.ignore_rest();
        Ok(Self { major, minor, max_readahead, features })
    }

    /// Agrees on what the kernel offers and the server wishes, for
    /// [`reply::init`](crate::reply::init).
    ///
    /// # Errors
    ///
    /// [`UnsupportedVersion`] unless the kernel speaks 7.31 or later.
    pub fn agree(&self, wish: &InitTerms) -> Result<InitTerms, UnsupportedVersion> {
        if self.major != FUSE_KERNEL_VERSION || self.minor < OLDEST_MINOR_VERSION {
            return Err(UnsupportedVersion { major: self.major, minor: self.minor });
        }
        let mut agreed = *wish;
        agreed.features &= self.features;
        if agreed.max_stack_depth == 0 {
            agreed.features &= !FUSE_PASSTHROUGH;
        }
        if agreed.features & FUSE_PASSTHROUGH == 0 {
            agreed.max_stack_depth = 0;
        }
        if agreed.features & FUSE_MAX_PAGES == 0 {
            agreed.max_pages = 0;
        }
        if agreed.features >> 32 != 0 {
            agreed.features |= FUSE_INIT_EXT;
        }
        agreed.max_readahead = agreed.max_readahead.min(self.max_readahead);
        Ok(agreed)
    }
}

impl From<&InitTerms> for abi::InitOut {
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of the features")]
    fn from(agreed: &InitTerms) -> Self {
        Self {
            major: FUSE_KERNEL_VERSION,
            minor: FUSE_KERNEL_MINOR_VERSION,
            max_readahead: agreed.max_readahead,
            flags: agreed.features as u32,
            max_background: agreed.max_background,
            congestion_threshold: agreed.congestion_threshold,
            max_write: agreed.max_write,
            time_gran: agreed.time_granularity_ns,
            max_pages: agreed.max_pages,
            map_alignment: 0,
            flags2: (agreed.features >> 32) as u32,
            max_stack_depth: agreed.max_stack_depth,
            unused: [0; 6],
        }
    }
}
