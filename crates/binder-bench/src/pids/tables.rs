//! Tables of process ids.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::hint::black_box;
use std::sync::{Arc, Mutex, RwLock};

use pidns::{PID_MAX_LIMIT, PidNamespace, pin};

/// What the bench asks of a table.
pub(super) trait ComparedTable: Sync {
    const NAME: &'static str;

    /// Makes an empty table of namespaces inside each other.
    fn new(levels: u32) -> Self;

    /// Gives a process the next number in each namespace; returns that of the innermost.
    fn allocate(&mut self) -> u32;

    /// Finds a process in the innermost namespace, and returns whether there is one.
    fn look_up(&self, number: u32) -> bool;

    /// Finds many processes at once, and counts them.
    fn look_up_all(&self, numbers: &[u32]) -> usize;

    /// Visits the processes of the innermost namespace in order, and counts them.
    fn visit(&self) -> usize;

    /// Gives one more process its numbers, and takes them back.
    fn change(&self);

    /// Takes all numbers back.
    fn destroy(&mut self);
}

/// `pidns`.
pub(super) struct OurTable {
    root: Arc<PidNamespace<()>>,
    innermost: Arc<PidNamespace<()>>,
}

impl ComparedTable for OurTable {
    const NAME: &'static str = "ours";

    fn new(levels: u32) -> Self {
        let root = PidNamespace::root();
        root.set_pid_max(PID_MAX_LIMIT).expect("the limit");
        let mut innermost = root.clone();
        for _ in 1..levels {
            innermost = innermost.child().expect("at most 33 levels");
        }
        Self { root, innermost }
    }

    fn allocate(&mut self) -> u32 {
        self.innermost.alloc_pid(()).expect("enough numbers").nr()
    }

    #[inline]
    fn look_up(&self, number: u32) -> bool {
        self.innermost.find_pid(number, &pin()).is_some()
    }

    fn look_up_all(&self, numbers: &[u32]) -> usize {
        let guard = pin();
        let found = numbers.iter().map(|number| self.innermost.find_pid(*number, &guard));
        found.filter(|pid| black_box(*pid).is_some()).count()
    }

    fn visit(&self) -> usize {
        let guard = pin();
        self.innermost.pids_from(0, &guard).filter(|found| black_box(found).0 > 0).count()
    }

    fn change(&self) {
        let pid = self.innermost.alloc_pid(()).expect("enough numbers");
        black_box(pid.free()).expect("it was just given");
    }

    fn destroy(&mut self) {
        drop(self.root.destroy());
    }
}

/// A process with a number in each namespace.
struct TableProcess {
    numbers: Vec<u32>,
}

/// A sorted tree for each namespace, under a lock.
pub(super) struct Trees {
    levels: Vec<RwLock<BTreeMap<u32, Arc<TableProcess>>>>,
    next: u32,
}

impl ComparedTable for Trees {
    const NAME: &'static str = "locked tree";

    fn new(levels: u32) -> Self {
        let levels = (0..levels).map(|_| RwLock::default()).collect();
        Self { levels, next: 1 }
    }

    fn allocate(&mut self) -> u32 {
        let number = self.next;
        self.next += 1;
        self.insert(number);
        number
    }

    #[inline]
    fn look_up(&self, number: u32) -> bool {
        self.innermost().get(&number).is_some()
    }

    fn look_up_all(&self, numbers: &[u32]) -> usize {
        let innermost = self.innermost();
        numbers.iter().filter(|number| black_box(innermost.get(number)).is_some()).count()
    }

    fn visit(&self) -> usize {
        self.innermost().iter().filter(|found| *black_box(found).0 > 0).count()
    }

    fn change(&self) {
        self.remove(&self.insert(self.next));
    }

    fn destroy(&mut self) {
        let processes: Vec<_> = self.innermost().values().cloned().collect();
        processes.iter().for_each(|process| self.remove(process));
    }
}

impl Trees {
    fn insert(&self, number: u32) -> Arc<TableProcess> {
        let process = Arc::new(TableProcess { numbers: vec![number; self.levels.len()] });
        for level in &self.levels {
            let mut level = level.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            level.insert(number, process.clone());
        }
        process
    }

    fn remove(&self, process: &TableProcess) {
        for (level, number) in self.levels.iter().zip(&process.numbers) {
            let mut level = level.write().unwrap_or_else(|poisoned| poisoned.into_inner());
            level.remove(number);
        }
    }

    fn innermost(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<u32, Arc<TableProcess>>> {
        let innermost = self.levels.last().expect("at least one level");
        innermost.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A bitmap for each namespace, one hash of level and number, and a lock for all.
pub(super) struct BitmapAndHash {
    state: Mutex<BitmapsAndHash>,
    levels: u32,
}

struct BitmapsAndHash {
    bitmaps: Vec<Vec<u64>>,
    cursor: usize,
    hash: HashMap<(u32, u32), Arc<TableProcess>, BuildHasherDefault<Multiplier>>,
}

/// Hashes small numbers as kernels do: by one multiplication each.
#[derive(Default)]
struct Multiplier(u64);

impl Hasher for Multiplier {
    fn write_u32(&mut self, number: u32) {
        // 2^64 divided by the golden ratio: neighbours come to lie far apart.
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0.rotate_left(32) ^ u64::from(number)).wrapping_mul(GOLDEN);
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32((*byte).into()));
    }

    fn finish(&self) -> u64 {
        // The upper bits are the best mixed, and the map takes its place from the lower ones.
        self.0.rotate_left(32)
    }
}

impl BitmapsAndHash {
    fn find(&self, levels: u32, number: u32) -> Option<&TableProcess> {
        self.hash.get(&(levels - 1, number)).map(|process| &**process)
    }

    fn insert(&mut self) -> Arc<TableProcess> {
        let mut numbers = Vec::with_capacity(self.bitmaps.len());
        for bitmap in &mut self.bitmaps {
            let bits = PID_MAX_LIMIT as usize;
            let next = bitsearch::next_zero_bit(bitmap, bits, self.cursor);
            let free = next.or_else(|| bitsearch::next_zero_bit(bitmap, bits, 1)).expect("enough");
            bitmap[free / 64] |= 1 << (free % 64);
            numbers.push(u32::try_from(free).expect("below the limit"));
        }
        self.cursor = *numbers.last().expect("at least one level") as usize + 1;
        let process = Arc::new(TableProcess { numbers });
        for (level, number) in (0..).zip(&process.numbers) {
            self.hash.insert((level, *number), process.clone());
        }
        process
    }

    fn remove(&mut self, process: &TableProcess) {
        for (level, number) in (0..).zip(&process.numbers) {
            self.hash.remove(&(level, *number));
            let at = *number as usize;
            self.bitmaps[level as usize][at / 64] &= !(1 << (at % 64));
        }
    }
}

impl ComparedTable for BitmapAndHash {
    const NAME: &'static str = "bitmap and hash";

    fn new(levels: u32) -> Self {
        let bitmap = || vec![0; PID_MAX_LIMIT as usize / 64];
        let bitmaps = (0..levels).map(|_| bitmap()).collect();
        Self {
            state: Mutex::new(BitmapsAndHash { bitmaps, cursor: 1, hash: HashMap::default() }),
            levels,
        }
    }

    fn allocate(&mut self) -> u32 {
        let process = self.locked().insert();
        *process.numbers.last().expect("at least one level")
    }

    #[inline]
    fn look_up(&self, number: u32) -> bool {
        self.locked().find(self.levels, number).is_some()
    }

    fn look_up_all(&self, numbers: &[u32]) -> usize {
        let state = self.locked();
        let found = numbers.iter().map(|number| state.find(self.levels, *number));
        found.filter(|process| black_box(*process).is_some()).count()
    }

    fn visit(&self) -> usize {
        let (state, mut count, mut next) = (self.locked(), 0, 0);
        let bitmap = state.bitmaps.last().expect("at least one level");
        while let Some(bit) = bitsearch::next_bit(bitmap, PID_MAX_LIMIT as usize, next) {
            let number = u32::try_from(bit).expect("below the limit");
            count += usize::from(black_box(state.find(self.levels, number)).is_some());
            next = bit + 1;
        }
        count
    }

    fn change(&self) {
        let process = self.locked().insert();
        self.locked().remove(&process);
    }

    fn destroy(&mut self) {
        let innermost = self.levels - 1;
        let mut state = self.locked();
        let ended = |((level, _), process): (&(u32, u32), &Arc<TableProcess>)| {
            (*level == innermost).then(|| process.clone())
        };
        let ended: Vec<_> = state.hash.iter().filter_map(ended).collect();
        ended.iter().for_each(|process| state.remove(process));
    }
}

impl BitmapAndHash {
    fn locked(&self) -> std::sync::MutexGuard<'_, BitmapsAndHash> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds_what_it_gave<T: ComparedTable>(levels: u32) {
        let mut table = T::new(levels);
        let numbers: Vec<u32> = (0..500).map(|_| table.allocate()).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{}", T::NAME);
        assert_eq!((table.look_up_all(&numbers), table.visit()), (500, 500), "{}", T::NAME);
        assert!(!table.look_up(0) && !table.look_up(501), "{}", T::NAME);
        table.change();
        assert_eq!(table.visit(), 500, "{}", T::NAME);
        table.destroy();
        assert_eq!((table.look_up_all(&numbers), table.visit()), (0, 0), "{}", T::NAME);
    }

    #[test]
    fn tables_find_what_they_gave_until_they_take_it_back() {
        for levels in [1, 3, 33] {
            finds_what_it_gave::<OurTable>(levels);
            finds_what_it_gave::<Trees>(levels);
            finds_what_it_gave::<BitmapAndHash>(levels);
        }
    }
}
