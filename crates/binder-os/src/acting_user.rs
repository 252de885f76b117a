//! A thread that is another user for the time of a call.

use std::fmt;
use std::io;

use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;

/// This thread's effective user, and that by which it accesses files, until this is dropped. No other thread is changed;
/// one that is started meanwhile stays this user.
pub struct ActingUser {
    own: Uid,
}

impl ActingUser {
    /// Makes this thread that user; `None` if it is already.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` for a process without `CAP_SETUID`, `InvalidInput` for a user that does not exist in this user
    /// namespace.
    pub fn enter(uid: u32) -> io::Result<Option<Self>> {
        let own = rustix::process::geteuid();
        if own.as_raw() == uid {
            return Ok(None);
        }
        if uid == u32::MAX {
            // To the system it means that nothing is to change.
            return Err(io::ErrorKind::InvalidInput.into());
        }
        set_effective(Uid::from_raw(uid))?;
        Ok(Some(Self { own }))
    }
}

/// Sets the effective user of this thread, which may come back to the others that it has.
fn set_effective(uid: Uid) -> io::Result<()> {
    Ok(set_thread_res_uid(None, uid, None)?)
}

impl Drop for ActingUser {
    fn drop(&mut self) {
        // It is the real or the saved user still, which any process may become again.
        if set_effective(self.own).is_err() {
            // Going on as another user would be worse.
            std::process::abort();
        }
    }
}

impl fmt::Debug for ActingUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActingUser").field("own", &self.own.as_raw()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn euid() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    #[test]
    fn a_thread_is_another_user_for_a_while_and_alone() {
        let own = euid();
        assert!(ActingUser::enter(own).expect("it is that user").is_none());
        let user = match ActingUser::enter(65_533) {
            Ok(user) => user.expect("another"),
            // As without privileges.
            Err(error) => return assert_ne!(own, 0, "{error}"),
        };
        assert_eq!(euid(), 65_533);
        // Once another user, it may become none but its own: the privilege is not effective.
        assert!(ActingUser::enter(65_532).is_err());
        drop(user);
        assert_eq!(euid(), own);
        let other = thread::spawn(|| {
            let _user = ActingUser::enter(65_533).expect("root may");
            euid()
        });
        assert_eq!((other.join().expect("it ends"), euid()), (65_533, own));
        assert_eq!(
            ActingUser::enter(u32::MAX).expect_err("none").kind(),
            io::ErrorKind::InvalidInput
        );
    }
}
