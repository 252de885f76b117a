//! Whose release of the interface a caller speaks.
//!
//! The numbers of the methods moved from release to release, and a call does not say of which it is. But most methods
//! take other arguments than their neighbours, so that a call by an older number is no call of the newest dialect: a
//! caller that registers an object or a callback shows by that what it speaks, and is remembered for as long as that
//! object lives. Of what remains the newest is assumed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use binder::binder_impl::TransactionCode;
use binder::service_manager::{Dialect, Method};

use crate::request::ObjectId;

/// Which dialects a manager speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DialectChoice {
    /// All, as callers show which.
    #[default]
    Auto,
    /// This one.
    Only(Dialect),
}

/// The dialects of callers, as far as they are known.
#[derive(Debug)]
pub(crate) struct Dialects {
    choice: DialectChoice,
    /// By their processes.
    known: BTreeMap<i32, KnownRegistrant>,
}

/// A process that has registered something.
#[derive(Debug)]
struct KnownRegistrant {
    /// What it may speak, the newest first.
    dialects: Vec<Dialect>,
    /// What it has registered and that is registered still.
    objects: BTreeSet<ObjectId>,
}

impl Dialects {
    pub(crate) fn new(choice: DialectChoice) -> Self {
        Self { choice, known: BTreeMap::new() }
    }

    /// What a caller may speak, the newest first; never nothing.
    pub(crate) fn of(&self, pid: i32) -> Vec<Dialect> {
        match self.choice {
            DialectChoice::Only(dialect) => vec![dialect],
            DialectChoice::Auto => {
                self.known.get(&pid).map_or(Dialect::ALL.to_vec(), |it| it.dialects.clone())
            }
        }
    }

    /// Whether callers have to show what they speak.
    pub(crate) fn is_open(&self) -> bool {
        self.choice == DialectChoice::Auto
    }

    /// Notes that a process meant `method` when it registered `object` by `code`.
    pub(crate) fn learn(
        &mut self,
        pid: i32,
        code: TransactionCode,
        method: Method,
        object: ObjectId,
    ) {
        // One without a number could be any.
        if !self.is_open() || pid == 0 {
            return;
        }
        let known = self.known.entry(pid).or_insert_with(|| KnownRegistrant {
            dialects: Dialect::ALL.to_vec(),
            objects: BTreeSet::new(),
        });
        let is_possible = |dialect: &Dialect| dialect.method(code) == Some(method);
        let narrowed: Vec<_> = known.dialects.iter().copied().filter(is_possible).collect();
        // A process of several libraries may speak several: then the last counts.
        known.dialects = if narrowed.is_empty() {
            Dialect::ALL.into_iter().filter(is_possible).collect()
        } else {
            narrowed
        };
        known.objects.insert(object);
    }

    /// Forgets what an object has shown, which is not registered any more.
    pub(crate) fn forget(&mut self, object: ObjectId) {
        self.known.retain(|_, known| {
            known.objects.remove(&object);
            !known.objects.is_empty()
        });
    }
}

impl FromStr for DialectChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "11" => Ok(Self::Only(Dialect::Android11)),
            "12" => Ok(Self::Only(Dialect::Android12)),
            "13" => Ok(Self::Only(Dialect::Android13)),
            "14" => Ok(Self::Only(Dialect::Android14)),
            "15" => Ok(Self::Only(Dialect::Android15)),
            "16" => Ok(Self::Only(Dialect::Android16)),
            _ => {
                Err("a dialect is auto, or the number of a release of Android from 11 to 16".into())
            }
        }
    }
}

impl fmt::Display for DialectChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Only(Dialect::Android11) => "11",
            Self::Only(Dialect::Android12) => "12",
            Self::Only(Dialect::Android13) => "13",
            Self::Only(Dialect::Android14) => "14",
            Self::Only(Dialect::Android15) => "15",
            Self::Only(Dialect::Android16) => "16",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AIDL_14: [Dialect; 4] =
        [Dialect::Android14, Dialect::Android13, Dialect::Android12, Dialect::Android11];

    fn code(dialect: Dialect, method: Method) -> TransactionCode {
        dialect.code(method).expect("it has it")
    }

    #[test]
    fn a_process_is_known_by_what_it_registers_while_that_lives() {
        let mut dialects = Dialects::new(DialectChoice::Auto);
        assert_eq!(dialects.of(1), Dialect::ALL);
        let add = code(Dialect::Android13, Method::AddService);
        dialects.learn(1, add, Method::AddService, ObjectId(1));
        assert_eq!(dialects.of(1), AIDL_14);
        assert_eq!(dialects.of(2), Dialect::ALL);
        let clients = code(Dialect::Android13, Method::RegisterClientCallback);
        dialects.learn(1, clients, Method::RegisterClientCallback, ObjectId(2));
        assert_eq!(dialects.of(1), [Dialect::Android13]);
        dialects.forget(ObjectId(1));
        assert_eq!(dialects.of(1), [Dialect::Android13]);
        dialects.forget(ObjectId(2));
        assert_eq!(dialects.of(1), Dialect::ALL);
        assert!(dialects.known.is_empty());
    }

    #[test]
    fn of_what_contradicts_the_last_counts() {
        let mut dialects = Dialects::new(DialectChoice::Auto);
        for (dialect, object) in [(Dialect::Android13, 1), (Dialect::Android16, 2)] {
            let add = code(dialect, Method::AddService);
            dialects.learn(1, add, Method::AddService, ObjectId(object));
        }
        assert_eq!(dialects.of(1), [Dialect::Android16]);
    }

    #[test]
    fn one_that_was_chosen_stays() {
        let mut dialects = Dialects::new(DialectChoice::Only(Dialect::Android11));
        let add = code(Dialect::Android16, Method::AddService);
        dialects.learn(1, add, Method::AddService, ObjectId(1));
        assert_eq!(dialects.of(1), [Dialect::Android11]);
        dialects.forget(ObjectId(1));
    }

    #[test]
    fn choices_have_names() {
        for name in ["auto", "11", "12", "13", "14", "15", "16"] {
            assert_eq!(name.parse::<DialectChoice>().map(|it| it.to_string()), Ok(name.into()));
        }
        assert!("10".parse::<DialectChoice>().is_err());
    }
}
