//! The peer's objects, as this side knows them.

use alloc::collections::{BTreeMap, VecDeque};

use crate::{Address, Ending};

/// How many objects that were given back are remembered for their one-way numbers.
const REMEMBERED: usize = 256;

/// References that are to go back to the owner, as a message before the next that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an owner who is not told keeps the object for the life of the session"]
pub struct PendingRelease {
    /// The object.
    pub address: Address,
    /// How many.
    pub amount: u64,
}

/// What this side has of one object of the peer.
#[derive(Debug)]
struct Import<P> {
    proxy: Option<P>,
    /// Proxies that are not dropped; the last may meet its successor.
    holders: u32,
    /// How often the peer sent the object, less what was given back.
    received: u64,
    /// How often we sent it to its owner, by calling it too, less what came back.
    sent: u64,
    next_oneway: u64,
}

/// The objects of the peer, with the front end's handles `P` to its proxies.
#[derive(Debug)]
pub(crate) struct Imports<P> {
    by_number: BTreeMap<u32, Import<P>>,
    /// The next one-way numbers of objects that were given back. Their owner may have sent one of
    /// them again meanwhile, and goes on counting.
    given_back: VecDeque<(u32, u64)>,
}

impl<P> Imports<P> {
    pub(crate) fn new() -> Self {
        Self { by_number: BTreeMap::new(), given_back: VecDeque::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Counts an object that came; says whether it is new here.
    pub(crate) fn receive(&mut self, number: u32) -> bool {
        let mut is_new = false;
        let import = self.by_number.entry(number).or_insert_with(|| {
            is_new = true;
            let remembered = self.given_back.iter().position(|known| known.0 == number);
            let next_oneway =
                remembered.and_then(|at| self.given_back.remove(at)).map_or(0, |known| known.1);
            Import { proxy: None, holders: 0, received: 0, sent: 0, next_oneway }
        });
        import.received += 1;
        is_new
    }

    pub(crate) fn proxy(&self, number: u32) -> Option<&P> {
        self.by_number.get(&number)?.proxy.as_ref()
    }

    pub(crate) fn hold(&mut self, number: u32, proxy: P) {
        if let Some(import) = self.by_number.get_mut(&number) {
            import.proxy = Some(proxy);
            import.holders += 1;
        }
    }

    pub(crate) fn let_go(&mut self, address: Address) -> Option<PendingRelease> {
        self.lessen(address, |import| import.holders = import.holders.saturating_sub(1))
    }

    /// Counts one sending to the owner, `None` if the object is not known.
    pub(crate) fn send(&mut self, number: u32) -> Option<()> {
        self.by_number.get_mut(&number)?.sent += 1;
        Some(())
    }

    /// Takes the number of the next one-way call.
    pub(crate) fn take_oneway_number(&mut self, number: u32) -> u64 {
        self.by_number.get_mut(&number).map_or(0, |import| {
            let due = import.next_oneway;
            import.next_oneway += 1;
            due
        })
    }

    /// The owner has given back what we sent it. Unknown objects are none of its business any more.
    pub(crate) fn returned(&mut self, address: Address, amount: u64) -> Option<PendingRelease> {
        self.lessen(address, |import| import.sent = import.sent.saturating_sub(amount))
    }

    /// Takes something off the counts of an object, and gives it back if this side does not hold it
    /// and it is not on its way to the owner.
    ///
    /// While it is on its way the owner must not lose it: the two could overtake each other on
    /// different connections.
    fn lessen(
        &mut self,
        address: Address,
        change: impl FnOnce(&mut Import<P>),
    ) -> Option<PendingRelease> {
        let import = self.by_number.get_mut(&address.number)?;
        change(import);
        if import.holders > 0 || import.sent > 0 {
            return None;
        }
        let import = self.by_number.remove(&address.number)?;
        if import.next_oneway > 0 {
            self.given_back.truncate(REMEMBERED - 1);
            self.given_back.push_front((address.number, import.next_oneway));
        }
        Some(PendingRelease { address, amount: import.received })
    }

    pub(crate) fn take_proxies(&mut self) -> impl Iterator<Item = P> + use<P> {
        core::mem::take(&mut self.by_number).into_values().filter_map(|import| import.proxy)
    }

    pub(crate) fn check_room(&self, others: usize, limit: usize) -> Result<(), Ending> {
        match self.len() + others {
            count if count > limit => Err(Ending::TooManyObjects { count }),
            _ => Ok(()),
        }
    }
}
