//! A table filled with processes that were never started.

use std::sync::Arc;

use pidns::{PID_MAX_LIMIT, PidNamespace};

use crate::render::TICKS_PER_SECOND;
use crate::table::{ProcessTable, TableError};
use crate::task::{Facts, Task};

/// What to fill a table with.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// How many processes there are.
    pub processes: u32,
    /// How many namespaces lie inside each other, the root among them.
    pub levels: u32,
    /// The environment of every process.
    pub environ: Vec<Vec<u8>>,
}

/// What a table was filled with.
#[derive(Debug, Clone)]
pub struct FilledScenario {
    /// The namespace inside of most others.
    pub innermost: Arc<PidNamespace<Task>>,
}

/// Most containers there are at each level.
const CONTAINERS: u32 = 4;
/// A process starts this many others before the next of its brothers does.
const CHILDREN: usize = 8;
/// Users begin with this.
const FIRST_USER: u32 = 1000;

const PROGRAMS: [&str; 8] =
    ["bash", "sshd", "nginx", "postgres", "servicemanager", "surfaceflinger", "python3", "make"];

impl Default for Scenario {
    fn default() -> Self {
        let environ = ["PATH=/usr/bin:/bin", "HOME=/root", "LANG=C.UTF-8"];
        let environ = environ.map(|entry| entry.as_bytes().to_vec()).to_vec();
        Self { processes: 10_000, levels: 3, environ }
    }
}

impl Scenario {
    /// Fills `table`: an init in each namespace, and the others below it in a tree. The same
    /// scenario gives the same processes each time.
    ///
    /// # Errors
    ///
    /// [`TableError`] for more processes than there are numbers, or for more levels than there
    /// may be.
    pub fn fill(&self, table: &ProcessTable) -> Result<FilledScenario, TableError> {
        let namespaces = self.namespaces(table)?;
        let mut hosts: Vec<Host> = Vec::new();
        for (level, namespace, holder) in namespaces {
            if table.root().processes() == self.processes {
                break;
            }
            // The process that runs a container is outside of it.
            let parent =
                holder.and_then(|holder| hosts.get(holder)).and_then(|it| it.parents.first());
            let name = if level == 0 { "init" } else { "containerd-init" };
            let facts = self.facts(table, name, parent.copied(), 0);
            let init = table.spawn(&namespace, facts)?;
            hosts.push(Host { namespace, parents: vec![init.global_nr()], children: 0 });
        }
        for nth in 0_usize.. {
            if table.root().processes() >= self.processes {
                break;
            }
            let at = nth % hosts.len().max(1);
            let Some(host) = hosts.get_mut(at) else { break };
            let name = PROGRAMS[host.parents.len() % PROGRAMS.len()];
            let parent = host.parents[host.children / CHILDREN];
            host.children += 1;
            let user = FIRST_USER + u32::try_from(at).unwrap_or(0);
            let facts = self.facts(table, name, Some(parent), user);
            host.parents.push(table.spawn(&host.namespace, facts)?.global_nr());
        }
        let innermost = hosts.last().map_or_else(|| table.root(), |host| &host.namespace).clone();
        Ok(FilledScenario { innermost })
    }

    /// The namespaces: level, itself, and the place of the one it is inside of.
    #[expect(clippy::type_complexity, reason = "three things, taken apart at once")]
    fn namespaces(
        &self,
        table: &ProcessTable,
    ) -> Result<Vec<(u32, Arc<PidNamespace<Task>>, Option<usize>)>, TableError> {
        let root = table.root().clone();
        // The limit is known to be one.
        let _ = root.set_pid_max(PID_MAX_LIMIT);
        let mut namespaces = vec![(0, root, None)];
        let mut holder = 0;
        for level in 1..self.levels {
            let outer = namespaces[holder].1.clone();
            for _ in 0..CONTAINERS {
                namespaces.push((level, table.namespace(&outer)?, Some(holder)));
            }
            holder = namespaces.len() - 1;
        }
        Ok(namespaces)
    }

    fn facts(&self, table: &ProcessTable, name: &str, parent: Option<u32>, user: u32) -> Facts {
        let exe = format!("/usr/bin/{name}");
        let nth = u64::from(table.root().processes());
        let argv = [exe.clone(), "--number".into(), nth.to_string()];
        Facts {
            comm: name.as_bytes().to_vec(),
            argv: argv.map(String::into_bytes).to_vec(),
            environ: self.environ.clone(),
            exe: exe.into_bytes(),
            uids: user.into(),
            gids: user.into(),
            parent,
            // One a second, while that is in the past.
            start_ticks: nth.min(table.machine().uptime().as_secs()) * TICKS_PER_SECOND,
            user_ticks: nth % 400,
            system_ticks: nth % 90,
            virtual_bytes: (nth % 100 + 10) << 20,
            resident_pages: nth % 50 + 10,
            ..Facts::default()
        }
    }
}

/// A namespace that is being filled.
struct Host {
    namespace: Arc<PidNamespace<Task>>,
    /// All in it, the first before the others, by their numbers in the root.
    parents: Vec<u32>,
    /// How many of them are children of another process here.
    children: usize,
}
