//! The memory cgroups of this process, of both versions (cgroups(7)).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The cgroups that may limit the memory of a process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Cgroups {
    /// Of version 2.
    pub(crate) unified: Option<Cgroup>,
    /// Of version 1.
    pub(crate) memory: Option<Cgroup>,
}

/// A cgroup, as far as it is to be seen.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cgroup {
    /// Its directory.
    pub(crate) dir: PathBuf,
    /// That of the highest of its ancestors, where the hierarchy is mounted.
    top: PathBuf,
}

impl Cgroup {
    /// Its directory, and those of its ancestors.
    pub(crate) fn lineage(&self) -> impl Iterator<Item = &Path> {
        self.dir.ancestors().take_while(|dir| dir.starts_with(&self.top))
    }
}

impl Cgroups {
    pub(crate) fn of_this_process() -> io::Result<Self> {
        let memberships = fs::read_to_string("/proc/self/cgroup")?;
        Ok(Self::find(&memberships, &fs::read_to_string("/proc/self/mountinfo")?))
    }

    /// Reads the texts of cgroups(7) and of `/proc/PID/mountinfo`.
    pub(crate) fn find(memberships: &str, mounts: &str) -> Self {
        let of = |is_wanted: &dyn Fn(&str) -> bool| {
            let mut groups = memberships.lines().map(|line| line.splitn(3, ':'));
            groups.find_map(|mut parts| {
                let (_, controllers, path) = (parts.next(), parts.next()?, parts.next()?);
                is_wanted(controllers).then_some(path)
            })
        };
        let has_memory = |words: &str| words.split(',').any(|word| word == "memory");
        let unified = of(&str::is_empty)
            .and_then(|path| directory(path, mounts, |kind, _| kind == "cgroup2"));
        let memory = of(&has_memory).and_then(|path| {
            directory(path, mounts, |kind, options| kind == "cgroup" && has_memory(options))
        });
        Self { unified, memory }
    }
}

/// Where a cgroup is to be seen: `path` is its place in the hierarchy, of which a mount shows a part.
fn directory(
    path: &str,
    mounts: &str,
    is_of_hierarchy: impl Fn(&str, &str) -> bool,
) -> Option<Cgroup> {
    mounts.lines().find_map(|line| {
        let (place, file_system) = line.split_once(" - ")?;
        let (mut place, mut file_system) = (place.split(' ').skip(3), file_system.split(' '));
        let (root, mount_point) = (place.next()?, place.next()?);
        let (kind, options) = (file_system.next()?, file_system.nth(1)?);
        if !is_of_hierarchy(kind, options) {
            return None;
        }
        let below = Path::new(path).strip_prefix(root).ok()?;
        let top = PathBuf::from(mount_point);
        // Without a slash at its end if it is the top itself.
        let dir = top.join(below).components().collect();
        Some(Cgroup { dir, top })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
24 1 0:22 / /proc rw,nosuid - proc proc rw
30 24 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
31 24 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
32 24 0:28 /user.slice /sys/fs/cgroup/unified rw shared:4 - cgroup2 cgroup2 rw,nsdelegate
";

    #[test]
    fn cgroups_are_found_where_they_are_mounted() {
        let found = |memberships| Cgroups::find(memberships, MOUNTS);
        let group = |top: &str, below: &str| {
            Some(Cgroup { dir: Path::new(top).join(below), top: top.into() })
        };
        assert_eq!(
            found("4:memory:/a/b\n1:cpu:/c\n0::/user.slice/d:e\n"),
            Cgroups {
                unified: group("/sys/fs/cgroup/unified", "d:e"),
                memory: group("/sys/fs/cgroup/memory", "a/b"),
            }
        );
        assert_eq!(found("1:cpu:/c\n0::/elsewhere\n"), Cgroups::default());
        assert_eq!(found(""), Cgroups::default());
        assert_eq!(Cgroups::find("0::/", ""), Cgroups::default());
    }

    #[test]
    fn the_lineage_of_a_cgroup_ends_where_the_hierarchy_is_mounted() {
        let Cgroups { memory, .. } = Cgroups::find("4:memory:/a/b\n", MOUNTS);
        let dirs: Vec<_> = memory.iter().flat_map(Cgroup::lineage).collect();
        let expected =
            ["memory/a/b", "memory/a", "memory"].map(|dir| Path::new("/sys/fs/cgroup").join(dir));
        assert_eq!(dirs, expected);
        let Cgroups { memory, .. } = Cgroups::find("4:memory:/\n", MOUNTS);
        let dirs: Vec<_> = memory.iter().flat_map(Cgroup::lineage).collect();
        assert_eq!(dirs, [Path::new("/sys/fs/cgroup/memory")]);
    }
}
