//! What the registry asks about objects.

use crate::request::ObjectId;

/// What the registry asks about objects during a call.
pub trait ObjectTable {
    /// Has [`object_died`](super::ServiceRegistry::object_died) be called when the object's process ends; false if it has ended. Asked
    /// once, before the registry keeps an object.
    fn link_to_death(&mut self, object: ObjectId) -> bool;

    /// How many processes hold the object; `None` if the driver does not tell.
    fn strong_count(&mut self, object: ObjectId) -> Option<u32>;

    /// Whether the object's interface promises to stay across updates, so that it must be declared.
    fn is_vintf_stable(&self, object: ObjectId) -> bool;
}
