//! `anybinder doctor`: what this machine offers, which way will be used, and why not the others.
//!
//! Each feature is tried, where that is possible, in a child process with a world of its own.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::ExitCode;

use binder_os::private_dev::LIBRARY_DIR;
use binder_os::processes::{self, Fork, Stream};
use binder_os::{BinderClient, FuseDevice, client_files, priority, realtime, ring_memory, seccomp};
use serde::Serialize;

use crate::cli::{DeliveryChoice, DoctorOptions, driver_options};
use crate::driver::{self, REALTIME_ADVICE};
use crate::failure::{Failure, NAMESPACES_ADVICE, failed};
use crate::preload;
use crate::run::DEVICE_MODE;
use crate::world::{Privacy, World};

/// A client whose memory is out of reach is refused.
const MEMORY_ADVICE: &str =
    "in a container, give it CAP_SYS_PTRACE or a seccomp profile that allows process_vm_readv(2)";

/// Docker's own filter lets the call pass for containers that have the capability.
const FILES_ADVICE: &str =
    "in a container, give it CAP_SYS_PTRACE or a seccomp profile that allows pidfd_getfd(2)";

/// One line of the diagnosis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct DoctorFinding {
    /// The feature.
    check: &'static str,
    /// Whether it is there.
    found: bool,
    /// The meaning of that.
    detail: String,
    /// Advice; empty where nothing needs to be done.
    advice: String,
}

pub(crate) fn run(options: &DoctorOptions) -> Result<ExitCode, Failure> {
    let machine = Diagnosis::examine();
    let findings = machine.findings();
    let mut report = String::new();
    for finding in &findings {
        let line = if options.json {
            serde_json::to_string(finding).map_err(failed("writing JSON"))?
        } else {
            finding.to_text()
        };
        report.push_str(&line);
        report.push('\n');
    }
    io::stdout().write_all(report.as_bytes()).map_err(failed("writing to stdout"))?;
    Ok(ExitCode::from(u8::from(machine.world_of_run().is_none())))
}

/// The findings so far.
struct Diagnosis {
    fuse: Result<(), Failure>,
    /// Mounting with the privilege that we have.
    mounts: Result<(), Failure>,
    passthrough: Result<(), Failure>,
    /// Mounting in a user namespace.
    user_namespace: Result<(), Failure>,
    has_kernel_binder: bool,
    /// Having the driver asked about system calls that FUSE does not pass on.
    supervision: Result<(), Failure>,
    /// Having the driver's reader at a real-time priority.
    realtime: Result<(), Failure>,
    /// Giving threads of others a priority.
    priorities: Result<(), Failure>,
    /// Taking the files of others by their numbers.
    files: Result<(), Failure>,
    /// Having programs of a world load a library that uses the ring.
    ring: Result<(), Failure>,
    /// Yama's restriction; 0 if there is no Yama.
    ptrace_scope: u8,
}

/// How a world would be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorldKind {
    Passthrough,
    Store,
    StoreInUserNamespace,
}

impl Diagnosis {
    fn examine() -> Self {
        let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
        Self {
            fuse: FuseDevice::open().map(drop).map_err(|error| driver::without_fuse(&error)),
            mounts: try_world(Privacy::Mount, DeliveryChoice::Store).map_err(as_privilege),
            passthrough: try_world(Privacy::Mount, DeliveryChoice::Passthrough)
                .map_err(as_privilege),
            user_namespace: try_world(Privacy::UserAndMount, DeliveryChoice::Store),
            has_kernel_binder: has_kernel_binder(),
            supervision: try_supervision(),
            realtime: try_realtime(),
            priorities: try_priorities(),
            files: try_files(),
            ring: try_ring(),
            ptrace_scope: scope.ok().and_then(|scope| scope.trim().parse().ok()).unwrap_or(0),
        }
    }

    fn world_of_run(&self) -> Option<WorldKind> {
        self.world_of_mount()
            .or(self.user_namespace.is_ok().then_some(WorldKind::StoreInUserNamespace))
    }

    fn world_of_mount(&self) -> Option<WorldKind> {
        let passthrough = self.passthrough.is_ok().then_some(WorldKind::Passthrough);
        passthrough.or(self.mounts.is_ok().then_some(WorldKind::Store))
    }

    fn findings(&self) -> Vec<DoctorFinding> {
        let tried = |check, result: &Result<(), Failure>, detail: &str| match result {
            Ok(()) => DoctorFinding::good(check, detail),
            Err(failure) => DoctorFinding::bad(check, failure.to_string(), &failure.advice),
        };
        let kernel_binder = if self.has_kernel_binder {
            "this kernel has its own; a private world hides it, a mount stands beside it"
        } else {
            "this kernel has none, which is what we are for"
        };
        vec![
            tried("fuse", &self.fuse, "/dev/fuse can be opened"),
            tried("mount_privilege", &self.mounts, "mounting without a user namespace works"),
            tried("passthrough", &self.passthrough, "FUSE reads straight from our memory"),
            tried("user_namespace", &self.user_namespace, "a private world needs no privilege"),
            DoctorFinding {
                found: self.has_kernel_binder,
                ..DoctorFinding::good("kernel_binder", kernel_binder)
            },
            self.seccomp_notify(),
            self.ring(),
            self.ptrace(),
            self.descriptors(),
            tried(
                "realtime",
                &self.realtime,
                "calls are read at a real-time priority, whatever else the machine does",
            ),
            tried(
                "priorities",
                &self.priorities,
                "--inherit-priority has servers run as their callers do, within the servers' limits",
            ),
            Self::verdict("run", self.world_of_run(), advice_of(&self.user_namespace)),
            Self::verdict("mount", self.world_of_mount(), advice_of(&self.mounts)),
        ]
    }

    fn ring(&self) -> DoctorFinding {
        if let Err(failure) = &self.files {
            let detail = format!("{failure}: programs cannot hand over the memory for it");
            return DoctorFinding::bad("ring", detail, &failure.advice);
        }
        match (&self.ring, &self.supervision) {
            (Ok(()), Ok(())) => {
                let lanes = if ring_memory::can_sleep_on_several() {
                    ""
                } else {
                    "; none passes the driver by: futex_waitv(2) is not there (Linux 5.16), or a filter refuses it"
                };
                let detail = format!(
                    "in `run`, calls of dynamic programs go by shared memory; elsewhere, of those that \
                     load what `anybinder preload` writes{lanes}"
                );
                DoctorFinding::good("ring", &detail)
            }
            // Programs that confine themselves could not be told to leave the ring.
            (Ok(()), Err(failure)) => {
                let detail =
                    format!("{failure}: in `run`, only programs that know the ring use it");
                DoctorFinding::bad("ring", detail, &failure.advice)
            }
            (Err(failure), _) => DoctorFinding::bad("ring", failure.to_string(), &failure.advice),
        }
    }

    fn seccomp_notify(&self) -> DoctorFinding {
        match &self.supervision {
            Ok(()) => DoctorFinding::good(
                "seccomp_notify",
                "in `run`, programs can mount binderfs, and ioctls without an argument are answered",
            ),
            Err(failure) => {
                let detail = format!(
                    "{failure}: in `run`, programs cannot mount binderfs, and ioctls without an \
                     argument fail"
                );
                DoctorFinding::bad("seccomp_notify", detail, &failure.advice)
            }
        }
    }

    fn ptrace(&self) -> DoctorFinding {
        let scope = self.ptrace_scope;
        if scope < 3 {
            let detail = format!("kernel.yama.ptrace_scope is {scope}: the driver may do its work");
            return DoctorFinding::good("ptrace", &detail);
        }
        let detail = format!("kernel.yama.ptrace_scope is {scope}: client memory is out of reach");
        DoctorFinding::bad("ptrace", detail, "set it to 2 or less in /etc/sysctl.d and reboot")
    }

    /// Whether unmodified programs can be given files. Those that use the ring take them; with others it takes the right to
    /// trace them.
    fn descriptors(&self) -> DoctorFinding {
        let check = "descriptors";
        if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            let detail = "calls can bring files only to programs that use the ring".into();
            return DoctorFinding::bad(
                check,
                detail,
                "use an x86-64 or aarch64 machine for others",
            );
        }
        if let Err(failure) = &self.files {
            let detail = format!("{failure}: calls cannot bring files");
            return DoctorFinding::bad(check, detail, &failure.advice);
        }
        match self.ptrace_scope {
            0 | 1 => DoctorFinding::good(
                check,
                "calls can bring files; programs without the ring are stopped for a moment to take them",
            ),
            2 => DoctorFinding::good(check, "calls can bring files to programs that run as root"),
            _ => DoctorFinding::bad(
                check,
                "ptrace is turned off, so calls cannot bring files".into(),
                "set kernel.yama.ptrace_scope to 1 or less in /etc/sysctl.d and reboot",
            ),
        }
    }

    fn verdict(check: &'static str, kind: Option<WorldKind>, advice: &str) -> DoctorFinding {
        match kind {
            Some(WorldKind::Passthrough) => {
                DoctorFinding::good(check, "works; received data by passthrough, the fastest way")
            }
            Some(WorldKind::Store) => DoctorFinding::good(
                check,
                "works; received data through the page cache, as there is no passthrough",
            ),
            Some(WorldKind::StoreInUserNamespace) => DoctorFinding::good(
                check,
                "works in a user namespace; received data through the page cache, as passthrough \
                 is only for root",
            ),
            None => DoctorFinding::bad(check, "does not work here".into(), advice),
        }
    }
}

impl DoctorFinding {
    fn good(check: &'static str, detail: &str) -> Self {
        Self { check, found: true, detail: detail.into(), advice: String::new() }
    }

    fn bad(check: &'static str, detail: String, advice: &str) -> Self {
        Self { check, found: false, detail, advice: advice.into() }
    }

    fn to_text(&self) -> String {
        let mark = if self.found { "yes" } else { "no" };
        let mut text = format!("{:<16} {mark:<4} {}", self.check, self.detail);
        if !self.advice.is_empty() {
            text.push_str(&format!("\n{:21} try: {}", "", self.advice));
        }
        text
    }
}

/// The advice of a failure, if it is one.
fn advice_of(tried: &Result<(), Failure>) -> &str {
    tried.as_ref().err().map_or("", |failure| &failure.advice)
}

/// The failure of what takes no namespaces but a privilege.
fn as_privilege(failure: Failure) -> Failure {
    if failure.advice == NAMESPACES_ADVICE {
        return failure.advise("run it as root, in a container with CAP_SYS_ADMIN");
    }
    failure
}

/// Makes a world, opens a device in it, asks the driver a question, and throws it away.
fn try_world(privacy: Privacy, delivery: DeliveryChoice) -> Result<(), Failure> {
    in_child(|| {
        // A failure is reported as a finding, not as a log line of a driver that ends at once.
        processes::silence(Stream::Error).map_err(failed("opening /dev/null"))?;
        let options = driver_options(&["binder".to_owned()], DEVICE_MODE, delivery);
        let world = World::furnish(privacy.enter()?, &options, None)?;
        // As the command of a world is, which executes a program.
        processes::allow_inspection().map_err(failed("being a client"))?;
        let answered = BinderClient::open(Path::new("/dev/binder"))
            .and_then(|client| client.version())
            .map_err(|error| {
                let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
                let failure = Failure::new("opening a device of ours", error);
                if is_denied { failure.advise(MEMORY_ADVICE) } else { failure }
            });
        world.close();
        answered.map(drop)
    })
}

/// Has the kernel trap system calls of a child, as it traps those of a command.
fn try_supervision() -> Result<(), Failure> {
    in_child(|| {
        Privacy::Mount.enter().or_else(|_| Privacy::UserAndMount.enter())?;
        seccomp::install().map(drop).map_err(|error| {
            let advice = "use Linux 5.9 or later, outside of another world and of a container whose \
                          manager is asked already";
            Failure::new("having the driver asked about system calls", error).advise(advice)
        })
    })
}

/// Makes a world whose programs find the library, and asks its driver.
fn try_ring() -> Result<(), Failure> {
    if preload::is_off() {
        return Err(Failure::new("using the ring", "ANYBINDER_NO_RING is 1").advise("unset it"));
    }
    in_child(|| {
        processes::silence(Stream::Error).map_err(failed("opening /dev/null"))?;
        let options = driver_options(&["binder".to_owned()], DEVICE_MODE, DeliveryChoice::Store);
        let world = World::enter(&options)?;
        let placed = preload::place(Path::new(LIBRARY_DIR))
            .map_err(failed("placing a library for all programs"));
        processes::allow_inspection().map_err(failed("being a client"))?;
        let offered = BinderClient::open(Path::new("/dev/binder"))
            .and_then(|client| client.offers_rings())
            .map_err(failed("asking the driver for a ring"));
        world.close();
        placed.map(drop).and(offered)
    })
}

/// Takes a file of this process as the driver takes those of its clients.
fn try_files() -> Result<(), Failure> {
    let (file, _) = io::pipe().map_err(failed("creating a pipe"))?;
    let taken = client_files::of_process(std::process::id()).and_then(|process| {
        client_files::take(process, file.as_raw_fd()).map_err(io::Error::other)
    });
    taken
        .map(drop)
        .map_err(|error| Failure::new("taking a file by its number", error).advise(FILES_ADVICE))
}

/// Has a thread real-time in a process of its own, whose limits it changes.
fn try_realtime() -> Result<(), Failure> {
    in_child(|| {
        realtime::probe().map_err(|error| {
            Failure::new("making a thread real-time", error).advise(REALTIME_ADVICE)
        })
    })
}

/// Has a thread real-time by privilege alone, in a process of its own, whose limits it changes.
fn try_priorities() -> Result<(), Failure> {
    in_child(|| {
        priority::probe().map_err(|error| {
            let advice = "run it as root (CAP_SYS_NICE); else --inherit-priority changes threads of the \
                          same user alone, as RLIMIT_RTPRIO and RLIMIT_NICE allow";
            Failure::new("giving threads of others a priority", error).advise(advice)
        })
    })
}

/// Runs `act` in a child process and brings its failure back.
fn in_child(act: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let (mut report, mut reporter) = io::pipe().map_err(failed("creating a pipe"))?;
    let child = match processes::fork().map_err(failed("starting a process"))? {
        Fork::Child => {
            drop(report);
            let told = match act() {
                Ok(()) => reporter.write_all(DONE),
                Err(failure) => reporter.write_all(&failure.to_bytes()),
            };
            std::process::exit(i32::from(told.is_err()));
        }
        Fork::Parent(child) => child,
    };
    drop(reporter);
    let mut told = Vec::new();
    let heard = report.read_to_end(&mut told).map_err(failed("hearing from a process"));
    let end = child.wait().map_err(failed("waiting for a process"))?;
    heard?;
    if told == DONE {
        return Ok(());
    }
    Err(Failure::from_bytes(&told)
        .unwrap_or_else(|| Failure::new("trying it in a process", format!("it ended: {end:?}"))))
}

/// The message of a child without a failure.
const DONE: &[u8] = b"done";

fn has_kernel_binder() -> bool {
    let filesystems = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let in_kernel = filesystems.lines().any(|line| line.ends_with("\tbinder"));
    let device = fs::metadata("/dev/binder").map(|metadata| metadata.file_type());
    in_kernel || device.is_ok_and(|kind| kind.is_char_device())
}
