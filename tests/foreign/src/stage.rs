//! Where foreign programs meet our driver: a directory of programs, run inside `anybinder run` by different users.
//!
//! Only tests come here, so what goes wrong is a panic that says what.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use binder_os::file_lock;
use binder_testkit::skip;

/// The release of rsbinder's tools that the tests run.
const TOOLS_VERSION: &str = "0.12.0";

/// What ends a run that hangs. It gives itself a process group and signals all of it.
const WITH_A_LIMIT: [&str; 3] = ["timeout", "--kill-after=10", "240"];

/// Becomes an ordinary user who may open `/dev/fuse`, as on most machines, and `/dev/userfaultfd`, whatever this one's
/// nodes allow.
const AS_ORDINARY_USER: &str = r#"
mount -t tmpfs -o mode=0755 anybinder-foreign "$1"
mknod -m 0666 "$1/fuse" c 10 229
mount --bind "$1/fuse" /dev/fuse
if [ -c /dev/userfaultfd ]; then
    mknod -m 0666 "$1/userfaultfd" c $(stat -c "0x%t 0x%T" /dev/userfaultfd)
    mount --bind "$1/userfaultfd" /dev/userfaultfd
fi
shift
exec setpriv --reuid 1000 --regid 1000 --clear-groups "$@"
"#;

/// The user as whom a program runs.
#[derive(Clone, Copy, Debug)]
pub enum User {
    /// The user who runs the tests.
    Myself,
    /// A user without any privilege, in a mount namespace that root has prepared.
    Ordinary,
}

impl User {
    /// All users that this process can act for.
    #[must_use]
    pub fn all() -> &'static [Self] {
        if rustix::process::geteuid().is_root() {
            &[Self::Myself, Self::Ordinary]
        } else {
            &[Self::Myself]
        }
    }
}

/// Whether this process may do `what`, which root alone may. If not, it says that a test is left out.
#[must_use]
pub fn is_root_to(what: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skip(format_args!("only root can {what}"));
    }
    is_root
}

/// A directory of programs that every user may run; it goes when this goes.
pub struct Stage {
    dir: PathBuf,
}

impl Stage {
    /// Makes a directory that holds `anybinder`, built with the profile of this very program, and `programs`.
    ///
    /// `target_dir` is cargo's.
    ///
    /// # Panics
    ///
    /// When the directory cannot be made or `anybinder` does not build.
    #[must_use]
    pub fn new(target_dir: &Path, programs: &[&Path]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        static ANYBINDER: OnceLock<PathBuf> = OnceLock::new();
        let anybinder = build(&ANYBINDER, target_dir, "anybinder");
        // Tests in another pid namespace, or killed ones, may have had our number.
        let dir = loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let dir = env::temp_dir().join(format!("anybinder-foreign-{}-{number}", process::id()));
            match fs::create_dir(&dir) {
                Ok(()) => break dir,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => panic!("{}: {error}", dir.display()),
            }
        };
        let stage = Self { dir };
        let_all_read(&stage.dir);
        stage.add(&anybinder);
        programs.iter().for_each(|program| stage.add(program));
        stage
    }

    /// Makes one that holds a shell and what `tests/raw/NAME.c` compiles to.
    ///
    /// # Panics
    ///
    /// When it does not compile, or as [`new`](Self::new).
    #[must_use]
    pub fn of_c_program(target_dir: &Path, name: &str) -> Self {
        let stage = Self::new(target_dir, &[Path::new("/bin/sh")]);
        stage.compile(&["gcc", "-pthread"], name, name);
        stage
    }

    /// Adds what `compiler`, a command, makes of `tests/raw/SOURCE.c`, as `name`.
    ///
    /// # Panics
    ///
    /// When it does not compile.
    pub fn compile(&self, compiler: &[&str], source: &str, name: &str) {
        let raw = Path::new(env!("CARGO_MANIFEST_DIR")).join("../raw");
        let program = self.dir.join(name);
        let mut command = Command::new(compiler[0]);
        command.args(&compiler[1..]).args(["-O2", "-Wall", "-Werror", "-o"]).arg(&program);
        command.arg(raw.join(format!("{source}.c")));
        let status = command.status();
        let status = status.unwrap_or_else(|error| panic!("{}: {error}", compiler[0]));
        assert!(status.success(), "{source}.c does not compile");
        let_all_read(&program);
    }

    /// Where the program `name` is.
    #[must_use]
    pub fn path_of(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    /// Runs a script of the shell of this stage, whose place it knows as `$0`, and returns what it printed.
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run).
    #[must_use]
    pub fn run_script(&self, user: User, world: &[&str], script: &str) -> String {
        self.run_in(user, world, "sh", &["-ec", script, &self.path_of("sh")])
    }

    fn add(&self, program: &Path) {
        let place = self.dir.join(program.file_name().expect("a program has a name"));
        // By another process: a file that we have open for writing ourselves, a child that a test
        // beside this one starts has open too, until it executes something, and it is busy till then.
        let copied = Command::new("cp").arg(program).arg(&place).status().expect("cp is installed");
        assert!(copied.success(), "{} cannot be copied", program.display());
        let_all_read(&place);
    }

    /// Runs the program `name` of this stage in a Binder world of its own and returns what it printed.
    ///
    /// # Panics
    ///
    /// When the program does not end with status 0; the message holds all its output.
    #[must_use]
    pub fn run(&self, user: User, name: &str, args: &[&str]) -> String {
        self.run_in(user, &[], name, args)
    }

    /// The same, in a world made with `world`, options of `anybinder run`.
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run).
    #[must_use]
    pub fn run_in(&self, user: User, world: &[&str], name: &str, args: &[&str]) -> String {
        self.run_by(&[], user, world, name, args)
    }

    /// Runs a script as [`run_script`](Self::run_script) does, in a world that is made by a command: which executes the rest of its line.
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run).
    #[must_use]
    pub fn run_script_by(&self, by: &[&str], user: User, world: &[&str], script: &str) -> String {
        self.run_by(by, user, world, "sh", &["-ec", script, &self.path_of("sh")])
    }

    fn run_by(&self, by: &[&str], user: User, world: &[&str], name: &str, args: &[&str]) -> String {
        let mut command = Command::new(WITH_A_LIMIT[0]);
        command.args(&WITH_A_LIMIT[1..]).stdin(Stdio::null());
        match user {
            User::Myself => {}
            User::Ordinary => {
                let devices = self.dir.join("dev");
                fs::create_dir_all(&devices).expect("our own directory can be written to");
                command.args(["unshare", "--mount", "--propagation", "private"]);
                command.args(["sh", "-e", "-c", AS_ORDINARY_USER, "sh"]).arg(devices);
                command.env("HOME", "/").env_remove("XDG_RUNTIME_DIR");
            }
        }
        command.env("ANYBINDER_TEST_DEVICE", "/dev/binder");
        command.args(by).arg(self.dir.join("anybinder")).arg("run").args(world);
        // Each scene says whether there is one.
        if !world.contains(&"--manager") {
            command.arg("--no-manager");
        }
        command.arg("--");
        command.arg(self.dir.join(name)).args(args);
        let output = command.output().expect("timeout(1) is installed");
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let status = output.status;
        assert!(status.success(), "{name} {args:?} as {user:?}: {status}\n{stdout}{stderr}");
        stderr.lines().filter_map(|line| line.strip_prefix("SKIPPED: ")).for_each(skip);
        stdout.into_owned()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.dir) {
            eprintln!("{} stays: {error}", self.dir.display());
        }
    }
}

fn let_all_read(path: &Path) {
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(path, mode).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Builds a program of the workspace, once for all tests of this process, and returns its path.
fn build(built: &OnceLock<PathBuf>, target_dir: &Path, package: &str) -> PathBuf {
    let (profile, directory) =
        if cfg!(debug_assertions) { ("dev", "debug") } else { ("release", "release") };
    let path = built.get_or_init(|| {
        // The command that started the tests has built them.
        if let Some(programs) = env::var_os("ANYBINDER_TEST_PROGRAMS") {
            return Path::new(&programs).join(package);
        }
        let program = ["build", "--quiet", "--package", package, "--bin", package];
        cargo(target_dir, &[&program[..], &["--profile", profile]].concat());
        target_dir.join(directory).join(package)
    });
    path.clone()
}

/// Installs rsbinder's own tools below `target_dir`, unless they are there, and returns their directory.
///
/// One thread of all processes does so at a time; later ones find them there.
///
/// # Panics
///
/// When they cannot be fetched or do not build.
#[must_use]
pub fn rsbinder_tools(target_dir: &Path) -> PathBuf {
    let place = target_dir.join("foreign");
    fs::create_dir_all(&place).expect("cargo's target directory can be written to");
    // Held until this returns.
    let directory = File::open(&place).expect("it was just made");
    file_lock::lock(&directory).expect("a directory can be locked");
    let root = place.join(format!("rsbinder-tools-{TOOLS_VERSION}"));
    let bin = root.join("bin");
    if !bin.join("rsb_hub").exists() {
        // Past the test harness, which keeps back what eprintln! says.
        let notice = format!("installing rsbinder-tools {TOOLS_VERSION}, once: about a minute");
        writeln!(io::stderr(), "{notice}").expect("standard error can be written to");
        let version = format!("rsbinder-tools@{TOOLS_VERSION}");
        let root = root.to_string_lossy();
        // Not optimized: that takes longer than all tests of these tools.
        cargo(&place, &["install", "--quiet", "--locked", "--debug", "--root", &root, &version]);
    }
    bin
}

/// Builds the checks of the driver's rules as a program and returns its path.
///
/// # Panics
///
/// When they do not build.
#[must_use]
pub fn conformance(target_dir: &Path) -> PathBuf {
    static CONFORMANCE: OnceLock<PathBuf> = OnceLock::new();
    build(&CONFORMANCE, target_dir, "conformance")
}

fn cargo(target_dir: &Path, args: &[&str]) {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    command.env("CARGO_TARGET_DIR", target_dir).args(args);
    let status = command.status().expect("cargo started these tests, so it is installed");
    assert!(status.success(), "cargo {args:?}: {status}");
}
