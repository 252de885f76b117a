//! The logs of a played scene, word for word.
//!
//! `UPDATE_GOLDEN=1 cargo test -p binder-report` writes the texts anew, to be read before they are
//! believed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use binder_report::{DeviceReport, Doors, Interfaces, LockUsage, Pointers, records};
use binder_testkit::{CoreRig, Message, Stage, commands};

/// What a service gives to its client.
const PTR: u64 = 0x7fff_1000;
const COOKIE: u64 = 0x7fff_2000;

fn token(interface: &str) -> Vec<u8> {
    let mut bytes = [[0; 4], [0xff; 4]].concat();
    bytes.extend(u32::from_be_bytes(*b"SYST").to_le_bytes());
    bytes.extend(u32::try_from(interface.len()).unwrap().to_le_bytes());
    bytes.extend(interface.encode_utf16().flat_map(u16::to_le_bytes));
    bytes.extend([0; 2]);
    bytes
}

fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, expected, "{name}");
}

/// A manager that serves a call with a call under way in it, one-ways in line, and a dead service
/// of which two have heard.
#[test]
fn the_logs_of_a_busy_device() {
    let stage = Stage::new(Box::new(CoreRig::default()));
    let core = stage.rig().core().unwrap();
    let (m, p, late) = (stage.manager(), stage.party(), stage.party());
    m.set_max_threads(15);
    let idle = m.thread();

    // The client's own object becomes handle 1 of the manager, which keeps it.
    p.write(commands().call(0, Message::new(1).binder(PTR, COOKIE)));
    let call = m.read_call();
    m.write(commands().increfs(1).acquire(1));
    m.answer(&call, Message::new(0));
    p.read();
    p.write(commands().increfs_done(PTR, COOKIE).acquire_done(PTR, COOKIE));

    // An object of a process that ends, while the manager watches it.
    late.write(commands().oneway(0, Message::new(2).binder(8, 9)));
    let oneway = m.read_call();
    m.write(commands().acquire(2).request_death(2, 77).free(oneway.buffer));
    late.kill();
    m.read();

    // A call into the manager, which calls back; an idle looper; one-ways in line.
    core.set_now(1_000_000_000);
    p.write(commands().call(0, Message::new(3).bytes(&token("demo.IManager"))));
    core.set_now(1_250_000_000);
    m.read_call();
    m.write(commands().call(1, Message::new(4).bytes(&token("demo.IClient"))));
    core.set_now(1_300_000_000);
    let other = stage.party();
    other.write(commands().oneway(0, Message::new(5)).oneway(0, Message::new(6).bytes(&[0; 9])));
    idle.read();
    idle.park_with(commands().enter_looper());
    other.write(commands().call(99, Message::new(7)));
    core.set_now(1_304_500_000);

    let lock = Some(LockUsage { holds: 7, held_ns: 12_000 });
    let device = [DeviceReport {
        name: "binder".into(),
        snapshot: core.snapshot(),
        doors: Doors::default(),
        lock,
    }];
    let hash = |pointer: u64| pointer.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
    assert_golden("state", &binder_report::state(&device, Pointers::Plain));
    assert_golden("state_hashed", &binder_report::state(&device, Pointers::Hashed(&hash)));
    assert_golden("transactions", &binder_report::transactions(&device, Pointers::Plain));
    let pid = u32::try_from(p.pid()).unwrap();
    assert_golden("proc", &binder_report::process_state(&device, pid, Pointers::Plain));
    assert_golden("stats", &binder_report::stats(&device));

    let [recent, failed] = core.transaction_logs().map(|log| {
        let entries = log.into_iter().map(|entry| ("binder", entry));
        binder_report::transaction_log(&binder_report::newest_entries(entries, 100))
    });
    assert_golden("transaction_log", &recent);
    assert_golden("failed_transaction_log", &failed);

    let areas = [(0, &m), (1, &p)];
    let read = |process, offset: usize, into: &mut [u8]| {
        let owner = areas.iter().find(|(at, _)| device[0].snapshot.processes[*at].key == process);
        let bytes = owner.map(|(_, it)| it.peek(it.area().base + offset as u64, into.len()));
        bytes.inspect(|bytes| into.copy_from_slice(bytes)).is_some()
    };
    let slices = core.snapshot_slices();
    let interfaces = Interfaces::of_slice(&slices.concat(), &read);
    assert_golden("calls.json", &records::to_lines(records::calls(&device[0], &interfaces)));
    assert_golden("processes.json", &records::to_lines(records::processes(&device)));
    let memory =
        records::MemoryRecord { present_bytes: 8192, used_bytes: 4096, limit_bytes: 1 << 20 };
    assert_golden("stats.json", &records::to_lines(records::stats_records(&device, &[], memory)));
    assert_golden("state.json", &records::to_lines(records::state_records(&device)));
    assert_golden("figures", &format!("{:#?}\n", binder_report::device_figures(&device)));
    let event = records::EventRecord::new(1, 2, "binder", &core.poll_report().unwrap());
    let line = records::to_lines([&event]);
    assert_golden("event.json", &line);
    assert_eq!(records::from_line::<records::EventRecord>(line.trim_end()).unwrap(), event);
}
