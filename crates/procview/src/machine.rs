//! The machine that the processes of a table run on, and what its /proc says beside them.

use std::fmt::Write;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use binder_os::ProcDir;

use crate::net::NetFile;
use crate::render::{TICKS_PER_SECOND, page_bytes};
use crate::table::ProcessTable;

/// What a table says of the machine.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Memory, in KiB.
    pub memory_kib: u64,
    /// The processors, as /proc/cpuinfo tells of them.
    pub cpuinfo: Vec<u8>,
    /// The kernel, as /proc/version names it.
    pub version: Vec<u8>,
    /// Its release.
    pub release: Vec<u8>,
    /// The machine's name.
    pub hostname: Vec<u8>,
    /// How long it had been running
    pub uptime: Duration,
    /// at this moment.
    pub at: Instant,
    /// When it started.
    pub boot_time: SystemTime,
}

/// A file of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum MachineFile {
    Uptime,
    Stat,
    Meminfo,
    Cpuinfo,
    Loadavg,
    Version,
    Swaps,
    Vmstat,
    PidMax,
    OsRelease,
    OsType,
    Hostname,
    Net(NetFile),
}

/// A directory that is not a process's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum MachineDir {
    Sys,
    Kernel,
    Net,
}

impl MachineFile {
    pub(crate) const ALL: [Self; 25] = [
        Self::Uptime,
        Self::Stat,
        Self::Meminfo,
        Self::Cpuinfo,
        Self::Loadavg,
        Self::Version,
        Self::Swaps,
        Self::Vmstat,
        Self::PidMax,
        Self::OsRelease,
        Self::OsType,
        Self::Hostname,
        Self::Net(NetFile::Tcp),
        Self::Net(NetFile::Tcp6),
        Self::Net(NetFile::Udp),
        Self::Net(NetFile::Udp6),
        Self::Net(NetFile::Raw),
        Self::Net(NetFile::Raw6),
        Self::Net(NetFile::Unix),
        Self::Net(NetFile::Netlink),
        Self::Net(NetFile::Packet),
        Self::Net(NetFile::Dev),
        Self::Net(NetFile::Route),
        Self::Net(NetFile::Arp),
        Self::Net(NetFile::IfInet6),
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Uptime => "uptime",
            Self::Stat => "stat",
            Self::Meminfo => "meminfo",
            Self::Cpuinfo => "cpuinfo",
            Self::Loadavg => "loadavg",
            Self::Version => "version",
            Self::Swaps => "swaps",
            Self::Vmstat => "vmstat",
            Self::PidMax => "pid_max",
            Self::OsRelease => "osrelease",
            Self::OsType => "ostype",
            Self::Hostname => "hostname",
            Self::Net(file) => file.name(),
        }
    }

    /// The directory that it is in, if that is not the root.
    pub(crate) const fn dir(self) -> Option<MachineDir> {
        match self {
            Self::PidMax | Self::OsRelease | Self::OsType | Self::Hostname => {
                Some(MachineDir::Kernel)
            }
            Self::Net(_) => Some(MachineDir::Net),
            _ => None,
        }
    }

    /// Whether it changes with every process that comes or goes.
    pub(crate) const fn follows_processes(self) -> bool {
        matches!(self, Self::Stat | Self::Meminfo | Self::Loadavg | Self::Vmstat)
    }

    /// Whether it changes by itself, each hundredth of a second.
    pub(crate) const fn follows_time(self) -> bool {
        matches!(self, Self::Uptime | Self::Stat)
    }
}

impl MachineDir {
    pub(crate) const ALL: [Self; 3] = [Self::Sys, Self::Kernel, Self::Net];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sys => "sys",
            Self::Kernel => "kernel",
            Self::Net => "net",
        }
    }

    pub(crate) const fn dir(self) -> Option<Self> {
        match self {
            Self::Sys | Self::Net => None,
            Self::Kernel => Some(Self::Sys),
        }
    }
}

impl Machine {
    /// A machine like this one that has been running for `uptime`, and has nothing else to do.
    ///
    /// # Errors
    ///
    /// As reading /proc.
    pub fn like_this_one(proc: &ProcDir, uptime: Duration) -> std::io::Result<Self> {
        let meminfo = proc.read("meminfo")?;
        let total = String::from_utf8_lossy(&meminfo);
        let total = total.split_ascii_whitespace().nth(1).and_then(|kib| kib.parse().ok());
        Ok(Self {
            memory_kib: total.unwrap_or(1 << 20),
            cpuinfo: proc.read("cpuinfo")?,
            version: proc.read("version")?,
            release: proc.read("sys/kernel/osrelease")?,
            hostname: proc.read("sys/kernel/hostname")?,
            uptime,
            at: Instant::now(),
            boot_time: SystemTime::now() - uptime,
        })
    }

    /// How long it has been running.
    #[must_use]
    pub fn uptime(&self) -> Duration {
        self.uptime + self.at.elapsed()
    }

    fn processors(&self) -> usize {
        let lines = self.cpuinfo.split(|byte| *byte == b'\n');
        lines.filter(|line| line.starts_with(b"processor")).count().max(1)
    }

    /// When it started, in seconds since 1970.
    pub(crate) fn boot_seconds(&self) -> u64 {
        self.boot_time.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs())
    }
}

/// Writes a file of the machine of `table`, which has been running for `up`; the highest number is
/// below `pid_max`.
pub(crate) fn render(
    table: &ProcessTable,
    file: MachineFile,
    up: Duration,
    pid_max: u32,
) -> Vec<u8> {
    let machine = table.machine();
    match file {
        MachineFile::Uptime => uptime(machine, up).into_bytes(),
        MachineFile::Stat => stat(table, up).into_bytes(),
        MachineFile::Meminfo => meminfo(table).into_bytes(),
        MachineFile::Cpuinfo => machine.cpuinfo.clone(),
        MachineFile::Loadavg => {
            let processes = table.root().processes();
            format!("0.00 0.00 0.00 0/{processes} {}\n", table.forks()).into_bytes()
        }
        MachineFile::Version => machine.version.clone(),
        MachineFile::Swaps => b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n".to_vec(),
        MachineFile::Vmstat => vmstat(table).into_bytes(),
        MachineFile::PidMax => format!("{pid_max}\n").into_bytes(),
        MachineFile::OsRelease => machine.release.clone(),
        MachineFile::OsType => b"Linux\n".to_vec(),
        MachineFile::Hostname => machine.hostname.clone(),
        // A table has no sockets: the files have their header alone, and no socket is found in them.
        MachineFile::Net(file) => file.header().into_bytes(),
    }
}

/// All processors have been idle but for what the processes ran.
fn uptime(machine: &Machine, up: Duration) -> String {
    let idle = up * u32::try_from(machine.processors()).unwrap_or(1);
    let seconds = |time: Duration| format!("{}.{:02}", time.as_secs(), time.subsec_millis() / 10);
    format!("{} {}\n", seconds(up), seconds(idle))
}

fn stat(table: &ProcessTable, up: Duration) -> String {
    let machine = table.machine();
    let processors = machine.processors();
    let idle = u64::try_from(up.as_millis()).unwrap_or(u64::MAX) * TICKS_PER_SECOND / 1000;
    let mut text = format!("cpu  0 0 0 {} 0 0 0 0 0 0\n", idle * processors as u64);
    for processor in 0..processors {
        let _ = writeln!(text, "cpu{processor} 0 0 0 {idle} 0 0 0 0 0 0");
    }
    let (boot, forks) = (machine.boot_seconds(), table.forks());
    let _ = write!(
        text,
        "intr 0\nctxt 0\nbtime {boot}\nprocesses {forks}\nprocs_running 1\nprocs_blocked 0\n\
         softirq 0 0 0 0 0 0 0 0 0 0 0\n"
    );
    text
}

/// A page, in KiB.
fn page_kib() -> u64 {
    page_bytes() / 1024
}

/// Memory in KiB: all, used by processes, free.
fn memory(table: &ProcessTable) -> (u64, u64, u64) {
    let total = table.machine().memory_kib;
    let used = table.resident_pages().saturating_mul(page_kib()).min(total);
    (total, used, total - used)
}

/// In pages, and nothing has ever been read or written.
fn vmstat(table: &ProcessTable) -> String {
    let (_, used, free) = memory(table);
    let (free, used) = (free / page_kib(), used / page_kib());
    format!(
        "nr_free_pages {free}\nnr_active_anon {used}\npgpgin 0\npgpgout 0\npswpin 0\npswpout 0\n\
         pgfault 0\npgmajfault 0\n"
    )
}

fn meminfo(table: &ProcessTable) -> String {
    let (total, used, free) = memory(table);
    let mut text = String::new();
    for (name, kib) in [
        ("MemTotal", total),
        ("MemFree", free),
        ("MemAvailable", free),
        ("Buffers", 0),
        ("Cached", 0),
        ("SwapCached", 0),
        ("Active", used),
        ("Inactive", 0),
        ("Active(anon)", used),
        ("Inactive(anon)", 0),
        ("Active(file)", 0),
        ("Inactive(file)", 0),
        ("Unevictable", 0),
        ("Mlocked", 0),
        ("SwapTotal", 0),
        ("SwapFree", 0),
        ("Dirty", 0),
        ("Writeback", 0),
        ("AnonPages", used),
        ("Mapped", 0),
        ("Shmem", 0),
        ("Slab", 0),
        ("SReclaimable", 0),
        ("SUnreclaim", 0),
        ("PageTables", 0),
        ("CommitLimit", total),
        ("Committed_AS", used),
        ("VmallocTotal", 0),
        ("VmallocUsed", 0),
        ("VmallocChunk", 0),
    ] {
        let _ = writeln!(text, "{:<15} {kib:>8} kB", format!("{name}:"));
    }
    text
}
