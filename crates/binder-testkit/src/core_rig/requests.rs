//! The requests of a client, as a front end decodes them.

use binder_core::{Commands, Outcome, ReceiveBuffers};
use binder_uapi::{
    ANYBINDER_DEFER_COMPLETIONS, BINDER_CURRENT_PROTOCOL_VERSION,
    BINDER_ENABLE_ONEWAY_SPAM_DETECTION, BINDER_GET_EXTENDED_ERROR, BINDER_GET_FROZEN_INFO,
    BINDER_GET_NODE_DEBUG_INFO, BINDER_GET_NODE_INFO_FOR_REF, BINDER_SET_CONTEXT_MGR,
    BINDER_SET_CONTEXT_MGR_EXT, BINDER_SET_MAX_THREADS, BINDER_THREAD_EXIT, BINDER_VERSION,
    BinderFrozenStatusInfo, BinderNodeDebugInfo, BinderNodeInfoForRef, BinderWriteRead,
    FlatBinderObject,
};
use rustix::io::Errno;

use super::fd_work::FakeFdWork;
use super::windows::Window;
use super::{Call, World, contexts, errno};
use crate::Caller;
use crate::fake_memory::Reservations;

impl World {
    /// All requests that cannot wait.
    pub(super) fn small_request(
        &mut self,
        caller: Caller,
        request: u32,
        argument: u64,
    ) -> Result<(), Errno> {
        let host = self.threads[caller.thread.0].host;
        let (context, who) = self.core_caller(caller);
        match request {
            BINDER_VERSION => {
                self.devices[context].context_mut().note_call(&who);
                self.put(host, argument, &BINDER_CURRENT_PROTOCOL_VERSION)
            }
            BINDER_SET_MAX_THREADS => {
                let threads = self.get(host, argument)?;
                self.devices[context].context_mut().set_max_threads(&who, threads);
                Ok(())
            }
            BINDER_ENABLE_ONEWAY_SPAM_DETECTION => {
                let is_wanted = self.get::<u32>(host, argument)? != 0;
                self.devices[context].context_mut().detect_oneway_spam(&who, is_wanted);
                Ok(())
            }
            ANYBINDER_DEFER_COMPLETIONS => {
                let is_wanted = self.get::<u32>(host, argument)? != 0;
                self.devices[context].context_mut().defer_completions(&who, is_wanted);
                Ok(())
            }
            BINDER_SET_CONTEXT_MGR => {
                let object = FlatBinderObject::default();
                self.devices[context]
                    .context_mut()
                    .become_context_manager(&who, &object)
                    .map_err(errno)
            }
            BINDER_SET_CONTEXT_MGR_EXT => {
                let object = self.get(host, argument)?;
                self.devices[context]
                    .context_mut()
                    .become_context_manager(&who, &object)
                    .map_err(errno)
            }
            BINDER_THREAD_EXIT => {
                self.devices[context]
                    .context_mut()
                    .exit_thread(&who, &mut self.memory.of_device(context));
                Ok(())
            }
            BINDER_GET_NODE_DEBUG_INFO => {
                let asked: BinderNodeDebugInfo = self.get(host, argument)?;
                let answer = self.devices[context].context_mut().node_debug_info(&who, asked.ptr);
                self.put(host, argument, &answer)
            }
            BINDER_GET_NODE_INFO_FOR_REF => {
                let asked: BinderNodeInfoForRef = self.get(host, argument)?;
                let answer = self.devices[context].context_mut().node_info_for_ref(&who, &asked);
                self.put(host, argument, &answer.map_err(errno)?)
            }
            BINDER_GET_EXTENDED_ERROR => {
                let error = self.devices[context].context_mut().take_extended_error(&who);
                self.put(host, argument, &error)
            }
            BINDER_GET_FROZEN_INFO => {
                let asked: BinderFrozenStatusInfo = self.get(host, argument)?;
                let program = self.program(caller, asked.pid)?;
                let info = program.frozen_info(&contexts(&mut self.devices));
                self.put(host, argument, &BinderFrozenStatusInfo { pid: asked.pid, ..info })
            }
            other => panic!("request {other:#x} is the business of a front end"),
        }
    }

    pub(super) fn write_read(&mut self, caller: Caller, argument: u64) -> Call {
        let host = self.threads[caller.thread.0].host;
        let mut request: BinderWriteRead = match self.get(host, argument) {
            Ok(request) => request,
            Err(errno) => return Call::Ended(Err(errno)),
        };
        let (context, who) = self.core_caller(caller);
        if let priority @ Some(_) = self.threads[caller.thread.0].priority {
            self.devices[context].context_mut().note_priority(&who, priority);
        }
        let result = if request.write_consumed < request.write_size {
            Ok(Outcome::Fetch)
        } else {
            let mut commands = Commands::none(&request);
            self.run_commands(caller, &mut request, &mut commands)
        };
        self.go_on(Window { caller, argument, request, result, fetched: None })
    }

    fn run_commands(
        &mut self,
        caller: Caller,
        request: &mut BinderWriteRead,
        commands: &mut Commands,
    ) -> Result<Outcome, binder_core::Errno> {
        let (context, who) = self.core_caller(caller);
        let mut memory = self.memory.of_device(context);
        self.devices[context].context_mut().write_read(&who, request, commands, &mut memory)
    }

    /// Goes on with a call until it sleeps or is over, or has to wait for something else.
    pub(super) fn go_on(&mut self, mut window: Window) -> Call {
        loop {
            let is_window = matches!(
                window.result,
                Ok(Outcome::Fetch | Outcome::Yield(_) | Outcome::Locate(_) | Outcome::CopyOut(_))
            );
            if is_window && self.holds_windows {
                self.windows.push_back(window);
                return Call::FdWork;
            }
            if is_window {
                self.be_disrupted(window.caller);
                window = self.reach_into_host(window);
                continue;
            }
            let Window { caller, argument, request, result, .. } = window;
            let process = caller.process;
            let result = match result {
                Ok(Outcome::Park(key)) => return Call::Reading { process, key, argument, request },
                Ok(Outcome::FdWork(fd_work)) => {
                    self.fd_work.push_back(FakeFdWork { caller, argument, request, fd_work });
                    return Call::FdWork;
                }
                Ok(
                    Outcome::Done
                    | Outcome::Fetch
                    | Outcome::Yield(_)
                    | Outcome::Locate(_)
                    | Outcome::CopyOut(_),
                ) => Ok(()),
                Err(error) => Err(errno(error)),
            };
            let host = self.threads[caller.thread.0].host;
            self.put(host, argument, &request).expect("the argument is where it was");
            return Call::Ended(result);
        }
    }

    /// Fetches the next commands of a call.
    pub(super) fn fetch(&mut self, caller: Caller, request: &BinderWriteRead) -> Commands {
        let host = self.threads[caller.thread.0].host;
        let (number, who) = self.core_caller(caller);
        let binder_core::Caller { process, tid, .. } = who;
        let used = self.used_commands.take();
        let mut commands = used.unwrap_or_else(|| Commands::none(request));
        let context = self.devices[number].context_mut();
        let reserve = Box::new(|kind, data: &_, memory: &mut dyn ReceiveBuffers| {
            context.reserve_early(process, tid, kind, data, memory)
        });
        let reservations = Reservations { number, reserve };
        commands.fetch_next(request, &mut self.memory.of_caller(host, Some(reservations)));
        commands
    }

    /// Looks for the mappings of receivers for as long as a call waits for them: at once, for they are at hand.
    fn locate(
        &mut self,
        caller: Caller,
        request: &mut BinderWriteRead,
        commands: &mut Commands,
        mut result: Result<Outcome, binder_core::Errno>,
    ) -> Result<Outcome, binder_core::Errno> {
        while let Ok(Outcome::Locate(receiver)) = result {
            let number = self.files[caller.process.0].context;
            let found = self.memory.of_device(number).locate_mapping(receiver);
            self.device(number).note_mapping(receiver, found);
            result = self.run_commands(caller, request, commands);
        }
        result
    }

    /// Does what a call waits for in its host's memory, if that has not been fetched, or lets it have its
    /// next slice, and goes on with it.
    pub(super) fn reach_into_host(&mut self, window: Window) -> Window {
        let Window { caller, argument, mut request, result, fetched } = window;
        let host = self.threads[caller.thread.0].host;
        let number = self.files[caller.process.0].context;
        let (result, commands) = match result {
            Ok(Outcome::Fetch) => {
                let mut commands = fetched.unwrap_or_else(|| self.fetch(caller, &request));
                let result = self.run_commands(caller, &mut request, &mut commands);
                (self.locate(caller, &mut request, &mut commands, result), Some(commands))
            }
            Ok(Outcome::Yield(thread)) => {
                let mut commands = fetched.expect("a call keeps the commands it goes on with");
                let (_, who) = self.core_caller(caller);
                let memory = &mut self.memory.of_device(number);
                let context = &mut self.devices[number].context_mut();
                let result = context.go_on(&who, thread, &mut request, &mut commands, memory);
                (self.locate(caller, &mut request, &mut commands, result), Some(commands))
            }
            Ok(Outcome::CopyOut(copy_out)) => {
                let written = self.memory.of(host).write(copy_out.address, &copy_out.bytes);
                let memory = &mut self.memory.of_device(number);
                let context = &mut self.devices[number].context_mut();
                let result = context.finish_copy_out(copy_out, written, &mut request, memory);
                (result, None)
            }
            other => (other, None),
        };
        let is_kept = matches!(result, Ok(Outcome::Yield(_)));
        let (fetched, used) = if is_kept { (commands, None) } else { (None, commands) };
        self.used_commands = used.or_else(|| self.used_commands.take());
        Window { caller, argument, request, result, fetched }
    }
}
