//! The ioctls of a device: bytes to typed values, and answers to bytes.

use binder_uapi::{
    ANYBINDER_DEFER_COMPLETIONS, BINDER_CURRENT_PROTOCOL_VERSION,
    BINDER_ENABLE_ONEWAY_SPAM_DETECTION, BINDER_FREEZE, BINDER_GET_EXTENDED_ERROR,
    BINDER_GET_FROZEN_INFO, BINDER_GET_NODE_DEBUG_INFO, BINDER_GET_NODE_INFO_FOR_REF,
    BINDER_SET_CONTEXT_MGR, BINDER_SET_CONTEXT_MGR_EXT, BINDER_SET_MAX_THREADS, BINDER_THREAD_EXIT,
    BINDER_VERSION, BINDER_WRITE_READ, BinderFreezeInfo, BinderFrozenStatusInfo,
    BinderNodeDebugInfo, BinderNodeInfoForRef, BinderVersion, BinderWriteRead, FlatBinderObject,
};
use zerocopy::{FromBytes, IntoBytes};

use binder_core::{Caller, Context, Errno, ReceiveBuffers};

/// What a client asks of the driver, apart from its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ioctl {
    /// `BINDER_WRITE_READ`.
    WriteRead(BinderWriteRead),
    /// `BINDER_VERSION`.
    Version,
    /// `BINDER_SET_MAX_THREADS`.
    SetMaxThreads(u32),
    /// `BINDER_SET_CONTEXT_MGR`, and `_EXT`.
    BecomeContextManager(FlatBinderObject),
    /// `BINDER_THREAD_EXIT`.
    ExitThread,
    /// `BINDER_GET_NODE_DEBUG_INFO`.
    NodeDebugInfo(BinderNodeDebugInfo),
    /// `BINDER_GET_NODE_INFO_FOR_REF`.
    NodeInfoForRef(BinderNodeInfoForRef),
    /// `BINDER_ENABLE_ONEWAY_SPAM_DETECTION`.
    DetectOnewaySpam(bool),
    /// `ANYBINDER_DEFER_COMPLETIONS`.
    DeferCompletions(bool),
    /// `BINDER_FREEZE`.
    Freeze(BinderFreezeInfo),
    /// `BINDER_GET_FROZEN_INFO`.
    FrozenInfo(BinderFrozenStatusInfo),
    /// `BINDER_GET_EXTENDED_ERROR`.
    ExtendedError,
}

/// The bytes of a client's struct, as they come or as they go back: none, or one small structure.
#[derive(Clone, Copy, Debug)]
pub struct IoctlData {
    bytes: [u8; size_of::<BinderWriteRead>()],
    len: usize,
}

impl IoctlData {
    /// No bytes.
    pub const NOTHING: Self = Self { bytes: [0; size_of::<BinderWriteRead>()], len: 0 };

    /// Those that came; `None` for more than any ioctl of ours has.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut data = Self::NOTHING;
        data.len = bytes.len();
        data.bytes.get_mut(..data.len)?.copy_from_slice(bytes);
        Some(data)
    }

    /// The bytes of a structure.
    pub fn of<T: IntoBytes + zerocopy::Immutable>(value: &T) -> Self {
        const { assert!(size_of::<T>() <= size_of::<BinderWriteRead>()) };
        let mut data = Self::NOTHING;
        data.len = size_of::<T>();
        data.bytes[..data.len].copy_from_slice(value.as_bytes());
        data
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Ioctl {
    /// Decodes an ioctl by its whole number, which holds the size too.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a number that is none of ours or too few bytes.
    pub fn decode(command: u32, data: &[u8]) -> Result<Self, Errno> {
        Ok(match command {
            BINDER_WRITE_READ => Self::WriteRead(value(data)?),
            BINDER_VERSION => Self::Version,
            BINDER_SET_MAX_THREADS => Self::SetMaxThreads(value(data)?),
            BINDER_SET_CONTEXT_MGR => Self::BecomeContextManager(FlatBinderObject::default()),
            BINDER_SET_CONTEXT_MGR_EXT => Self::BecomeContextManager(value(data)?),
            BINDER_THREAD_EXIT => Self::ExitThread,
            BINDER_GET_NODE_DEBUG_INFO => Self::NodeDebugInfo(value(data)?),
            BINDER_GET_NODE_INFO_FOR_REF => Self::NodeInfoForRef(value(data)?),
            BINDER_ENABLE_ONEWAY_SPAM_DETECTION => Self::DetectOnewaySpam(value::<u32>(data)? != 0),
            ANYBINDER_DEFER_COMPLETIONS => Self::DeferCompletions(value::<u32>(data)? != 0),
            BINDER_GET_EXTENDED_ERROR => Self::ExtendedError,
            BINDER_FREEZE => Self::Freeze(value(data)?),
            BINDER_GET_FROZEN_INFO => Self::FrozenInfo(value(data)?),
            _ => return Err(Errno::EINVAL),
        })
    }

    /// Runs a call that concerns one device alone and does not sleep.
    ///
    /// # Errors
    ///
    /// As the context says.
    pub fn run(
        &self,
        context: &mut Context,
        caller: &Caller,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<IoctlData, Errno> {
        match self {
            Self::WriteRead(_) | Self::Freeze(_) | Self::FrozenInfo(_) => {
                debug_assert!(false, "{self:?} concerns more than that");
                return Err(Errno::EINVAL);
            }
            Self::Version => {
                context.note_call(caller);
                let protocol_version = BINDER_CURRENT_PROTOCOL_VERSION;
                return Ok(IoctlData::of(&BinderVersion { protocol_version }));
            }
            Self::SetMaxThreads(max_threads) => context.set_max_threads(caller, *max_threads),
            Self::BecomeContextManager(object) => context.become_context_manager(caller, object)?,
            Self::ExitThread => context.exit_thread(caller, memory),
            Self::NodeDebugInfo(info) => {
                return Ok(IoctlData::of(&context.node_debug_info(caller, info.ptr)));
            }
            Self::NodeInfoForRef(info) => {
                return Ok(IoctlData::of(&context.node_info_for_ref(caller, info)?));
            }
            Self::DetectOnewaySpam(is_wanted) => context.detect_oneway_spam(caller, *is_wanted),
            Self::DeferCompletions(is_wanted) => context.defer_completions(caller, *is_wanted),
            Self::ExtendedError => return Ok(IoctlData::of(&context.take_extended_error(caller))),
        }
        Ok(IoctlData::NOTHING)
    }
}

fn value<T: FromBytes>(data: &[u8]) -> Result<T, Errno> {
    T::read_from_bytes(data).map_err(|_| Errno::EINVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ioctl_is_known_by_its_number_and_takes_as_much_as_that_says() {
        let known = [
            (BINDER_WRITE_READ, true),
            (BINDER_VERSION, false),
            (BINDER_SET_MAX_THREADS, true),
            (BINDER_SET_CONTEXT_MGR, false),
            (BINDER_SET_CONTEXT_MGR_EXT, true),
            (BINDER_THREAD_EXIT, false),
            (BINDER_GET_NODE_DEBUG_INFO, true),
            (BINDER_GET_NODE_INFO_FOR_REF, true),
            (BINDER_ENABLE_ONEWAY_SPAM_DETECTION, true),
            (ANYBINDER_DEFER_COMPLETIONS, true),
            (BINDER_GET_EXTENDED_ERROR, false),
            (BINDER_FREEZE, true),
            (BINDER_GET_FROZEN_INFO, true),
        ];
        for (command, is_read) in known {
            let bytes = &[0; 64][..(command >> 16 & 0x3fff) as usize];
            assert!(Ioctl::decode(command, bytes).is_ok(), "{command:#x}");
            let short = Ioctl::decode(command, &bytes[1..]);
            assert_eq!(short.is_err(), is_read, "{command:#x}");
            assert_eq!(Ioctl::decode(command + (1 << 16), &[0; 64]).err(), Some(Errno::EINVAL));
        }
        for command in [BINDER_ENABLE_ONEWAY_SPAM_DETECTION, ANYBINDER_DEFER_COMPLETIONS] {
            for wanted in [0_u32, 1, 256] {
                let decoded = Ioctl::decode(command, &wanted.to_ne_bytes());
                let is_wanted = match decoded {
                    Ok(Ioctl::DetectOnewaySpam(it) | Ioctl::DeferCompletions(it)) => it,
                    other => panic!("{other:?}"),
                };
                assert_eq!(is_wanted, wanted != 0);
            }
        }
    }
}
