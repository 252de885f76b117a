//! How much memory this process may have: as much as the machine has, or less by its cgroups.

use std::fs;
use std::path::Path;

use crate::cgroups::{Cgroup, Cgroups};

/// Returns how many bytes this process may have, with all others of its cgroup. What cannot be read is no
/// limit.
pub fn of_this_process() -> u64 {
    let machine = rustix::system::sysinfo();
    let machine = machine.totalram.saturating_mul(machine.mem_unit.into());
    smallest(&Cgroups::of_this_process().unwrap_or_default()).unwrap_or(u64::MAX).min(machine)
}

/// The smallest limit of these cgroups and of those above them.
fn smallest(groups: &Cgroups) -> Option<u64> {
    let limits = |group: &Option<Cgroup>, file: &str| {
        let group = group.iter();
        group.flat_map(Cgroup::lineage).filter_map(|dir| read(&dir.join(file))).min()
    };
    let unified = limits(&groups.unified, "memory.max");
    let memory = limits(&groups.memory, "memory.limit_in_bytes");
    unified.into_iter().chain(memory).min()
}

/// A number of bytes; `None` for "max".
fn read(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A directory that looks like a hierarchy of cgroups, and goes with this value.
    struct Hierarchy(PathBuf);

    impl Hierarchy {
        fn new(name: &str, limits: &[(&str, &str)]) -> Self {
            let top = std::env::temp_dir().join(format!("anybinder-{name}-{}", std::process::id()));
            for (file, limit) in limits {
                let file = top.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, format!("{limit}\n")).unwrap();
            }
            Self(top)
        }

        fn groups(&self, memberships: &str) -> Cgroups {
            let top = self.0.display();
            let mounts = format!(
                "30 24 0:26 / {top}/memory rw - cgroup cgroup rw,memory\n\
                 32 24 0:28 / {top}/unified rw - cgroup2 cgroup2 rw\n"
            );
            Cgroups::find(memberships, &mounts)
        }
    }

    impl Drop for Hierarchy {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn the_smallest_limit_of_a_cgroup_and_those_above_it_counts() {
        let hierarchy = Hierarchy::new(
            "limits",
            &[
                ("unified/a/memory.max", "1000"),
                ("unified/a/b/memory.max", "max"),
                ("unified/a/c/memory.max", "900"),
                ("unified/d/memory.max", "max"),
                ("memory/memory.limit_in_bytes", "9223372036854771712"),
                ("memory/e/memory.limit_in_bytes", "800"),
                ("memory/e/f/memory.limit_in_bytes", "9223372036854771712"),
            ],
        );
        for (memberships, limit) in [
            ("0::/a/b\n", Some(1000)),
            ("0::/a/c\n", Some(900)),
            ("0::/d\n", None),
            ("0::/gone\n", None),
            ("4:memory:/e/f\n0::/a\n", Some(800)),
            ("4:memory:/\n0::/a\n", Some(1000)),
            ("", None),
        ] {
            assert_eq!(smallest(&hierarchy.groups(memberships)), limit, "{memberships}");
        }
    }

    #[test]
    fn a_process_may_have_no_more_than_the_machine() {
        let total = fs::read_to_string("/proc/meminfo").unwrap();
        let total = total.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap();
        let kibibytes: u64 = total.trim().trim_end_matches(" kB").parse().unwrap();
        let may_have = of_this_process();
        assert!(0 < may_have && may_have <= kibibytes << 10, "{may_have} of {kibibytes} KiB");
    }
}
