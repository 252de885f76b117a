//! The program by which the kernel decides which system calls are trapped.
//!
//! It is run at every system call of the threads that it watches, so it decides by numbers alone, and
//! the most frequent calls first. Calls that it cannot decide, for it cannot read memory, are trapped.

use binder_uapi::{BINDER_SET_CONTEXT_MGR, BINDER_THREAD_EXIT, BINDER_WRITE_READ};
use rustix::mount::{MountFlags, MountPropagationFlags};

/// The architectures whose calls we know, as the kernel numbers them: ours, and that of 32-bit programs. Calls by another
/// one pass.
pub(super) const ARCHITECTURES: Option<(u32, u32)> = if cfg!(target_arch = "x86_64") {
    Some((0xc000_003e, 0x4000_0003))
} else if cfg!(target_arch = "aarch64") {
    Some((0xc000_00b7, 0x4000_0028))
} else {
    None
};

/// Numbers of calls of 32-bit programs, the same on PCs and ARM. Their arguments are ours, with nothing in the upper
/// halves. Of what mounts, they have the call that all have; newer ones pass.
pub(super) const IOCTL_32: u32 = 54;
pub(super) const MOUNT_32: u32 = 21;

/// Whether a call was made as 32-bit programs do.
pub(super) fn is_32_bit(architecture: u32) -> bool {
    ARCHITECTURES.is_some_and(|(_, of_32_bits)| architecture == of_32_bits)
}

/// On x86-64, calls from here on are those of another ABI.
const FIRST_X32_CALL: u32 = 0x4000_0000;

/// Offsets into `seccomp_data`, on a little-endian machine.
pub(super) const NUMBER: u32 = 0;
pub(super) const ARCH: u32 = 4;
pub(super) const fn low(argument: u32) -> u32 {
    16 + 8 * argument
}
const fn high(argument: u32) -> u32 {
    low(argument) + 4
}

/// Flags by which mount(2) does something else than mounting or remounting a file system.
const NO_FILE_SYSTEM: u32 = MountFlags::BIND.bits()
    | MountPropagationFlags::SHARED.bits()
    | MountPropagationFlags::PRIVATE.bits()
    | MountPropagationFlags::DOWNSTREAM.bits()
    | MountPropagationFlags::UNBINDABLE.bits()
    | MS_MOVE;
const MS_MOVE: u32 = 1 << 13;
/// What programs once had to put into the upper half of the flags, and some still do.
pub(super) const MS_MGC_VAL: u32 = 0xc0ed_0000;
pub(super) const MS_MGC_MSK: u32 = 0xffff_0000;

/// `PR_SET_SECCOMP`, as the filter sees it.
const PR_SET_SECCOMP: u32 = libc::PR_SET_SECCOMP.unsigned_abs();

/// Where a comparison leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Calls32,
    Ioctl,
    NullArgument,
    Mount,
    MountOfOld,
    Diversion,
    Control,
    Filter,
    Pass,
    Trap,
}

/// One step of the program. A comparison that does not hold goes on with the next step.
#[derive(Debug, Clone, Copy)]
enum FilterStep {
    /// What follows is where `To` leads.
    Place(To),
    Load(u32),
    /// Keeps these bits of what was loaded.
    Mask(u32),
    IfEqual(u32, To),
    UnlessEqual(u32, To),
    IfAtLeast(u32, To),
    UnlessAnyBit(u32, To),
    Return(u32),
}

/// Returns the program, or nothing where we do not know the architecture.
pub(super) fn program() -> Option<Vec<libc::sock_filter>> {
    let (ours, of_32_bits) = ARCHITECTURES?;
    let other = FilterStep::UnlessEqual(ours, To::Calls32);
    let mut steps = vec![FilterStep::Load(ARCH), other, FilterStep::Load(NUMBER)];
    if cfg!(target_arch = "x86_64") {
        steps.push(FilterStep::IfAtLeast(FIRST_X32_CALL, To::Pass));
    }
    steps.extend([
        FilterStep::IfEqual(number(libc::SYS_ioctl), To::Ioctl),
        FilterStep::IfEqual(number(libc::SYS_mount), To::Mount),
        FilterStep::IfEqual(number(libc::SYS_fsopen), To::Trap),
        FilterStep::IfEqual(number(libc::SYS_fsconfig), To::Trap),
        FilterStep::IfEqual(number(libc::SYS_fsmount), To::Trap),
        FilterStep::IfEqual(number(libc::SYS_move_mount), To::Trap),
        FilterStep::IfEqual(number(libc::SYS_restart_syscall), To::Diversion),
        FilterStep::IfEqual(number(libc::SYS_prctl), To::Control),
        FilterStep::IfEqual(number(libc::SYS_seccomp), To::Filter),
        FilterStep::Return(libc::SECCOMP_RET_ALLOW),
        FilterStep::Place(To::Calls32),
        FilterStep::UnlessEqual(of_32_bits, To::Pass),
        FilterStep::Load(NUMBER),
        FilterStep::IfEqual(IOCTL_32, To::Ioctl),
        FilterStep::IfEqual(MOUNT_32, To::Mount),
        FilterStep::Return(libc::SECCOMP_RET_ALLOW),
        FilterStep::Place(To::Ioctl),
        FilterStep::Load(low(1)),
        FilterStep::IfEqual(BINDER_THREAD_EXIT, To::NullArgument),
        FilterStep::IfEqual(BINDER_SET_CONTEXT_MGR, To::NullArgument),
        FilterStep::Return(libc::SECCOMP_RET_ALLOW),
        FilterStep::Place(To::NullArgument),
        FilterStep::Load(low(2)),
        FilterStep::UnlessEqual(0, To::Pass),
        FilterStep::Load(high(2)),
        FilterStep::UnlessEqual(0, To::Pass),
        FilterStep::Return(libc::SECCOMP_RET_USER_NOTIF),
        FilterStep::Place(To::Mount),
        FilterStep::Load(low(3)),
        FilterStep::Mask(MS_MGC_MSK),
        FilterStep::IfEqual(MS_MGC_VAL, To::MountOfOld),
        FilterStep::Load(low(3)),
        FilterStep::UnlessAnyBit(NO_FILE_SYSTEM, To::Trap),
        FilterStep::Return(libc::SECCOMP_RET_ALLOW),
        FilterStep::Place(To::MountOfOld),
        FilterStep::Load(low(3)),
        FilterStep::Mask(!MS_MGC_MSK),
        FilterStep::UnlessAnyBit(NO_FILE_SYSTEM, To::Trap),
        // No call that the kernel itself makes again has this there.
        FilterStep::Place(To::Diversion),
        FilterStep::Load(low(1)),
        FilterStep::IfEqual(BINDER_WRITE_READ, To::Trap),
        FilterStep::Return(libc::SECCOMP_RET_ALLOW),
        FilterStep::Place(To::Control),
        FilterStep::Load(low(0)),
        FilterStep::IfEqual(PR_SET_SECCOMP, To::Trap),
        FilterStep::Return(libc::SECCOMP_RET_ALLOW),
        FilterStep::Place(To::Filter),
        FilterStep::Load(low(0)),
        FilterStep::IfEqual(libc::SECCOMP_SET_MODE_STRICT, To::Trap),
        FilterStep::IfEqual(libc::SECCOMP_SET_MODE_FILTER, To::Trap),
        FilterStep::Place(To::Pass),
        FilterStep::Return(libc::SECCOMP_RET_ALLOW),
        FilterStep::Place(To::Trap),
        FilterStep::Return(libc::SECCOMP_RET_USER_NOTIF),
    ]);
    Some(assemble(&steps))
}

/// Turns steps into instructions, whose jumps lead forward only.
fn assemble(steps: &[FilterStep]) -> Vec<libc::sock_filter> {
    let mut places = Vec::new();
    let mut length = 0_u8;
    for step in steps {
        match step {
            FilterStep::Place(to) => places.push((*to, length)),
            _ => length += 1,
        }
    }
    let place_of = |to| {
        let place = places.iter().find(|(place, _)| *place == to);
        place.expect("a program has the places that it jumps to").1
    };
    let mut code: Vec<libc::sock_filter> = Vec::new();
    for step in steps {
        let next = u8::try_from(code.len() + 1).expect("the program is short");
        let ahead = |to| place_of(to) - next;
        let (kind, k, jt, jf) = match *step {
            FilterStep::Place(_) => continue,
            FilterStep::Load(offset) => (LOAD, offset, 0, 0),
            FilterStep::Mask(bits) => (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, bits, 0, 0),
            FilterStep::Return(action) => (RETURN, action, 0, 0),
            FilterStep::IfEqual(value, to) => (JUMP | libc::BPF_JEQ, value, ahead(to), 0),
            FilterStep::UnlessEqual(value, to) => (JUMP | libc::BPF_JEQ, value, 0, ahead(to)),
            FilterStep::IfAtLeast(value, to) => (JUMP | libc::BPF_JGE, value, ahead(to), 0),
            FilterStep::UnlessAnyBit(bits, to) => (JUMP | libc::BPF_JSET, bits, 0, ahead(to)),
        };
        let kind = u16::try_from(kind).expect("instructions have 16 bits");
        code.push(libc::sock_filter { code: kind, jt, jf, k });
    }
    code
}

pub(super) const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
pub(super) const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
pub(super) const JUMP: u32 = libc::BPF_JMP | libc::BPF_K;

pub(super) fn number(call: libc::c_long) -> u32 {
    u32::try_from(call).expect("system calls have small numbers")
}

#[cfg(test)]
mod tests {
    use super::super::evaluation::{FilteredCall, returned};
    use super::*;

    /// What the program returns for a call.
    fn verdict(architecture: u32, call: libc::c_long, arguments: [u64; 6]) -> u32 {
        let arguments = arguments.map(Some);
        let call = FilteredCall { architecture, number: number(call), arguments };
        returned(&program().unwrap(), &call).unwrap()
    }

    #[test]
    fn only_what_fuse_cannot_see_is_trapped() {
        let (pass, trap) = (libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_USER_NOTIF);
        let (ours, of_32_bits) = ARCHITECTURES.unwrap();
        let ioctl = |request: u32, argument| {
            // The upper half of the number is garbage that the kernel ignores.
            verdict(ours, libc::SYS_ioctl, [3, u64::from(request) | 1 << 40, argument, 0, 0, 0])
        };
        for request in [BINDER_THREAD_EXIT, BINDER_SET_CONTEXT_MGR] {
            assert_eq!(ioctl(request, 0), trap);
            assert_eq!((ioctl(request, 0x1000), ioctl(request, 1 << 32)), (pass, pass));
        }
        assert_eq!((ioctl(BINDER_WRITE_READ, 0), ioctl(0x5401, 0)), (pass, pass));

        let mount = |flags| verdict(ours, libc::SYS_mount, [1, 2, 3, flags, 0, 0]);
        let (nosuid, remount, bind, private) = (2, 32, 4096, 1 << 18);
        assert_eq!([mount(0), mount(nosuid), mount(remount), mount(0xc0ed_0000)], [trap; 4]);
        let changes = [bind, remount | bind, private | 1 << 14, 1 << 13, 0xc0ed_0000 | bind];
        assert_eq!(changes.map(mount), [pass; 5]);
        let steps = [libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount, libc::SYS_move_mount];
        for call in steps {
            assert_eq!(verdict(ours, call, [0; 6]), trap);
            assert_eq!(verdict(0x8000_0000, call, [0; 6]), pass, "of another architecture");
            assert_eq!(verdict(of_32_bits, call, [0; 6]), pass, "another call");
        }
        let ioctl = |request: u32| verdict(of_32_bits, 54, [3, request.into(), 0, 0, 0, 0]);
        assert_eq!((ioctl(BINDER_THREAD_EXIT), ioctl(BINDER_WRITE_READ)), (trap, pass));
        let mount = |flags| verdict(of_32_bits, 21, [1, 2, 3, flags, 0, 0]);
        assert_eq!((mount(nosuid), mount(bind)), (trap, pass));
        let with_first = |call, first| verdict(ours, call, [first, 0, 0, 0, 0, 0]);
        let (filter, control) = (libc::SYS_seccomp, libc::SYS_prctl);
        assert_eq!([with_first(filter, 0), with_first(filter, 1)], [trap; 2]);
        assert_eq!([with_first(filter, 2), with_first(filter, 3)], [pass; 2], "questions");
        assert_eq!((with_first(control, 22), with_first(control, 15)), (trap, pass));
        let restart = |second| verdict(ours, libc::SYS_restart_syscall, [3, second, 0, 0, 0, 0]);
        assert_eq!(restart(BINDER_WRITE_READ.into()), trap);
        assert_eq!((restart(0), restart(0x7fff_0000_1000)), (pass, pass), "as after a sleep");
        for call in [libc::SYS_read, libc::SYS_openat, libc::SYS_open_tree, libc::SYS_umount2] {
            assert_eq!(verdict(ours, call, [0; 6]), pass);
        }
        if cfg!(target_arch = "x86_64") {
            assert_eq!(verdict(ours, i64::from(FIRST_X32_CALL) + libc::SYS_mount, [0; 6]), pass);
        }
    }
}
