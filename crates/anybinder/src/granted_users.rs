//! A user namespace with the users that are granted to the caller: those of /etc/subuid and /etc/subgid.
//!
//! Only newuidmap(1) and newgidmap(1) may map these, from outside of the namespace; so a child does that, which was
//! forked before.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::process::{Command, Stdio};

use binder_os::namespaces::{self, PrivateNamespaces};
use binder_os::processes::{self, Fork};

use crate::failure::{Failure, failed};

/// A range of users or groups: the first number inside, the first outside, and how many.
type IdRange = (u32, u32, u32);

/// For users, and for groups: the program that maps them, and the file in which the administrator grants them.
const USERS: (&str, &str) = ("newuidmap", "/etc/subuid");
const GROUPS: (&str, &str) = ("newgidmap", "/etc/subgid");

/// Moves this process into a user and a mount namespace of its own, where `uid` and `gid`, the caller's, keep their
/// numbers, and others that are granted have the numbers from 0 on that are left.
pub(crate) fn enter(uid: u32, gid: u32) -> Result<PrivateNamespaces, Failure> {
    let name = name_of(uid);
    let users = ranges(uid, &granted(USERS.1, uid, name.as_deref())?);
    let groups = ranges(gid, &granted(GROUPS.1, uid, name.as_deref())?);
    let pid = std::process::id();
    let (entered, enter) = io::pipe().map_err(failed("creating a pipe"))?;
    let (mut report, reporter) = io::pipe().map_err(failed("creating a pipe"))?;
    let child = match processes::fork().map_err(failed("starting a process"))? {
        Fork::Child => {
            drop((enter, report));
            std::process::exit(map(
                pid,
                &[(USERS.0, users), (GROUPS.0, groups)],
                entered,
                reporter,
            ));
        }
        Fork::Parent(child) => child,
    };
    drop((entered, reporter));
    let mapped = || {
        drop(enter);
        let mut told = Vec::new();
        report.read_to_end(&mut told)?;
        child.wait()?;
        if told == DONE { Ok(()) } else { Err(io::Error::other(Unmapped(told))) }
    };
    namespaces::enter_mapped_user_and_mount_namespace(mapped).map_err(|error| {
        let told = error.source.get_ref().and_then(|it| it.downcast_ref::<Unmapped>());
        let told = told.and_then(|told| Failure::from_bytes(&told.0));
        told.unwrap_or_else(|| error.into())
    })
}

/// The child's answer when all are mapped.
const DONE: &[u8] = b"done";

/// Its answer otherwise.
#[derive(Debug, thiserror::Error)]
#[error("the users were not mapped")]
struct Unmapped(Vec<u8>);

/// In a child: waits until the parent has entered its namespace, and maps. Returns the exit status.
fn map(
    pid: u32,
    maps: &[(&str, Vec<IdRange>)],
    mut entered: PipeReader,
    mut to: PipeWriter,
) -> i32 {
    // The parent closes it, and writes nothing.
    let waited = entered.read(&mut [0]).map_err(failed("waiting for the namespace"));
    let done =
        waited.and_then(|_| maps.iter().try_for_each(|(program, map)| write(pid, program, map)));
    let told = match done {
        Ok(()) => to.write_all(DONE),
        Err(failure) => to.write_all(&failure.to_bytes()),
    };
    i32::from(told.is_err())
}

fn write(pid: u32, program: &str, ranges: &[IdRange]) -> Result<(), Failure> {
    let numbers = ranges.iter().flat_map(|(inside, outside, count)| [inside, outside, count]);
    let mut command = Command::new(program);
    command.arg(pid.to_string()).args(numbers.map(u32::to_string)).stdin(Stdio::null());
    let output = command.output().map_err(|error| {
        Failure::new(format!("executing {program}"), error).advise(
            "install the package uidmap (on some systems shadow-utils), or do without --map-users",
        )
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!("mapping users by {program}"), said.trim()).advise(
        "it needs its set-user-id bit or capability, and that this process may gain privileges",
    ))
}

/// The map in which `own` keeps its number, and the granted users have the other numbers from 0 on.
fn ranges(own: u32, granted: &[(u32, u32)]) -> Vec<IdRange> {
    let mut ranges = vec![(own, own, 1)];
    let mut inside = 0;
    for &(mut outside, mut count) in granted {
        while count > 0 {
            if inside == own {
                inside += 1;
            }
            let room = if inside < own { own - inside } else { u32::MAX - inside };
            let some = count.min(room);
            ranges.push((inside, outside, some));
            (inside, outside, count) = (inside + some, outside + some, count - some);
            if inside == u32::MAX {
                return ranges;
            }
        }
    }
    ranges.sort_unstable();
    ranges
}

/// The range of numbers that a file grants a user: the first, and how many.
fn granted(file: &str, uid: u32, name: Option<&str>) -> Result<Vec<(u32, u32)>, Failure> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let found = grants(&text, uid, name);
    if !found.is_empty() {
        return Ok(found);
    }
    let user = name.map_or_else(|| uid.to_string(), str::to_owned);
    let answer = format!("{file} grants the user {user} none");
    let range = "100000-165535";
    Err(Failure::new("mapping users", answer).advise(format!(
        "`sudo usermod --add-subuids {range} --add-subgids {range} {user}`, or do without --map-users"
    )))
}

fn grants(text: &str, uid: u32, name: Option<&str>) -> Vec<(u32, u32)> {
    let number = uid.to_string();
    let line = |line: &str| {
        let mut words = line.trim().split(':');
        let whose = words.next()?;
        let (start, count) =
            (words.next()?.parse::<u32>().ok()?, words.next()?.parse::<u32>().ok()?);
        let is_theirs = whose == number || Some(whose) == name;
        (is_theirs && count > 0 && start.checked_add(count).is_some()).then_some((start, count))
    };
    text.lines().filter_map(line).collect()
}

/// The name of a user, as /etc/passwd has it.
fn name_of(uid: u32) -> Option<String> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    users.lines().find_map(|line| {
        let mut words = line.split(':');
        let (name, number) = (words.next()?, words.nth(1)?);
        (number.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_keeps_its_number_among_the_granted() {
        assert_eq!(
            ranges(1000, &[(100_000, 65_536)]),
            [(0, 100_000, 1000), (1000, 1000, 1), (1001, 101_000, 64_536)]
        );
        assert_eq!(
            ranges(5, &[(100, 3), (900, 3)]),
            [(0, 100, 3), (3, 900, 2), (5, 5, 1), (6, 902, 1)]
        );
        assert_eq!(ranges(0, &[(100, 2)]), [(0, 0, 1), (1, 100, 2)]);
        assert_eq!(ranges(7, &[]), [(7, 7, 1)]);
    }

    #[test]
    fn grants_are_found_by_name_and_by_number() {
        let text =
            "joe:100000:65536\n# no\n1000:1:2\njoel:5:5\njoe:x:1\njoe:9:0\njoe:4294967295:2\n";
        assert_eq!(grants(text, 1000, Some("joe")), [(100_000, 65_536), (1, 2)]);
        assert_eq!(grants(text, 7, None), []);
    }
}
