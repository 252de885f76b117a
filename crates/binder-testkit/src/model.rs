//! A naive driver: what each process reads, restated as simply as possible.
//!
//! Every process has one thread, which never waits for work: a read without any is `None`. Counts
//! on an object are not kept but counted when they are asked for. What the model says of a
//! sequence of commands, `binder-core` must say too.

mod exit;
mod freeze;
mod nodes;
mod read;
mod send;

use std::collections::{BTreeMap, VecDeque};

use freeze::{FreezeLink, LinkId};

/// A process, by the order of opening.
pub type Pid = usize;

/// A transaction or a reply, by the number that the test gave it; it names its buffer as well.
pub type Code = u32;

type NodeId = usize;
type DeathId = usize;

/// An object as the sender writes it, and as the receiver finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// By pointer, at its owner.
    Binder(u64),
    /// The same, weakly.
    WeakBinder(u64),
    /// By handle.
    Handle(u32),
    /// The same, weakly.
    WeakHandle(u32),
    /// A descriptor, whatever its number.
    Descriptor,
}

/// Whether the object at `ptr` takes descriptors: the manager's own, and the first of the others.
#[must_use]
pub fn takes_descriptors(ptr: u64) -> bool {
    ptr <= 0x10
}

/// Whether a call takes descriptors in its reply.
#[must_use]
pub fn takes_them_in_reply(code: Code) -> bool {
    code.is_multiple_of(2)
}

/// What a read brings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the returns of binder.h, with names for numbers")]
pub enum ModelReturn {
    Call { code: Code, target: u64, sender: Option<Pid>, objects: Vec<Object> },
    Reply { code: Code, objects: Vec<Object> },
    Complete,
    Failed,
    Dead,
    Increfs(u64),
    Acquire(u64),
    Release(u64),
    Decrefs(u64),
    DeadBinder(u64),
    ClearDone(u64),
    FrozenReply,
    PendingFrozen,
    Frozen(u64, bool),
    FreezeClearDone(u64),
}

/// What has become of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The driver went on to the next one.
    Yes,
    /// It was left in the write buffer: an error has to be read first.
    NotYet,
    /// It failed the ioctl with `EINVAL`.
    Invalid,
}

/// The driver.
#[derive(Default)]
pub struct Model {
    processes: Vec<Process>,
    nodes: BTreeMap<NodeId, Node>,
    deaths: BTreeMap<DeathId, Death>,
    links: BTreeMap<LinkId, FreezeLink>,
    calls: BTreeMap<Code, Call>,
    manager: Option<NodeId>,
    created: usize,
}

#[derive(Default)]
struct Process {
    is_open: bool,
    references: BTreeMap<u32, Reference>,
    buffers: BTreeMap<Code, Buffer>,
    todo: VecDeque<Work>,
    delivered_deaths: Vec<DeathId>,
    delivered_freezes: Vec<LinkId>,
    /// Whether it is frozen, and what has arrived since then.
    is_frozen: bool,
    has_refused: bool,
    has_received: bool,
    /// Its only thread: own work, whether a read of it returns, the innermost call, an error.
    thread_todo: VecDeque<Work>,
    thread_returns: bool,
    stack: Option<Code>,
    has_return_error: bool,
    has_reply_error: bool,
    /// It takes no more descriptors.
    is_full: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Call(Code),
    Reply(Code),
    Complete,
    PendingFrozen,
    /// The error of a send, which stands in the way of further commands.
    ReturnError(Verdict),
    /// The error of an awaited reply.
    ReplyError(Verdict),
    Node(NodeId),
    Death(DeathId),
    Freeze(LinkId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Complete,
    Failed,
    Dead,
    Frozen,
}

struct Node {
    owner: Option<Pid>,
    ptr: u64,
    has_strong: bool,
    has_weak: bool,
    pending_strong: bool,
    pending_weak: bool,
    /// Whether it was held other than by strong counts, when that was last looked at.
    was_known: bool,
    /// The oneway that is under way, and those behind it.
    has_oneway: bool,
    oneways: VecDeque<Code>,
}

struct Reference {
    node: NodeId,
    strong: u32,
    weak: u32,
    death: Option<DeathId>,
    freeze: Option<LinkId>,
}

struct Buffer {
    target: Option<NodeId>,
    is_oneway: bool,
    objects: Vec<Object>,
}

struct Call {
    from: Option<Pid>,
    /// What the sender was doing when it sent this.
    from_parent: Option<Code>,
    to: Pid,
    /// Whether a thread of the receiver serves it, and what that did before.
    is_served: bool,
    to_parent: Option<Code>,
    target: NodeId,
    is_oneway: bool,
    /// Whose update it is, if it is one.
    updates: Option<Pid>,
}

struct Death {
    process: Pid,
    cookie: u64,
    /// Nothing, a death or a clearing is to be told.
    news: News,
    is_cleared: bool,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum News {
    Dead,
    Clear,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Idle,
    Queued,
    Delivered,
}

impl Model {
    /// A device without processes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the device.
    pub fn open(&mut self) -> Pid {
        self.processes.push(Process { is_open: true, ..Process::default() });
        self.processes.len() - 1
    }

    /// Becomes the context manager; whether there was none.
    pub fn appoint(&mut self, pid: Pid) -> bool {
        if self.manager.is_some() {
            return false;
        }
        let node = self.node_of(pid, 0);
        self.manager = Some(node);
        let node = self.node(node);
        (node.has_strong, node.has_weak) = (true, true);
        true
    }

    /// Lets a process take no more descriptors, or as many as come.
    pub fn set_full(&mut self, pid: Pid, is_full: bool) {
        self.process(pid).is_full = is_full;
    }

    /// The handles of a process.
    #[must_use]
    pub fn handles(&self, pid: Pid) -> Vec<u32> {
        self.processes[pid].references.keys().copied().collect()
    }

    /// The strong and the weak count of a handle.
    #[must_use]
    pub fn counts(&self, pid: Pid, handle: u32) -> (u32, u32) {
        let reference = self.processes[pid].references.get(&handle);
        reference.map_or((0, 0), |it| (it.strong, it.weak))
    }

    /// How many nodes, references and buffers there are.
    #[must_use]
    pub fn live_objects(&self) -> (usize, usize, usize) {
        let sum = |count: fn(&Process) -> usize| self.processes.iter().map(count).sum();
        (self.nodes.len(), sum(|it| it.references.len()), sum(|it| it.buffers.len()))
    }

    fn process(&mut self, pid: Pid) -> &mut Process {
        &mut self.processes[pid]
    }

    fn node(&mut self, node: NodeId) -> &mut Node {
        self.nodes.get_mut(&node).expect("a node that lives")
    }

    fn fresh_id(&mut self) -> usize {
        self.created += 1;
        self.created
    }

    /// Queues work for the thread of `pid`, whose read shall return for it.
    fn tell(&mut self, pid: Pid, work: Work) {
        let process = self.process(pid);
        process.thread_todo.push_back(work);
        process.thread_returns = true;
    }

    /// Queues an error of the thread's own send.
    fn refuse(&mut self, pid: Pid, verdict: Verdict) -> Taken {
        self.process(pid).has_return_error = true;
        self.tell(pid, Work::ReturnError(verdict));
        Taken::Yes
    }
}
