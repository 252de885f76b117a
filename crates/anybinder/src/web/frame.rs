//! Frames, which browsers are sent: a look into the driver, as events of a stream.
//!
//! The event `look` of each frame is complete. There may be many objects and handles, and they change seldom: the event
//! `objects` has the changes since the frame before, or all of them for a browser that has not had that frame.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use binder_http::axum::body::Bytes;
use binder_report::records::StateRecord;
use serde::Serialize;

use crate::failure::Failure;

/// The events of one look.
#[derive(Debug, Default)]
pub(super) struct Frame {
    version: u64,
    look: Bytes,
    /// Of the objects, against the frame before.
    changes: Bytes,
    objects: Arc<Objects>,
    /// All objects, made when a browser first needs them.
    all: OnceLock<Bytes>,
}

/// Objects and handles, by their keys.
pub(super) type Objects = BTreeMap<ObjectKey, StateRecord>;

/// The lasting identity of an object or handle: its device, whether it is an object, and its debug id.
pub(super) type ObjectKey = (String, bool, u32);

/// The records of objects and handles among those of a driver, by their keys.
pub(super) fn objects(state: Vec<StateRecord>) -> Objects {
    let keyed = |record: StateRecord| {
        let key = match &record {
            StateRecord::Node { device, id, .. } => (device.clone(), true, *id),
            StateRecord::Reference { device, id, .. } => (device.clone(), false, *id),
            StateRecord::Thread { .. } | StateRecord::Buffer { .. } => return None,
        };
        Some((key, record))
    };
    state.into_iter().filter_map(keyed).collect()
}

/// The event about objects.
#[derive(Serialize)]
struct ObjectsEvent<'a> {
    /// Whether those are all.
    is_whole: bool,
    changed: Vec<&'a StateRecord>,
    /// Those that are gone.
    gone: Vec<&'a ObjectKey>,
}

/// The event of a look that could not be taken.
#[derive(Serialize)]
struct FailureEvent<'a> {
    tried: &'a str,
    answer: &'a str,
    advice: &'a str,
}

impl Frame {
    /// The frame that follows this one.
    pub(super) fn next(&self, look: &impl Serialize, objects: Objects) -> Self {
        let changed =
            objects.iter().filter(|(key, record)| self.objects.get(*key) != Some(*record));
        let gone = self.objects.keys().filter(|key| !objects.contains_key(*key));
        let changes = ObjectsEvent {
            is_whole: false,
            changed: changed.map(|(_, record)| record).collect(),
            gone: gone.collect(),
        };
        let has_changes = !changes.changed.is_empty() || !changes.gone.is_empty();
        Self {
            version: self.version + 1,
            look: event("look", look),
            changes: if has_changes { event("objects", &changes) } else { Bytes::new() },
            objects: Arc::new(objects),
            all: OnceLock::new(),
        }
    }

    /// The frame that tells why there is no new look.
    pub(super) fn with_failure(&self, failure: &Failure) -> Self {
        let Failure { tried, answer, advice } = failure;
        Self {
            version: self.version + 1,
            look: event("failure", &FailureEvent { tried, answer, advice }),
            changes: Bytes::new(),
            objects: Arc::clone(&self.objects),
            all: OnceLock::new(),
        }
    }

    /// Its place in the order of frames.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The bytes for a browser that has had the frame `version` last, or none.
    pub(super) fn since(&self, version: Option<u64>) -> Bytes {
        let objects = match version {
            Some(last) if last + 1 == self.version => &self.changes,
            Some(_) | None => self.all.get_or_init(|| {
                let changed = self.objects.values().collect();
                event("objects", &ObjectsEvent { is_whole: true, changed, gone: Vec::new() })
            }),
        };
        Bytes::from([&objects[..], &self.look].concat())
    }
}

/// An event of a stream for browsers. JSON has no line ends between its first and last byte.
fn event(name: &str, content: &impl Serialize) -> Bytes {
    // These are plain values: writing one into memory does not fail.
    let content = serde_json::to_string(content).unwrap_or_default();
    Bytes::from(format!("event: {name}\ndata: {content}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(id: u32, strong: u32) -> StateRecord {
        let line = format!(
            r#"{{"kind":"reference","device":"binder","pid":7,"id":{id},"handle":1,"node":2,"is_dead":false,
            "strong":{strong},"weak":0,"has_death_link":false}}"#
        );
        serde_json::from_str(&line).unwrap()
    }

    fn told(frame: &Frame, version: Option<u64>) -> String {
        String::from_utf8(frame.since(version).to_vec()).unwrap()
    }

    #[test]
    fn a_browser_that_has_had_the_last_frame_gets_changes_alone() {
        let first = Frame::default().next(&1, objects(vec![handle(1, 1), handle(2, 1)]));
        let next = first.next(&2, objects(vec![handle(2, 5), handle(3, 1)]));
        let changes = told(&next, Some(first.version()));
        assert!(changes.starts_with("event: objects\ndata: {\"is_whole\":false,\"changed\":["));
        assert_eq!(changes.matches("\"kind\"").count(), 2, "{changes}");
        assert!(changes.contains("\"gone\":[[\"binder\",false,1]]}\n\nevent: look\ndata: 2\n\n"));
        for behind in [None, Some(0)] {
            let all = told(&next, behind);
            assert!(all.contains("\"is_whole\":true") && all.matches("\"kind\"").count() == 2);
        }
        let same = next.next(&3, objects(vec![handle(2, 5), handle(3, 1)]));
        assert_eq!(told(&same, Some(next.version())), "event: look\ndata: 3\n\n");
    }

    #[test]
    fn a_failure_leaves_the_objects_as_they_were() {
        let first = Frame::default().next(&1, objects(vec![handle(1, 1)]));
        let failed = first.with_failure(&Failure::new("reading", "no\nway"));
        let words = "event: failure\ndata: {\"tried\":\"reading\",\"answer\":\"no\\nway\",\"advice\":\"\"}\n\n";
        assert_eq!(told(&failed, Some(first.version())), words);
        let next = failed.next(&2, objects(vec![handle(1, 1)]));
        assert_eq!(told(&next, Some(failed.version())), "event: look\ndata: 2\n\n");
    }
}
