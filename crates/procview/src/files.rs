//! The names below a process's directory, and the readers that each file may have.

/// A file of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Text {
    /// Most numbers, in one line.
    Stat,
    /// Most numbers, with names.
    Status,
    /// Memory, in pages.
    Statm,
    /// The arguments, each with a NUL.
    Cmdline,
    /// The short name.
    Comm,
    /// The environment, each entry with a NUL.
    Environ,
    /// The control groups.
    Cgroup,
    /// The mappings.
    Maps,
    /// What the process may take.
    Limits,
    /// What it has read and written.
    Io,
    /// How it was scheduled.
    Schedstat,
    /// How readily it is ended when memory runs out.
    OomScore,
    /// What was added to that.
    OomScoreAdj,
    /// Who logged in.
    Loginuid,
    /// In which audit session.
    Sessionid,
    /// Where in the kernel it waits.
    Wchan,
    /// The mounts that it sees.
    Mounts,
    /// The same, in another form.
    Mountinfo,
    /// The users of its user namespace.
    UidMap,
    /// The groups of its user namespace.
    GidMap,
    /// The mappings, and how much memory each takes.
    Smaps,
    /// The same, summed up.
    SmapsRollup,
    /// What the kernel told it at its start.
    Auxv,
    /// Its label, in `attr/`.
    AttrCurrent,
    /// The group that it is scheduled with.
    Autogroup,
}

/// A link to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum FileLink {
    /// The program.
    Exe,
    /// The working directory.
    Cwd,
    /// The root directory.
    Root,
}

/// A kind of namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum NsKind {
    Cgroup,
    Ipc,
    Mnt,
    Net,
    Pid,
    PidForChildren,
    Time,
    TimeForChildren,
    User,
    Uts,
}

impl Text {
    /// All, in an order of which [`code`](Self::code) is the place.
    pub(crate) const ALL: [Self; 25] = [
        Self::Stat,
        Self::Status,
        Self::Statm,
        Self::Cmdline,
        Self::Comm,
        Self::Environ,
        Self::Cgroup,
        Self::Maps,
        Self::Limits,
        Self::Io,
        Self::Schedstat,
        Self::OomScore,
        Self::OomScoreAdj,
        Self::Loginuid,
        Self::Sessionid,
        Self::Wchan,
        Self::Mounts,
        Self::Mountinfo,
        Self::UidMap,
        Self::GidMap,
        Self::Smaps,
        Self::SmapsRollup,
        Self::Auxv,
        Self::AttrCurrent,
        Self::Autogroup,
    ];

    /// Those that a record can tell, the first of them; the others are the kernel's alone.
    pub(crate) const OF_RECORDS: [Self; 7] = *Self::ALL.first_chunk().expect("there are more");

    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    /// The name in the directory of a process, or the path from there.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Stat => "stat",
            Self::Status => "status",
            Self::Statm => "statm",
            Self::Cmdline => "cmdline",
            Self::Comm => "comm",
            Self::Environ => "environ",
            Self::Cgroup => "cgroup",
            Self::Maps => "maps",
            Self::Limits => "limits",
            Self::Io => "io",
            Self::Schedstat => "schedstat",
            Self::OomScore => "oom_score",
            Self::OomScoreAdj => "oom_score_adj",
            Self::Loginuid => "loginuid",
            Self::Sessionid => "sessionid",
            Self::Wchan => "wchan",
            Self::Mounts => "mounts",
            Self::Mountinfo => "mountinfo",
            Self::UidMap => "uid_map",
            Self::GidMap => "gid_map",
            Self::Smaps => "smaps",
            Self::SmapsRollup => "smaps_rollup",
            Self::Auxv => "auxv",
            Self::AttrCurrent => "attr/current",
            Self::Autogroup => "autogroup",
        }
    }

    /// The permissions. Files that the kernel shows only to processes that may trace this one are
    /// closed to all but its user here, for the question is ours and not the reader's.
    pub(crate) const fn permissions(self) -> u32 {
        match self {
            Self::Environ
            | Self::Maps
            | Self::Io
            | Self::Wchan
            | Self::Smaps
            | Self::SmapsRollup
            | Self::Auxv => 0o400,
            _ => 0o444,
        }
    }

    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|text| text.name().as_bytes() == name)
    }
}

impl FileLink {
    pub(crate) const ALL: [Self; 3] = [Self::Exe, Self::Cwd, Self::Root];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Exe => "exe",
            Self::Cwd => "cwd",
            Self::Root => "root",
        }
    }

    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|link| link.name().as_bytes() == name)
    }
}

impl NsKind {
    pub(crate) const ALL: [Self; 10] = [
        Self::Cgroup,
        Self::Ipc,
        Self::Mnt,
        Self::Net,
        Self::Pid,
        Self::PidForChildren,
        Self::Time,
        Self::TimeForChildren,
        Self::User,
        Self::Uts,
    ];

    /// The name of the entry.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cgroup => "cgroup",
            Self::Ipc => "ipc",
            Self::Mnt => "mnt",
            Self::Net => "net",
            Self::Pid => "pid",
            Self::PidForChildren => "pid_for_children",
            Self::Time => "time",
            Self::TimeForChildren => "time_for_children",
            Self::User => "user",
            Self::Uts => "uts",
        }
    }

    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().as_bytes() == name)
    }

    /// Reads what an entry leads to, as `pid:[4026531836]`.
    pub(crate) fn parse_target(name: &[u8]) -> Option<(Self, u32)> {
        let (word, rest) = std::str::from_utf8(name).ok()?.split_once(":[")?;
        let kind = Self::ALL.into_iter().find(|kind| kind.name() == word)?;
        Some((kind, rest.strip_suffix(']')?.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_lead_back() {
        for (code, text) in Text::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(text.code()), code);
            assert_eq!(Text::named(text.name().as_bytes()), Some(text));
        }
        for kind in NsKind::ALL {
            assert_eq!(NsKind::named(kind.name().as_bytes()), Some(kind));
            let target = format!("{}:[7]", kind.name());
            assert_eq!(NsKind::parse_target(target.as_bytes()), Some((kind, 7)));
        }
        for wrong in ["pid:[]", "pid:[1", "pid:1", "pip:[1]", "pid:[-1]", "pid:[4294967296]"] {
            assert_eq!(NsKind::parse_target(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
