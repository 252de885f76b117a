//! What an answer costs, counted in files that it opens.

use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use binder_os::ProcDir;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

use super::*;
use crate::files::Text;
use crate::kernel::Members;
use crate::machine::Machine;

/// The maker of a world, the first of a line of its descendants, and the last, which reads.
const MAKER: u32 = 100;
const FIRST: u32 = 101;
const LAST: u32 = 130;

/// A tree of files in the shape of /proc, and the files opened of it.
struct FakeProc {
    dir: PathBuf,
    opened: OwnedFd,
}

impl FakeProc {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("procview-{name}-{}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        let opened = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        let fake = Self { dir, opened };
        fake.watch(Path::new(""));
        fake
    }

    fn watch(&self, path: &Path) {
        // An open alone would be one with the next if it is of the same file.
        let flags = WatchFlags::OPEN | WatchFlags::CLOSE;
        inotify::add_watch(&self.opened, self.dir.join(path), flags).unwrap();
    }

    fn add(&self, pid: u32, parent: u32) {
        let dir = self.dir.join(pid.to_string());
        fs::create_dir(&dir).unwrap();
        let zeros = "0 ".repeat(44);
        let stat = format!("{pid} (a) S {parent} {FIRST} 7 0 -1 {zeros}\n");
        fs::write(dir.join("stat"), stat).unwrap();
        let status = format!("Name:\ta\nTgid:\t{pid}\nPPid:\t{parent}\n");
        fs::write(dir.join("status"), status).unwrap();
        self.watch(Path::new(&pid.to_string()));
    }

    /// How many files and directories in it were opened since this was asked last: fewer if a process that
    /// another test starts has a copy of one for a moment, so that it closes after it was opened again.
    fn opened(&self) -> usize {
        let mut room = [MaybeUninit::uninit(); 1 << 16];
        let mut events = inotify::Reader::new(&self.opened, &mut room);
        let mut count = 0;
        while let Ok(event) = events.next() {
            assert!(!event.events().contains(ReadFlags::QUEUE_OVERFLOW));
            // A directory tells of itself, too, without a name.
            let is_open = event.events().contains(ReadFlags::OPEN);
            count += usize::from(is_open && event.file_name().is_some());
        }
        count
    }

    fn view(&self, members: Members) -> View {
        let proc = ProcDir::open().unwrap();
        let table = ProcessTable::new(Machine::like_this_one(&proc, Duration::ZERO).unwrap());
        let namespace = table.root().clone();
        let kernel = Kernel::new(proc.dir(&self.dir).unwrap(), members);
        View::new(table, namespace, kernel, Caching::Asked)
    }
}

impl Drop for FakeProc {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// What the last of the line reads in the `stat` of a process, as the kernel has it asked for.
fn stat_of(view: &View, pid: u32) -> String {
    let caller = ViewReader { tid: LAST, uid: 0 };
    let look = |node: ViewNode, name: &str| {
        let found = view.lookup(node, name.as_bytes(), caller).unwrap().unwrap();
        assert!(view.remember(found.node));
        found.node
    };
    let file = look(look(ViewNode::Root, &pid.to_string()), Text::Stat.name());
    String::from_utf8(view.text(file, caller).unwrap().to_vec()).unwrap()
}

#[test]
fn whether_a_process_is_below_another_is_asked_once_in_its_life() {
    let fake = FakeProc::new("below");
    fake.add(7, 1);
    fake.add(MAKER, 7);
    (FIRST..=LAST).for_each(|pid| fake.add(pid, pid - 1));
    let view = fake.view(Members::Below(MAKER));
    fake.opened();
    // Its session is not seen.
    assert!(stat_of(&view, LAST).starts_with("130 (a) R 129 101 7 0 -1 "));
    // Of each in the line its directory, to whom it belongs, and twice its parent; and the texts read.
    let line = (LAST - MAKER + 1) as usize;
    let cold = fake.opened();
    assert!(cold <= 4 * line + 4, "{cold}");
    assert!(stat_of(&view, LAST).starts_with("130 (a) R 129 101 7 0 -1 "));
    assert_eq!(fake.opened(), 1);
    // One more process costs its own files alone, and one that has ended leaves nothing.
    fake.add(131, LAST - 1);
    fake.opened();
    assert!(stat_of(&view, 131).starts_with("131 (a) S 129 101 7 0 -1 "));
    let one_more = fake.opened();
    assert!((1..=5).contains(&one_more), "{one_more}");
    fs::remove_dir_all(fake.dir.join("131")).unwrap();
    fake.add(131, 7);
    let caller = ViewReader { tid: LAST, uid: 0 };
    assert_eq!(view.lookup(ViewNode::Root, b"131", caller).unwrap_err(), ViewErrno::NoEnt);
}

#[test]
fn a_reader_with_a_number_of_the_table_finds_itself_by_another_name() {
    let fake = FakeProc::new("collision");
    fake.add(LAST, 1);
    fake.add(LAST + 1, 1);
    let mut view = fake.view(Members::None);
    view.caching = Caching::Kept;
    let (reader, other) = (ViewReader { tid: LAST, uid: 0 }, ViewReader { tid: LAST + 1, uid: 0 });
    let leads_to = |view: &View, caller: ViewReader| {
        let found = view.lookup(ViewNode::Root, b"self", caller).unwrap().unwrap();
        String::from_utf8(view.read_link(found.node, caller).unwrap()).unwrap()
    };
    assert_eq!(leads_to(&view, reader), "130");
    let table = view.table().clone();
    while table.root().processes() < LAST {
        table.spawn(table.root(), crate::task::Facts::default()).unwrap();
    }
    assert_eq!((leads_to(&view, reader), leads_to(&view, other)), (".130".into(), "131".into()));
    let is_kernels = |name: &str| {
        let found = view.lookup(ViewNode::Root, name.as_bytes(), reader).unwrap().unwrap();
        matches!(found.node, ViewNode::Kernel(..))
    };
    assert!(is_kernels(".130") && !is_kernels("130"));
    // No reader finds another process by such a name.
    for (name, caller) in [(&b".130"[..], other), (b".131", reader), (b".0", reader)] {
        assert_ne!(view.lookup(ViewNode::Root, name, caller).map(|it| it.is_some()), Ok(true));
    }
}
