//! A call that waits for descriptor work: what is to be done, where its thread waits, and on which thread of ours it goes on.

use std::sync::Arc;

use binder_core::{CapturedFile, FdWork, NotInstalled};
use binder_frontend::RequestContext;
use binder_uapi::BinderWriteRead;

use crate::client_file::{CanAddFds, ClientFile};
use crate::files::HeldFile;
use crate::quota::Account;
use crate::trapped_call::UnansweredCall;

/// A call that waits for descriptor work.
pub(crate) struct FdTask {
    pub(crate) file: Arc<ClientFile>,
    pub(crate) request: RequestContext,
    /// The caller's struct, with the progress so far.
    pub(crate) call: BinderWriteRead,
    pub(crate) waits_in: WaitsIn,
    pub(crate) purpose: FdTaskKind,
    pub(crate) can_add_fds: CanAddFds,
}

/// The thread of ours that goes on with the call of a waiting client thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Worker {
    /// The reader, which does all that follows before it reads the next request.
    Reader,
    Pool,
}

/// Where the thread waits for us.
pub(crate) enum WaitsIn {
    /// In its ioctl, a request.
    Request,
    /// In a call that the supervisor holds, in the ioctl's place.
    Trapped(UnansweredCall),
}

impl WaitsIn {
    pub(crate) fn is_request(&self) -> bool {
        matches!(self, Self::Request)
    }
}

/// What a thread is stopped for.
pub(crate) enum FdTaskKind {
    FdWork(Box<FdWork>),
    /// To close what was installed of descriptor work that could not be done.
    Undo(Box<FdWork>, NotInstalled),
    /// To make its ioctl again.
    Repeat,
}

/// A call whose thread waits for us, and its struct as it is by now.
pub(crate) struct WaitingCall<'t> {
    pub(crate) file: &'t Arc<ClientFile>,
    pub(crate) request: RequestContext,
    pub(crate) call: BinderWriteRead,
}

impl FdTask {
    /// The account that pays for it.
    pub(crate) fn payer(&self) -> Account {
        self.file.payer_of(&self.request)
    }
}

/// Whether all that is to be done is to add files that we have open.
pub(crate) fn has_files_only(fd_work: &FdWork) -> bool {
    let is_open =
        |file: &CapturedFile| file.inner::<HeldFile>().is_some_and(|it| it.descriptor().is_some());
    !fd_work.install.is_empty() && fd_work.close.is_empty() && fd_work.install.iter().all(is_open)
}

/// The files that are to be installed, as we hold them.
pub(crate) fn held_files(install: Vec<CapturedFile>) -> impl Iterator<Item = HeldFile> {
    install.into_iter().filter_map(CapturedFile::into_inner)
}
