//! Against real processes: children of the test that hold still.

use std::ptr;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

use super::*;
use crate::page_bytes;

/// Three pages, filled with a pattern; a child forked afterwards has its own copy of them.
struct Pages(*mut u8);

impl Pages {
    fn new() -> Self {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null hint lets the kernel choose a free range.
        let start = unsafe {
            let flags = MapFlags::PRIVATE;
            rustix::mm::mmap_anonymous(ptr::null_mut(), 3 * page_bytes(), protection, flags)
        };
        let pages = Self(start.unwrap().cast());
        for at in 0..3 * page_bytes() {
            // SAFETY: within the three pages just mapped for writing.
            unsafe { pages.0.wrapping_add(at).write(pattern(at)) };
        }
        pages
    }

    fn protect(&self, page: usize, protection: MprotectFlags) {
        let start = self.0.wrapping_add(page * page_bytes()).cast();
        // SAFETY: one whole page of ours, of which no reference exists.
        unsafe { rustix::mm::mprotect(start, page_bytes(), protection) }.unwrap();
    }

    fn address(&self, offset: usize) -> u64 {
        (self.0 as usize + offset) as u64
    }
}

fn pattern(at: usize) -> u8 {
    u8::try_from(at % 251).unwrap()
}

fn patterns(at: usize, len_bytes: usize) -> Vec<u8> {
    (at..at + len_bytes).map(pattern).collect()
}

/// A forked child that runs `act` and then waits to be killed.
struct Victim {
    pid: i32,
}

impl Victim {
    fn idle() -> Self {
        Self::acting(|| ())
    }

    fn acting(act: impl FnOnce()) -> Self {
        // SAFETY: the child only runs system calls: `act` of the callers below, and pause.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            act();
            loop {
                // SAFETY: pause has no arguments.
                unsafe { libc::pause() };
            }
        }
        assert!(pid > 0);
        Self { pid }
    }

    fn memory(&self) -> ClientMemory {
        ClientMemory::open(u32::try_from(self.pid).unwrap()).unwrap()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // SAFETY: `pid` is a child that was not waited for, so its number is still its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        // SAFETY: a null pointer asks for no status.
        unsafe { libc::waitpid(self.pid, ptr::null_mut(), 0) };
    }
}

fn read(memory: &mut ClientMemory, address: u64, len_bytes: usize) -> Result<Vec<u8>, Fault> {
    let mut bytes = vec![0; len_bytes];
    memory.read(address, &mut bytes).map(|()| bytes)
}

#[test]
fn both_ways_read_what_the_client_holds() {
    let pages = Pages::new();
    let victim = Victim::idle();
    let mut memory = victim.memory();
    for _ in ["first through process_vm_readv", "then through the mem file"] {
        for (at, len_bytes) in [(0, 1), (100, 48), (4090, 12), (8, 2047), (8, 2048), (0, 12288)] {
            let bytes = read(&mut memory, pages.address(at), len_bytes).unwrap();
            assert_eq!(bytes, patterns(at, len_bytes), "{len_bytes} bytes at {at}");
        }
    }
    assert!(matches!(memory.mem, MemFile::Open(_)));
}

#[test]
fn both_ways_write_to_the_client_alone() {
    let pages = Pages::new();
    let victim = Victim::idle();
    let mut memory = victim.memory();
    for round in [1, 2] {
        for len_bytes in [1, 48, 2047, 2048, 8000] {
            let bytes = vec![0x80 + round; len_bytes];
            memory.write(pages.address(60), &bytes).unwrap();
            assert_eq!(read(&mut memory, pages.address(60), len_bytes).unwrap(), bytes);
        }
    }
    assert!(matches!(memory.mem, MemFile::Open(_)));
    // SAFETY: within the pages, which stay mapped.
    assert_eq!(unsafe { pages.0.wrapping_add(60).read() }, pattern(60));
}

#[test]
fn protected_pages_fault_however_they_are_reached() {
    let pages = Pages::new();
    pages.protect(1, MprotectFlags::READ);
    pages.protect(2, MprotectFlags::empty());
    let victim = Victim::idle();
    let mut memory = victim.memory();
    for _ in [1, 2] {
        for len_bytes in [1, 100, 2048, 4096] {
            let address = pages.address(2 * page_bytes());
            let fault = Fault { address, len_bytes };
            assert_eq!(memory.read(address, &mut vec![0; len_bytes]), Err(fault));
            assert_eq!(memory.write(address, &vec![0; len_bytes]), Err(fault));
        }
        assert!(read(&mut memory, pages.address(2 * page_bytes() - 10), 20).is_err());
        assert!(read(&mut memory, pages.address(0), 3 * page_bytes()).is_err());

        // Readable, and known as such, does not mean writable.
        assert_eq!(
            read(&mut memory, pages.address(page_bytes()), 48).unwrap(),
            patterns(page_bytes(), 48)
        );
        assert!(memory.write(pages.address(page_bytes()), &[0; 48]).is_err());
        memory.write(pages.address(page_bytes() - 10), &[1; 10]).unwrap();
        assert!(memory.write(pages.address(page_bytes() - 10), &[1; 20]).is_err());
    }
    assert_eq!(
        read(&mut memory, pages.address(page_bytes()), 48).unwrap(),
        patterns(page_bytes(), 48)
    );
}

#[test]
fn impossible_addresses_fault() {
    let victim = Victim::idle();
    let mut memory = victim.memory();
    let len_bytes = 16;
    for address in [0, u64::MAX, u64::MAX - 7, 1 << 63, (1 << 63) - 1, 0xffff_ffff_ff60_0000] {
        let fault = Err(Fault { address, len_bytes });
        assert_eq!(memory.read(address, &mut [0; 16]), fault);
        assert_eq!(memory.write(address, &[0; 16]), fault);
    }
}

#[test]
fn a_client_that_has_ended_faults() {
    let pages = Pages::new();
    let victim = Victim::idle();
    let mut memory = victim.memory();
    for _ in [1, 2] {
        read(&mut memory, pages.address(0), 48).unwrap();
    }
    drop(victim);
    assert!(read(&mut memory, pages.address(0), 48).is_err());
    assert!(memory.write(pages.address(0), &[0; 48]).is_err());
    assert!(ClientMemory::open(u32::MAX).is_err());
}

#[test]
fn a_new_program_is_seen_instead_of_the_old_one() {
    let pages = Pages::new();
    let (reader, mut writer) = io::pipe().unwrap();
    let command = [c"/bin/sleep".as_ptr(), c"1000".as_ptr(), ptr::null()];
    let victim = Victim::acting(|| {
        let mut byte = 0_u8;
        // SAFETY: one byte is read to a variable of one byte.
        unsafe { libc::read(reader.as_raw_fd(), (&raw mut byte).cast(), 1) };
        // SAFETY: both are lists of C strings, the first ended by a null pointer.
        unsafe { libc::execv(command[0], command.as_ptr()) };
    });
    let mut memory = victim.memory();
    for _ in [1, 2] {
        read(&mut memory, pages.address(0), 48).unwrap();
    }
    assert!(matches!(memory.mem, MemFile::Open(_)));
    io::Write::write_all(&mut writer, b"!").unwrap();
    let first = loop {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", victim.pid)).unwrap();
        if let Some(line) = maps.lines().find(|line| {
            line.contains("/bin/sleep") || line.contains("/coreutils") || line.contains("/busybox")
        }) {
            break u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap();
        }
        std::thread::yield_now();
    };
    for _ in [1, 2, 3] {
        assert!(read(&mut memory, pages.address(0), 48).is_err(), "of the old program");
        assert_eq!(read(&mut memory, first, 4).unwrap(), b"\x7fELF", "of the new program");
    }
    assert!(matches!(memory.mem, MemFile::Open(_)));
}

#[test]
fn the_end_of_the_first_thread_is_not_the_end() {
    extern "C" fn wait_for_ever(_: *mut libc::c_void) -> *mut libc::c_void {
        loop {
            // SAFETY: pause has no arguments.
            unsafe { libc::pause() };
        }
    }
    let pages = Pages::new();
    let victim = Victim::acting(|| {
        let mut thread = std::mem::MaybeUninit::<libc::pthread_t>::uninit();
        // SAFETY: the function never returns and ignores its argument.
        unsafe {
            libc::pthread_create(thread.as_mut_ptr(), ptr::null(), wait_for_ever, ptr::null_mut())
        };
        // SAFETY: ends this thread alone; nothing of it needs to be dropped.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    });
    let state = format!("/proc/{}/stat", victim.pid);
    while !std::fs::read_to_string(&state).unwrap().contains(") Z ") {
        std::thread::yield_now();
    }
    let mut memory = victim.memory();
    for _ in [1, 2] {
        assert_eq!(read(&mut memory, pages.address(7), 48).unwrap(), patterns(7, 48));
        memory.write(pages.address(page_bytes()), b"still there").unwrap();
    }
    assert!(matches!(memory.mem, MemFile::Open(_)));
    assert_eq!(read(&mut memory, pages.address(page_bytes()), 5).unwrap(), b"still");
}

#[test]
fn bytes_come_in_memory_that_grows_with_them() {
    let pages = Pages::new();
    let mut bytes = b"of before".to_vec();
    let victim = Victim::idle();
    let mut memory = victim.memory();
    for len_bytes in [0, 1, 64, 64, 2047, 12000] {
        memory.read_whole(pages.address(3), len_bytes, &mut bytes).unwrap();
        assert_eq!(bytes, patterns(3, len_bytes));
    }
    assert!(memory.read_whole(8, 2, &mut bytes).is_err());
    assert!(bytes.is_empty(), "bytes of before are none of these");
}

#[test]
fn a_memory_whose_leash_is_cut_is_out_of_reach_and_another_is_not() {
    let pages = Pages::new();
    let victim = Victim::idle();
    let mut memory = victim.memory();
    for len_bytes in [48, 48, 8000] {
        read(&mut memory, pages.address(0), len_bytes).unwrap();
    }
    let mut other = memory.another();
    assert!(memory.cancel_token().cancel(), "no transfer is under way");
    for len_bytes in [48, 8000] {
        assert!(read(&mut memory, pages.address(0), len_bytes).is_err());
        assert!(memory.write(pages.address(0), &vec![1; len_bytes]).is_err());
        assert_eq!(read(&mut other, pages.address(0), len_bytes).unwrap(), patterns(0, len_bytes));
    }
}

#[test]
fn of_two_places_the_first_that_is_out_of_reach_is_told() {
    let pages = Pages::new();
    pages.protect(1, MprotectFlags::READ);
    pages.protect(2, MprotectFlags::empty());
    let victim = Victim::idle();
    let mut memory = victim.memory();
    let [writable, readable, closed] =
        [8, page_bytes(), 2 * page_bytes()].map(|at| pages.address(at));
    let (mut some, mut more) = ([0; 48], vec![0; page_bytes()]);

    let mut read = |first, second| {
        memory.read_all([(first, some.as_mut_slice()), (second, more.as_mut_slice())])
    };
    assert_eq!(read(readable, readable), Ok(()));
    assert_eq!((read(closed, readable), read(closed, closed)), (Err(0), Err(0)));
    assert_eq!((read(readable, closed), read(readable, readable + 1)), (Err(1), Err(1)));
    assert_eq!((read(u64::MAX, readable), read(readable, u64::MAX)), (Err(0), Err(1)));
    assert_eq!(read(writable, readable), Ok(()));
    assert_eq!((some.to_vec(), more), (patterns(8, 48), patterns(page_bytes(), page_bytes())));
    assert_eq!(memory.read_all([(readable, &mut []), (closed, &mut some)]), Err(1));

    let mut write =
        |first, second, byte| memory.write_two([(first, &[byte; 48]), (second, &[byte])]);
    assert_eq!((write(readable, writable, 1), write(writable, readable, 2)), (Err(0), Err(1)));
    assert_eq!(write(writable, u64::MAX, 3), Err(1));
    assert_eq!(write(writable, writable + 40, 4), Ok(()));
    memory.read(writable, &mut some).unwrap();
    assert_eq!(some, [4; 48]);
}

#[test]
fn what_lies_twice_in_one_place_is_as_it_was_written_last() {
    let pages = Pages::new();
    let victim = Victim::idle();
    let mut memory = victim.memory();
    memory.write_two([(pages.address(0), &[1; 8]), (pages.address(4), &[2; 8])]).unwrap();
    let bytes = read(&mut memory, pages.address(0), 12).unwrap();
    assert_eq!(bytes, [1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2]);
}
