//! What the kernel tells of a process, with what this reader may know: numbers of processes that
//! it sees, and addresses only of its own.

use binder_os::proc_files::split_stat;

use crate::kernel::{Numbering, number};

/// Fields of `stat`, counted behind the name from the state on: that, the parent, where it waits, and
/// group, session, and the group in front on its terminal.
const STATE: usize = 0;
const PARENT: usize = 1;
const WCHAN: usize = 32;
const NUMBERS: [usize; 3] = [2, 3, 5];

/// Fields that tell addresses, and how it ended, which is as private.
const ADDRESSES: [usize; 14] = [23, 24, 25, 26, 27, 32, 42, 43, 44, 45, 46, 47, 48, 49];

/// Lines of `status` with the number of another process.
const PARENT_LINE: &[u8] = b"PPid:";
const NUMBER_LINES: [&[u8]; 4] = [PARENT_LINE, b"TracerPid:", b"NSpgid:", b"NSsid:"];

/// The reader of a process's or a thread's files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReaderRelation {
    /// The one that is told of. It waits for our answer now, and runs when it has it.
    Itself,
    /// Its user, or root.
    Owner,
    /// Any other process.
    Other,
}

/// Rewrites `stat`, with what `numbers` have for processes that are not seen; `None` if it is none.
pub(super) fn stat(
    stat: &[u8],
    reader: ReaderRelation,
    numbers: Numbering,
    mut as_seen: impl FnMut(u32) -> u32,
) -> Option<Vec<u8>> {
    let (name, rest) = split_stat(stat)?;
    let mut seen = [name, b" "].concat();
    for (at, field) in rest.trim_ascii_end().split(|byte| *byte == b' ').enumerate() {
        if at > 0 {
            seen.push(b' ');
        }
        match number(field) {
            Some(pid) if at == PARENT && pid != 0 => {
                let told = parent(as_seen(pid), numbers);
                seen.extend_from_slice(told.to_string().as_bytes());
            }
            Some(pid) if NUMBERS.contains(&at) && pid != 0 && numbers == Numbering::Tables => {
                let told = as_seen(pid);
                seen.extend_from_slice(told.to_string().as_bytes());
            }
            _ if ADDRESSES.contains(&at) && reader == ReaderRelation::Other => seen.push(b'0'),
            _ if at == STATE && reader == ReaderRelation::Itself => seen.push(b'R'),
            _ if at == WCHAN && reader == ReaderRelation::Itself => seen.push(b'0'),
            _ => seen.extend_from_slice(field),
        }
    }
    seen.push(b'\n');
    Some(seen)
}

/// The number that is told for a parent that is seen so.
fn parent(seen: u32, numbers: Numbering) -> u32 {
    match (seen, numbers) {
        (0, Numbering::Kernels) => 1,
        (_, Numbering::Kernels | Numbering::Tables) => seen,
    }
}

/// Rewrites `status`, likewise.
pub(super) fn status(
    status: &[u8],
    reader: ReaderRelation,
    numbers: Numbering,
    mut as_seen: impl FnMut(u32) -> u32,
) -> Vec<u8> {
    let mut seen = Vec::with_capacity(status.len());
    for line in status.split_inclusive(|byte| *byte == b'\n') {
        if reader == ReaderRelation::Itself && line.starts_with(b"State:") {
            seen.extend_from_slice(b"State:\tR (running)\n");
            continue;
        }
        let named = NUMBER_LINES.iter().find_map(|name| Some((name, line.strip_prefix(*name)?)));
        // The first number is that in our own namespace; those in others say as little.
        let first = |rest: &[u8]| {
            number(rest.split(|byte| *byte == b'\t').find(|it| !it.trim_ascii().is_empty())?)
        };
        let is_told = |name: &[u8]| name == PARENT_LINE || numbers == Numbering::Tables;
        match named.and_then(|(name, rest)| Some((name, first(rest)?))) {
            Some((name, pid)) if is_told(name) && pid != 0 && as_seen(pid) != pid => {
                seen.extend_from_slice(name);
                let told = match *name {
                    PARENT_LINE => parent(as_seen(pid), numbers),
                    _ => as_seen(pid),
                };
                seen.extend_from_slice(format!("\t{told}\n").as_bytes());
            }
            _ => seen.extend_from_slice(line),
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNELS: Numbering = Numbering::Kernels;
    const TABLES: Numbering = Numbering::Tables;

    fn fields(line: &[u8]) -> Vec<String> {
        let line = String::from_utf8(line.to_vec()).unwrap();
        line.trim_end().rsplit(") ").next().unwrap().split(' ').map(String::from).collect()
    }

    #[test]
    fn addresses_and_unseen_numbers_go_and_the_rest_stays() {
        let numbers: Vec<String> = (3..=52).map(|nth| nth.to_string()).collect();
        let line = format!("7 (a) (b\n) {}\n", numbers.join(" "));
        let shown =
            stat(
                line.as_bytes(),
                ReaderRelation::Other,
                TABLES,
                |pid| if pid == 4 { 4 } else { 0 },
            )
            .unwrap();
        assert!(shown.starts_with(b"7 (a) (b\n) 3 4 0 0 7 0 9 "));
        for nth in 9..=52_usize {
            let is_address = (26..=30).contains(&nth) || nth == 35 || (45..=52).contains(&nth);
            let expected = if is_address { "0".to_owned() } else { nth.to_string() };
            assert_eq!(fields(&shown)[nth - 3], expected, "field {nth}");
        }
        let shown = stat(line.as_bytes(), ReaderRelation::Owner, KERNELS, |pid| pid).unwrap();
        assert_eq!(shown, line.as_bytes());
        assert_eq!(stat(b"7 no name", ReaderRelation::Owner, KERNELS, |pid| pid), None);
        let line = b"7 (a) S 6 5 4 3 2 1";
        let shown =
            [TABLES, KERNELS].map(|whose| stat(line, ReaderRelation::Owner, whose, |_| 0).unwrap());
        assert_eq!(shown, [b"7 (a) S 0 0 0 3 0 1\n", b"7 (a) S 1 5 4 3 2 1\n"]);
    }

    #[test]
    fn lines_of_unseen_processes_tell_zero_where_numbers_are_a_tables_and_of_parents_who_adopts() {
        let text = b"Name:\tPPid:\nPid:\t9\nPPid:\t8\nTracerPid:\t0\nNSpgid:\t7\t1\nNSsid:\t6\n";
        let only_6 = |pid| if pid == 6 { 6 } else { 0 };
        let expected = b"Name:\tPPid:\nPid:\t9\nPPid:\t0\nTracerPid:\t0\nNSpgid:\t0\nNSsid:\t6\n";
        assert_eq!(status(text, ReaderRelation::Owner, TABLES, only_6), expected);
        let expected =
            b"Name:\tPPid:\nPid:\t9\nPPid:\t1\nTracerPid:\t0\nNSpgid:\t7\t1\nNSsid:\t6\n";
        assert_eq!(status(text, ReaderRelation::Owner, KERNELS, only_6), expected);
        assert_eq!(status(text, ReaderRelation::Owner, KERNELS, |pid| pid), text);
        assert_eq!(status(b"PPid:\t0\n", ReaderRelation::Other, KERNELS, |_| 0), b"PPid:\t0\n");
    }

    #[test]
    fn a_process_that_reads_of_itself_runs() {
        let zeros = "0 ".repeat(31);
        let line = format!("7 (S) S {zeros}1 0\n");
        let shown = stat(line.as_bytes(), ReaderRelation::Itself, KERNELS, |pid| pid).unwrap();
        assert_eq!(shown, format!("7 (S) R {zeros}0 0\n").as_bytes());
        let shown = status(
            b"Name:\tS\nState:\tS (sleeping)\nPid:\t7\n",
            ReaderRelation::Itself,
            KERNELS,
            |pid| pid,
        );
        assert_eq!(shown, b"Name:\tS\nState:\tR (running)\nPid:\t7\n");
    }
}
