//! A network that can be cut: what is on its way waits until it is healed, and neither side is told. Or it refuses: connections end,
//! and no other is made.

use std::io::{Read, Write};
use std::mem::take;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// Passes connections on to an address.
pub(crate) struct Relay {
    address: SocketAddr,
    cut: Arc<Cut>,
    passed: Arc<Mutex<Passed>>,
}

/// The connections that are passed on.
#[derive(Default)]
struct Passed {
    clients: Vec<TcpStream>,
    is_refusing: bool,
}

#[derive(Default)]
struct Cut {
    is_cut: Mutex<bool>,
    changed: Condvar,
}

impl Cut {
    fn wait_for_healing(&self) {
        let is_cut = self.is_cut.lock().unwrap();
        drop(self.changed.wait_while(is_cut, |is_cut| *is_cut).unwrap());
    }

    fn set(&self, is_cut: bool) {
        *self.is_cut.lock().unwrap() = is_cut;
        self.changed.notify_all();
    }
}

impl Passed {
    fn takes(&mut self, client: &TcpStream) -> bool {
        if !self.is_refusing {
            self.clients.push(client.try_clone().unwrap());
        }
        !self.is_refusing
    }
}

impl Relay {
    pub(crate) fn to(target: SocketAddr) -> Self {
        Self::at(([127, 0, 0, 1], 0).into(), target)
    }

    /// One that is to be found at an address.
    pub(crate) fn at(address: SocketAddr, target: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let cut = Arc::new(Cut::default());
        let passed = Arc::<Mutex<Passed>>::default();
        let (theirs, clients) = (Arc::clone(&cut), Arc::clone(&passed));
        // It and its threads end with the process.
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                theirs.wait_for_healing();
                if !clients.lock().unwrap().takes(&client) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(target) else { continue };
                let ways =
                    [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
                for (from, to) in ways {
                    let cut = Arc::clone(&theirs);
                    thread::spawn(move || pass(from, to, &cut));
                }
            }
        });
        Self { address, cut, passed }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn cut(&self) {
        self.cut.set(true);
    }

    pub(crate) fn heal(&self) {
        self.cut.set(false);
    }

    /// Ends all connections, and refuses others or does not.
    pub(crate) fn end_all(&self, is_refusing: bool) {
        let mut passed = self.passed.lock().unwrap();
        passed.is_refusing = is_refusing;
        for client in take(&mut passed.clients) {
            // It may have ended itself.
            let _ = client.shutdown(Shutdown::Both);
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, cut: &Cut) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        cut.wait_for_healing();
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    cut.wait_for_healing();
    let _ = to.shutdown(Shutdown::Both);
}
