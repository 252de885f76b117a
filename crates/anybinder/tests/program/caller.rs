//! Who calls the program: root, or an ordinary user, each on a machine fit for it.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_anybinder");

/// The source of a program in C.
pub(crate) fn raw_source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/raw").join(name)
}

/// Somebody who calls the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    Root,
    Ordinary,
}

/// Opens /dev/fuse for all in a mount namespace of its own, then goes on as user 1000.
///
/// Many systems have the node open anyway; the test must not depend on it, nor change the machine.
const AS_ORDINARY: &str = "
    mount -t tmpfs tmpfs /mnt
    mknod -m 0666 /mnt/fuse c 10 229
    mount --bind /mnt/fuse /dev/fuse
    umount -l /mnt
    exec setpriv --reuid 1000 --regid 1000 --clear-groups -- \"$@\"";

/// The same with /dev/fuse closed to the user.
const WITHOUT_FUSE: &str = "
    mount -t tmpfs tmpfs /mnt
    mknod -m 0600 /mnt/fuse c 10 229
    mount --bind /mnt/fuse /dev/fuse
    umount -l /mnt
    exec setpriv --reuid 1000 --regid 1000 --clear-groups -- \"$@\"";

impl Caller {
    /// Returns those who can have a private world here, and tells of the others.
    pub(crate) fn all() -> &'static [Self] {
        static ABLE: OnceLock<Vec<Caller>> = OnceLock::new();
        ABLE.get_or_init(|| {
            let mut able = vec![Self::Root, Self::Ordinary];
            able.retain(|caller| {
                let verdict = match caller {
                    Self::Root if !is_root() => Err("not root".to_owned()),
                    Self::Root | Self::Ordinary => caller.ask_doctor(),
                };
                if let Err(reason) = &verdict {
                    binder_testkit::skip(format_args!("for {caller:?}: {reason}"));
                }
                verdict.is_ok()
            });
            able
        })
    }

    fn ask_doctor(self) -> Result<(), String> {
        let output = self.command(&["doctor"]).output().map_err(|error| error.to_string())?;
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() { Ok(()) } else { Err(report) }
    }

    /// The user number of this caller.
    pub(crate) fn uid(self) -> String {
        let output = self.wrap("id", &["-u"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// The program, as this caller would start it.
    pub(crate) fn command(self, arguments: &[&str]) -> Command {
        self.wrap(PROGRAM, arguments)
    }

    /// `anybinder run -- sh -c SCRIPT`.
    pub(crate) fn run_script(self, script: &str) -> Command {
        self.command(&["run", "--", "sh", "-c", script])
    }

    /// The program, allowed as many open files.
    pub(crate) fn command_with_files(self, files: u32, arguments: &[&str]) -> Command {
        let script = format!("ulimit -n {files} && exec \"$0\" \"$@\"");
        self.wrap("sh", &[&["-c", &script, PROGRAM], arguments].concat())
    }

    /// Any program, as this caller would start it.
    pub(crate) fn wrap(self, program: &str, arguments: &[&str]) -> Command {
        match self {
            Self::Ordinary if is_root() => in_mounts(AS_ORDINARY, program, arguments),
            Self::Root | Self::Ordinary => {
                // A shell that starts the tests in the background has them ignore two signals.
                let mut command = Command::new("env");
                command.args(["--default-signal=HUP,INT,QUIT,TERM", program]).args(arguments);
                command
            }
        }
    }
}

/// The program, called by an ordinary user who may not open /dev/fuse; only root can arrange that.
pub(crate) fn without_fuse(arguments: &[&str]) -> Option<Command> {
    is_root().then(|| in_mounts(WITHOUT_FUSE, PROGRAM, arguments))
}

/// A shell script in a mount namespace of its own, which becomes `program` in the end: all of it
/// is one process.
pub(crate) fn in_mounts(script: &str, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "env", "--default-signal=HUP,INT,QUIT,TERM"]);
    command.args(["sh", "-ec", script, "sh", program]).args(arguments);
    command
}

pub(crate) fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0
}

/// What a finished call left.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn finish(command: &mut Command) -> Outcome {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome { status: output.status, stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A call that goes on, and that the test will end.
pub(crate) struct Running {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next line.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Waits for the end; returns how it came about, and what was left to read.
    pub(crate) fn finish(mut self) -> Outcome {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        Outcome { status: self.child.wait().unwrap(), stdout, stderr }
    }
}

impl Drop for Running {
    /// Ends what a failed test left; its world goes with it.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Outcome {
    /// As a shell would tell it.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap())
    }
}

pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap();
    assert!(status.success(), "kill -s {name} {pid}");
}

/// Stops a process, and waits until each of its threads has: on a busy machine some go on for a while.
pub(crate) fn stop(pid: u32) {
    signal(pid, "STOP");
    let is_stopped = |task: std::io::Result<std::fs::DirEntry>| {
        state_in(&task.unwrap().path().join("stat")).is_none_or(|state| state == 'T')
    };
    wait_until(|| std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().all(is_stopped));
}

/// The state letter of a process in /proc/PID/stat; `None` once it is gone or a zombie.
pub(crate) fn state(pid: u32) -> Option<char> {
    state_in(Path::new(&format!("/proc/{pid}/stat")))
}

fn state_in(stat: &Path) -> Option<char> {
    let stat = std::fs::read_to_string(stat).ok()?;
    let state = stat.rsplit(") ").next()?.chars().next()?;
    (state != 'Z' && state != 'X').then_some(state)
}

pub(crate) fn children(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    list.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Waits for something that must come about; a test that waits for ever names its place in a
/// debugger, where a deadline would only guess.
pub(crate) fn wait_until(fact: impl Fn() -> bool) {
    while !fact() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}
