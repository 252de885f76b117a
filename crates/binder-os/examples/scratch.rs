#![allow(unsafe_code, clippy::all, missing_docs, unused)]
use binder_os::BinderClient;
use std::path::Path;
use std::sync::{Arc, Barrier, atomic::*};
use std::thread;
use std::time::*;

static TICKS: AtomicU64 = AtomicU64::new(0);
extern "C" fn tick(_: i32) {
    TICKS.fetch_add(1, Ordering::Relaxed);
}

fn serve(device: &Path, threads: usize) {
    let c = BinderClient::open(device).unwrap();
    c.become_context_manager().unwrap();
    println!("ready");
    let hs: Vec<_> = (0..threads)
        .map(|_| {
            let c = c.for_another_thread();
            thread::spawn(move || {
                let e = c.serve(|call| {
                    match call.code {
                        2 => thread::sleep(Duration::from_millis(100)),
                        3 => thread::sleep(Duration::from_secs(1000)),
                        _ => {}
                    }
                    call.data
                });
                eprintln!("server: {e:?}");
            })
        })
        .collect();
    for h in hs {
        h.join().unwrap();
    }
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let device = Path::new(&a[2]);
    let open = || {
        if std::env::var_os("PLAIN").is_some() {
            BinderClient::open_without_ring(device)
        } else {
            BinderClient::open(device)
        }
        .unwrap()
    };
    match &*a[1] {
        "serve" => serve(device, a[3].parse().unwrap()),
        "kill" => {
            let n: usize = a[3].parse().unwrap();
            let c = open();
            let daemon: i32 = a[4].parse().unwrap();
            let t0 = Arc::new(AtomicU64::new(0));
            let start = Instant::now();
            let ready = Arc::new(Barrier::new(2 * n + 1));
            let mut hs = vec![];
            for i in 0..2 * n {
                let c = c.for_another_thread();
                let t0 = t0.clone();
                let ready = ready.clone();
                hs.push(thread::spawn(move || {
                    c.call(1, b"x").unwrap();
                    ready.wait();
                    let mut k = 0;
                    let e = loop {
                        match c.call(if i % 2 == 0 { 3 } else { 1 }, &[i as u8; 30]) {
                            Ok(d) => {
                                assert_eq!(d, [i as u8; 30]);
                                k += 1
                            }
                            Err(e) => break e,
                        }
                    };
                    let t = start.elapsed().as_micros() as i64 - t0.load(Ordering::Relaxed) as i64;
                    println!("{i}: {k} calls, then {e:?} after {t} us");
                }));
            }
            ready.wait();
            thread::sleep(Duration::from_millis(300));
            t0.store(start.elapsed().as_micros() as u64, Ordering::Relaxed);
            unsafe { libc::kill(daemon, 9) };
            for h in hs {
                h.join().unwrap();
            }
        }
        "signals" => {
            unsafe {
                let mut s: libc::sigaction = std::mem::zeroed();
                s.sa_sigaction = tick as usize;
                s.sa_flags = if a.get(3).is_some() { libc::SA_RESTART } else { 0 };
                libc::sigaction(libc::SIGALRM, &s, std::ptr::null_mut());
                let t = libc::timeval { tv_sec: 0, tv_usec: 500 };
                libc::setitimer(
                    libc::ITIMER_REAL,
                    &libc::itimerval { it_interval: t, it_value: t },
                    std::ptr::null_mut(),
                );
            }
            let c = open();
            let t = Instant::now();
            for i in 0..5000_u32 {
                let d = i.to_ne_bytes().repeat((i % 300) as usize);
                assert_eq!(c.call(1, &d).unwrap(), d);
            }
            println!(
                "5000 fast calls in {:?}, {} ticks",
                t.elapsed(),
                TICKS.load(Ordering::Relaxed)
            );
            let t = Instant::now();
            for i in 0..20_u32 {
                assert_eq!(c.call(2, &i.to_ne_bytes()).unwrap(), i.to_ne_bytes());
            }
            println!("20 slow calls in {:?}, {} ticks", t.elapsed(), TICKS.load(Ordering::Relaxed));
        }
        "many" => {
            let n: usize = a[3].parse().unwrap();
            let calls: u32 = a[4].parse().unwrap();
            let c = open();
            let ready = Arc::new(Barrier::new(n));
            let t = Instant::now();
            let hs: Vec<_> = (0..n)
                .map(|i| {
                    let c = c.for_another_thread();
                    let ready = ready.clone();
                    thread::spawn(move || {
                        ready.wait();
                        for k in 0..calls {
                            let d = (k * 1000 + i as u32)
                                .to_ne_bytes()
                                .repeat(((k * 7 + i as u32 * 13) % 2000) as usize);
                            assert_eq!(c.call(1, &d).unwrap(), d);
                        }
                    })
                })
                .collect();
            for h in hs {
                h.join().unwrap();
            }
            println!("{n} threads x {calls}: {:?}", t.elapsed());
        }
        "churn" => {
            let n: usize = a[3].parse().unwrap();
            let c = open();
            let t = Instant::now();
            let hs: Vec<_> = (0..8)
                .map(|i| {
                    let c = c.for_another_thread();
                    thread::spawn(move || {
                        for k in 0..n {
                            let c = c.for_another_thread();
                            thread::spawn(move || {
                                for j in 0..3 {
                                    let d = [i as u8, k as u8, j as u8];
                                    assert_eq!(c.call(1, &d).unwrap(), d);
                                }
                            })
                            .join()
                            .unwrap();
                        }
                    })
                })
                .collect();
            for h in hs {
                h.join().unwrap();
            }
            println!("churn {n}: {:?}", t.elapsed());
        }
        "devices" => {
            let n: usize = a[3].parse().unwrap();
            let t = Instant::now();
            for k in 0..n {
                let c = open();
                let d = [k as u8; 9];
                assert_eq!(c.call(1, &d).unwrap(), d);
                if k % 3 == 0 {
                    assert_eq!(c.call(1, &d).unwrap(), d);
                }
            }
            let cs: Vec<_> = (0..50).map(|_| open()).collect();
            for _ in 0..20 {
                for c in &cs {
                    assert_eq!(c.call(1, b"abc").unwrap(), b"abc");
                }
            }
            println!("devices {n}: {:?}", t.elapsed());
        }
        _ => panic!(),
    }
}
