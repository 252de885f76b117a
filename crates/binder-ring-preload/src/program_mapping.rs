//! What is mapped where, as the kernel tells.

#![expect(unsafe_code, reason = "the question has no safe wrapper")]

use core::mem::offset_of;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Updater, ioctl, opcode};

/// A mapping of this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProgramMapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Where the mapped file is, by major and minor number. 0 where none is mapped.
    pub(crate) device: [u32; 2],
    /// Which file it is there.
    pub(crate) inode: u64,
}

/// `struct procmap_query`.
#[derive(Default)]
#[repr(C)]
struct MappingQuestion {
    size: u64,
    flags: u64,
    address: u64,
    start: u64,
    end: u64,
    access: u64,
    page_size: u64,
    offset: u64,
    inode: u64,
    device: [u32; 2],
    name_size: u32,
    build_id_size: u32,
    name: u64,
    build_id: u64,
}

/// `PROCMAP_QUERY`, since Linux 6.11.
const PROCMAP_QUERY: u32 = opcode::read_write::<MappingQuestion>(b'f', 17);

const _: () =
    assert!(size_of::<MappingQuestion>() == 104 && offset_of!(MappingQuestion, device) == 72);

/// How much of the list is read at once: programs' stacks may be small.
const READ_BYTES: usize = 512;

impl ProgramMapping {
    /// What is mapped at an address. None if nothing is, or the kernel does not tell.
    pub(crate) fn at(address: u64) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let maps = rustix::fs::open(c"/proc/self/maps", flags, Mode::empty()).ok()?;
        match ask(&maps, address) {
            // An older kernel has the list alone.
            Err(Errno::NOTTY) => find(&maps, address),
            told => told.ok(),
        }
    }
}

fn ask(maps: &OwnedFd, address: u64) -> Result<ProgramMapping, Errno> {
    let mut found = MappingQuestion {
        size: size_of::<MappingQuestion>() as u64,
        address,
        ..MappingQuestion::default()
    };
    // SAFETY: the number of the question carries the size of `found`, to which the kernel writes no more: no name is wanted.
    let question = unsafe { Updater::<PROCMAP_QUERY, _>::new(&mut found) };
    // SAFETY: the question is one of a process's mappings, and no other file knows it.
    unsafe { ioctl(maps, question) }?;
    let MappingQuestion { start, end, device, inode, .. } = found;
    Ok(ProgramMapping { start, end, device, inode })
}

/// Looks for an address in the list, which is in order.
fn find(maps: &OwnedFd, address: u64) -> Option<ProgramMapping> {
    let mut bytes = [0; READ_BYTES];
    let mut line = MapsLine::new();
    loop {
        let len = rustix::io::retry_on_intr(|| rustix::io::read(maps, &mut bytes)).ok()?;
        if len == 0 {
            return None;
        }
        for byte in bytes.get(..len)? {
            if let Some(mapping) = line.take(*byte).filter(|mapping| mapping.end > address) {
                return (mapping.start <= address).then_some(mapping);
            }
        }
    }
}

/// A line of the list, as far as it has been read: start and end, access, offset, the device's major and minor number, inode; and
/// a name, perhaps.
struct MapsLine {
    numbers: [u64; INODE + 1],
    field: usize,
}

const ACCESS: usize = 2;
const INODE: usize = 6;

impl MapsLine {
    const fn new() -> Self {
        Self { numbers: [0; INODE + 1], field: 0 }
    }

    /// Takes the next byte. Returns the mapping of a line that it ends.
    fn take(&mut self, byte: u8) -> Option<ProgramMapping> {
        match byte {
            b'\n' => return core::mem::replace(self, Self::new()).mapping(),
            // Access has some of its own.
            b'-' if self.field == ACCESS => {}
            b'-' | b':' | b' ' => self.field += 1,
            _ => {
                let base = if self.field == INODE { 10 } else { 16 };
                let digit = char::from(byte).to_digit(base).unwrap_or(0);
                if let Some(number) = self.numbers.get_mut(self.field) {
                    *number = number.wrapping_mul(base.into()).wrapping_add(digit.into());
                }
            }
        }
        None
    }

    #[expect(clippy::cast_possible_truncation, reason = "numbers of devices have 32 bits")]
    fn mapping(&self) -> Option<ProgramMapping> {
        let [start, end, _, _, major, minor, inode] = self.numbers;
        let device = [major as u32, minor as u32];
        (self.field >= INODE).then_some(ProgramMapping { start, end, device, inode })
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn lines_are_read_as_the_kernel_writes_them() {
        let text = b"\
55d0c0a00000-55d0c0a21000 r-xp 00002000 fd:0a 1234567                    /usr/bin/a b\n\
7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n\
7f0000100000-7f0000120000 r--p 00000000 00:3e 18446744073709551615\n\
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n\
no line\n\
7f00";
        let mut line = MapsLine::new();
        let found: Vec<_> = text.iter().filter_map(|byte| line.take(*byte)).collect();
        let mapping = |start, end, device, inode| ProgramMapping { start, end, device, inode };
        assert_eq!(
            found,
            [
                mapping(0x55d0_c0a0_0000, 0x55d0_c0a2_1000, [0xfd, 0xa], 1_234_567),
                mapping(0x7f00_0000_0000, 0x7f00_0002_1000, [0, 0], 0),
                mapping(0x7f00_0010_0000, 0x7f00_0012_0000, [0, 0x3e], u64::MAX),
                mapping(0xffff_ffff_ff60_0000, 0xffff_ffff_ff60_1000, [0, 0], 0),
            ]
        );
    }

    #[test]
    fn both_ways_tell_the_same() {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let open = || rustix::fs::open(c"/proc/self/maps", flags, Mode::empty()).unwrap();
        static BYTE: u8 = 0;
        let code = ProgramMapping::at as *const () as u64;
        for address in [code, (&raw const BYTE).addr() as u64, 0, u64::MAX >> 1] {
            let listed = find(&open(), address);
            assert_eq!(listed.is_some(), address > 0 && address != u64::MAX >> 1);
            if let Ok(told) = ask(&open(), address) {
                assert_eq!(listed, Some(told));
            }
            assert_eq!(ProgramMapping::at(address), listed);
        }
    }
}
