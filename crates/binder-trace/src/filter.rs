//! Which calls and events of a trace are shown.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::calls::{CallTracker, TracedCall};
use crate::methods::MethodNames;
use crate::record::TraceRecord;

/// Processes that are remembered, including those that have closed their devices.
const KEPT_PROCESSES: usize = 4096;

/// Which processes are wanted besides those that are chosen by pid or name, once they open a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NewProcesses {
    /// None.
    #[default]
    None,
    /// Those that come from a wanted one.
    Descendants,
    /// All.
    All,
}

/// The calls and events that are wanted: each list that is not empty must have an entry that fits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceFilter {
    /// Processes that send or receive.
    pub pids: Vec<u32>,
    /// Parts of their names.
    pub names: Vec<String>,
    /// Devices.
    pub devices: Vec<String>,
    /// Parts of names of interfaces.
    pub interfaces: Vec<String>,
    /// Names of methods, or their codes.
    pub methods: Vec<String>,
    /// How long a call must have taken, from its send to its end.
    pub least_ns: Option<u64>,
    /// Whether only those are wanted that went wrong.
    pub only_errors: bool,
    /// Which processes are wanted besides, regardless of `pids` and `names`.
    pub follows: NewProcesses,
    /// These, with how many open devices each has.
    pub followed: BTreeMap<u32, u32>,
}

impl TraceFilter {
    /// Whether it takes the end of a call to know whether it is wanted.
    pub fn needs_end(&self) -> bool {
        self.least_ns.is_some() || self.only_errors
    }

    /// Learns of a process that opens or closes a device. Takes each record before the tracker does.
    pub fn learn(&mut self, record: &TraceRecord, tracker: &CallTracker) {
        match record {
            TraceRecord::Opened { pid, ancestors, .. } => {
                let is_wanted = match self.follows {
                    NewProcesses::None => false,
                    NewProcesses::Descendants => {
                        ancestors.iter().any(|above| self.wants_parties(&[*above], tracker))
                    }
                    NewProcesses::All => true,
                };
                let is_open = self.followed.get(pid).is_some_and(|opens| *opens > 0);
                if is_wanted || is_open {
                    *self.followed.entry(*pid).or_default() += 1;
                } else {
                    // Another process has this number now.
                    self.followed.remove(pid);
                }
            }
            TraceRecord::Closed { pid, .. } => {
                // The ends of its calls come after this.
                if let Some(opens) = self.followed.get_mut(pid) {
                    *opens = opens.saturating_sub(1);
                }
                if self.followed.len() > KEPT_PROCESSES {
                    self.followed.retain(|_, opens| *opens > 0);
                }
            }
            _ => {}
        }
    }

    /// Whether a call is wanted, as far as it has come.
    pub fn wants(&self, call: &TracedCall, tracker: &CallTracker, methods: &MethodNames) -> bool {
        let Self { devices, interfaces, methods: wanted, least_ns, only_errors, .. } = self;
        let parties = [call.sent.from_pid, call.receiver.pid];
        let naming = methods.naming(&call.sent);
        let interface = naming.interface.unwrap_or_default();
        let is_method = |method: &String| {
            naming.method == Some(method.as_str()) || method.parse() == Ok(naming.code)
        };
        self.wants_parties(&parties, tracker)
            && (devices.is_empty() || devices.iter().any(|it| **it == *call.sent.device))
            && (interfaces.is_empty() || interfaces.iter().any(|part| interface.contains(&**part)))
            && (wanted.is_empty() || wanted.iter().any(is_method))
            && least_ns.is_none_or(|least| call.total_ns().is_some_and(|took| took >= least))
            && (!only_errors || call.status.is_error())
    }

    /// Whether an event is wanted that is not about a call. It is not, where the filter chooses calls.
    pub fn wants_note(&self, note: &TraceRecord, tracker: &CallTracker) -> bool {
        let is_about_calls =
            self.needs_end() || !self.interfaces.is_empty() || !self.methods.is_empty();
        let (device, pid) = match note {
            TraceRecord::Opened { device, pid, .. }
            | TraceRecord::Closed { device, pid, .. }
            | TraceRecord::Died { device, pid, .. }
            | TraceRecord::Frozen { device, pid, .. }
            | TraceRecord::Thawed { device, pid, .. } => (device, *pid),
            _ => return true,
        };
        !is_about_calls
            && (self.devices.is_empty() || self.devices.iter().any(|it| **it == **device))
            && self.wants_parties(&[pid], tracker)
    }

    fn wants_parties(&self, parties: &[u32], tracker: &CallTracker) -> bool {
        if parties.iter().any(|pid| self.followed.contains_key(pid)) {
            return true;
        }
        (self.pids.is_empty() || self.pids.iter().any(|pid| parties.contains(pid)))
            && (self.names.is_empty()
                || self.names.iter().any(|name| has_name(parties, name, tracker)))
    }
}

fn has_name(pids: &[u32], part: &str, tracker: &CallTracker) -> bool {
    pids.iter().any(|pid| tracker.name(*pid).is_some_and(|name| name.contains(part)))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::calls::CallStatus;
    use crate::record::tests::call;

    #[test]
    fn each_part_of_a_filter_must_fit() {
        let mut tracker = CallTracker::default();
        tracker.take(TraceRecord::Named { pid: 20, name: "greeter".into() }, |_, _| ());
        tracker.take(TraceRecord::Sent(call(1, 100)), |_, _| ());
        let mut ended = tracker.get(1).unwrap().clone();
        (ended.ended_ns, ended.status) = (Some(1100), CallStatus::Failed { code: 1 });
        let methods = MethodNames::default();
        let wants = |filter: TraceFilter| filter.wants(&ended, &tracker, &methods);
        let none = TraceFilter::default;
        assert!(wants(none()));
        for (fits, filter) in [
            (true, TraceFilter { pids: vec![1, 20], ..none() }),
            (false, TraceFilter { pids: vec![21], ..none() }),
            (true, TraceFilter { names: vec!["greet".into()], ..none() }),
            (false, TraceFilter { names: vec!["client".into()], ..none() }),
            (false, TraceFilter { devices: vec!["other".into()], ..none() }),
            (true, TraceFilter { interfaces: vec!["IGreeter".into()], ..none() }),
            (false, TraceFilter { interfaces: vec!["IOther".into()], ..none() }),
            (true, TraceFilter { methods: vec!["1".into()], ..none() }),
            (false, TraceFilter { methods: vec!["2".into()], ..none() }),
            (true, TraceFilter { least_ns: Some(1000), ..none() }),
            (false, TraceFilter { least_ns: Some(1001), ..none() }),
            (true, TraceFilter { only_errors: true, ..none() }),
        ] {
            assert_eq!(wants(filter.clone()), fits, "{filter:?}");
        }
    }

    fn opened(pid: u32, ancestors: &[u32]) -> TraceRecord {
        let (device, ancestors) = ("binder".into(), ancestors.to_vec());
        TraceRecord::Opened { at_ns: 1, device, pid, ancestors }
    }

    #[test]
    fn new_processes_are_followed_as_long_as_they_have_a_device() {
        let tracker = CallTracker::default();
        let wants = |filter: &TraceFilter, pid| filter.wants_note(&opened(pid, &[]), &tracker);
        for (follows, expected) in [
            (NewProcesses::None, [true, false, false, false]),
            (NewProcesses::Descendants, [true, true, true, false]),
            (NewProcesses::All, [true; 4]),
        ] {
            let mut filter = TraceFilter { pids: vec![7], follows, ..TraceFilter::default() };
            // A grandchild, whose parent has no device, its child, and a stranger.
            for (pid, ancestors) in [(20, &[9, 7, 1][..]), (30, &[20]), (40, &[1])] {
                filter.learn(&opened(pid, ancestors), &tracker);
            }
            assert_eq!([7, 20, 30, 40].map(|pid| wants(&filter, pid)), expected, "{follows:?}");
        }
        let follows = NewProcesses::Descendants;
        let mut filter = TraceFilter { pids: vec![7], follows, ..TraceFilter::default() };
        filter.learn(&opened(20, &[7]), &tracker);
        filter.learn(&TraceRecord::Closed { at_ns: 2, device: "b".into(), pid: 20 }, &tracker);
        assert!(wants(&filter, 20), "what ends with it is told");
        filter.learn(&opened(20, &[1]), &tracker);
        assert!(!wants(&filter, 20), "another has its number");
    }

    #[test]
    fn notes_are_told_where_no_calls_are_chosen() {
        let tracker = CallTracker::default();
        let note = TraceRecord::Frozen { at_ns: 1, device: "binder".into(), pid: 7 };
        let by_pid = |pid| TraceFilter { pids: vec![pid], ..TraceFilter::default() };
        assert!(by_pid(7).wants_note(&note, &tracker) && !by_pid(8).wants_note(&note, &tracker));
        let errors = TraceFilter { only_errors: true, ..TraceFilter::default() };
        assert!(!errors.wants_note(&note, &tracker));
        assert!(errors.wants_note(&TraceRecord::Dropped { records: 1 }, &tracker));
    }
}
