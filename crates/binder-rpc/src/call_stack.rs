//! The calls under way on a connection, and who may call next.

use alloc::vec::Vec;

use crate::{Ending, SessionLimits};

/// The side that may start calls on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallDirection {
    /// This side calls, the peer answers.
    Outgoing,
    /// The peer calls, this side answers.
    Incoming,
}

/// A call that is under way on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NestedCall {
    /// We called and wait.
    Ours,
    /// The peer called and waits.
    Theirs,
}

/// The calls under way on one connection, each within the one before.
///
/// One side at a time works, the other waits: for the answer, or for a call back from it, which
/// comes on the same connection.
#[derive(Debug)]
pub struct CallStack {
    direction: CallDirection,
    stack: Vec<NestedCall>,
}

impl CallStack {
    /// Makes a connection on which nothing is under way.
    #[must_use]
    pub fn new(direction: CallDirection) -> Self {
        Self { direction, stack: Vec::new() }
    }

    /// Returns the side that may start calls.
    #[must_use]
    pub fn direction(&self) -> CallDirection {
        self.direction
    }

    /// Returns how many calls are under way.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Returns whether we may call now: at the start of our own connection, or while we answer.
    #[must_use]
    pub fn may_call(&self, limits: &SessionLimits) -> bool {
        self.stack.len() < limits.max_depth
            && match self.stack.last() {
                None => self.direction == CallDirection::Outgoing,
                Some(NestedCall::Theirs) => true,
                Some(NestedCall::Ours) => false,
            }
    }

    /// Returns whether the answer to a call of ours has not come.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.stack.last() == Some(&NestedCall::Ours)
    }

    /// Takes down a call of ours that is being sent; [`may_call`](Self::may_call) has allowed it.
    pub fn call(&mut self) {
        self.stack.push(NestedCall::Ours);
    }

    /// Takes down a call of the peer.
    ///
    /// # Errors
    ///
    /// [`Ending::UnexpectedCall`] where it may make none, [`Ending::TooDeep`] within too many.
    pub fn called(&mut self, limits: &SessionLimits) -> Result<(), Ending> {
        match (self.stack.last(), self.direction) {
            (None, CallDirection::Incoming) | (Some(NestedCall::Ours), _) => {}
            (None, CallDirection::Outgoing) | (Some(NestedCall::Theirs), _) => {
                return Err(Ending::UnexpectedCall);
            }
        }
        if self.stack.len() >= limits.max_depth {
            return Err(Ending::TooDeep { depth: self.stack.len() + 1 });
        }
        self.stack.push(NestedCall::Theirs);
        Ok(())
    }

    /// Takes down the peer's answer to our last call.
    ///
    /// # Errors
    ///
    /// [`Ending::UnexpectedReply`] if it was not our turn to wait.
    pub fn replied(&mut self) -> Result<(), Ending> {
        self.finish(NestedCall::Ours).ok_or(Ending::UnexpectedReply)
    }

    /// Takes down that we have done with the peer's last call.
    pub fn answered(&mut self) {
        let finished = self.finish(NestedCall::Theirs);
        debug_assert!(finished.is_some(), "an answer to no call");
    }

    fn finish(&mut self, turn: NestedCall) -> Option<()> {
        self.stack.pop_if(|top| *top == turn).map(drop)
    }
}
