//! Compares this crate with the C headers of the machine, where it has them and a compiler.

use crate::c_facts::{Fact, assert_c_agrees, constants, layout};
use binder_uapi::*;

#[test]
fn the_c_headers_agree() {
    assert_c_agrees(&["linux/android/binder.h", "linux/android/binderfs.h"], facts());
}

fn facts() -> Vec<Fact> {
    let mut facts = Vec::new();
    facts.extend(constants! {
        BINDER_WRITE_READ BINDER_SET_IDLE_TIMEOUT BINDER_SET_MAX_THREADS BINDER_SET_IDLE_PRIORITY
        BINDER_SET_CONTEXT_MGR BINDER_THREAD_EXIT BINDER_VERSION BINDER_GET_NODE_DEBUG_INFO
        BINDER_GET_NODE_INFO_FOR_REF BINDER_SET_CONTEXT_MGR_EXT BINDER_FREEZE
        BINDER_GET_FROZEN_INFO BINDER_ENABLE_ONEWAY_SPAM_DETECTION BINDER_GET_EXTENDED_ERROR
        BINDER_CTL_ADD BINDERFS_MAX_NAME BINDER_CURRENT_PROTOCOL_VERSION
    });
    facts.extend(constants! {
        BC_TRANSACTION BC_REPLY BC_ACQUIRE_RESULT BC_FREE_BUFFER BC_INCREFS BC_ACQUIRE BC_RELEASE
        BC_DECREFS BC_INCREFS_DONE BC_ACQUIRE_DONE BC_ATTEMPT_ACQUIRE BC_REGISTER_LOOPER
        BC_ENTER_LOOPER BC_EXIT_LOOPER BC_REQUEST_DEATH_NOTIFICATION BC_CLEAR_DEATH_NOTIFICATION
        BC_DEAD_BINDER_DONE BC_TRANSACTION_SG BC_REPLY_SG BC_REQUEST_FREEZE_NOTIFICATION
        BC_CLEAR_FREEZE_NOTIFICATION BC_FREEZE_NOTIFICATION_DONE
    });
    facts.extend(constants! {
        BR_ERROR BR_OK BR_TRANSACTION_SEC_CTX BR_TRANSACTION BR_REPLY BR_ACQUIRE_RESULT
        BR_DEAD_REPLY BR_TRANSACTION_COMPLETE BR_INCREFS BR_ACQUIRE BR_RELEASE BR_DECREFS
        BR_ATTEMPT_ACQUIRE BR_NOOP BR_SPAWN_LOOPER BR_FINISHED BR_DEAD_BINDER
        BR_CLEAR_DEATH_NOTIFICATION_DONE BR_FAILED_REPLY BR_FROZEN_REPLY BR_ONEWAY_SPAM_SUSPECT
        BR_TRANSACTION_PENDING_FROZEN BR_FROZEN_BINDER BR_CLEAR_FREEZE_NOTIFICATION_DONE
    });
    facts.extend(constants! {
        TF_ONE_WAY TF_ROOT_OBJECT TF_STATUS_CODE TF_ACCEPT_FDS TF_CLEAR_BUF TF_UPDATE_TXN
        BINDER_TYPE_BINDER BINDER_TYPE_WEAK_BINDER BINDER_TYPE_HANDLE BINDER_TYPE_WEAK_HANDLE
        BINDER_TYPE_FD BINDER_TYPE_FDA BINDER_TYPE_PTR BINDER_BUFFER_FLAG_HAS_PARENT
        FLAT_BINDER_FLAG_PRIORITY_MASK FLAT_BINDER_FLAG_ACCEPTS_FDS
        FLAT_BINDER_FLAG_TXN_SECURITY_CTX
    });
    facts.extend(layout! { BinderWriteRead = binder_write_read {
        write_size write_consumed write_buffer
        read_size read_consumed read_buffer
    } });
    facts.extend(layout! { BinderTransactionData = binder_transaction_data {
        target cookie code flags
        sender_pid sender_euid data_size
        offsets_size buffer = "data.ptr.buffer" offsets = "data.ptr.offsets"
    } });
    facts.extend(layout! { BinderTransactionDataSecctx = binder_transaction_data_secctx {
        secctx
    } });
    facts.extend(layout! { BinderTransactionDataSg = binder_transaction_data_sg {
        buffers_size
    } });
    facts.extend(layout! { BinderPtrCookie = binder_ptr_cookie { ptr cookie } });
    facts.extend(layout! { BinderHandleCookie = binder_handle_cookie {
        handle cookie
    } });
    facts.extend(layout! { BinderPriDesc = binder_pri_desc { priority desc } });
    facts.extend(layout! { BinderPriPtrCookie = binder_pri_ptr_cookie {
        priority ptr cookie
    } });
    facts.extend(layout! { FlatBinderObject = flat_binder_object {
        kind = "hdr.type" flags binder cookie
    } });
    facts.extend(layout! { BinderFdObject = binder_fd_object {
        kind = "hdr.type" pad_flags fd cookie
    } });
    facts.extend(layout! { BinderFdArrayObject = binder_fd_array_object {
        kind = "hdr.type" pad num_fds parent
        parent_offset
    } });
    facts.extend(layout! { BinderBufferObject = binder_buffer_object {
        kind = "hdr.type" flags buffer length parent
        parent_offset
    } });
    facts.extend(layout! { BinderVersion = binder_version {
        protocol_version
    } });
    facts.extend(layout! { BinderNodeDebugInfo = binder_node_debug_info {
        ptr cookie has_strong_ref
        has_weak_ref
    } });
    facts.extend(layout! { BinderNodeInfoForRef = binder_node_info_for_ref {
        handle strong_count weak_count
        reserved1 reserved2 reserved3
    } });
    facts.extend(layout! { BinderFreezeInfo = binder_freeze_info {
        pid enable timeout_ms
    } });
    facts.extend(layout! { BinderFrozenStatusInfo = binder_frozen_status_info {
        pid sync_recv async_recv
    } });
    facts.extend(layout! { BinderFrozenStateInfo = binder_frozen_state_info {
        cookie is_frozen reserved
    } });
    facts.extend(layout! { BinderExtendedError = binder_extended_error {
        id command param
    } });
    facts.extend(layout! { BinderfsDevice = binderfs_device {
        name major minor
    } });
    facts
}
