//! The page of `anybinder web`: what strangers are refused by its server, and what a browser shows of a known scenario.
//!
//! The scenario is played in a private world. A script, `web/browser/page.mjs`, drives a Chromium there, and checks what it
//! shows. The pictures in `docs/observing.md` are made so:
//!
//! ```sh
//! ANYBINDER_SCREENSHOTS=$PWD/docs/pictures cargo test -p anybinder --test scenario browser
//! ```

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use binder_os::BinderClient;
use binder_testkit::{DeviceRig, Message, Party, Stage, commands, introduce, skip};

use super::{PART_VARIABLE, PROGRAM};

/// Where pictures are to be left, if there are to be some.
const PICTURES_VARIABLE: &str = "ANYBINDER_SCREENSHOTS";
/// The name of a process that would be an element if it were taken for markup.
const HOSTILE_NAME: &str = "<i id=evil>x";
/// Where the page's sources are.
const WEB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web");

/// Plays a part in a private world.
pub(super) fn play(part: &str) {
    if let Some(missing) = (part == "browser").then(missing_for_a_browser).flatten() {
        return skip(missing);
    }
    let mut command = Command::new(PROGRAM);
    command.args(["run", "--"]).arg(env::current_exe().unwrap()).env(PART_VARIABLE, part);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{part}: {:?}\n{told}", output.status);
}

/// What it takes to see the page, and is not here.
fn missing_for_a_browser() -> Option<&'static str> {
    let has = |program: &str| {
        let paths = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&paths).any(|dir| dir.join(program).exists())
    };
    if !has("chromium") {
        Some("there is no chromium")
    } else if !has("node") {
        Some("there is no node")
    } else if !Path::new(WEB).join("node_modules/playwright-core").exists() {
        Some("web/node_modules is missing (`npm ci` in web/)")
    } else {
        None
    }
}

/// `anybinder web`, as long as this is kept.
struct Page {
    server: Child,
    url: String,
}

impl Page {
    fn serve() -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["web", "--interval", "0.2"]).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        Self { server, url: url.trim_end().to_owned() }
    }

    /// Its address, and the path with the token.
    fn parts(&self) -> (SocketAddr, &str) {
        let rest = self.url.strip_prefix("http://").unwrap();
        let (address, path) = rest.split_at(rest.find('/').unwrap());
        (address.parse().unwrap(), path)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

/// Sends a request as it stands, and returns what is answered.
fn answer(address: SocketAddr, request: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

pub(super) fn refuse_strangers() {
    let page = Page::serve();
    let (address, path) = page.parts();
    let status = |start: &str, headers: &str| {
        let answer = answer(address, &format!("{start} HTTP/1.1\r\n{headers}\r\n"));
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    let (get, host) = (format!("GET {path}"), format!("Host: {address}\r\n"));
    assert_eq!(status(&get, &host), "200");
    for file in ["page.js", "page.css", "notices.txt"] {
        assert_eq!(status(&format!("{get}{file}"), &host), "200", "{file}");
    }
    let local = format!("Host: localhost:{}\r\n", address.port());
    assert_eq!(status(&get, &local), "200");
    for foreign in ["", "Host: evil.example\r\n", "Host: 127.0.0.1:1\r\n"] {
        assert_eq!(status(&get, foreign), "403", "{foreign}");
    }
    for header in ["Origin: http://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site"] {
        assert_eq!(status(&get, &format!("{host}{header}\r\n")), "403", "{header}");
    }
    let wrong = format!("GET /{}/", "0".repeat(32));
    for start in ["GET /", "GET /events", &wrong, &format!("{wrong}events"), &get[..get.len() - 1]]
    {
        assert_eq!(status(start, &host), "403", "{start}");
    }
    assert_eq!(status(&format!("{get}../../etc/passwd"), &host), "404");
    assert_eq!(status(&get.replace("GET", "POST"), &host), "405");
    let whole = answer(address, &format!("{get} HTTP/1.1\r\n{host}\r\n"));
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
    ] {
        assert!(whole.contains(header), "{header}: {whole}");
    }
}

/// Has a browser look at processes of which two come to wait for each other, until one is killed.
pub(super) fn show_a_scenario() {
    let device = Path::new("/dev/binderfs/binder");
    let rig = DeviceRig::new(device, &device.with_file_name("hwbinder")).unwrap();
    let stage = Stage::new(Box::new(rig));
    let (manager, client, server, waiter) =
        (stage.manager(), stage.party(), stage.party(), stage.party());
    let server_at_client = introduce(&manager, &server, (0x10, 0x20), &client);
    let client_at_server = introduce(&manager, &client, (0x30, 0x40), &server);
    let client_at_waiter = introduce(&manager, &client, (0x50, 0x60), &waiter);
    let guest = Guest::invite();
    let traffic = env::var_os(PICTURES_VARIABLE).map(|_| Traffic::make(300));
    let page = Page::serve();
    let pid = |party: &Party<'_>| party.pid().to_string();
    let pids = [&manager, &client, &server, &waiter].map(pid);
    let mut browser = Command::new("node");
    browser.arg(Path::new(WEB).join("browser/page.mjs")).arg(&page.url).args(pids);
    browser.args([&guest.child.id().to_string(), HOSTILE_NAME]);
    let mut browser = browser.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut wishes = BufReader::new(browser.stdout.take().unwrap()).lines();
    while let Some(wish) = wishes.next().transpose().unwrap() {
        match &*wish {
            "deadlock" => {
                waiter.park_with(commands().call(client_at_waiter, Message::new(3)));
                client.park_with(commands().call(server_at_client, Message::new(1)));
                server.park_with(commands().call(client_at_server, Message::new(2)));
            }
            // For pictures there are calls all the time.
            "calls" if traffic.is_some() => {}
            "calls" => assert!(Traffic::make(1).0.wait().unwrap().success()),
            "kill" => server.kill(),
            other => panic!("the browser's script wants {other}"),
        }
        browser.stdin.as_mut().unwrap().write_all(b"done\n").unwrap();
    }
    assert!(browser.wait().unwrap().success(), "see above");
    drop((guest, traffic));
    stage.tear_down();
}

/// Calls on another device, so that there is something to be seen.
struct Traffic(Child);

impl Traffic {
    fn make(seconds: u32) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["bench", "soak", "--device", "/dev/vndbinder", "--clients", "4"]);
        command.args(["--kills-per-s", "0", "--seconds", &seconds.to_string()]);
        command.stdout(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A process with a name that is markup, which has a device open.
struct Guest {
    child: Child,
    /// It is there as long as it has this.
    _place: tempfile::TempDir,
}

impl Guest {
    fn invite() -> Self {
        let place = tempfile::tempdir().unwrap();
        let program: PathBuf = place.path().join(HOSTILE_NAME);
        symlink(env::current_exe().unwrap(), &program).unwrap();
        let mut command = Command::new(program);
        command.env(PART_VARIABLE, OsString::from("guest"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        let told: &mut ChildStdout = child.stdout.as_mut().unwrap();
        BufReader::new(told).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        Self { child, _place: place }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Has a device open until stdin ends.
pub(super) fn be_a_guest() {
    let client = BinderClient::open(Path::new("/dev/binder")).unwrap();
    client.version().unwrap();
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
