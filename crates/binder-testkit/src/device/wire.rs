//! What a rig and its actors say to each other, one packet at a time.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// What an actor shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Opens device `a`, nonblocking if `b`.
    Open,
    /// Maps `b` bytes of descriptor `a`, writable if `c`.
    Map,
    /// Switches `O_NONBLOCK` of `a` to `b`.
    SetMode,
    /// Duplicates `a`.
    Duplicate,
    /// Duplicates `a` and closes the duplicate.
    CloseDuplicate,
    /// Closes `a`, once it has unmapped the `c` bytes at `b`.
    Close,
    /// Becomes user `a`.
    SetUser,
    /// Acts for user `a`, and may act for another again.
    SetEffectiveUser,
    /// Makes `b` bytes at `a` writable.
    MakeWritable,
    /// Fetches descriptor `b` of process `a`.
    FetchDescriptor,
    /// Moves the `b` bytes mapped at `a` to another address.
    Move,
    /// Flushes descriptor `a` to its storage.
    Sync,
    /// Asks a forked child whether something is mapped at `a`.
    ProbeChild,
    /// Starts the thread named.
    StartThread,
    /// The thread makes ioctl `b` with argument `c` on `a`.
    Ioctl,
    /// The thread waits until `a` is readable, by epoll if `b`.
    WaitReadable,
    /// The thread asks whether `a` is ready.
    Poll,
    /// The thread serves and watches all who call `a`, until its file is closed.
    Serve,
    /// The thread plays games with the server behind handle 0 of `a`, by the seed `b`, for ever.
    Churn,
}

const ORDERS: [Order; 19] = [
    Order::Open,
    Order::Map,
    Order::SetMode,
    Order::Duplicate,
    Order::CloseDuplicate,
    Order::Close,
    Order::SetUser,
    Order::SetEffectiveUser,
    Order::MakeWritable,
    Order::FetchDescriptor,
    Order::Move,
    Order::Sync,
    Order::ProbeChild,
    Order::StartThread,
    Order::Ioctl,
    Order::WaitReadable,
    Order::Poll,
    Order::Serve,
    Order::Churn,
];

impl Order {
    /// Whether the thread named obeys, not the main thread.
    pub(super) fn is_for_threads(self) -> bool {
        matches!(self, Self::Ioctl | Self::WaitReadable | Self::Poll | Self::Serve | Self::Churn)
    }
}

/// An order on its way.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Request {
    order: u32,
    /// The thread that shall act; the main one for all orders before [`Order::Ioctl`].
    pub(super) thread: u32,
    pub(super) a: u64,
    pub(super) b: u64,
    pub(super) c: u64,
}

impl Request {
    pub(super) fn new(order: Order, thread: u32, [a, b, c]: [u64; 3]) -> Self {
        Self { order: order as u32, thread, a, b, c }
    }

    pub(super) fn order(&self) -> Order {
        ORDERS[self.order as usize]
    }
}

/// The thread number under which an actor's main thread answers.
pub(super) const MAIN: u32 = u32::MAX;

/// What came of an order.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Answer {
    pub(super) thread: u32,
    /// 0 for success.
    pub(super) errno: i32,
    pub(super) value: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_survives_the_wire() {
        for order in ORDERS {
            assert_eq!(Request::new(order, 0, [0; 3]).order(), order);
        }
    }
}
