//! Which worlds there are: a directory for each, in one of the user's own.
//!
//! The process of a world has its file `running` [marked](file_lock::mark) as long as it lives, whatever ends it;
//! that is how other processes know. A process that makes, finds or removes a directory holds the lock of the one above
//! meanwhile.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use binder_os::file_lock;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, failed};
use crate::runtime_dir;
use crate::world_name::WorldName;

/// The worlds of a user.
#[derive(Debug)]
pub(crate) struct Registry {
    dir: PathBuf,
}

/// By this a process has the registry for itself.
#[derive(Debug)]
pub(crate) struct RegistryLock {
    _file: File,
}

/// The directory of a world.
#[derive(Debug, Clone)]
pub(crate) struct WorldDir {
    pub(crate) name: WorldName,
    dir: PathBuf,
}

/// The state of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WorldState {
    Running,
    Stopped,
    Dead,
}

/// The record of a world, in its file `world.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WorldRecord {
    pub(crate) pid: u32,
    pub(crate) driver: u32,
    pub(crate) devices: Vec<String>,
    /// In seconds since 1970.
    pub(crate) created: u64,
    /// Whether it stays when its last process has ended.
    pub(crate) is_kept: bool,
    pub(crate) is_stopped: bool,
}

const RUNNING: &str = "running";
const RECORD: &str = "world.json";
const SOCKET: &str = "socket";
const LOG: &str = "log";

impl Registry {
    /// Finds the user's directory, and makes its missing parts.
    pub(crate) fn open() -> Result<Self, Failure> {
        let mut dir = runtime_dir::of_user()?;
        // It is that of the drivers of containers, too, into which those look.
        dir.push(runtime_dir::NAME);
        runtime_dir::make(&dir, 0o755)?;
        dir.push("worlds");
        runtime_dir::make(&dir, runtime_dir::PRIVATE)?;
        Ok(Self { dir })
    }

    /// Waits until no other process is looking at the worlds, or changing which there are.
    pub(crate) fn lock(&self) -> Result<RegistryLock, Failure> {
        let locked = File::open(&self.dir).and_then(|file| file_lock::lock(&file).map(|()| file));
        let tried = || format!("locking {}", self.dir.display());
        Ok(RegistryLock { _file: locked.map_err(|error| Failure::new(tried(), error))? })
    }

    /// Makes the directory of a new world.
    ///
    /// # Errors
    ///
    /// [`Failure`] if there is one of that name.
    pub(crate) fn add(&self, name: &WorldName, _: &RegistryLock) -> Result<WorldDir, Failure> {
        let world = self.at(name);
        match DirBuilder::new().mode(0o700).create(&world.dir) {
            Ok(()) => Ok(world),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let state = world.state();
                let advice = match state {
                    WorldState::Running => format!("anybinder world enter {name}"),
                    WorldState::Stopped | WorldState::Dead => format!("anybinder world rm {name}"),
                };
                let answer = format!("there is one of that name, which is {}", state.word());
                Err(Failure::new(format!("making the world '{name}'"), answer).advise(advice))
            }
            Err(error) => {
                let failure = Failure::new(format!("making {}", world.dir.display()), error);
                Err(failure.advise(runtime_dir::ADVICE))
            }
        }
    }

    /// Finds a world.
    ///
    /// # Errors
    ///
    /// [`Failure`] if there is none of that name.
    pub(crate) fn find(&self, name: &WorldName, _: &RegistryLock) -> Result<WorldDir, Failure> {
        let world = self.at(name);
        if world.dir.is_dir() {
            return Ok(world);
        }
        let answer = format!("there is none in {}", self.dir.display());
        let advice = format!("`anybinder world create {name}`, or `anybinder world list`");
        Err(Failure::new(format!("looking for the world '{name}'"), answer).advise(advice))
    }

    /// Lists the worlds by their names.
    pub(crate) fn all(&self, _: &RegistryLock) -> Result<Vec<WorldDir>, Failure> {
        let entries = fs::read_dir(&self.dir).map_err(failed("listing the worlds"))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut worlds: Vec<_> = names.map(|name| self.at(&name)).collect();
        worlds.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(worlds)
    }

    fn at(&self, name: &WorldName) -> WorldDir {
        WorldDir { name: name.clone(), dir: self.dir.join(name.as_str()) }
    }
}

impl WorldDir {
    /// Marks the world as running, as long as the calling process lives and keeps the file open.
    pub(crate) fn mark_running(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.path(RUNNING))?;
        if !file_lock::mark(&file)? {
            return Err(io::Error::other("another process has marked it"));
        }
        Ok(file)
    }

    /// The world's state. Its own process must not ask for it.
    pub(crate) fn state(&self) -> WorldState {
        let marked = File::open(self.path(RUNNING)).and_then(|file| file_lock::is_marked(&file));
        if marked.unwrap_or(false) {
            return WorldState::Running;
        }
        let is_stopped = self.record().is_ok_and(|record| record.is_stopped);
        if is_stopped { WorldState::Stopped } else { WorldState::Dead }
    }

    pub(crate) fn record(&self) -> io::Result<WorldRecord> {
        Ok(serde_json::from_str(&fs::read_to_string(self.path(RECORD))?)?)
    }

    /// Replaces the record in one step.
    pub(crate) fn write_record(&self, record: &WorldRecord) -> io::Result<()> {
        let unfinished = self.path("world.json.new");
        fs::write(&unfinished, serde_json::to_string(record)?)?;
        fs::rename(unfinished, self.path(RECORD))
    }

    /// Where the process of the world is asked for things.
    pub(crate) fn socket(&self) -> PathBuf {
        self.path(SOCKET)
    }

    /// The log: the output of commands without a terminal.
    pub(crate) fn log(&self) -> PathBuf {
        self.path(LOG)
    }

    pub(crate) fn open_log(&self) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).mode(0o600).open(self.log())
    }

    /// Removes it with all that is in it.
    pub(crate) fn remove(&self, _: &RegistryLock) -> io::Result<()> {
        fs::remove_dir_all(&self.dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

impl WorldState {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Dead => "dead",
        }
    }
}

/// The time of this moment, as records have it.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry() -> (tempfile::TempDir, Registry) {
        let dir = tempfile::tempdir().unwrap();
        let registry = Registry { dir: dir.path().to_owned() };
        (dir, registry)
    }

    #[test]
    fn a_name_is_given_once() {
        let (_dir, registry) = registry();
        let lock = registry.lock().unwrap();
        let name = "dev".parse().unwrap();
        assert!(registry.find(&name, &lock).is_err());
        let world = registry.add(&name, &lock).unwrap();
        let failure = registry.add(&name, &lock).unwrap_err();
        assert!(failure.answer.ends_with("which is dead"), "{failure:?}");
        assert_eq!(failure.advice, "anybinder world rm dev");
        assert_eq!(registry.find(&name, &lock).unwrap().dir, world.dir);
        assert_eq!(registry.all(&lock).unwrap().len(), 1);
        world.remove(&lock).unwrap();
        registry.add(&name, &lock).unwrap();
    }

    #[test]
    fn what_was_stopped_is_not_dead() {
        let (_dir, registry) = registry();
        let lock = registry.lock().unwrap();
        let world = registry.add(&"dev".parse().unwrap(), &lock).unwrap();
        assert_eq!(world.state(), WorldState::Dead);
        let mut record = WorldRecord {
            pid: 1,
            driver: 2,
            devices: vec!["binder".into()],
            created: now(),
            is_kept: true,
            is_stopped: false,
        };
        world.write_record(&record).unwrap();
        assert_eq!(world.state(), WorldState::Dead);
        record.is_stopped = true;
        world.write_record(&record).unwrap();
        assert_eq!(world.state(), WorldState::Stopped);
        assert_eq!(world.record().unwrap().devices, ["binder"]);
    }
}
