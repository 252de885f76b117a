//! The namespaces agree with a naive model, whatever is asked of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use pidns::{AllocError, MAX_PID_NS_LEVEL, Pid, PidNamespace, pin};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

#[derive(Clone, Debug)]
enum Step {
    Child {
        parent: Index,
    },
    Alloc {
        namespace: Index,
        count: u32,
    },
    Choose {
        namespace: Index,
        set_tid: Vec<u32>,
    },
    Free {
        pid: Index,
    },
    /// Free that many at once, which is what brings the circle round.
    FreeMany {
        pid: Index,
        count: usize,
    },
    Disable {
        namespace: Index,
    },
    AssumeReaper {
        namespace: Index,
    },
    SetPidMax {
        namespace: Index,
        pid_max: u32,
    },
    Destroy {
        namespace: Index,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    let number = || prop_oneof![0..5u32, 1..400u32, 295..305u32];
    prop_oneof![
        3 => index().prop_map(|parent| Step::Child { parent }),
        8 => (index(), 1..150u32).prop_map(|(namespace, count)| Step::Alloc { namespace, count }),
        6 => (index(), vec(number(), 0..4))
            .prop_map(|(namespace, set_tid)| Step::Choose { namespace, set_tid }),
        4 => index().prop_map(|pid| Step::Free { pid }),
        4 => (index(), 1..100usize).prop_map(|(pid, count)| Step::FreeMany { pid, count }),
        1 => index().prop_map(|namespace| Step::AssumeReaper { namespace }),
        2 => (index(), 290..450u32)
            .prop_map(|(namespace, pid_max)| Step::SetPidMax { namespace, pid_max }),
        1 => index().prop_map(|namespace| Step::Disable { namespace }),
        1 => index().prop_map(|namespace| Step::Destroy { namespace }),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Reaper {
    Awaited,
    Here,
    Elsewhere,
    Gone,
}

/// A namespace as one would describe it.
#[derive(Clone, Debug)]
struct Namespace {
    parent: Option<usize>,
    pid_max: u32,
    cursor: u32,
    reaper: Reaper,
    /// Whose each number is.
    numbers: BTreeMap<u32, usize>,
}

#[derive(Clone, Default)]
struct Model {
    namespaces: Vec<Namespace>,
    /// For each pid there ever was: its numbers by namespace, the innermost first.
    pids: Vec<Vec<(usize, u32)>>,
}

impl Model {
    fn lineage(&self, namespace: usize) -> Vec<usize> {
        std::iter::successors(Some(namespace), |it| self.namespaces[*it].parent).collect()
    }

    fn alloc(&mut self, namespace: usize, set_tid: &[u32]) -> Result<Vec<u32>, AllocError> {
        let before = self.clone();
        let result = self.try_alloc(namespace, set_tid);
        if result.is_err() {
            *self = before;
        }
        result
    }

    fn try_alloc(&mut self, namespace: usize, set_tid: &[u32]) -> Result<Vec<u32>, AllocError> {
        let lineage = self.lineage(namespace);
        let level_of = |at: usize| u32::try_from(lineage.len() - 1 - at).expect("few levels");
        if set_tid.len() > lineage.len() {
            let (chosen, levels) = (set_tid.len(), lineage.len());
            return Err(AllocError::TooManyChosen { chosen, levels });
        }
        for (at, number) in set_tid.iter().copied().enumerate() {
            let pid_max = self.namespaces[lineage[at]].pid_max;
            if number == 0 || number >= pid_max {
                return Err(AllocError::OutOfRange { level: level_of(at), number, pid_max });
            }
        }
        let mut numbers = Vec::new();
        for (at, it) in lineage.iter().enumerate() {
            let level = level_of(at);
            let namespace = &mut self.namespaces[*it];
            let number = match set_tid.get(at).copied() {
                Some(number) if namespace.numbers.contains_key(&number) => {
                    return Err(AllocError::Taken { level, number });
                }
                Some(number) => number,
                None => {
                    let pid_max = namespace.pid_max;
                    let first = if namespace.cursor > 300 { 300 } else { 1 };
                    let from = first.max(namespace.cursor);
                    let number = (from..pid_max)
                        .chain(first..pid_max)
                        .find(|number| !namespace.numbers.contains_key(number))
                        .ok_or(AllocError::Full { level, first, pid_max })?;
                    namespace.cursor = number + 1;
                    number
                }
            };
            match namespace.reaper {
                Reaper::Awaited if number != 1 => {
                    return Err(AllocError::NoReaper { level, number });
                }
                Reaper::Awaited => namespace.reaper = Reaper::Here,
                Reaper::Gone => return Err(AllocError::Stopped { level }),
                Reaper::Here | Reaper::Elsewhere => {}
            }
            namespace.numbers.insert(number, self.pids.len());
            numbers.push((*it, number));
        }
        let outermost_first = numbers.iter().rev().map(|(_, number)| *number).collect();
        self.pids.push(numbers);
        Ok(outermost_first)
    }

    /// Frees a pid, unless it is free already.
    fn free(&mut self, pid: usize) -> bool {
        let (innermost, number) = self.pids[pid][0];
        if self.namespaces[innermost].numbers.get(&number) != Some(&pid) {
            return false;
        }
        for (namespace, number) in self.pids[pid].clone() {
            let namespace = &mut self.namespaces[namespace];
            namespace.numbers.remove(&number);
            if number == 1 && namespace.reaper == Reaper::Here {
                namespace.reaper = Reaper::Gone;
            }
        }
        true
    }
}

/// The namespaces, and the model beside them.
struct Game {
    model: Model,
    namespaces: Vec<Arc<PidNamespace<usize>>>,
    pids: Vec<Arc<Pid<usize>>>,
}

impl Game {
    fn new() -> Self {
        let mut game = Self { model: Model::default(), namespaces: vec![], pids: vec![] };
        game.add(PidNamespace::root(), None);
        game
    }

    fn add(&mut self, namespace: Arc<PidNamespace<usize>>, parent: Option<usize>) {
        let pid_max = namespace.pid_max();
        let (cursor, reaper, numbers) = (0, Reaper::Awaited, BTreeMap::new());
        self.model.namespaces.push(Namespace { parent, pid_max, cursor, reaper, numbers });
        self.namespaces.push(namespace);
    }

    fn play(&mut self, step: Step) {
        let namespaces = self.namespaces.len();
        match step {
            Step::Child { parent } if namespaces < 6 => {
                let parent = parent.index(namespaces);
                let child = self.namespaces[parent].child().expect("not too deep");
                assert!(child.level() <= MAX_PID_NS_LEVEL);
                self.add(child, Some(parent));
            }
            Step::Child { .. } => {}
            Step::Alloc { namespace, count } => {
                for _ in 0..count {
                    self.alloc(namespace.index(namespaces), &[]);
                }
            }
            Step::Choose { namespace, set_tid } => {
                self.alloc(namespace.index(namespaces), &set_tid);
            }
            Step::Free { pid } => self.free(pid, 1),
            Step::FreeMany { pid, count } => self.free(pid, count),
            Step::Disable { namespace } => {
                let namespace = namespace.index(namespaces);
                self.namespaces[namespace].disable_pid_allocation();
                self.model.namespaces[namespace].reaper = Reaper::Gone;
            }
            Step::AssumeReaper { namespace } => {
                let namespace = namespace.index(namespaces);
                self.namespaces[namespace].assume_reaper();
                let reaper = &mut self.model.namespaces[namespace].reaper;
                if *reaper == Reaper::Awaited {
                    *reaper = Reaper::Elsewhere;
                }
            }
            Step::SetPidMax { namespace, pid_max } => {
                let namespace = namespace.index(namespaces);
                let is_set = self.namespaces[namespace].set_pid_max(pid_max).is_ok();
                assert_eq!(is_set, pid_max > 300);
                if is_set {
                    self.model.namespaces[namespace].pid_max = pid_max;
                }
            }
            Step::Destroy { namespace } => {
                let namespace = namespace.index(namespaces);
                self.model.namespaces[namespace].reaper = Reaper::Gone;
                let ended = self.namespaces[namespace].destroy();
                let expected = self.model.namespaces[namespace].numbers.clone();
                assert!(ended.iter().map(|pid| pid.process()).eq(expected.values()));
                assert!(expected.values().all(|pid| self.model.free(*pid)));
            }
        }
    }

    fn alloc(&mut self, namespace: usize, set_tid: &[u32]) {
        let process = self.pids.len();
        let pid = self.namespaces[namespace].alloc_pid_at(set_tid, |_| true, process);
        let expected = self.model.alloc(namespace, set_tid);
        assert_eq!(pid.as_ref().map(|pid| pid.numbers().to_vec()).map_err(|it| *it), expected);
        self.pids.extend(pid);
    }

    fn free(&mut self, pid: Index, count: usize) {
        if self.pids.is_empty() {
            return;
        }
        let first = pid.index(self.pids.len());
        for pid in first..self.pids.len().min(first + count) {
            assert_eq!(self.pids[pid].free().is_ok(), self.model.free(pid));
        }
    }

    /// Compares all that can be seen.
    fn compare(&self) {
        let guard = pin();
        for (namespace, expected) in self.namespaces.iter().zip(&self.model.namespaces) {
            let found = namespace.pids_from(0, &guard).map(|(nr, pid)| (nr, *pid.process()));
            assert!(found.eq(expected.numbers.iter().map(|(nr, pid)| (*nr, *pid))));
            assert_eq!(namespace.processes() as usize, expected.numbers.len());
            for number in (0..450).step_by(7) {
                let found = namespace.find_pid(number, &guard).map(|pid| *pid.process());
                assert_eq!(found, expected.numbers.get(&number).copied());
                let next = namespace.find_ge_pid(number, &guard).map(|(number, _)| number);
                assert_eq!(next, expected.numbers.range(number..).next().map(|(nr, _)| *nr));
            }
        }
        for (pid, expected) in self.pids.iter().zip(&self.model.pids) {
            for (at, namespace) in self.namespaces.iter().enumerate() {
                let number = expected.iter().find(|(namespace, _)| *namespace == at);
                assert_eq!(pid.nr_ns(namespace), number.map_or(0, |(_, number)| *number));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]

    #[test]
    fn the_namespaces_agree_with_a_naive_model(steps in vec(step(), 1..40)) {
        let mut game = Game::new();
        for step in steps {
            game.play(step);
        }
        game.compare();
        game.namespaces[0].destroy();
    }
}
