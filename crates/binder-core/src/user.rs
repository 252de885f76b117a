//! What all open files of one user make the driver keep, together.
//!
//! A program may open a device as often as it has descriptors, so what limits an open file does not
//! limit its user. What grows is counted for users as well, where it comes and where it goes; a
//! file counts for the user that opened it, whichever process uses it.

use alloc::collections::BTreeMap;

use crate::account::{Amounts, Excess, LimitHolder, Resource};
use crate::context::Context;
use crate::descriptors::FilesInTransit;
use crate::error::Errno;
use crate::identity::Opener;
use crate::process::{Process, ProcessKey};
use crate::snapshot::{ProcessView, Snapshot};
use crate::table::Key;

/// Names a user. It lives as long as any file that the user has open.
pub(crate) type UserKey = Key<User>;

/// A user with open files, or with files on their way.
#[derive(Debug, Default)]
pub(crate) struct User {
    /// All but what counts itself.
    held: Amounts,
    /// His processes, and how many files each has open.
    openers: BTreeMap<u32, usize>,
    /// Those for which he pays, also when he is gone.
    pub(crate) files: FilesInTransit,
}

impl User {
    fn has(&self, resource: Resource) -> usize {
        match resource {
            Resource::Processes => self.openers.len(),
            Resource::Descriptors => self.files.count(),
            counted => self.held[counted],
        }
    }

    /// All that he has.
    pub(crate) fn holdings(&self) -> Amounts {
        let put = |all: Amounts, resource| all.with(resource, self.has(resource));
        Resource::ALL.into_iter().fold(Amounts::default(), put)
    }

    /// Whether there is anything to remember of him.
    pub(crate) fn has_anything(&self) -> bool {
        !self.openers.is_empty() || self.files.count() > 0
    }
}

/// What a user has on a device, and the memory of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserView {
    /// Who, as the driver sees him.
    pub uid: u32,
    /// What he has.
    pub held: Amounts,
    /// What he may have.
    pub limits: Amounts,
    /// Bytes in his receive buffers that are in use.
    pub buffer_bytes: u64,
}

impl Context {
    /// The user that opened the file.
    pub(crate) fn user_of(&mut self, process: ProcessKey) -> &mut User {
        &mut self.users[self.processes[process].user]
    }

    /// The holdings of the user that opened the file, of resources that no table counts.
    pub(crate) fn holdings_of(&mut self, process: ProcessKey) -> &mut Amounts {
        &mut self.user_of(process).held
    }

    /// Whether a user may open another file.
    ///
    /// # Errors
    ///
    /// `EMFILE`, as for other things that a user may open only that many of (inotify_init(2)).
    pub(crate) fn check_open_quota(&mut self, opener: &Opener) -> Result<(), Errno> {
        let Opener { uid, pid, .. } = opener;
        let user = self.user_keys.get(uid).map(|user| &self.users[*user]);
        let is_known = user.is_some_and(|user| user.openers.contains_key(&pid.number()));
        let has_room = |resource: &Resource| {
            user.map_or(0, |user| user.has(*resource)) < self.limits.per_user[*resource]
        };
        let wanted: &[_] =
            if is_known { &[Resource::Opens] } else { &[Resource::Processes, Resource::Opens] };
        match wanted.iter().find(|resource| !has_room(resource)) {
            Some(resource) => {
                self.exceed_for(*uid, *resource);
                Err(Errno::EMFILE)
            }
            None => Ok(()),
        }
    }

    /// Finds a user by number, or begins to remember it.
    pub(crate) fn know_user(&mut self, uid: u32) -> UserKey {
        *self.user_keys.entry(uid).or_insert_with(|| self.users.insert(User::default()))
    }

    /// Counts an open file for its user.
    pub(crate) fn open_for_user(&mut self, process: ProcessKey) {
        let pid = self.processes[process].opener.pid.number();
        let user = self.user_of(process);
        user.held[Resource::Opens] += 1;
        *user.openers.entry(pid).or_default() += 1;
    }

    /// Forgets a file that is about to be gone, and its user if it was the last.
    pub(crate) fn close_for_user(&mut self, process: ProcessKey) {
        let pid = self.processes[process].opener.pid.number();
        let account = self.processes[process].account;
        let user = self.user_of(process);
        user.held[Resource::Opens] -= 1;
        // Those under way will find no account to refund.
        for resource in [Resource::Calls, Resource::Oneways] {
            user.held[resource] -= account[resource];
        }
        if let Some(opens) = user.openers.get_mut(&pid) {
            *opens -= 1;
            if *opens == 0 {
                user.openers.remove(&pid);
            }
        }
        if user.openers.is_empty() {
            debug_assert_eq!(user.held, Amounts::default(), "{process:?}");
            if !user.has_anything() {
                let Process { opener, user, .. } = &self.processes[process];
                self.user_keys.remove(&opener.uid);
                self.users.remove(*user);
            }
        }
    }

    /// Whether the user of an open file may have more of something.
    pub(crate) fn check_quota_of_user_of(
        &mut self,
        process: ProcessKey,
        resource: Resource,
    ) -> Result<(), Errno> {
        let held = self.user_of(process).has(resource);
        let limit = self.limits.per_user[resource];
        if held < limit { Ok(()) } else { Err(self.exceed_for_user(process, resource)) }
    }

    /// Notes that the user of an open file may have no more of something.
    pub(crate) fn exceed_for_user(&mut self, process: ProcessKey, resource: Resource) -> Errno {
        self.exceed_for(self.processes[process].opener.uid, resource)
    }

    fn exceed_for(&mut self, uid: u32, resource: Resource) -> Errno {
        let limit = self.limits.per_user[resource];
        self.exceed(Excess { resource, holder: LimitHolder::User(uid), limit, caused_by: None })
    }
}

impl Snapshot {
    /// What each user has, by number.
    pub fn users(&self) -> impl Iterator<Item = UserView> {
        let of_process = |uid: u32| {
            let of_user = move |process: &&ProcessView| process.uid == uid;
            self.processes.iter().filter(of_user)
        };
        self.users.iter().map(move |&(uid, held)| UserView {
            uid,
            held,
            limits: self.user_limits,
            buffer_bytes: of_process(uid)
                .flat_map(|process| &process.buffers)
                .map(|buffer| u64::from(buffer.slot_len))
                .sum(),
        })
    }
}
