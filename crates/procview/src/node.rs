//! Nodes: what the kernel's numbers for files stand for. A number tells all, so nothing is kept of
//! those that the kernel knows.

use fuse_wire::FUSE_ROOT_ID;

use crate::files::{FileLink, NsKind, Text};
use crate::machine::{MachineDir, MachineFile};

/// A file or directory of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ViewNode {
    Root,
    MachineDir(MachineDir),
    MachineFile(MachineFile),
    /// `self`, each time it is looked up another, for it leads each reader elsewhere.
    SelfLink(u32),
    /// `thread-self`, likewise.
    ThreadSelfLink(u32),
    /// Of a process or thread in the table, by its serial.
    Task(u32, What),
    /// A namespace: the same for all that are in it.
    NsFile(NsKind, u32),
    /// Of a process or thread of the kernel's, by its slot.
    Kernel(u32, What),
    /// A text of a process of the kernel's as it was when it was looked up.
    Snapshot(u32),
    /// A file of the kernel's that is no process's, by its place among the paths.
    Mirror(u32),
    /// Of a view whose files lead on to the kernel's own.
    Linked(LinkedNode),
    /// Where the kernel's own /proc is mounted.
    KernelRoot,
}

/// A file or directory of a view whose files lead on to the kernel's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LinkedNode {
    /// The directory of a process, or a thread.
    Dir(u32),
    /// The link in it to the kernel's own directory.
    KernelDir(u32),
    /// A link in it by way of that one, by its place among the names: the same for all processes.
    File(u32),
    /// A link to a file of the kernel's that is no process's, by its place among the names.
    Root(u32),
    /// A link of a process, by its place among the targets that were read.
    Target(u32),
}

/// A file or directory of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum What {
    Dir,
    /// The same for a thread, in `task/`.
    ThreadDir,
    TaskDir,
    NsDir,
    FdDir,
    FdInfoDir,
    AttrDir,
    Fd(u32),
    FdInfo(u32),
    Text(Text),
    Link(FileLink),
    Ns(NsKind),
}

/// Descriptors beyond this are not shown.
pub(crate) const FD_MAX: u32 = (1 << 24) - 1;

const TAG_SHIFT: u32 = 60;
const SERIAL_SHIFT: u32 = 32;
/// The highest serial number that fits.
pub(crate) const SERIAL_MAX: u32 = (1 << 28) - 1;
const CODE_SHIFT: u32 = 24;

const FIXED: u64 = 0;
const TASK: u64 = 1;
const NS_FILE: u64 = 2;
const SELF_LINK: u64 = 3;
const THREAD_SELF_LINK: u64 = 4;
const KERNEL: u64 = 5;
const SNAPSHOT: u64 = 6;
const MIRROR: u64 = 7;
const LINKED_DIR: u64 = 8;
const LINKED_FILE: u64 = 9;
const LINKED_ROOT: u64 = 10;
const TARGET: u64 = 11;
const KERNEL_DIR_LINK: u64 = 12;

const KERNEL_ROOT: u64 = 2;

const FIRST_MACHINE_DIR: u64 = 16;
const FIRST_MACHINE_FILE: u64 = 32;

const FIRST_LINK: u8 = 16;
const FIRST_NS: u8 = 32;
const FIRST_TEXT: u8 = 64;

impl ViewNode {
    pub(crate) fn number(self) -> u64 {
        let tagged = |tag: u64, rest: u64| tag << TAG_SHIFT | rest;
        let place = |at: Option<usize>| at.expect("all are listed") as u64;
        match self {
            Self::Root => FUSE_ROOT_ID,
            Self::MachineDir(dir) => {
                FIRST_MACHINE_DIR + place(MachineDir::ALL.iter().position(|it| *it == dir))
            }
            Self::MachineFile(file) => {
                FIRST_MACHINE_FILE + place(MachineFile::ALL.iter().position(|it| *it == file))
            }
            Self::SelfLink(nth) => tagged(SELF_LINK, nth.into()),
            Self::ThreadSelfLink(nth) => tagged(THREAD_SELF_LINK, nth.into()),
            Self::Task(serial, what) => tagged(TASK, of(serial, what)),
            Self::NsFile(kind, number) => tagged(NS_FILE, namespace(kind, number)),
            Self::Kernel(slot, what) => tagged(KERNEL, of(slot, what)),
            Self::Snapshot(nth) => tagged(SNAPSHOT, nth.into()),
            Self::Mirror(path) => tagged(MIRROR, path.into()),
            Self::Linked(LinkedNode::Dir(pid)) => tagged(LINKED_DIR, pid.into()),
            Self::Linked(LinkedNode::KernelDir(pid)) => tagged(KERNEL_DIR_LINK, pid.into()),
            Self::Linked(LinkedNode::File(name)) => tagged(LINKED_FILE, name.into()),
            Self::Linked(LinkedNode::Root(name)) => tagged(LINKED_ROOT, name.into()),
            Self::Linked(LinkedNode::Target(nth)) => tagged(TARGET, nth.into()),
            Self::KernelRoot => KERNEL_ROOT,
        }
    }

    pub(crate) fn from_number(number: u64) -> Option<Self> {
        let rest = number & ((1 << TAG_SHIFT) - 1);
        let low = low_half(rest);
        Some(match number >> TAG_SHIFT {
            FIXED if rest == FUSE_ROOT_ID => Self::Root,
            FIXED if rest == KERNEL_ROOT => Self::KernelRoot,
            FIXED if rest >= FIRST_MACHINE_FILE => {
                let at = usize::try_from(rest - FIRST_MACHINE_FILE).ok()?;
                Self::MachineFile(*MachineFile::ALL.get(at)?)
            }
            FIXED => {
                let at = usize::try_from(rest.checked_sub(FIRST_MACHINE_DIR)?).ok()?;
                Self::MachineDir(*MachineDir::ALL.get(at)?)
            }
            TASK => Self::Task(low_half(rest >> SERIAL_SHIFT), What::from_bits(low)?),
            NS_FILE => Self::NsFile(ns_kind(rest)?, low),
            SELF_LINK => Self::SelfLink(low),
            THREAD_SELF_LINK => Self::ThreadSelfLink(low),
            KERNEL => Self::Kernel(low_half(rest >> SERIAL_SHIFT), What::from_bits(low)?),
            SNAPSHOT => Self::Snapshot(low),
            MIRROR => Self::Mirror(low),
            LINKED_DIR => Self::Linked(LinkedNode::Dir(low)),
            KERNEL_DIR_LINK => Self::Linked(LinkedNode::KernelDir(low)),
            LINKED_FILE => Self::Linked(LinkedNode::File(low)),
            LINKED_ROOT => Self::Linked(LinkedNode::Root(low)),
            TARGET => Self::Linked(LinkedNode::Target(low)),
            _ => return None,
        })
    }
}

impl What {
    fn bits(self) -> u32 {
        let place = |first: u8, at: Option<usize>| {
            first + u8::try_from(at.expect("all are listed")).expect("there are few")
        };
        let (code, number) = match self {
            Self::Dir => (0, 0),
            Self::ThreadDir => (1, 0),
            Self::TaskDir => (2, 0),
            Self::NsDir => (3, 0),
            Self::FdDir => (4, 0),
            Self::Fd(fd) => (5, fd & FD_MAX),
            Self::AttrDir => (6, 0),
            Self::FdInfoDir => (7, 0),
            Self::FdInfo(fd) => (8, fd & FD_MAX),
            Self::Link(link) => {
                (place(FIRST_LINK, FileLink::ALL.iter().position(|it| *it == link)), 0)
            }
            Self::Ns(kind) => (place(FIRST_NS, NsKind::ALL.iter().position(|it| *it == kind)), 0),
            Self::Text(text) => (FIRST_TEXT + text.code(), 0),
        };
        u32::from(code) << CODE_SHIFT | number
    }

    fn from_bits(bits: u32) -> Option<Self> {
        let code = u8::try_from(bits >> CODE_SHIFT).ok()?;
        let after = |first: u8| usize::from(code - first);
        Some(match code {
            0 => Self::Dir,
            1 => Self::ThreadDir,
            2 => Self::TaskDir,
            3 => Self::NsDir,
            4 => Self::FdDir,
            5 => Self::Fd(bits & FD_MAX),
            6 => Self::AttrDir,
            7 => Self::FdInfoDir,
            8 => Self::FdInfo(bits & FD_MAX),
            FIRST_TEXT.. => Self::Text(*Text::ALL.get(after(FIRST_TEXT))?),
            FIRST_NS.. => Self::Ns(*NsKind::ALL.get(after(FIRST_NS))?),
            FIRST_LINK.. => Self::Link(*FileLink::ALL.get(after(FIRST_LINK))?),
            _ => return None,
        })
    }
}

fn of(serial: u32, what: What) -> u64 {
    u64::from(serial & SERIAL_MAX) << SERIAL_SHIFT | u64::from(what.bits())
}

fn namespace(kind: NsKind, number: u32) -> u64 {
    let place = NsKind::ALL.iter().position(|it| *it == kind).expect("all are listed") as u64;
    place << SERIAL_SHIFT | u64::from(number)
}

fn ns_kind(rest: u64) -> Option<NsKind> {
    NsKind::ALL.get(usize::try_from(rest >> SERIAL_SHIFT).ok()?).copied()
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
fn low_half(bits: u64) -> u32 {
    bits as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_for_what_they_were_made_of() {
        let mut nodes =
            vec![ViewNode::Root, ViewNode::SelfLink(7), ViewNode::ThreadSelfLink(u32::MAX)];
        nodes.extend(MachineDir::ALL.map(ViewNode::MachineDir));
        nodes.extend(MachineFile::ALL.map(ViewNode::MachineFile));
        for kind in NsKind::ALL {
            nodes.extend([ViewNode::NsFile(kind, u32::MAX), ViewNode::NsFile(kind, 0)]);
        }
        let mut whats = vec![What::Dir, What::ThreadDir, What::TaskDir, What::NsDir, What::FdDir];
        whats.extend([What::Fd(0), What::Fd(FD_MAX), What::AttrDir, What::FdInfoDir]);
        whats.push(What::FdInfo(FD_MAX));
        whats.extend(Text::ALL.map(What::Text));
        whats.extend(FileLink::ALL.map(What::Link));
        whats.extend(NsKind::ALL.map(What::Ns));
        for what in whats {
            nodes.extend([ViewNode::Task(SERIAL_MAX, what), ViewNode::Kernel(0, what)]);
        }
        nodes.extend([ViewNode::Snapshot(3), ViewNode::Mirror(u32::MAX), ViewNode::KernelRoot]);
        nodes.extend([LinkedNode::Dir(7), LinkedNode::KernelDir(7)].map(ViewNode::Linked));
        nodes.extend([LinkedNode::File(7), LinkedNode::Root(7)].map(ViewNode::Linked));
        nodes.extend([7, u32::MAX].map(|nth| ViewNode::Linked(LinkedNode::Target(nth))));
        let numbers: std::collections::HashSet<u64> =
            nodes.iter().map(|node| node.number()).collect();
        assert_eq!(numbers.len(), nodes.len());
        for node in nodes {
            assert_eq!(ViewNode::from_number(node.number()), Some(node));
        }
        for wrong in [0, 3, 31, 1 << 20, u64::MAX, 1 << 60 | 200 << 24] {
            assert_eq!(ViewNode::from_number(wrong), None, "{wrong:x}");
        }
    }
}
