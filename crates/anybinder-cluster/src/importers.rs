//! Processes that stand for services of other machines.
//!
//! The driver tells of the death of processes, so each service of another machine that is in use here has one
//! process of its own: when the service is gone, that is killed, and all that had it are told as of any other death. It
//! registers with the manager, and forwards calls. Its stdin says which machines to call; its end ends it.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use binder_cluster::{Instance, MachineAddress, Ownership};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pipe::fcntl_setpipe_size;
use service_manager::{AccessAction, Balancing, InstanceCalls, ManagerServer};

use crate::balance::InstanceKey;
use crate::options::CredentialOptions;
use crate::store::SharedMember;
use crate::users::{CallingUsers, PermittedUsers};

/// How long a look-up waits for a service of another machine.
const BRING_TIME: Duration = Duration::from_secs(5);
/// How long the same machines are not tried again.
const FAILURE_TIME: Duration = Duration::from_millis(250);
/// What an importer says when it is registered.
pub(crate) const READY: &str = "ready";
/// The question that it is asked, beside the instances that it is told to call.
pub(crate) const CALLS_ASKED: &str = "calls?";
/// Has it read certificates and users again.
pub(crate) const READ_AGAIN: &str = "read again";
/// How its answer begins: an address, a generation, how many calls, and how long they took in nanoseconds.
pub(crate) const CALLS: &str = "calls";
/// What its answer ends with.
pub(crate) const CALLS_TOLD: &str = "told";
/// How long importers may take to say how many calls they made.
const ANSWER_TIME: Duration = Duration::from_millis(250);
/// How many importers there may be: each is a process.
const IMPORTERS_MAX: usize = 1000;
/// What a pipe holds as it is made.
const PIPE_BYTES: usize = 64 << 10;
/// How many instances of one service are called.
const INSTANCES_MAX: usize = 64;

/// How importers are started.
#[derive(Debug)]
pub(crate) struct ImporterOptions {
    pub(crate) program: PathBuf,
    pub(crate) device: PathBuf,
    pub(crate) own_address: MachineAddress,
    pub(crate) credentials: CredentialOptions,
    pub(crate) users: CallingUsers,
    pub(crate) verbose: u8,
    /// How many look-ups may wait at once; the manager has more threads.
    pub(crate) max_waiting: usize,
}

/// The importers of this machine.
#[derive(Debug, Clone)]
pub(crate) struct Importers(Arc<ImportersShared>);

#[derive(Debug)]
struct ImportersShared {
    options: ImporterOptions,
    member: SharedMember,
    manager: ManagerServer,
    state: Mutex<ImportersState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct ImportersState {
    by_name: BTreeMap<String, Importer>,
    /// Those that were killed and are not reaped yet, by their processes: another may stand for the name already.
    ending: BTreeMap<i32, Importer>,
    waiting: usize,
    /// Which sources an importer could not reach lately.
    failures: BTreeMap<String, (Vec<ImportSource>, Instant)>,
}

/// How many importers there are, and how many look-ups wait for one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ImporterCounts {
    pub(crate) ready: usize,
    pub(crate) starting: usize,
    pub(crate) waiting: usize,
}

/// A process that stands for a service.
#[derive(Debug)]
struct Importer {
    child: Child,
    stdin: ChildStdin,
    is_ready: bool,
    /// The instances that it was told to call.
    sources: Vec<ImportSource>,
    /// How often it did, as it said last.
    calls: Vec<(InstanceKey, InstanceCalls)>,
    /// Whether it is to say that.
    is_asked: bool,
}

/// An instance that an importer calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImportSource {
    pub(crate) key: InstanceKey,
    /// Who may have registered it there, to be believed here.
    pub(crate) owners: PermittedUsers,
}

impl ImportSource {
    /// Writes instances as an importer is told them.
    fn write_line(sources: &[Self]) -> String {
        let mut line = String::new();
        for Self { key: (address, generation), owners } in sources {
            line.push_str(&format!("{address} {generation} {owners} "));
        }
        line.push('\n');
        line
    }

    /// Reads a line of them; `None` if it is none.
    pub(crate) fn parse_line(line: &str) -> Option<Vec<Self>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let parsed = words.chunks(3).map(|words| {
            let [address, generation, owners] = words else { return None };
            let key = (address.parse().ok()?, generation.parse().ok()?);
            Some(Self { key, owners: owners.parse().ok()? })
        });
        parsed.collect()
    }
}

impl Importers {
    pub(crate) fn new(
        options: ImporterOptions,
        member: SharedMember,
        manager: ManagerServer,
    ) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self(Arc::new(ImportersShared { options, member, manager, state, changed }))
    }

    fn state(&self) -> MutexGuard<'_, ImportersState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where this machine is.
    pub(crate) fn own_address(&self) -> &MachineAddress {
        &self.0.options.own_address
    }

    /// Has all importers say how many calls they made, and waits a moment for that.
    pub(crate) fn ask_for_calls(&self) {
        let mut state = self.state();
        // One that has not answered is not asked again: it may not read, and is to hear of other instances yet.
        let can_answer = |importer: &&mut Importer| importer.is_ready && !importer.is_asked;
        for importer in state.by_name.values_mut().filter(can_answer) {
            let line = format!("{CALLS_ASKED}\n");
            importer.is_asked = importer.stdin.write_all(line.as_bytes()).is_ok();
        }
        let is_open = |state: &mut ImportersState| state.by_name.values().any(|it| it.is_asked);
        // Of those that are late, what they said last is told.
        drop(self.0.changed.wait_timeout_while(state, ANSWER_TIME, is_open));
    }

    /// How often an instance was called from here; `None` if it is not called from here.
    pub(crate) fn calls(&self, instance: &Instance) -> Option<InstanceCalls> {
        let state = self.state();
        let importer = state.by_name.get(&instance.name)?;
        let is_it = |((address, generation), _): &&(InstanceKey, InstanceCalls)| {
            *address == instance.address && *generation == instance.generation
        };
        importer.calls.iter().find(is_it).map(|(_, calls)| *calls)
    }

    /// How many there are.
    pub(crate) fn counts(&self) -> ImporterCounts {
        let state = self.state();
        let ready = state.by_name.values().filter(|importer| importer.is_ready).count();
        let starting = state.by_name.len() - ready;
        ImporterCounts { ready, starting, waiting: state.waiting }
    }

    /// Where a service may be called: at its one owner, or at all of its many instances.
    fn sources(&self, name: &str) -> Vec<ImportSource> {
        let member = self.0.member.lock();
        let elsewhere = |it: &&Instance| it.address != self.0.options.own_address;
        let found: Vec<Instance> = member.directory().of(name).filter(elsewhere).cloned().collect();
        drop(member);
        let owner = found.iter().find(|it| it.ownership == Ownership::Single).cloned();
        let found = owner.map_or(found, |owner| vec![owner]);
        self.0.manager.with_registry(|registry| {
            let policy = registry.policy();
            let believed = found.into_iter().filter_map(|it| {
                let machine = [it.address.host().to_owned()];
                let users = &self.0.options.users;
                let owners = users.permitted(policy, &machine, AccessAction::Add, name)?;
                Some(ImportSource { key: (it.address, it.generation), owners })
            });
            believed.take(INSTANCES_MAX).collect()
        })
    }

    /// Has all importers read certificates and users again, and follows the access rules. One that does not listen is ended, for it
    /// would go by the old ones; and if users are others now, so is one that was believed for who had registered its service.
    pub(crate) fn read_again(&self, are_users_others: bool) {
        let mut state = self.state();
        let line = format!("{READ_AGAIN}\n");
        let tell = |importer: &mut Importer| importer.stdin.write_all(line.as_bytes());
        let deaf: Vec<_> = state
            .by_name
            .iter_mut()
            .filter_map(|(name, importer)| tell(importer).is_err().then(|| name.clone()))
            .collect();
        for name in deaf {
            tracing::warn!(name, "an importer does not listen, and is ended");
            state.kill(&name);
        }
        let others: Vec<_> = state
            .by_name
            .iter()
            .map(|(name, importer)| (name.clone(), are_users_others && importer.is_of_users()))
            .collect();
        drop(state);
        for (name, is_to_end) in others {
            if is_to_end {
                self.end(&name);
            } else {
                self.update(&name);
            }
        }
    }

    /// Ends the importer of a name.
    fn end(&self, name: &str) {
        let mut state = self.state();
        let Some(pid) = state.by_name.get(name).map(Importer::pid) else { return };
        state.kill(name);
        drop(state);
        // A look-up before the driver has told of the death finds the next.
        self.0.manager.change_registry(|it| it.withdraw_import(name, pid));
    }

    /// Starts an importer if there is none and there is something to import; says whether there is one then.
    pub(crate) fn begin(&self, name: &str) -> bool {
        let sources = self.sources(name);
        let mut state = self.state();
        if state.by_name.contains_key(name) {
            return true;
        }
        if sources.is_empty() {
            return false;
        }
        if state.by_name.len() + state.ending.len() >= IMPORTERS_MAX {
            tracing::warn!(name, "too many services of other machines are in use for one more");
            return false;
        }
        state.failures.retain(|_, (_, at)| at.elapsed() < FAILURE_TIME);
        if state.failures.get(name).is_some_and(|(failed, _)| *failed == sources) {
            return false;
        }
        match self.start(name, sources.clone()) {
            Ok(importer) => {
                state.by_name.insert(name.to_owned(), importer);
                drop(state);
                // The rules may have changed since they were looked at.
                self.update(name);
                true
            }
            Err(error) => {
                tracing::error!(name, %error, "an importer is not started");
                state.failures.insert(name.to_owned(), (sources, Instant::now()));
                false
            }
        }
    }

    /// Has a service be registered here, and waits; false if there is none, or it is not within reach.
    pub(crate) fn bring(&self, name: &str) -> bool {
        if !self.begin(name) {
            return false;
        }
        let mut state = self.state();
        if state.waiting >= self.0.options.max_waiting {
            tracing::warn!(name, "too many look-ups wait for other machines: this one does not");
            return state.by_name.get(name).is_some_and(|importer| importer.is_ready);
        }
        state.waiting += 1;
        let is_open = |state: &mut ImportersState| {
            state.by_name.get(name).is_some_and(|importer| !importer.is_ready)
        };
        let waited = self.0.changed.wait_timeout_while(state, BRING_TIME, is_open);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        match state.by_name.get(name).map(|importer| importer.is_ready) {
            Some(false) => {
                tracing::warn!(name, "a service of another machine is not within reach");
                state.kill(name);
                false
            }
            Some(true) => true,
            None => false,
        }
    }

    /// Follows a change of the directory, or of the services registered here.
    pub(crate) fn update(&self, name: &str) {
        if !self.state().by_name.contains_key(name) {
            return;
        }
        let has_local = self.0.manager.with_registry(|it| it.local_service(name).is_some());
        let sources = if has_local { Vec::new() } else { self.sources(name) };
        let mut state = self.state();
        let Some(importer) = state.by_name.get_mut(name) else { return };
        let is_one = self.balancing(name).is_none();
        let is_over = sources.is_empty()
            || (is_one && sources != importer.sources)
            || importer.believes_others(&sources);
        // One that reads nothing for so long that there is no room is not waited for.
        let told = if is_over { Ok(()) } else { importer.tell(sources) };
        drop(state);
        if let Err(error) = &told {
            tracing::warn!(name, %error, "an importer does not listen, and is ended");
        }
        if is_over || told.is_err() {
            self.end(name);
        }
    }

    fn balancing(&self, name: &str) -> Option<Balancing> {
        let of = |name: &str| {
            let declared = |it: &service_manager::ServiceRegistry| {
                it.declarations().get(name).and_then(|it| it.balancing)
            };
            self.0.manager.with_registry(declared)
        };
        of(name)
    }

    fn start(&self, name: &str, mut sources: Vec<ImportSource>) -> io::Result<Importer> {
        let options = &self.0.options;
        let mut command = Command::new(&options.program);
        command.arg("import").arg("--device").arg(&options.device).arg(format!("--name={name}"));
        match self.balancing(name) {
            Some(balancing) => drop(command.arg("--balancing").arg(balancing.to_string())),
            None => sources.truncate(1),
        }
        for (option, file) in options.credentials.arguments().chain(options.users.arguments()) {
            command.arg(option).arg(file);
        }
        command.args((0..options.verbose).map(|_| "-v"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let mut importer = Importer {
            child,
            stdin,
            is_ready: false,
            sources: Vec::new(),
            calls: Vec::new(),
            is_asked: false,
        };
        let pid = importer.pid();
        self.0.manager.change_registry(|it| it.set_importer(pid, true));
        let (this, name) = (self.clone(), name.to_owned());
        let follow = move || this.follow(&name, pid, BufReader::new(stdout));
        // What waits for it would hold the lock meanwhile.
        let begun = fcntl_setfl(&importer.stdin, OFlags::NONBLOCK).map_err(io::Error::from);
        let begun = begun
            .and_then(|()| importer.tell(sources))
            .and_then(|()| thread::Builder::new().name("importer".into()).spawn(follow));
        if let Err(error) = begun {
            importer.kill();
            let _ = importer.child.wait();
            self.0.manager.change_registry(|it| it.set_importer(pid, false));
            return Err(error);
        }
        tracing::info!(pid, "an importer is started");
        Ok(importer)
    }

    /// Hears what an importer says, until it ends.
    fn follow(&self, name: &str, pid: i32, stdout: impl BufRead) {
        for line in stdout.lines().map_while(Result::ok) {
            let mut state = self.state();
            let Some(importer) = state.by_name.get_mut(name).filter(|it| it.pid() == pid) else {
                continue;
            };
            importer.hear(&line);
            self.0.changed.notify_all();
        }
        let importer = {
            let mut state = self.state();
            let is_it = state.by_name.get(name).is_some_and(|it| it.pid() == pid);
            let ending = state.ending.remove(&pid);
            let importer = if is_it { state.by_name.remove(name) } else { ending };
            if let Some(importer) = importer.as_ref().filter(|importer| !importer.is_ready) {
                let failure = (importer.sources.clone(), Instant::now());
                state.failures.insert(name.to_owned(), failure);
            }
            importer
        };
        self.0.changed.notify_all();
        self.0.manager.change_registry(|it| {
            it.withdraw_import(name, pid);
            it.set_importer(pid, false);
        });
        if let Some(mut importer) = importer {
            importer.kill();
            let ended = importer.child.wait();
            tracing::info!(name, pid, ?ended, "an importer has ended");
        }
    }
}

impl ImportersState {
    /// Kills the importer of a name; the thread that follows it reaps it.
    fn kill(&mut self, name: &str) {
        if let Some(mut importer) = self.by_name.remove(name) {
            importer.kill();
            self.ending.insert(importer.pid(), importer);
        }
    }
}

impl Importer {
    fn pid(&self) -> i32 {
        // A process's number is a positive `pid_t`.
        i32::try_from(self.child.id()).unwrap_or(0)
    }

    /// Whether it is believed for who has registered its service.
    fn is_of_users(&self) -> bool {
        self.sources.iter().any(|source| source.owners != PermittedUsers::All)
    }

    /// Whether others than before are believed to have registered an instance that it calls.
    fn believes_others(&self, sources: &[ImportSource]) -> bool {
        let differs = |it: &ImportSource, other: &ImportSource| {
            it.key == other.key && it.owners != other.owners
        };
        sources.iter().any(|source| self.sources.iter().any(|known| differs(source, known)))
    }

    fn kill(&mut self) {
        // One that has ended already is waited for all the same.
        let _ = self.child.kill();
    }

    /// Takes what it says.
    fn hear(&mut self, line: &str) {
        match line {
            READY => self.is_ready = true,
            CALLS_TOLD => self.is_asked = false,
            line => {
                let Some((key, calls)) = parse_calls(line) else { return };
                let is_source = |key: &InstanceKey| self.sources.iter().any(|it| it.key == *key);
                self.calls.retain(|(known, _)| *known != key && is_source(known));
                if is_source(&key) {
                    self.calls.push((key, calls));
                }
            }
        }
    }

    /// Tells it the instances to call from now on.
    fn tell(&mut self, sources: Vec<ImportSource>) -> io::Result<()> {
        if sources == self.sources {
            return Ok(());
        }
        let line = ImportSource::write_line(&sources);
        self.sources = sources;
        if line.len() > PIPE_BYTES {
            // Many instances with long rules. If the system allows no more, the write says so.
            let _ = fcntl_setpipe_size(&self.stdin, line.len().next_multiple_of(PIPE_BYTES));
        }
        self.stdin.write_all(line.as_bytes())
    }
}

/// Reads what an importer says of one instance.
fn parse_calls(line: &str) -> Option<(InstanceKey, InstanceCalls)> {
    let words: Vec<&str> = line.split(' ').collect();
    let [CALLS, address, generation, count, total_ns] = words[..] else { return None };
    let key = (address.parse().ok()?, generation.parse().ok()?);
    let calls = InstanceCalls { count: count.parse().ok()?, total_ns: total_ns.parse().ok()? };
    Some((key, calls))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_told_as_they_are() {
        let source = |port: u16, owners: &str| ImportSource {
            key: (format!("tls://a.example:{port}").parse().expect("an address"), 7),
            owners: owners.parse().expect("users"),
        };
        for sources in [vec![], vec![source(1, "*")], vec![source(1, "1000,1"), source(2, "*")]] {
            assert_eq!(
                ImportSource::parse_line(&ImportSource::write_line(&sources)),
                Some(sources)
            );
        }
        assert_eq!(ImportSource::parse_line("tls://a.example:1 7"), None);
    }

    #[test]
    fn as_many_instances_as_there_may_be_are_told_without_waiting_for_a_reader() {
        let mut child = Command::new("sleep").arg("60").stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        fcntl_setfl(&stdin, OFlags::NONBLOCK).unwrap();
        let (sources, calls) = (Vec::new(), Vec::new());
        let mut importer =
            Importer { child, stdin, is_ready: false, sources, calls, is_asked: false };
        let users: Vec<_> = (0..200).map(|nr| (2_000_000_000_u32 + nr).to_string()).collect();
        let owners: PermittedUsers = users.join(",").parse().expect("users");
        let sources = (1..).take(INSTANCES_MAX).map(|port: u16| ImportSource {
            key: (format!("tls://a.example:{port}").parse().expect("an address"), 7),
            owners: owners.clone(),
        });
        let told = importer.tell(sources.collect());
        importer.kill();
        importer.child.wait().unwrap();
        told.expect("the pipe has room");
    }
}
