//! A network that can be cut: what is on its way waits until it is healed, and nobody is told.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// Passes connections on to an address.
pub(crate) struct Relay {
    address: SocketAddr,
    cut: Arc<Cut>,
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

impl Relay {
    pub(crate) fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let cut = Arc::new(Cut::default());
        let theirs = Arc::clone(&cut);
        // It and its threads end with the process.
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                theirs.wait_for_healing();
                let Ok(server) = TcpStream::connect(target) else { continue };
                let ways =
                    [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
                for (from, to) in ways {
                    let cut = Arc::clone(&theirs);
                    thread::spawn(move || pass(from, to, &cut));
                }
            }
        });
        Self { address, cut }
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
    let _ = to.shutdown(std::net::Shutdown::Both);
}
