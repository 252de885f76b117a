//! Objects of this process as the driver knows them.
//!
//! The driver names an object by a pointer and a cookie of its owner's choice. Ours are a number
//! that is never used again and a place in a table, so whatever a driver says is checked, and
//! nothing it says is ever taken for an address.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use binder_uapi::BinderPtrCookie;
use slab::Slab;

use binder_os::binder_returns::Notice;

/// The objects that others may know of.
pub(super) struct Nodes<T: ?Sized> {
    table: RwLock<NodeTable<T>>,
}

struct NodeTable<T: ?Sized> {
    nodes: Slab<LocalNode<T>>,
    /// Where the node of an object is, by the object's address.
    places: HashMap<usize, usize>,
    last_number: u64,
}

/// An object and the references to it. Notices of one node come to several threads, in any order, so
/// what they say is counted.
struct LocalNode<T: ?Sized> {
    number: u64,
    /// Keeps the address from being used for another object.
    object: Weak<T>,
    /// Held while there is a strong reference, or a parcel is on its way with the object.
    held: Option<Arc<T>>,
    weak: i32,
    strong: i32,
    /// How many parcels with the object the driver has not taken yet.
    sends: u32,
}

impl<T: ?Sized> Default for Nodes<T> {
    fn default() -> Self {
        let table = NodeTable { nodes: Slab::new(), places: HashMap::new(), last_number: 0 };
        Self { table: RwLock::new(table) }
    }
}

impl<T: ?Sized> Nodes<T> {
    /// Returns the driver's name for `object`, which lives until [`sent`](Self::sent) is called
    /// and beyond that as long as others hold it.
    pub(super) fn send(&self, object: &Arc<T>) -> BinderPtrCookie {
        let table = &mut *self.write();
        let address = address_of(object);
        let place = *table.places.entry(address).or_insert_with(|| {
            table.last_number += 1;
            table.nodes.insert(LocalNode {
                number: table.last_number,
                object: Arc::downgrade(object),
                held: None,
                weak: 0,
                strong: 0,
                sends: 0,
            })
        });
        let node = &mut table.nodes[place];
        node.sends += 1;
        node.held.get_or_insert_with(|| Arc::clone(object));
        BinderPtrCookie { ptr: node.number, cookie: place as u64 }
    }

    /// Notes that the driver has taken or refused a parcel with the object, and returns it if
    /// the driver does not hold it any more.
    #[must_use = "to drop an object may run any code, which wants no lock held"]
    pub(super) fn sent(&self, name: BinderPtrCookie) -> Option<Arc<T>> {
        self.change(name, |node| node.sends -= 1)
    }

    /// Notes what the driver tells of an object, and returns it if the driver does not hold it any
    /// more.
    #[must_use = "to drop an object may run any code, which wants no lock held"]
    pub(super) fn note(&self, notice: Notice, name: BinderPtrCookie) -> Option<Arc<T>> {
        self.change(name, |node| match notice {
            Notice::Increfs => node.weak += 1,
            Notice::Decrefs => node.weak -= 1,
            Notice::Release => node.strong -= 1,
            Notice::Acquire => {
                node.strong += 1;
                if node.held.is_none() {
                    node.held = node.object.upgrade();
                }
            }
        })
    }

    /// Returns the object of that name, if others may call it.
    pub(super) fn get(&self, name: BinderPtrCookie) -> Option<Arc<T>> {
        let table = self.read();
        table.nodes.get(place_of(name)?).filter(|node| node.number == name.ptr)?.held.clone()
    }

    /// Returns how many objects the driver knows of.
    pub(super) fn len(&self) -> usize {
        self.read().nodes.len()
    }

    fn change(&self, name: BinderPtrCookie, act: impl FnOnce(&mut LocalNode<T>)) -> Option<Arc<T>> {
        let table = &mut *self.write();
        let place = place_of(name)?;
        let node = table.nodes.get_mut(place).filter(|node| node.number == name.ptr)?;
        act(node);
        let dropped = if node.strong <= 0 && node.sends == 0 { node.held.take() } else { None };
        if node.weak <= 0 && node.strong <= 0 && node.sends == 0 {
            let address = node.object.as_ptr().cast::<()>() as usize;
            table.places.remove(&address);
            table.nodes.remove(place);
        }
        dropped
    }

    fn read(&self) -> RwLockReadGuard<'_, NodeTable<T>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, NodeTable<T>> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn address_of<T: ?Sized>(object: &Arc<T>) -> usize {
    Arc::as_ptr(object).cast::<()>() as usize
}

fn place_of(name: BinderPtrCookie) -> Option<usize> {
    usize::try_from(name.cookie).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_one_name_while_somebody_holds_it() {
        let nodes = Nodes::default();
        let object = Arc::new("it");
        let name = nodes.send(&object);
        assert_eq!(nodes.send(&object), name);
        assert_ne!(nodes.send(&Arc::new("another")), name);
        assert!(nodes.note(Notice::Increfs, name).is_none());
        assert!(nodes.note(Notice::Acquire, name).is_none());
        assert!(nodes.sent(name).is_none());
        assert!(nodes.sent(name).is_none());
        assert_eq!(nodes.get(name).as_deref(), Some(&"it"));
        assert!(nodes.note(Notice::Release, name).is_some());
        assert_eq!(nodes.get(name), None);
        assert_eq!(nodes.send(&object), name, "there is a weak reference still");
        assert!(nodes.sent(name).is_some());
        assert!(nodes.note(Notice::Decrefs, name).is_none());
        assert_ne!(nodes.send(&object), name);
    }

    /// A thread may have read the end of the old references, another sends anew, and the notices
    /// of both are handled in any order.
    #[test]
    fn notices_count_in_any_order() {
        use Notice::{Acquire, Decrefs, Increfs, Release};
        let orders = [
            [Release, Decrefs, Increfs, Acquire],
            [Increfs, Acquire, Release, Decrefs],
            [Increfs, Release, Acquire, Decrefs],
            [Release, Increfs, Decrefs, Acquire],
        ];
        for order in orders {
            let nodes = Nodes::default();
            let object = Arc::new(());
            let name = nodes.send(&object);
            let old = [Increfs, Acquire].map(|notice| nodes.note(notice, name));
            assert!(old.iter().all(Option::is_none) && nodes.sent(name).is_none());
            assert_eq!(nodes.send(&object), name);
            for notice in order {
                assert!(nodes.note(notice, name).is_none(), "{order:?}");
            }
            assert!(nodes.sent(name).is_none());
            assert!(nodes.get(name).is_some(), "{order:?}");
            assert!(nodes.note(Release, name).is_some());
            assert!(nodes.note(Decrefs, name).is_none());
            assert_eq!((nodes.len(), Arc::strong_count(&object)), (0, 1), "{order:?}");
        }
    }

    #[test]
    fn a_refused_object_leaves_nothing() {
        let nodes = Nodes::default();
        let object = Arc::new(());
        let name = nodes.send(&object);
        assert!(nodes.sent(name).is_some());
        assert_eq!((nodes.len(), Arc::weak_count(&object)), (0, 0));
    }

    #[test]
    fn what_has_no_such_name_is_nobody() {
        let nodes = Nodes::default();
        let object = Arc::new(());
        let BinderPtrCookie { ptr, cookie } = nodes.send(&object);
        for (ptr, cookie) in [(ptr + 1, cookie), (ptr, cookie + 1), (0, 0), (ptr, u64::MAX)] {
            let name = BinderPtrCookie { ptr, cookie };
            assert!(nodes.get(name).is_none() && nodes.note(Notice::Decrefs, name).is_none());
        }
        assert_eq!(nodes.len(), 1);
    }
}
