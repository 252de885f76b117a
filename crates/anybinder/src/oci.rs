//! `anybinder oci`: a runtime of containers, with binder in them.
//!
//! It is called as the runtime is, by Docker, podman or containerd, and becomes the runtime. Before a container is made it
//! starts a driver for that, adds the devices to the container's `config.json`, and has the driver asked about the
//! system calls of this process: so of the runtime, and of all that comes of it, the container's `init` among them. When
//! the last of these has ended, the kernel tells the driver, which ends, too.
//!
//! The container's /proc/filesystems lists binder: a [hook](crate::list_hook) of the runtime's shows it, since runtimes mount
//! nothing in a /proc themselves. Its programs preload the library by which those of worlds call through shared memory, if
//! they can.

mod config;

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::{env, fs, io};

use binder_fuse::{MountedBinderfs, Options};
use binder_os::file_lock;
use binder_os::filesystems;
use binder_os::mounts;
use binder_os::private_dev::{LIBRARY_DIR, LIBRARY_NAME};
use binder_os::processes::{self, Fork, Stream};
use serde_json::Value;

use crate::cli::{self, DeliveryChoice, OciOptions};
use crate::driver::{self, MountPoint};
use crate::failure::{Failure, failed};
use crate::log;
use crate::mount::end_on_signals;
use crate::preload::{self, NO_RING, RingEnvironment};
use crate::run::DEVICE_MODE;
use crate::runtime_dir;
use crate::world;

/// The binderfs in the place of a container: no device is called so.
const BINDERFS: &str = "binderfs";

/// The file that the container sees at /proc/filesystems, in the container's place: no device has this name, either.
const LIST: &str = "proc-filesystems";

/// The directory of the library that the container's programs preload, in the container's place. No device, either.
const RING: &str = "ring-library";

/// Options of runtimes that have their value in the next word, before the subcommand.
const WITH_VALUE: [&str; 7] =
    ["--root", "--log", "--log-format", "--log-level", "--criu", "--cgroup-manager", "--rootless"];

pub(crate) fn run(options: &OciOptions) -> Result<Infallible, Failure> {
    let arguments = &options.arguments;
    if let Some(container) = NewContainer::of(arguments)? {
        let names = &options.devices.names;
        let driver_options = cli::driver_options(names, DEVICE_MODE, DeliveryChoice::Auto);
        container.supply(options.clients.apply(driver_options), options.no_ring)?;
    }
    let error = Command::new(&options.runtime).args(without_ring(arguments)).exec();
    Err(Failure::new(format!("executing {}", options.runtime.display()), error)
        .advise("--runtime names the runtime: runc, crun, or a path"))
}

/// Where the subcommand is in the command line of a runtime; behind the last word if there is none.
fn subcommand_at(arguments: &[OsString]) -> usize {
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|it| it.as_bytes().starts_with(b"-")) {
        at += if WITH_VALUE.iter().any(|it| word == it) { 2 } else { 1 };
    }
    at.min(arguments.len())
}

/// The command line, by which commands that are executed in a container use no ring: they have no supervisor, which tells
/// programs that confine their system calls to leave it. What the caller says of that variable comes later, and takes precedence.
fn without_ring(arguments: &[OsString]) -> Vec<OsString> {
    let mut words = arguments.to_vec();
    let at = subcommand_at(arguments);
    if words.get(at).is_some_and(|it| it == "exec") {
        words.splice(at + 1..at + 1, ["--env".into(), format!("{NO_RING}=1").into()]);
    }
    words
}

/// A container that the runtime is about to make.
#[derive(Debug, PartialEq, Eq)]
struct NewContainer {
    id: OsString,
    bundle: PathBuf,
}

impl NewContainer {
    /// Reads the command line of a runtime; `None` if that makes no container.
    fn of(arguments: &[OsString]) -> Result<Option<Self>, Failure> {
        let at = subcommand_at(arguments);
        if !arguments.get(at).is_some_and(|it| it == "create" || it == "run") {
            return Ok(None);
        }
        let rest: Vec<_> = arguments[at + 1..].iter().collect();
        let Some(id) = rest.last().filter(|it| !it.as_bytes().starts_with(b"-")) else {
            // Help, or a slip, which the runtime knows better.
            return Ok(None);
        };
        if Path::new(id).components().count() != 1 || id.as_bytes().starts_with(b".") {
            let tried = format!("reading the command line of the runtime, for '{}'", id.display());
            return Err(Failure::new(tried, "a container is not called so"));
        }
        let bundle = rest.iter().enumerate().find_map(|(at, word)| {
            let given = ["--bundle=", "-b="]
                .iter()
                .find_map(|it| word.as_bytes().strip_prefix(it.as_bytes()));
            let is_named = *word == "--bundle" || *word == "-b";
            given.map(OsStr::from_bytes).or(if is_named {
                rest.get(at + 1).map(|it| it.as_os_str())
            } else {
                None
            })
        });
        let bundle = bundle.map_or_else(|| PathBuf::from("."), PathBuf::from);
        Ok(Some(Self { id: (*id).clone(), bundle }))
    }

    /// Starts a driver for the container, and has it asked about the system calls of this process.
    fn supply(&self, options: Options, no_ring: bool) -> Result<(), Failure> {
        let config_file = self.bundle.join("config.json");
        let mut spec = config::read(&config_file)?;
        let place = ContainerPlace::make(&self.id, &options)?;
        let ring_library = place.ring_library();
        let options = &Options { ring_library, rings: options.rings && !no_ring, ..options };
        let dir = place.binderfs();
        let (ours, theirs) =
            UnixStream::pair().map_err(failed("creating a socket to the driver"))?;
        let prepare = || {
            become_orphan()?;
            let streams = [Stream::Input, Stream::Output, Stream::Error];
            driver::leave_terminal(&streams, driver::DRIVER_NAME)?;
            env::set_current_dir("/").map_err(failed("changing to /"))?;
            let place = place.clone();
            let end = move || {
                place.remove();
                0
            };
            end_on_signals(|| false, end)
        };
        let attend = |session: &MountedBinderfs| {
            let (from, place) = (theirs, place.clone());
            // Devices that are still open are served until they are closed.
            world::supervise(from, session, options, move || place.unmount())
        };
        let conclude = || place.remove();
        // With our end of the socket the driver would never learn that there is no container.
        let ours = std::cell::Cell::new(Some(ours));
        let prepare = || {
            drop(ours.take());
            prepare()
        };
        let started = driver::start(&dir, MountPoint::Free, options, prepare, attend, conclude)
            .inspect_err(|_| place.remove())?;
        started.wait().map_err(failed("waiting for the process that has started the driver"))?;
        let ours = ours.take().expect("only the driver has closed its own");
        // If this fails, the driver ends with our end of the socket.
        place.bind_devices()?;
        place.write_list()?;
        let supervised = world::be_supervised(&ours);
        if let Err(error) = &supervised {
            log::tell(format_args!("anybinder: {}", world::without_supervisor(error)));
        }
        let root = self.bundle.join(spec["root"]["path"].as_str().unwrap_or("rootfs"));
        let ring = if supervised.is_ok() && options.rings && preload::suits(&root) {
            RingEnvironment::place_in(&place.ring())
        } else {
            RingEnvironment::without_library()
        };
        complete(&mut spec, &place, &ring)
            .map_err(|why| Failure::new(config::tried(&config_file), why))?;
        config::write(&config_file, &spec)
    }
}

/// Goes on in a process that is no child of the runtime's: crun waits until all of its children have ended, and the driver
/// waits for crun.
fn become_orphan() -> Result<(), Failure> {
    match processes::fork().map_err(failed("starting the driver's process"))? {
        Fork::Parent(_) => log::exit(0),
        Fork::Child => Ok(()),
    }
}

/// A container's files on the host: a directory with its binderfs, and beside it each device, bound there.
///
/// The runtime binds these into the container, and not those of the binderfs: what it had looked up there itself would be
/// its own first process's, which executes the container's program, and no other could open it (decision 7).
#[derive(Debug, Clone)]
struct ContainerPlace {
    dir: PathBuf,
    devices: Vec<String>,
    /// The directory. It is [locked](file_lock::lock) for as long as the driver lives, whatever ends that.
    _lock: Arc<File>,
}

impl ContainerPlace {
    /// Makes a place for a container. It is another one each time: the driver of an earlier container of that name may be
    /// about to remove its own. Those whose drivers were killed go.
    fn make(id: &OsStr, options: &Options) -> Result<Self, Failure> {
        let containers = containers_dir()?;
        remove_abandoned(&containers);
        let number = std::process::id().to_string();
        let dir =
            containers.join(OsStr::from_bytes(&[id.as_bytes(), b".", number.as_bytes()].concat()));
        let tried = format!("making {}", dir.display());
        let make = || {
            // It is locked before another `create` may take it for abandoned. A process that may not read it cannot lock it.
            let hidden = containers.join(format!(".{number}"));
            // A process that was killed right here has left it.
            fs::DirBuilder::new().recursive(true).mode(0o711).create(&hidden)?;
            let lock = Arc::new(File::open(&hidden)?);
            file_lock::lock(&lock)?;
            fs::rename(hidden, &dir)?;
            let devices = options.devices.iter().map(|device| device.name.clone()).collect();
            let place = Self { dir, devices, _lock: lock };
            fs::create_dir(place.binderfs())?;
            place.bound().try_for_each(|file| File::create(file).map(drop))?;
            Ok(place)
        };
        make().map_err(|error: io::Error| Failure::new(tried, error))
    }

    fn binderfs(&self) -> PathBuf {
        self.dir.join(BINDERFS)
    }

    /// Where the devices are bound.
    fn bound(&self) -> impl Iterator<Item = PathBuf> {
        self.devices.iter().map(|name| self.dir.join(name))
    }

    /// Where the library is that the container's programs preload, if there is one.
    fn ring(&self) -> PathBuf {
        self.dir.join(RING)
    }

    fn ring_library(&self) -> PathBuf {
        self.ring().join(LIBRARY_NAME)
    }

    fn list(&self) -> PathBuf {
        self.dir.join(LIST)
    }

    fn write_list(&self) -> Result<(), Failure> {
        let list = self.list();
        let written = filesystems::with_binder().and_then(|text| fs::write(&list, text));
        written.map_err(|error| Failure::new(format!("writing {}", list.display()), error))
    }

    fn bind_devices(&self) -> Result<(), Failure> {
        let pairs = self.devices.iter().map(|name| self.binderfs().join(name)).zip(self.bound());
        let bound = pairs.into_iter().try_for_each(|(from, to)| mounts::bind(&from, &to));
        bound.map_err(failed("binding the devices"))
    }

    /// Unmounts the file system there; programs that have its devices open keep them.
    fn unmount(&self) {
        for mounted in self.bound().chain([self.ring(), self.binderfs()]) {
            // Nothing is there, or it has been unmounted by hand.
            let _ = mounts::unmount(&mounted);
        }
    }

    fn remove(&self) {
        self.unmount();
        // A place that was not completed has not all of it.
        let unless_gone = |removed: io::Result<()>| match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        let mut files = self.bound().chain([self.list()]);
        let removed = files
            .try_for_each(|file| unless_gone(fs::remove_file(file)))
            .and_then(|()| unless_gone(fs::remove_dir(self.ring())))
            .and_then(|()| unless_gone(fs::remove_dir(self.binderfs())))
            .and_then(|()| unless_gone(fs::remove_dir(&self.dir)));
        if let Err(error) = removed {
            tracing::warn!(dir = %self.dir.display(), %error, "the place of a container stays");
        }
    }
}

/// The directory of this user's containers, each with a place of its own. A configuration that names something there names an earlier
/// container's.
fn containers_dir() -> Result<PathBuf, Failure> {
    let mut dir = runtime_dir::of_machine()?;
    for name in [runtime_dir::NAME, "containers"] {
        dir.push(name);
        runtime_dir::make(&dir, 0o755)?;
    }
    Ok(dir)
}

/// Removes what is left of places whose drivers were killed.
fn remove_abandoned(containers: &Path) {
    for entry in fs::read_dir(containers).into_iter().flatten().flatten() {
        if entry.file_name().as_bytes().starts_with(b".") {
            continue;
        }
        let dir = entry.path();
        let Ok(lock) = File::open(&dir) else { continue };
        if file_lock::try_lock(&lock).unwrap_or(false) {
            let is_bound = |name: &String| ![BINDERFS, LIST, RING].contains(&&**name);
            let names = fs::read_dir(&dir).into_iter().flatten().flatten();
            let names = names.filter_map(|file| file.file_name().into_string().ok());
            let devices = names.filter(is_bound).collect();
            ContainerPlace { dir, devices, _lock: Arc::new(lock) }.remove();
        }
    }
}

/// Adds to a container's configuration what is in its place, but for what has a place taken there.
fn complete(
    spec: &mut Value,
    place: &ContainerPlace,
    ring: &RingEnvironment,
) -> Result<(), String> {
    let devices = place.devices.iter().map(|name| format!("/dev/{name}")).zip(place.bound());
    let library = ring.has_library().then(|| (LIBRARY_DIR.into(), place.ring()));
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let containers = place.dir.parent().expect("a place is in the directory of containers");
    config::with_mounts(spec, containers, devices.chain(library))
        .and_then(|()| config::with_hook(spec, containers, &program, &place.list()))
        .and_then(|()| config::with_variables(spec, |before| ring.variables(true, before)))
        .ok_or_else(|| "it is no configuration of a container".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(line: &str) -> Result<Option<(String, String)>, Failure> {
        let words: Vec<_> = line.split_whitespace().map(OsString::from).collect();
        let found = NewContainer::of(&words)?;
        Ok(found.map(|it| (it.id.into_string().unwrap(), it.bundle.display().to_string())))
    }

    #[test]
    fn containers_are_found_in_the_command_lines_of_runtimes() {
        let found = |id: &str, bundle: &str| Ok(Some((id.to_owned(), bundle.to_owned())));
        let docker = "--root /run/docker --log /l --log-format json --systemd-cgroup create --bundle /b \
                      --pid-file /b/pid 5f3a";
        assert_eq!(container(docker), found("5f3a", "/b"));
        assert_eq!(container("--cgroup-manager=disabled run --bundle=/x c1"), found("c1", "/x"));
        assert_eq!(container("--rootless true run -b /x create"), found("create", "/x"));
        assert_eq!(container("--root create run c"), found("c", "."));
        for line in
            ["", "--version", "start c", "exec c create", "--root create state c", "create --help"]
        {
            assert_eq!(container(line), Ok(None), "{line}");
        }
        for line in ["run ..", "create a/b", "create /etc"] {
            assert!(container(line).is_err(), "{line}");
        }
    }

    #[test]
    fn commands_that_are_executed_later_use_no_ring() {
        let changed = |line: &str| {
            let words: Vec<_> = line.split_whitespace().map(OsString::from).collect();
            without_ring(&words).join(OsStr::new(" ")).into_string().unwrap()
        };
        let line = "--root /run/docker exec -t c sh";
        assert_eq!(changed(line), "--root /run/docker exec --env ANYBINDER_NO_RING=1 -t c sh");
        for line in ["", "--root", "run exec", "--root exec create c", "kill c"] {
            assert_eq!(changed(line), line);
        }
    }
}
