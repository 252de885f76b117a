//! What a driver tells of itself: `ps`, `state`, `stats`, `transactions`, `log`, and the files below.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use binder_os::BinderClient;
use serde_json::Value;

use crate::caller::{
    Caller, Outcome, PROGRAM, Running, finish, in_mounts, is_root, signal, stop, wait_until,
};

/// A world with a service in it, seen from outside: only root looks through other mounts.
struct ServedWorld {
    /// It ends with this.
    _world: Running,
    service: u32,
    dir: String,
}

impl ServedWorld {
    fn open() -> Option<Self> {
        if !is_root() || !Caller::all().contains(&Caller::Root) {
            binder_testkit::skip("only root sees a world from outside");
            return None;
        }
        let script = format!("{PROGRAM} demo-cast service & echo $!; wait");
        let mut world = Running::start(&mut Caller::Root.run_script(&script));
        let service = world.line().parse().unwrap();
        assert!(world.line().contains("context manager"));
        let dir = format!("/proc/{service}/root/dev/binderfs");
        Some(Self { _world: world, service, dir })
    }

    fn client(&self) -> BinderClient {
        BinderClient::open(&Path::new(&self.dir).join("binder")).unwrap()
    }

    /// A client of a device that no process serves: each of its calls fails.
    fn lost_client(&self) -> BinderClient {
        BinderClient::open(&Path::new(&self.dir).join("hwbinder")).unwrap()
    }

    fn ask(&self, arguments: &[&str]) -> String {
        let outcome = finish(Command::new(PROGRAM).args(arguments).args(["--dir", &self.dir]));
        assert!(outcome.status.success(), "{arguments:?}: {outcome:?}");
        outcome.stdout
    }

    fn records(&self, arguments: &[&str]) -> Vec<Value> {
        let text = self.ask(&[arguments, &["--json"]].concat());
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(Path::new(&self.dir).join("binder_logs").join(name)).unwrap()
    }
}

/// Data as Android's libraries would send it.
fn parcel(interface: &str) -> Vec<u8> {
    let mut bytes = [[0; 4], [0xff; 4]].concat();
    bytes.extend(u32::from_be_bytes(*b"SYST").to_le_bytes());
    bytes.extend(u32::try_from(interface.len()).unwrap().to_le_bytes());
    bytes.extend(interface.encode_utf16().flat_map(u16::to_le_bytes));
    bytes.extend([0; 4]);
    bytes
}

#[test]
fn who_waits_for_a_process_without_a_thread_is_told() {
    let Some(world) = ServedWorld::open() else { return };
    assert_eq!(world.ask(&["waits"]), "Nothing waits.\n");
    let mut follow = Command::new(PROGRAM);
    follow.args(["log", "--follow", "--waits=0.2", "--json", "--dir", &world.dir]);
    let mut follower = Running::start(&mut follow);
    stop(world.service);
    let device = Path::new(&world.dir).join("binder");
    let calls: Vec<_> = (0..2)
        .map(|_| {
            let device = device.clone();
            thread::spawn(move || BinderClient::open(&device).unwrap().call(7, &parcel("a.IB")))
        })
        .collect();
    let is_queued = |call: &Value| call["stage"] == "queued";
    wait_until(|| {
        let calls = world.records(&["transactions"]);
        calls.len() == 2 && calls.iter().any(is_queued)
    });
    let told = world.ask(&["waits"]);
    let exhausted = format!("NO THREAD LEFT in {} anybinder on binder: 1 loopers", world.service);
    assert!(told.contains(&exhausted), "{told}");
    assert!(told.contains(", which has not taken it: a.IB code 7, for "), "{told}");
    let findings = world.records(&["waits"]);
    assert_eq!((findings.len(), &findings[0]["kind"]), (1, &"exhausted".into()));
    let mut followed: Vec<_> = (0..3)
        .map(|_| serde_json::from_str::<Value>(&follower.line()).unwrap()["kind"].to_string())
        .collect();
    followed.sort();
    assert_eq!(followed, ["\"exhausted\"", "\"long_wait\"", "\"long_wait\""]);
    follower.signal("TERM");
    assert_eq!(follower.finish().code(), 143);
    let dot = world.ask(&["transactions", "--graph"]);
    let edge = format!("  {} -> {} [label=\"a.IB code 7", std::process::id(), world.service);
    assert_eq!(dot.matches(&edge).count(), 2, "{dot}");
    signal(world.service, "CONT");
    for call in calls {
        assert!(call.join().unwrap().is_ok());
    }
}

#[test]
fn a_call_that_waits_is_seen_with_its_caller_its_age_and_its_interface() {
    let Some(world) = ServedWorld::open() else { return };
    assert_eq!(world.ask(&["transactions"]), "Nothing is under way.\n");
    stop(world.service);
    let device = Path::new(&world.dir).join("binder");
    let ask = move || BinderClient::open(&device).unwrap().call(7, &parcel("demo.IGreeter"));
    let call = thread::spawn(ask);
    wait_until(|| !world.records(&["transactions"]).is_empty());
    let calls = world.records(&["transactions"]);
    assert_eq!(calls.len(), 1, "{calls:?}");
    let call_record = &calls[0];
    for (key, value) in [
        ("kind", Value::from("call")),
        ("device", "binder".into()),
        ("from_pid", std::process::id().into()),
        ("to_pid", world.service.into()),
        ("code", 7.into()),
        ("interface", "demo.IGreeter".into()),
    ] {
        assert_eq!(call_record[key], value, "{key}");
    }
    let table = world.ask(&["transactions"]);
    assert!(table.starts_with(" ID") || table.starts_with("ID"), "{table}");
    assert!(table.contains("demo.IGreeter") && table.contains(" ms "), "{table}");

    let processes = world.records(&["ps"]);
    let of = |pid: u32| processes.iter().find(|it| it["pid"] == pid).unwrap();
    assert_eq!(of(world.service)["name"], "anybinder");
    assert_eq!(of(world.service)["incoming_calls"], 1);
    assert_eq!(of(std::process::id())["outgoing_calls"], 1);
    let heads = world.ask(&["ps"]).lines().next().unwrap().to_owned();
    for head in ["PID", "NAME", "DEVICE", "THREADS", "HANDLES", "WAITING"] {
        assert!(heads.contains(head), "{heads}");
    }
    assert!(world.file("transactions").contains("outgoing transaction"));
    let own = world.file(&format!("proc/{}", std::process::id()));
    assert!(own.starts_with("binder proc state:\nproc "), "{own}");

    signal(world.service, "CONT");
    assert!(call.join().unwrap().unwrap().starts_with(b"you are process"));
    wait_until(|| {
        !Path::new(&world.dir).join(format!("binder_logs/proc/{}", std::process::id())).exists()
    });
    assert!(world.file("transaction_log").contains("reply from"));
}

#[test]
fn what_happens_is_shown_as_it_does() {
    let Some(world) = ServedWorld::open() else { return };
    let client = world.client();
    let stop = Arc::new(AtomicBool::new(false));
    let wish = stop.clone();
    let calls = thread::spawn(move || {
        while !wish.load(Ordering::Relaxed) {
            client.call(1, b"").unwrap();
        }
    });
    let rows = world.records(&["top", "--count", "2", "--interval", "0.3"]);
    stop.store(true, Ordering::Relaxed);
    calls.join().unwrap();
    let of = |pid: u32| rows.iter().filter(move |it| it["pid"] == pid).collect::<Vec<_>>();
    for row in of(world.service) {
        assert!(row["received_per_s"].as_f64() > Some(1.0), "{row}");
        assert!(row["longest_call_us"].as_u64() > Some(0), "{row}");
    }
    assert_eq!((of(world.service).len(), of(std::process::id()).len()), (2, 2), "{rows:?}");
    assert!(of(std::process::id()).iter().all(|row| row["sent_per_s"].as_f64() > Some(1.0)));
}

#[test]
fn tables_and_counters_tell_of_the_same() {
    let Some(world) = ServedWorld::open() else { return };
    for _ in 0..5 {
        world.client().call(1, b"").unwrap();
    }
    let stats = world.records(&["stats"]);
    let calls = stats.iter().find(|it| it["name"] == "BC_TRANSACTION" && it["pid"].is_null());
    assert_eq!(calls.unwrap()["count"], 5);
    assert!(world.ask(&["stats"]).contains("BC_TRANSACTION"));
    assert!(world.file("stats").contains("BC_TRANSACTION: 5\n"));
    let state = world.records(&["state", "--pid", &world.service.to_string()]);
    let kinds = |kind| state.iter().filter(|it| it["kind"] == kind).count();
    assert_eq!((kinds("thread"), kinds("node")), (1, 1), "{state:?}");
    assert!(world.ask(&["state"]).contains("entered"));
    let nobody = world.ask(&["state", "--pid", "1"]);
    assert_eq!(nobody, "The driver knows nothing of this process.\n");
}

#[test]
fn what_goes_wrong_is_told_and_followed() {
    let Some(world) = ServedWorld::open() else { return };
    assert_eq!(world.ask(&["log"]), "Nothing has gone wrong.\n");
    let mut follow = Command::new(PROGRAM);
    follow.args(["log", "--follow", "--json", "--dir", &world.dir]);
    let mut follower = Running::start(&mut follow);
    let client = world.lost_client();
    for code in [11, 12] {
        assert!(client.call(code, b"lost").is_err());
        let event: Value = serde_json::from_str(&follower.line()).unwrap();
        assert_eq!(event["seq"], code - 11);
        assert_eq!((&event["error"], &event["code"]), (&"BR_DEAD_REPLY".into(), &code.into()));
        assert_eq!((&event["device"], &event["handle"]), (&"hwbinder".into(), &0.into()));
        assert_eq!(event["reason"], "no context manager");
    }
    follower.signal("TERM");
    assert_eq!(follower.finish().code(), 143);
    let text = world.ask(&["log"]);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains("-> handle 0  code 12  4 bytes  BR_DEAD_REPLY (no context manager)"));
    assert_eq!(world.file("failed_transaction_log").lines().count(), 2);
}

#[test]
fn logs_are_read_in_pieces_and_by_the_usual_tools() {
    for caller in Caller::all() {
        let script = format!(
            "cd /dev/binderfs/binder_logs; exec 3</dev/binder
             test \"$(head -c 12 state)\" = 'binder state'
             test \"$(dd if=state bs=1 skip=7 count=5 2>/dev/null)\" = state
             grep -q '^proc '$$'$' state
             test \"$(ls proc)\" = $$
             test \"$(dd if=stats bs=7 2>/dev/null)\" = \"$(cat stats)\"
             cat proc/$$ | grep -c 'context binder'
             exec 3<&-
             while [ -e proc/$$ ]; do sleep 0.01; done
             timeout 0.1 cat anybinder/events.stream || echo $?
             ls -l state | cut -c 1-10
             {PROGRAM} ps; {PROGRAM} state; {PROGRAM} log; {PROGRAM} transactions"
        );
        let outcome = finish(&mut caller.command(&["run", "--", "sh", "-ec", &script]));
        assert_eq!(outcome.code(), 0, "{outcome:?}");
        let told = "1\n124\n-r--r--r--\nNo process has a device open.\n\
                    No process has called the driver.\nNothing has gone wrong.\nNothing is under way.\n";
        assert_eq!(outcome.stdout, told);
    }
}

#[test]
fn a_stream_can_be_polled_and_left() {
    let Some(world) = ServedWorld::open() else { return };
    let script = format!(
        "import os, select\n\
         stream = os.open('{}/binder_logs/anybinder/events.stream', os.O_RDONLY | os.O_NONBLOCK)\n\
         poll = select.poll()\n\
         poll.register(stream, select.POLLIN)\n\
         try: os.read(stream, 10)\n\
         except BlockingIOError: print('empty', poll.poll(0), flush=True)\n\
         print(poll.poll()[0][1] & select.POLLIN, flush=True)\n\
         piece = os.read(stream, 7)\n\
         print((piece + os.read(stream, 4096)).decode(), end='', flush=True)\n",
        world.dir
    );
    let mut python = Command::new("python3");
    if python.arg("--version").output().is_err() {
        return binder_testkit::skip("python3 is not installed");
    }
    let mut reader = Running::start(Command::new("python3").args(["-c", &script]));
    assert_eq!(reader.line(), "empty []");
    assert!(world.lost_client().call(1, b"").is_err());
    assert_eq!(reader.line(), "1");
    let event: Value = serde_json::from_str(&reader.line()).unwrap();
    assert_eq!(event["seq"], 0);
    assert_eq!(reader.finish().code(), 0);
}

#[test]
fn without_a_binderfs_or_statistics_the_remedy_is_told() {
    let remedy = |outcome: &Outcome, parts: &[&str]| {
        assert_eq!(outcome.code(), 1, "{outcome:?}");
        for part in parts {
            assert!(outcome.stderr.contains(part), "{part} is missing: {}", outcome.stderr);
        }
    };
    let nowhere = finish(Command::new(PROGRAM).args(["ps", "--dir", "/nowhere"]));
    remedy(&nowhere, &["/nowhere", "is no binderfs", "--dir"]);
    if Caller::all().contains(&Caller::Root) {
        // Whatever the machine has mounted is not looked at.
        let script = "while read -r source dir kind rest; do case $kind in
                 binder | fuse.anybinder*) umount --lazy \"$(printf %b \"$dir\")\" ;;
             esac; done </proc/self/mounts
             mount -t tmpfs tmpfs /mnt; mkdir /mnt/a /mnt/b
             trap 'umount /mnt/a /mnt/b' EXIT
             $1 mount /mnt/a; $1 mount /mnt/b --stats
             $1 ps --dir /mnt/b
             $1 ps --dir /mnt/a 2>&1 || true
             $1 ps";
        let mut command = in_mounts(script, PROGRAM, &[]);
        let outcome = finish(&mut command);
        assert!(outcome.stdout.starts_with("No process has a device open.\n"), "{outcome:?}");
        assert!(outcome.stdout.contains("without statistics"), "{outcome:?}");
        remedy(&outcome, &["there are several: /mnt/a, /mnt/b", "name one with --dir"]);
    }
}

#[test]
fn statistics_outlive_their_devices() {
    let Some(world) = ServedWorld::open() else { return };
    let threads_ever = || {
        let stats = world.records(&["stats"]);
        let threads = stats.iter().find(|it| it["kind"] == "objects" && it["name"] == "thread");
        threads.unwrap()["total"].as_u64().unwrap()
    };
    // BINDER_CTL_ADD and BINDER_VERSION, so that each device has one thread before it goes.
    let script = format!(
        "import fcntl, os\n\
         os.chdir('{}')\n\
         for name in 'first', 'second', 'third':\n\
         \x20   with open('binder-control') as control:\n\
         \x20       fcntl.ioctl(control, 0xC1086201, name.encode().ljust(264, b'\\0'))\n\
         \x20   with open(name) as device:\n\
         \x20       fcntl.ioctl(device, 0xC0046209, bytes(4))\n\
         \x20   os.unlink(name)\n",
        world.dir
    );
    let before = threads_ever();
    match Command::new("python3").args(["-c", &script]).status() {
        Ok(status) => assert!(status.success()),
        Err(_) => return binder_testkit::skip("python3 is not installed"),
    }
    wait_until(|| threads_ever() == before + 3);
    assert!(world.file("stats").contains(&format!("total {}\n", before + 3)));
}
