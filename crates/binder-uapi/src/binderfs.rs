//! binderfs.h: how devices are made.

use crate::code::iowr;
use crate::layout::layouts;

/// The longest name of a device in bytes, without its terminating NUL.
pub const BINDERFS_MAX_NAME: usize = 255;

/// Makes a device; a request on `binder-control`.
pub const BINDER_CTL_ADD: u32 = iowr::<BinderfsDevice>(b'b', 1);

layouts! {
    /// The argument of [`BINDER_CTL_ADD`].
    #[repr(C)]
    struct BinderfsDevice[264] {
        /// The name asked for, ended by a NUL.
        name: [u8; BINDERFS_MAX_NAME + 1],
        /// The device number given to it, upper part.
        major: u32,
        /// The device number given to it, lower part.
        minor: u32,
    }
}
