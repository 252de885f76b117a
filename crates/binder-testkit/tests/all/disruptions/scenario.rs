//! The scenarios, as data.

/// The parties. Each of the first three knows an object of each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    /// The context manager.
    Manager,
    Client,
    Third,
    /// One that knows the manager alone, and whose receive buffer has not been looked for.
    Stranger,
}

impl Who {
    pub(crate) const ALL: [Self; 4] = [Self::Manager, Self::Client, Self::Third, Self::Stranger];
}

/// What a transaction carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Load {
    Nothing,
    /// Objects of the sender's, of the receiver's and of the third's; to be cleared afterwards.
    Objects,
    /// Two files, for those that take them: the manager from a stranger, and who calls so.
    Files,
    /// Buffers within buffers, and files in an array.
    Pieces,
}

/// One step of one party.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Call(Who, Who, Load),
    /// Has the driver take over a call that reached its server without it, and is served.
    Adopt(Who, Who),
    Oneway(Who, Who, Load),
    /// Reads once, acknowledges what it is told, and keeps what it is asked.
    Read(Who),
    /// Answers the call that it got last.
    Reply(Who, Load),
    /// Frees the buffer that it got last.
    Free(Who),
    /// Watches the object of another.
    Watch(Who, Who),
    Unwatch(Who, Who),
    /// Takes and drops a count on the object of another.
    Acquire(Who, Who),
    Release(Who, Who),
    /// Freezes or thaws another.
    Freeze(Who, Who),
    Thaw(Who, Who),
    /// Asks to be told of that.
    WatchFreeze(Who, Who),
}

pub(crate) struct Scenario {
    pub name: &'static str,
    pub acts: &'static [Act],
}

use Act::{
    Acquire, Adopt, Call, Free, Freeze, Oneway, Read, Release, Reply, Thaw, Unwatch, Watch,
    WatchFreeze,
};
use Load::{Files, Nothing, Objects, Pieces};
use Who::{Client, Manager, Stranger, Third};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "a call",
        acts: &[
            Call(Client, Manager, Nothing),
            Read(Manager),
            Reply(Manager, Nothing),
            Free(Manager),
            Read(Client),
            Free(Client),
        ],
    },
    Scenario {
        name: "a call with objects both ways",
        acts: &[
            Call(Client, Manager, Objects),
            Read(Manager),
            Free(Manager),
            Reply(Manager, Objects),
            Read(Client),
            Read(Manager),
            Free(Client),
        ],
    },
    Scenario {
        name: "a first call",
        acts: &[
            Call(Stranger, Manager, Objects),
            Read(Manager),
            Reply(Manager, Objects),
            Read(Stranger),
            Free(Stranger),
            Free(Manager),
        ],
    },
    Scenario {
        name: "one-ways to one object",
        acts: &[
            Oneway(Client, Manager, Objects),
            Oneway(Third, Manager, Nothing),
            Oneway(Client, Manager, Objects),
            Read(Client),
            Read(Manager),
            Free(Manager),
            Read(Manager),
            Free(Manager),
            Read(Third),
            Read(Manager),
            Free(Manager),
        ],
    },
    Scenario {
        name: "a call that is called back",
        acts: &[
            Call(Client, Manager, Nothing),
            Read(Manager),
            Free(Manager),
            Call(Manager, Client, Objects),
            Read(Client),
            Call(Client, Manager, Objects),
            Read(Manager),
            Reply(Manager, Nothing),
            Read(Client),
            Reply(Client, Objects),
            Read(Manager),
            Reply(Manager, Objects),
            Read(Client),
        ],
    },
    Scenario {
        name: "a call that is adopted",
        acts: &[
            Adopt(Client, Third),
            Oneway(Client, Third, Objects),
            Reply(Third, Objects),
            Read(Third),
            Read(Client),
            Free(Client),
            Acquire(Third, Client),
            Adopt(Third, Client),
            Read(Third),
            Release(Third, Client),
            Reply(Client, Pieces),
            Read(Third),
            Free(Third),
        ],
    },
    Scenario {
        name: "adopted calls that call each other back",
        acts: &[
            Adopt(Client, Manager),
            Call(Manager, Client, Objects),
            Read(Client),
            Call(Client, Manager, Objects),
            Read(Manager),
            Reply(Manager, Objects),
            Read(Client),
            Reply(Client, Nothing),
            Read(Manager),
            Adopt(Third, Client),
            Reply(Manager, Objects),
            Read(Client),
            Adopt(Third, Client),
            Call(Client, Manager, Objects),
            Read(Manager),
            Reply(Manager, Nothing),
            Read(Client),
            Reply(Client, Objects),
            Read(Third),
            Free(Third),
        ],
    },
    Scenario {
        name: "adopted calls of those that are frozen and thawed",
        acts: &[
            WatchFreeze(Client, Third),
            Read(Client),
            Adopt(Client, Third),
            Freeze(Manager, Third),
            Freeze(Manager, Client),
            Reply(Third, Objects),
            Thaw(Manager, Client),
            Read(Client),
            Read(Third),
            Freeze(Manager, Third),
            Adopt(Client, Third),
            Thaw(Manager, Third),
            Reply(Third, Objects),
            Read(Client),
            Free(Client),
        ],
    },
    Scenario {
        name: "a chain of three",
        acts: &[
            Call(Client, Manager, Objects),
            Read(Manager),
            Call(Manager, Third, Objects),
            Read(Third),
            Call(Third, Client, Nothing),
            Read(Client),
            Reply(Client, Nothing),
            Read(Third),
            Reply(Third, Objects),
            Read(Manager),
            Reply(Manager, Nothing),
            Read(Client),
        ],
    },
    Scenario {
        name: "everybody watches everybody",
        acts: &[
            Watch(Client, Manager),
            Watch(Client, Third),
            Watch(Third, Client),
            Watch(Manager, Client),
            Read(Client),
            Unwatch(Client, Third),
            Read(Client),
            Watch(Client, Third),
            Read(Manager),
            Unwatch(Manager, Client),
            Read(Third),
            Read(Manager),
            Watch(Manager, Client),
            Unwatch(Client, Manager),
            Read(Client),
        ],
    },
    Scenario {
        name: "files both ways",
        acts: &[
            Call(Stranger, Manager, Files),
            Read(Manager),
            Reply(Manager, Files),
            Free(Manager),
            Read(Stranger),
            Free(Stranger),
            Oneway(Stranger, Manager, Files),
            Read(Manager),
            Free(Manager),
        ],
    },
    Scenario {
        name: "pieces both ways",
        acts: &[
            Call(Stranger, Manager, Pieces),
            Read(Manager),
            Free(Manager),
            Reply(Manager, Pieces),
            Read(Stranger),
            Free(Stranger),
        ],
    },
    Scenario {
        name: "a process is frozen and thawed",
        acts: &[
            WatchFreeze(Client, Third),
            WatchFreeze(Manager, Third),
            Read(Client),
            Freeze(Manager, Third),
            Call(Client, Third, Objects),
            Read(Client),
            Oneway(Client, Third, Objects),
            Read(Client),
            Oneway(Client, Third, Nothing),
            Read(Client),
            Read(Manager),
            Thaw(Manager, Third),
            Read(Third),
            Free(Third),
            Read(Third),
            Free(Third),
            Read(Manager),
            Freeze(Client, Third),
            Thaw(Client, Third),
            Read(Client),
            Call(Client, Third, Nothing),
            Read(Third),
            Reply(Third, Nothing),
            Read(Client),
        ],
    },
    Scenario {
        name: "counts beside calls",
        acts: &[
            Acquire(Client, Third),
            Oneway(Client, Third, Objects),
            Release(Client, Third),
            Acquire(Third, Client),
            Read(Third),
            Call(Third, Client, Objects),
            Release(Third, Client),
            Read(Client),
            Free(Third),
            Reply(Client, Objects),
            Read(Third),
            Free(Third),
        ],
    },
];
