//! Nice values: while it serves a call, a thread is as nice as the caller.
//!
//! A front end that wants this tells how nice threads are before they call, and processes when they
//! open the device; nothing happens to those of which it does not tell.

use crate::context::{Caller, Context};
use crate::effect::Effect;
use crate::node::NodeKey;
use crate::process::ProcessKey;
use crate::thread::ThreadKey;
use crate::transaction::{TransactionKey, TransactionKind};

/// How readily a thread lets others run: -20 (hardly) to 19.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Nice(pub i8);

impl Nice {
    const MAX: u8 = 19;

    /// What a node asks of those who serve it, in the low bits of its flags; beyond the range it
    /// asks nothing.
    pub(crate) fn asked_for(flags: u32) -> Option<Self> {
        let [low, ..] = flags.to_le_bytes();
        let nice = i8::try_from(low.min(Self::MAX)).ok()?;
        (low <= Self::MAX).then_some(Self(nice))
    }
}

impl Context {
    /// Notes how nice the process is by itself.
    pub fn note_default_nice(&mut self, process: ProcessKey, nice: Nice) {
        if let Some(process) = self.processes.get_mut(process) {
            process.default_nice = Some(nice);
        }
    }

    /// Notes how nice the calling thread is as it begins a call.
    pub fn note_nice(&mut self, caller: &Caller, nice: Nice) {
        let thread = self.enter(caller);
        self.threads[thread].nice = Some(nice);
    }

    /// A thread takes a transaction to `node`: as nice as the sender if that is less nice than the
    /// node asks, else as the node asks. A one-way makes it less nice at most.
    pub(crate) fn inherit_nice(
        &mut self,
        thread: ThreadKey,
        transaction: TransactionKey,
        node: NodeKey,
    ) {
        let own = self.threads[thread].nice;
        let state = &mut self.transactions[transaction];
        state.replaced_nice = own;
        let (Some(own), Some(sent)) = (own, state.nice) else { return };
        let is_oneway = state.kind == TransactionKind::Oneway;
        let asked = self.nodes[node].nice;
        let inherited = match asked {
            None => (!is_oneway).then_some(sent),
            Some(asked) if is_oneway => (own > asked).then_some(asked),
            Some(asked) => Some(asked.min(sent)),
        };
        if let Some(inherited) = inherited {
            self.set_nice(thread, inherited);
        }
    }

    /// The thread has answered: it is what it was before.
    pub(crate) fn restore_nice(&mut self, thread: ThreadKey, call: TransactionKey) {
        if let Some(nice) = self.transactions[call].replaced_nice {
            self.set_nice(thread, nice);
        }
    }

    /// The thread is free for whatever comes: it is what its process is.
    pub(crate) fn reset_nice(&mut self, thread: ThreadKey) {
        let state = &self.threads[thread];
        if let (Some(_), Some(nice)) = (state.nice, self.processes[state.process].default_nice) {
            self.set_nice(thread, nice);
        }
    }

    fn set_nice(&mut self, thread: ThreadKey, nice: Nice) {
        let state = &mut self.threads[thread];
        if state.nice.replace(nice) != Some(nice) {
            let (process, tid) = (state.process, state.tid);
            self.effects.push_back(Effect::SetNice { process, tid, nice });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_asks_by_the_low_bits_of_its_flags() {
        assert_eq!(Nice::asked_for(0x110), Some(Nice(16)));
        assert_eq!(Nice::asked_for(0x100), Some(Nice(0)));
        assert_eq!(Nice::asked_for(20), None);
        assert_eq!(Nice::asked_for(0xff), None);
    }
}
