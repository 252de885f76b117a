//! A process of a world that has a name, from its fork to its program.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;

use binder_os::namespaces::HeldMounts;
use binder_os::processes::{self, Stream};
use binder_os::signals::SignalMask;
use binder_os::{UserAndGroup, terminal};

use super::protocol::{Invocation, Words};
use crate::failure::{Failure, failed};
use crate::log;
use crate::preload::RingEnvironment;
use crate::world::{self, DRIVER_PID};

/// In this variable the processes inside find the name of their world.
pub(super) const WORLD_NAME: &str = "ANYBINDER_WORLD";

/// The properties that all members of a world share.
#[derive(Debug)]
pub(super) struct MemberContext {
    pub(super) world_name: String,
    pub(super) driver: u32,
    pub(super) ring: RingEnvironment,
    /// Whether the driver is asked about their system calls.
    pub(super) is_supervised: bool,
    /// Their mounts, if these are other than those of the world's process.
    pub(super) mounts: Option<HeldMounts>,
}

/// In a fresh child of process `maker`: turns it into the command. Does not return.
///
/// Of `files` the first has the words; there are three more unless the output goes to the log.
pub(super) fn become_member(
    context: &MemberContext,
    maker: u32,
    mask: &SignalMask,
    invocation: &Invocation,
    files: Vec<OwnedFd>,
) -> ! {
    match prepare(context, invocation, files) {
        Ok(mut command) => world::become_command(&mut command, maker, mask),
        Err(failure) => {
            failure.print();
            std::process::exit(1)
        }
    }
}

fn prepare(
    context: &MemberContext,
    invocation: &Invocation,
    files: Vec<OwnedFd>,
) -> Result<Command, Failure> {
    let mut files = files.into_iter();
    let words = files.next();
    for (stream, file) in [Stream::Input, Stream::Output, Stream::Error].into_iter().zip(files) {
        processes::connect(stream, file.as_fd()).map_err(failed("taking the caller's files"))?;
    }
    // Out of the reach of other terminals.
    processes::leave_session().map_err(failed("beginning a session"))?;
    if invocation.has_terminal {
        let stdin = io::stdin();
        terminal::take_control(stdin.as_fd()).map_err(failed("taking control of the terminal"))?;
    }
    if let Some(mounts) = &context.mounts {
        mounts.enter().map_err(failed("entering the mounts of the world"))?;
    }
    let words = words.ok_or_else(|| Failure::new("taking the command", "none was sent"))?;
    let words = Words::from_file(words).map_err(failed("taking the command"))?;
    if let Some(user) = invocation.user() {
        become_user(user)?;
    }
    invocation
        .inheritable()
        .take_over()
        .map_err(failed("taking over the umask and no_new_privs"))?;
    if let Err(error) = std::env::set_current_dir(&words.directory) {
        let directory = words.directory.display();
        log::tell(format_args!(
            "anybinder: {directory} cannot be entered in the world ({error}): in / instead"
        ));
        std::env::set_current_dir("/").map_err(failed("changing to /"))?;
    }
    let [program, arguments @ ..] = &words.command[..] else {
        return Err(Failure::new("executing", "there is no command"));
    };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(words.environment.iter().map(pair));
    let before = |name: &str| {
        let found = words.environment.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.clone())
    };
    command.envs(context.ring.variables(context.is_supervised, before));
    command.env(DRIVER_PID, context.driver.to_string());
    command.env(WORLD_NAME, &context.world_name);
    Ok(command)
}

fn pair((name, value): &(OsString, OsString)) -> (&OsStr, &OsStr) {
    (name, value)
}

fn become_user(user: UserAndGroup) -> Result<(), Failure> {
    let UserAndGroup { uid, gid } = user;
    processes::become_user(uid, gid).map_err(|error| {
        Failure::new(format!("going on as user {uid} in group {gid}"), error).advise(
            "an ordinary user's world has the users that it was created with: \
             `anybinder world create --map-users`, or `run --name NAME --map-users`",
        )
    })
}
