//! `--metrics`: what a scraper reads of a driver and of a service manager.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, ChildStderr, Command, Stdio};

use binder_testkit::scrape;

use crate::caller::{Caller, PROGRAM, finish, in_mounts, is_root};

/// A program that has told on stderr where its figures are, and ends when its stdin does.
struct Scraped {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Scraped {
    fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr }
    }

    /// The next address.
    fn address(&mut self) -> SocketAddr {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("anybinder: figures are at http://");
        let address = address.and_then(|it| it.strip_suffix("/metrics"));
        address.unwrap_or_else(|| panic!("no address: {line}")).parse().unwrap()
    }

    /// Waits for a line on stdout.
    fn wait_for(&mut self, wanted: &str) {
        let mut lines = BufReader::new(self.child.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == wanted), "{wanted}");
    }

    fn finish(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

fn sum_of(samples: &BTreeMap<String, f64>, family: &str) -> f64 {
    samples.iter().filter(|(name, _)| name.starts_with(family)).map(|(_, value)| value).sum()
}

#[test]
fn a_world_tells_its_figures_and_those_of_its_manager() {
    for caller in Caller::all() {
        let script = "$0 service check manager; $0 service check nobody || true
                      $0 service call nobody 1 || true; echo asked; read -r end || true";
        let options = ["--metrics", "0", "--manager", "--manager-metrics", "127.0.0.1:0"];
        let mut command = caller.command(&["run"]);
        command.args(options).args(["--devices", "a,b", "--", "sh", "-c"]);
        command.args([&script.replace("$0 service", "$0 service --device /dev/a"), PROGRAM]);
        let mut world = Scraped::start(&mut command);
        let (driver, manager) = (world.address(), world.address());
        world.wait_for("asked");
        let samples = scrape(manager);
        for (sample, value) in [
            ("anybinder_manager_services{origin=\"local\"}", 1.0),
            ("anybinder_manager_lookups_total{result=\"found\"}", 1.0),
            ("anybinder_manager_lookups_total{result=\"not_found\"}", 2.0),
            ("anybinder_manager_requests_total{request=\"find\"}", 3.0),
            ("anybinder_manager_waiters", 0.0),
        ] {
            assert_eq!(samples.get(sample), Some(&value), "{sample} of {samples:#?}");
        }
        assert_eq!(sum_of(&samples, "anybinder_manager_refusals_total"), 0.0);
        // The kernel tells a driver of a process's last close after its parent has learnt of its end.
        let mut samples = BTreeMap::new();
        binder_testkit::wait_until(|| {
            samples = scrape(driver);
            samples["anybinder_handles{device=\"a\"}"] == 0.0
        });
        let of = |sample: &str| samples.get(sample).copied().unwrap_or(f64::NAN);
        assert_eq!(of("anybinder_nodes{device=\"a\"}"), 1.0, "{samples:#?}");
        assert_eq!(of("anybinder_device_present{device=\"b\"}"), 1.0);
        assert_eq!(sum_of(&samples, "anybinder_open_files{device=\"a\""), 1.0, "{samples:#?}");
        assert_eq!(sum_of(&samples, "anybinder_open_files{device=\"b\""), 0.0);
        let calls = of("anybinder_commands_total{device=\"a\",command=\"BC_TRANSACTION\"}");
        let replies = of("anybinder_returns_total{device=\"a\",return=\"BR_REPLY\"}");
        assert!(calls >= 3.0 && calls == replies, "{calls} {replies}");
        assert!(of("anybinder_quota_limit{device=\"a\",resource=\"handles\"}") > 0.0);
        let again = scrape(driver);
        let names = |samples: &BTreeMap<String, f64>| samples.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&samples), names(&again));
        world.finish();
    }
}

#[test]
fn a_mount_tells_its_figures_until_it_ends_and_shows_nothing_else_of_them() {
    if !is_root() {
        return binder_testkit::skip("only root can mount for all");
    }
    for foreground in ["", "--foreground"] {
        let script = format!(
            "mount -t tmpfs tmpfs /mnt
             if [ -n '{foreground}' ]; then
                 $1 mount /mnt --devices one --metrics 0 {foreground} & driver=$!
                 until [ -e /mnt/one ]; do sleep 0.01; done
             else
                 $1 mount /mnt --devices one --metrics 0
             fi
             [ ! -e /mnt/binder_logs ]; echo mounted; read -r end || true; umount /mnt"
        );
        let mut mounted = Scraped::start(&mut in_mounts(&script, PROGRAM, &[]));
        let address = mounted.address();
        mounted.wait_for("mounted");
        let samples = scrape(address);
        assert_eq!(samples.get("anybinder_device_present{device=\"one\"}"), Some(&1.0));
        mounted.finish();
        crate::caller::wait_until(|| TcpListener::bind(address).is_ok());
    }
}

#[test]
fn an_address_that_is_taken_is_told_and_nothing_begins() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let port = address.port().to_string();
    for caller in Caller::all() {
        let options = ["run", "--metrics", &port, "--", "echo", "in the world"];
        let outcome = finish(&mut caller.command(&options));
        assert_eq!((outcome.code(), &*outcome.stdout), (1, ""), "{outcome:?}");
        assert!(outcome.stderr.contains(&format!("listening at {address}")), "{outcome:?}");
    }
}
