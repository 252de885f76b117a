//! Errands: what a call waits for while descriptors of its host change.

use binder_core::{FdWork, NotInstalled};
use binder_uapi::BinderWriteRead;

use super::windows::Window;
use super::{Call, OpenFile, World};
use crate::Caller;

/// descriptor work of a call, and the call.
pub(super) struct FakeFdWork {
    pub(super) caller: Caller,
    pub(super) argument: u64,
    pub(super) request: BinderWriteRead,
    pub(super) fd_work: Box<FdWork>,
}

impl World {
    /// Takes back the descriptor work that waits. Its threads are free to call again.
    pub(super) fn retract_fd_work(&mut self) {
        if !self.has_no_frontend {
            return self.retract_tasks();
        }
        for FakeFdWork { caller, fd_work, .. } in core::mem::take(&mut self.fd_work) {
            let context = self.files[caller.process.0].context;
            self.devices[context].context_mut().retract_fd_work(*fd_work);
        }
    }

    /// Changes the descriptors of a host, and goes on with the call that waits for it.
    pub(super) fn run(&mut self, FakeFdWork { caller, argument, request, fd_work }: FakeFdWork) {
        let FdWork { key, install, close } = *fd_work;
        let OpenFile { host, context, is_open, .. } = self.files[caller.process.0];
        let descriptors = self.memory.descriptors(host);
        let gone = NotInstalled { errno: 3, reason: "gone" };
        for fd in close {
            descriptors.close(fd.into());
        }
        let installed = if is_open { descriptors.install(install) } else { Err(gone) };
        let mut memory = self.memory.of_device(context);
        let result = self.devices[context].context_mut().finish_fd_work(
            key,
            installed,
            &request,
            &mut memory,
        );
        let call = self.go_on(Window { caller, argument, request, result, fetched: None });
        let place = &mut self.threads[caller.thread.0].call;
        // A later thread of the same number may be in a call of its own.
        if matches!(place, Call::FdWork) {
            *place = call;
        }
    }
}
