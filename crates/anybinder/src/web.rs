//! `anybinder web`: a page about a running driver.
//!
//! This thread looks into the driver, as `ps`, `top`, `waits` and `trace` do, while a browser shows the page: [`looks`]
//! makes a [`frame`] of each look. Another thread serves the page and the newest frame ([`server`]) to requests that
//! [`access`] admits. The page itself is built from the sources in `web/` of the repository.

mod access;
mod calls;
mod frame;
mod looks;
mod server;

use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use binder_report::records::ProcessRecord;
use tokio::sync::watch;

use crate::cli::WebOptions;
use crate::failure::{Failure, failed};
use crate::inspect::{Binderfs, binderfs_at, print};
use crate::web::access::Access;
use crate::web::frame::Frame;
use crate::web::looks::Looks;
use crate::web::server::Server;

/// How often it is tried again to look into a driver that has not answered.
const RETRY_AFTER: Duration = Duration::from_secs(1);

pub(crate) fn run(options: &WebOptions) -> Result<ExitCode, Failure> {
    let binderfs = Binderfs::at(binderfs_at(options.dir.as_deref())?);
    // An error here is told before there is a page.
    binderfs.read::<ProcessRecord>("processes.json")?;
    let tried = format!("listening at {}", options.listen);
    let listener = TcpListener::bind(options.listen).map_err(failed(&tried))?;
    let address = listener.local_addr().map_err(failed(&tried))?;
    let access = Access::new(address)?;
    let url = access.url();
    let (frames, _) = watch::channel(Arc::new(Frame::default()));
    let server = Server::new(access, frames.clone(), thread::current());
    let serving = thread::Builder::new().name("web-server".into());
    serving.spawn(move || serve(server, listener)).map_err(failed("starting a thread"))?;
    warn_of_network(address);
    print(&format!("{url}\n"))?;
    look_for_ever(&binderfs, Duration::from_secs_f64(options.interval), &frames)
}

fn serve(server: Server, listener: TcpListener) {
    let Err(failure) = server.run(listener);
    failure.print();
    std::process::exit(1);
}

fn warn_of_network(address: SocketAddr) {
    if !address.ip().is_loopback() {
        tracing::warn!(%address, "whoever sees the network's packets can read the page's address, and the page");
    }
}

/// Makes frames while there are browsers that take them.
fn look_for_ever(
    binderfs: &Binderfs,
    interval: Duration,
    frames: &watch::Sender<Arc<Frame>>,
) -> Result<ExitCode, Failure> {
    loop {
        while frames.receiver_count() == 0 {
            // The server unparks this thread when a browser comes.
            thread::park();
        }
        if let Err(failure) = look(binderfs, interval, frames) {
            let last = frames.borrow().clone();
            frames.send_replace(Arc::new(last.with_failure(&failure)));
            thread::sleep(RETRY_AFTER);
        }
    }
}

/// Makes frames until the last browser has gone, or the driver.
fn look(
    binderfs: &Binderfs,
    interval: Duration,
    frames: &watch::Sender<Arc<Frame>>,
) -> Result<(), Failure> {
    let mut looks = Looks::start(binderfs)?;
    // The first is soon, for there is a browser that waits for it.
    let mut deadline = Instant::now() + interval.min(Duration::from_millis(100));
    while frames.receiver_count() > 0 {
        looks.wait_until(deadline)?;
        let last = frames.borrow().clone();
        frames.send_replace(Arc::new(looks.take(&last)?));
        // From here, for a look into a large driver may itself take longer.
        deadline = Instant::now() + interval;
    }
    Ok(())
}
