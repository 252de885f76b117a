//! What a check has a rig do, so that things happen in an order of its own, or go wrong.

use binder_core::{DirectCall, IfOutstanding, LaneTarget, Priority};
use rustix::io::Errno;

use super::windows::Disruption;
use super::{CoreRig, Trouble, World, contexts, errno};
use crate::fake_memory::Fickle;
use crate::{Caller, Host, Process, Thread};

impl CoreRig {
    /// Lets the access after the next `accesses` ones fault; `None` takes it back.
    pub fn fault_after(&self, accesses: Option<usize>) {
        self.world.borrow_mut().memory.fault_after(accesses);
    }

    /// Whether the fault that was ordered has happened.
    pub fn has_faulted(&self) -> bool {
        self.world.borrow().memory.has_faulted()
    }

    /// Lets a host's memory at `address` change to `becomes` as soon as the driver has read it.
    pub fn change_once_read(&self, host: Host, address: u64, becomes: &[u8]) {
        let becomes = becomes.to_vec();
        self.world.borrow_mut().memory.set_fickle(Fickle { host, address, becomes });
    }

    /// Keeps woken readers from running, as a busy machine would.
    ///
    /// # Panics
    ///
    /// With front ends: to them, a reader that is woken has its work.
    pub fn hold(&self) {
        let mut world = self.world.borrow_mut();
        assert!(world.has_no_frontend, "a front end leaves no reader between sleep and work");
        world.is_held = true;
    }

    /// Lets them run.
    pub fn let_go(&self) {
        let mut world = self.world.borrow_mut();
        world.is_held = false;
        world.carry_out_effects();
    }

    /// Gives a thread a priority, as sched_setattr(2) does; until then the driver is not told of its own.
    pub fn set_priority(&self, thread: Thread, priority: Priority) {
        self.world.borrow_mut().threads[thread.0].priority = Some(priority);
    }

    /// The priority that a thread has.
    pub fn priority_of(&self, thread: Thread) -> Option<Priority> {
        self.world.borrow().threads[thread.0].priority
    }

    /// Keeps descriptor work from being done, as a machine would whose clients do not run.
    pub fn hold_fd_work(&self) {
        self.world.borrow_mut().holds_fd_work = true;
    }

    /// Lets them be done.
    pub fn let_fd_work_go(&self) {
        let mut world = self.world.borrow_mut();
        world.holds_fd_work = false;
        world.carry_out_effects();
    }

    /// Takes back the descriptor work that are held, as if signals had come before them.
    pub fn retract_fd_work(&self) {
        self.world.borrow_mut().retract_fd_work();
    }

    /// Has every access to a host's memory, and every further slice of a call, wait until it is
    /// [let pass](Self::pass_window).
    pub fn hold_windows(&self) {
        self.world.borrow_mut().holds_windows = true;
    }

    /// Has each call wait once more, [likewise](Self::hold_windows), when its commands are fetched.
    pub fn hold_fetched(&self) {
        self.hold_windows();
        self.world.borrow_mut().holds_fetched = true;
    }

    /// Closes a file while a call through another waits for memory of its host, or for its next slice:
    /// the one after `windows` such calls.
    pub fn close_in_window(&self, windows: usize, process: Process) {
        self.disrupt(windows, process, move |world| world.close(process.0));
    }

    /// The same with a thread that ends, whatever it does.
    pub fn exit_in_window(&self, windows: usize, caller: Caller) {
        self.disrupt(windows, caller.process, move |world| world.end_thread(caller));
    }

    /// The object behind a handle.
    ///
    /// # Errors
    ///
    /// As the driver answers.
    pub fn direct_target(&self, from: Caller, handle: u32) -> Result<LaneTarget, Errno> {
        let mut world = self.world.borrow_mut();
        let (context, from) = world.core_caller(from);
        world.devices[context].context_mut().direct_target(from.process, handle).map_err(errno)
    }

    /// Has the driver adopt a call, of this code and these flags, that a thread of `server` serves.
    ///
    /// # Errors
    ///
    /// As the driver answers.
    pub fn adopt_call(
        &self,
        from: Caller,
        handle: u32,
        (code, flags): (u32, u32),
        server: Caller,
    ) -> Result<(), Errno> {
        let target = self.direct_target(from, handle)?;
        self.adopt_call_to(Some(from), (target, handle), (code, flags), server)
    }

    /// The same, whatever has become of the handle, and of the caller.
    ///
    /// # Errors
    ///
    /// As the driver answers.
    pub fn adopt_call_to(
        &self,
        from: Option<Caller>,
        (target, handle): (LaneTarget, u32),
        (code, flags): (u32, u32),
        server: Caller,
    ) -> Result<(), Errno> {
        let mut world = self.world.borrow_mut();
        let from = from.map(|from| world.core_caller(from).1);
        let (context, server) = world.core_caller(server);
        let server_tid = server.tid;
        let call = DirectCall { from, target, handle, code, flags, server_tid };
        let adopted = world.devices[context].context_mut().adopt_call(&call).map_err(errno);
        world.carry_out_effects();
        adopted
    }

    /// Ends a thread, whatever it does.
    pub fn end_thread(&self, caller: Caller) {
        let mut world = self.world.borrow_mut();
        world.end_thread(caller);
        world.carry_out_effects();
    }

    /// The same with a freeze of the program behind a file, if it has nothing to finish first.
    pub fn freeze_in_window(&self, windows: usize, by: Caller, process: Process) {
        self.disrupt(windows, process, move |world| {
            let pid = world.hosts[world.files[process.0].host.0].pid.number();
            let program = world.program(by, pid).expect("one that is there");
            let mut freeze = program.freeze(IfOutstanding::Fail);
            let _ = freeze.advance(&mut contexts(&mut world.devices), IfOutstanding::Fail);
        });
    }

    fn disrupt(
        &self,
        windows_left: usize,
        spared: Process,
        what: impl FnOnce(&mut World) + 'static,
    ) {
        let what = Box::new(what);
        self.world.borrow_mut().disruption = Some(Disruption { spared, windows_left, what });
    }

    /// Takes back what was ordered for a window.
    pub fn call_off_disruption(&self) {
        self.world.borrow_mut().disruption = None;
    }

    /// Whether what was ordered for a window is still to come.
    pub fn is_to_be_disrupted(&self) -> bool {
        self.world.borrow().disruption.is_some()
    }

    /// Lets the access that has waited longest happen. Says whether there was one.
    pub fn pass_window(&self) -> bool {
        let mut world = self.world.borrow_mut();
        let has_passed = world.pass_window();
        world.carry_out_effects();
        has_passed
    }

    /// Whether a file is open: it was not closed, nor its host killed.
    pub fn is_open(&self, process: Process) -> bool {
        self.world.borrow().files[process.0].is_open
    }

    /// Has the step after that many others go wrong in this way; `None` takes it back. Only front ends have steps
    /// that can.
    pub fn set_trouble(&self, trouble: Option<(usize, Trouble)>) {
        self.world.borrow_mut().executor.set_trouble(trouble);
    }

    /// Whether the fault that was ordered has not happened yet.
    pub fn has_trouble_to_come(&self) -> bool {
        self.world.borrow().executor.has_trouble_to_come()
    }

    /// How many accesses and how much descriptor work front ends wait for.
    pub fn steps_in_line(&self) -> usize {
        self.world.borrow().executor.steps()
    }

    /// Has one of them happen, which goes wrong if it shall: accesses come first, then descriptor work, each in
    /// the order in which they came. Says whether there was one.
    pub fn pass_step(&self, at: usize, trouble: Option<Trouble>) -> bool {
        let mut world = self.world.borrow_mut();
        let accesses = world.executor.accesses();
        let has_passed = match at.checked_sub(accesses) {
            None => world.pass_access(at, trouble),
            Some(at) => world.pass_task(at, trouble),
        };
        world.carry_out_effects();
        has_passed
    }

    /// Lets all of them happen, and those to come.
    pub fn let_windows_pass(&self) {
        self.world.borrow_mut().holds_windows = false;
        self.world.borrow_mut().holds_fetched = false;
        while self.pass_window() {}
    }
}
