//! Compares this crate with the C headers of the machine, where it has them and a compiler.
//!
//! Names that the installed headers are too old to know are reported as skipped.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::mem::offset_of;
use std::process::{Command, Stdio};

use binder_uapi::*;

const HEADERS: &str = "#include <stdio.h>\n#include <stddef.h>\n\
    #include <linux/android/binder.h>\n#include <linux/android/binderfs.h>\n";

/// A number that both languages know.
struct Fact {
    /// The identifier without which the C expression means nothing.
    needs: &'static str,
    c_expression: String,
    ours: u64,
}

macro_rules! constants {
    ($($name:ident)*) => {
        [$(Fact {
            needs: stringify!($name),
            c_expression: stringify!($name).to_owned(),
            ours: u64::try_from($name).unwrap(),
        }),*]
    };
}

macro_rules! layout {
    ($ours:ident = $c:ident { $($field:ident = $c_field:literal)* }) => {
        [
            Fact {
                needs: stringify!($c),
                c_expression: format!("sizeof(struct {})", stringify!($c)),
                ours: size_of::<$ours>() as u64,
            },
            $(Fact {
                needs: stringify!($c),
                c_expression: format!("offsetof(struct {}, {})", stringify!($c), $c_field),
                ours: offset_of!($ours, $field) as u64,
            }),*
        ]
    };
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
        write_size = "write_size" write_consumed = "write_consumed" write_buffer = "write_buffer"
        read_size = "read_size" read_consumed = "read_consumed" read_buffer = "read_buffer"
    } });
    facts.extend(layout! { BinderTransactionData = binder_transaction_data {
        target = "target" cookie = "cookie" code = "code" flags = "flags"
        sender_pid = "sender_pid" sender_euid = "sender_euid" data_size = "data_size"
        offsets_size = "offsets_size" buffer = "data.ptr.buffer" offsets = "data.ptr.offsets"
    } });
    facts.extend(layout! { BinderTransactionDataSecctx = binder_transaction_data_secctx {
        secctx = "secctx"
    } });
    facts.extend(layout! { BinderTransactionDataSg = binder_transaction_data_sg {
        buffers_size = "buffers_size"
    } });
    facts.extend(layout! { BinderPtrCookie = binder_ptr_cookie { ptr = "ptr" cookie = "cookie" } });
    facts.extend(layout! { BinderHandleCookie = binder_handle_cookie {
        handle = "handle" cookie = "cookie"
    } });
    facts.extend(
        layout! { BinderPriDesc = binder_pri_desc { priority = "priority" desc = "desc" } },
    );
    facts.extend(layout! { BinderPriPtrCookie = binder_pri_ptr_cookie {
        priority = "priority" ptr = "ptr" cookie = "cookie"
    } });
    facts.extend(layout! { FlatBinderObject = flat_binder_object {
        kind = "hdr.type" flags = "flags" binder = "binder" cookie = "cookie"
    } });
    facts.extend(layout! { BinderFdObject = binder_fd_object {
        kind = "hdr.type" pad_flags = "pad_flags" fd = "fd" cookie = "cookie"
    } });
    facts.extend(layout! { BinderFdArrayObject = binder_fd_array_object {
        kind = "hdr.type" pad = "pad" num_fds = "num_fds" parent = "parent"
        parent_offset = "parent_offset"
    } });
    facts.extend(layout! { BinderBufferObject = binder_buffer_object {
        kind = "hdr.type" flags = "flags" buffer = "buffer" length = "length" parent = "parent"
        parent_offset = "parent_offset"
    } });
    facts.extend(layout! { BinderVersion = binder_version {
        protocol_version = "protocol_version"
    } });
    facts.extend(layout! { BinderNodeDebugInfo = binder_node_debug_info {
        ptr = "ptr" cookie = "cookie" has_strong_ref = "has_strong_ref"
        has_weak_ref = "has_weak_ref"
    } });
    facts.extend(layout! { BinderNodeInfoForRef = binder_node_info_for_ref {
        handle = "handle" strong_count = "strong_count" weak_count = "weak_count"
        reserved1 = "reserved1" reserved2 = "reserved2" reserved3 = "reserved3"
    } });
    facts.extend(layout! { BinderFreezeInfo = binder_freeze_info {
        pid = "pid" enable = "enable" timeout_ms = "timeout_ms"
    } });
    facts.extend(layout! { BinderFrozenStatusInfo = binder_frozen_status_info {
        pid = "pid" sync_recv = "sync_recv" async_recv = "async_recv"
    } });
    facts.extend(layout! { BinderFrozenStateInfo = binder_frozen_state_info {
        cookie = "cookie" is_frozen = "is_frozen" reserved = "reserved"
    } });
    facts.extend(layout! { BinderExtendedError = binder_extended_error {
        id = "id" command = "command" param = "param"
    } });
    facts.extend(layout! { BinderfsDevice = binderfs_device {
        name = "name" major = "major" minor = "minor"
    } });
    facts
}

/// Runs gcc on a program from its standard input; `None` if it is missing or refuses.
fn gcc(arguments: &[&str], program: &str) -> Option<String> {
    let mut child = Command::new("gcc")
        .args(arguments)
        .args(["-x", "c", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(program.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).expect("gcc speaks ASCII"))
}

#[test]
fn the_c_headers_agree() {
    let Some(preprocessed) = gcc(&["-E", "-dD"], HEADERS) else {
        eprintln!("SKIPPED: no gcc, or no <linux/android/binder.h>");
        return;
    };
    let known: BTreeSet<&str> =
        preprocessed.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let (facts, skipped): (Vec<_>, Vec<_>) =
        facts().into_iter().partition(|fact| known.contains(fact.needs));
    for fact in skipped {
        eprintln!("SKIPPED: {} is not in this header", fact.c_expression);
    }

    let mut program = format!("{HEADERS}int main(void) {{\n");
    for fact in &facts {
        program += &format!("printf(\"%llu\\n\", (unsigned long long)({}));\n", fact.c_expression);
    }
    program += "return 0; }\n";
    let executable = format!("{}/uapi-facts", env!("CARGO_TARGET_TMPDIR"));
    gcc(&["-o", &executable], &program).expect("a program over known names compiles");
    let output = Command::new(&executable).output().unwrap();
    let theirs: Vec<u64> =
        String::from_utf8(output.stdout).unwrap().lines().map(|l| l.parse().unwrap()).collect();

    assert_eq!(theirs.len(), facts.len());
    for (fact, theirs) in facts.iter().zip(theirs) {
        assert_eq!(fact.ours, theirs, "{}", fact.c_expression);
    }
}
