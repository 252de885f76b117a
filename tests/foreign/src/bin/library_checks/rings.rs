//! Calls by shared memory, and what must not end them.

use std::env;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use binder::{SpIBinder, StatusCode};
use binder_os::BinderDevice;
use foreign::READY;
use rustix::process::{Pid, Signal, kill_process};

use crate::manager::{ECHO, MEET, ask, tell};
use crate::{Check, Outcome, Program, connect, device_path, expect};

pub(crate) const CHECKS: &[Check] = &[
    ("calls_go_by_shared_memory_if_the_driver_has_it", calls_go_by_shared_memory),
    ("more_threads_call_than_have_slots", more_threads_call_than_have_slots),
    ("threads_come_and_go_beside_others", threads_come_and_go_beside_others),
    ("calls_of_a_process_that_is_stopped_go_on", calls_of_a_stopped_process_go_on),
];

fn calls_go_by_shared_memory() -> Outcome {
    echo(&connect()?, 1, 100)?;
    let is_ours = BinderDevice::open(&device_path())?.defer_completions(false).is_ok();
    if !is_ours || env::var_os("ANYBINDER_NO_RING").is_some() {
        binder_testkit::skip("calls are ioctls here");
        return Ok(());
    }
    let maps = fs::read_to_string("/proc/self/maps")?;
    expect("a ring", maps.contains("memfd:binder-ring"), true)
}

/// Has the manager answer with bytes that no other call has.
fn echo(manager: &SpIBinder, number: u32, len: usize) -> Outcome {
    let sent: Vec<u8> = number.to_ne_bytes().into_iter().cycle().take(len).collect();
    expect("echo", ask::<Vec<u8>>(manager, ECHO, &sent)? == sent, true)
}

fn more_threads_call_than_have_slots() -> Outcome {
    let manager = connect()?;
    let all = Arc::new(Barrier::new(64));
    let threads: Vec<_> = (0..64_u32)
        .map(|thread| {
            let (manager, all) = (manager.clone(), all.clone());
            thread::spawn(move || -> Outcome {
                all.wait();
                (0..30).try_for_each(|call| {
                    echo(&manager, thread << 16 | call, (thread * 7 + call * 131) as usize)
                })
            })
        })
        .collect();
    threads.into_iter().try_for_each(|it| it.join().map_err(|_| "a thread panicked")?)
}

fn threads_come_and_go_beside_others() -> Outcome {
    let manager = connect()?;
    let threads: Vec<_> = (0..8_u32)
        .map(|thread| {
            let manager = manager.clone();
            thread::spawn(move || -> Outcome {
                (0..30_u32).try_for_each(|round| {
                    let other = manager.clone();
                    let call = move || echo(&other, thread << 16 | round, 1000);
                    let short = thread::spawn(call);
                    echo(&manager, thread << 16 | round << 8, 100)?;
                    short.join().map_err(|_| "a thread panicked")?
                })
            })
        })
        .collect();
    threads.into_iter().try_for_each(|it| it.join().map_err(|_| "a thread panicked")?)
}

fn calls_of_a_stopped_process_go_on() -> Outcome {
    let mut caller = Program::start("caller")?;
    let pid = i32::try_from(caller.pid()).ok().and_then(Pid::from_raw).ok_or("no pid")?;
    let ended = loop {
        if let Some(ended) = caller.0.try_wait()? {
            break ended;
        }
        kill_process(pid, Signal::STOP)?;
        kill_process(pid, Signal::CONT)?;
        // Some calls are made between two stops.
        thread::sleep(Duration::from_micros(300));
    };
    expect("the caller succeeds", ended.success(), true)
}

/// Calls the manager over and over.
pub(crate) fn call() -> Outcome {
    let manager = connect()?;
    println!("{READY}");
    io::stdout().flush()?;
    (0..2000).try_for_each(|number| echo(&manager, number, number as usize % 900))
}

/// How the calls of a thread ended, and when.
struct Ended {
    status: Result<(), StatusCode>,
    at: Instant,
}

/// Waits and calls in several threads until the driver is killed, which standard input tells, and tells how all of them
/// ended.
pub(crate) fn outlive() -> Outcome {
    /// Of each kind.
    const THREADS: usize = 10;
    let manager = connect()?;
    let all = Arc::new(Barrier::new(2 * THREADS + 1));
    let spawn = |thread: usize| {
        let (manager, all) = (manager.clone(), all.clone());
        thread::spawn(move || {
            let mut status = echo(&manager, 0, 10).map_err(|_| StatusCode::BAD_VALUE);
            all.wait();
            while status.is_ok() {
                status = if thread < THREADS {
                    // More than there ever are.
                    tell(&manager, MEET, &i32::MAX)
                } else {
                    ask::<Vec<u8>>(&manager, ECHO, &vec![7_u8; 100]).map(drop)
                };
            }
            Ended { status, at: Instant::now() }
        })
    };
    let threads: Vec<_> = (0..2 * THREADS).map(spawn).collect();
    all.wait();
    println!("{READY}");
    io::stdout().flush()?;
    io::stdin().read_exact(&mut [0])?;
    let killed = Instant::now();
    for thread in threads {
        let ended = thread.join().map_err(|_| "a thread panicked")?;
        expect("status", ended.status, Err(StatusCode::DEAD_OBJECT))?;
        let waited = ended.at.saturating_duration_since(killed);
        expect_soon(waited)?;
    }
    println!("all ended");
    Ok(())
}

/// A wait in a slot takes 20 ms, and then meets the end of the driver.
fn expect_soon(waited: Duration) -> Outcome {
    if waited < Duration::from_millis(500) {
        return Ok(());
    }
    Err(format!("a call ended {waited:?} after its driver").into())
}
