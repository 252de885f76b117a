//! A network between machines, whose cables can be pulled out: a network namespace for each machine, and one for the
//! bridge between them. A process holds each, so nothing is left when the test ends, however it does.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};
use std::thread;

use binder_testkit::wait_until;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The machines and what is between them.
pub(crate) struct Network {
    bridge: Holder,
    machines: Vec<Holder>,
}

/// A machine's place in the network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NetworkPlace {
    holder: u32,
    pub(crate) ip: Ipv4Addr,
}

/// A process that has a network namespace, and does nothing.
struct Holder(Child);

impl Network {
    /// `None` if this user, or this kernel, cannot make one.
    pub(crate) fn start(machines: u8) -> Option<Self> {
        let bridge = Holder::start()?;
        let network = Self { bridge, machines: Vec::new() };
        let is_made = network.bridge.run("ip link add name bridge type bridge")
            && network.bridge.run("ip link set bridge up");
        if !is_made {
            return None;
        }
        (0..machines).try_fold(network, Self::with_machine)
    }

    fn with_machine(mut self, number: u8) -> Option<Self> {
        let machine = Holder::start()?;
        let (pid, ip) = (machine.0.id(), ip_of(number));
        let plug = plug(number);
        let is_made =
            self.bridge.run(&format!("ip link add {plug} type veth peer name eth0 netns {pid}"))
                && self.bridge.run(&format!("ip link set {plug} master bridge up"))
                && machine.run("ip link set lo up")
                && machine.run(&format!("ip address add {ip}/24 dev eth0"))
                && machine.run("ip link set eth0 up");
        self.machines.push(machine);
        is_made.then_some(self)
    }

    /// Where a machine is.
    pub(crate) fn place(&self, number: u8) -> NetworkPlace {
        NetworkPlace { holder: self.machines[usize::from(number)].0.id(), ip: ip_of(number) }
    }

    /// All places.
    pub(crate) fn places(&self) -> Vec<NetworkPlace> {
        (0..).take(self.machines.len()).map(|number| self.place(number)).collect()
    }

    /// Pulls a machine's cable out.
    pub(crate) fn cut(&self, number: u8) {
        assert!(self.bridge.run(&format!("ip link set {} down", plug(number))));
    }

    /// Plugs it in again.
    pub(crate) fn heal(&self, number: u8) {
        assert!(self.bridge.run(&format!("ip link set {} up", plug(number))));
    }

    /// Has a machine drop all that comes from another.
    pub(crate) fn drop_from(&self, number: u8, other: u8) {
        let machine = &self.machines[usize::from(number)];
        let rule = format!("add rule ip cut in ip saddr {} drop", ip_of(other));
        let chain = "add chain ip cut in { type filter hook input priority 0 ; }";
        for words in ["add table ip cut", chain, &rule] {
            assert!(machine.run(&format!("nft {words}")));
        }
    }

    /// Has it take everything again.
    pub(crate) fn drop_nothing(&self, number: u8) {
        assert!(self.machines[usize::from(number)].run("nft delete table ip cut"));
    }
}

impl NetworkPlace {
    /// A program that is to run there.
    pub(crate) fn command(self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.holder)).arg("--").arg(program);
        command
    }

    /// Does something on a thread that is there: what it connects is connected from there.
    pub(crate) fn inside<T: Send>(self, act: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            let namespace = File::open(format!("/proc/{}/ns/net", self.holder)).unwrap();
            let kind = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(namespace.as_fd(), kind).unwrap();
            act()
        };
        thread::scope(|scope| scope.spawn(inside).join().unwrap())
    }
}

impl Holder {
    fn start() -> Option<Self> {
        let mut command = Command::new("unshare");
        command.args(["--net", "--", "sleep", "infinity"]).stderr(Stdio::null());
        let holder = Self(command.spawn().ok()?);
        let namespace_of = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let (pid, own) = (holder.0.id().to_string(), namespace_of("self"));
        let mut theirs = None;
        // It may not be allowed to, and then it ends.
        wait_until(|| {
            theirs = namespace_of(&pid);
            theirs != own
        });
        theirs.map(|_| holder)
    }

    /// Runs a command there; says whether it succeeded.
    fn run(&self, words: &str) -> bool {
        let namespace = format!("--net=/proc/{}/ns/net", self.0.id());
        let mut command = Command::new("nsenter");
        command.arg(namespace).arg("--").args(words.split(' '));
        let output = command.output().unwrap();
        if !output.status.success() {
            println!("{words}: {}", String::from_utf8_lossy(&output.stderr));
        }
        output.status.success()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // It is ours and was not waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ip_of(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, number + 1)
}

/// What the bridge's end of a machine's cable is called.
fn plug(number: u8) -> String {
    format!("machine{number}")
}
