//! RPC servers that programs publish, as `ps` shows them.

use std::io::{BufRead, BufReader, Write, read_to_string, stdin};
use std::net::Ipv4Addr;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::{env, fs};

use binder::binder_impl::{Binder, BorrowedParcel, Remotable, TransactionCode};
use binder::transport::rpc::{RpcServer, RpcSession};
use binder::{IBinder, Interface, StatusCode};
use serde_json::Value;

use crate::caller::{Caller, Outcome, finish, is_root, signal, stop};

/// What tells this program to be one with a server, which `publishes` it or `is_silent`; or one that [`READS`].
const PART: &str = "ANYBINDER_TEST_SERVER";

/// Before the path of a socket, all of which is printed.
const READS: &str = "reads ";

/// Answers with nothing.
struct Silent;

impl Remotable for Silent {
    fn get_descriptor() -> &'static str {
        "test.Silent"
    }

    fn on_transact(
        &self,
        _: TransactionCode,
        _: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        reply.write(&0_i32)
    }
}

/// The part of a program with a TCP server and a session to itself, on which it makes three calls. It shuts the server
/// down when a line comes, and ends with the next.
#[test]
#[ignore = "a part that other tests have this program play"]
fn a_program_with_a_server() {
    let Ok(part) = env::var(PART) else { return };
    if let Some(socket) = part.strip_prefix(READS) {
        print!("{}", read_to_string(UnixStream::connect(socket).unwrap()).unwrap_or_default());
        return;
    }
    let root = Binder::new(Silent).as_binder();
    let server = RpcServer::new_inet(root, Ipv4Addr::LOCALHOST, 0_u16).unwrap();
    if part == "publishes" {
        // The second time changes nothing.
        server.publish_statistics().unwrap();
        server.publish_statistics().unwrap();
    }
    server.start().unwrap();
    let address = server.inet_address().unwrap();
    let root = RpcSession::new().connect_inet("127.0.0.1", address.port()).unwrap();
    for _ in 0..3 {
        root.ping_binder().unwrap();
    }
    println!("\nserves {address}");
    stdin().read_line(&mut String::new()).unwrap();
    server.shutdown().unwrap();
    println!("shut down");
    stdin().read_line(&mut String::new()).unwrap();
}

/// This program, to play a part.
fn part(caller: Caller, part: &str) -> Command {
    let program = env::current_exe().unwrap();
    let name = "servers::a_program_with_a_server";
    let arguments = [name, "--exact", "--ignored", "--nocapture"];
    let mut command = caller.wrap(program.to_str().unwrap(), &arguments);
    command.env(PART, part);
    command
}

/// A directory for what belongs to running programs, of one caller.
struct RuntimeDir {
    dir: tempfile::TempDir,
    caller: Caller,
}

/// A program with a server.
struct Served {
    program: Child,
    stdout: BufReader<ChildStdout>,
    stdin: ChildStdin,
    /// What clients connect to.
    address: String,
}

impl RuntimeDir {
    fn new(caller: Caller) -> Self {
        let dir = tempfile::Builder::new().prefix("servers").tempdir_in("/tmp").unwrap();
        if caller == Caller::Ordinary && is_root() {
            chown(dir.path(), Some(1000), Some(1000)).unwrap();
        }
        Self { dir, caller }
    }

    /// Where the sockets are.
    fn sockets(&self) -> PathBuf {
        self.dir.path().join("anybinder/rpc")
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.sockets()).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn serve(&self, part: &str, variable: &str) -> Served {
        let mut command = self::part(self.caller, part);
        command.env("XDG_RUNTIME_DIR", self.dir.path());
        command.env("ANYBINDER_PUBLISH_RPC", variable);
        let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = program.stdin.take().unwrap();
        let stdout = BufReader::new(program.stdout.take().unwrap());
        let mut served = Served { program, stdout, stdin, address: String::new() };
        served.address = served.line_with("serves ");
        served
    }

    fn ps(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.caller.command(&[&["ps"], arguments].concat());
        finish(command.env("XDG_RUNTIME_DIR", self.dir.path()))
    }

    /// The servers below this directory: root sees those of users who are logged in, too.
    fn servers(&self, known: &[&Served]) -> Vec<Value> {
        let records = self.ps(&["--json"]).stdout;
        let records = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let is_known = |record: &Value| known.iter().any(|it| record["pid"] == it.program.id());
        records.filter(|it| it["kind"] == "rpc_server" && is_known(it)).collect()
    }
}

impl Served {
    /// Waits for a line that begins so, and returns the rest.
    fn line_with(&mut self, beginning: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "it has ended");
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.trim_end().to_owned();
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

#[test]
fn published_servers_are_listed_with_their_sessions() {
    for &caller in Caller::all() {
        let home = RuntimeDir::new(caller);
        let silent = home.serve("is_silent", "0");
        assert_eq!(home.files(), Vec::<PathBuf>::new(), "nobody has asked for a socket");
        let mut served = home.serve("publishes", "");
        let asked = home.serve("is_silent", "1");
        let servers = home.servers(&[&silent, &served, &asked]);
        let of = |served: &Served| {
            let pid = served.program.id();
            servers.iter().find(|it| it["pid"] == pid).unwrap_or_else(|| panic!("{servers:?}"))
        };
        assert_eq!(servers.len(), 2, "{servers:?}");
        for served in [&served, &asked] {
            let server = of(served);
            assert_eq!(server["uid"].to_string(), caller.uid().trim());
            assert_eq!(
                (&server["transport"], &server["address"]),
                (&"tcp".into(), &Value::from(&*served.address))
            );
            assert_eq!((&server["sessions"], &server["accepted"]), (&1.into(), &1.into()));
            let connections = &server["resources"][0];
            assert_eq!(
                (&connections["name"], &connections["held"]),
                (&"connections".into(), &1.into())
            );
            let client = &server["clients"][0];
            assert_eq!((&client["number"], &client["calls"]), (&1.into(), &3.into()), "{client}");
            assert!(client["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{client}");
            assert!(client["uid"].is_null(), "{client}");
        }
        let file = home.sockets().join(format!("{}.sock", served.program.id()));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(home.sockets()).unwrap().permissions().mode() & 0o777, 0o700);
        let shown = home.ps(&[]);
        for part in ["RPC SERVER", "SESSION", &*format!("tcp {}", served.address), "127.0.0.1:"] {
            assert!(shown.stdout.contains(part), "{part}: {shown:?}");
        }
        // A server that is shut down takes its socket along.
        writeln!(served.stdin).unwrap();
        served.line_with("shut down");
        assert!(!file.exists());
        assert_eq!(home.servers(&[&served, &asked]).len(), 1);
    }
}

#[test]
fn sockets_of_killed_programs_are_removed_and_other_files_are_not() {
    for &caller in Caller::all() {
        let home = RuntimeDir::new(caller);
        let (living, mut killed) = (home.serve("publishes", ""), home.serve("publishes", ""));
        killed.program.kill().unwrap();
        killed.program.wait().unwrap();
        let note = home.sockets().join("note");
        fs::write(&note, "no socket").unwrap();
        assert_eq!(home.files().len(), 3);
        assert_eq!(home.servers(&[&living, &killed]).len(), 1);
        let socket = home.sockets().join(format!("{}.sock", living.program.id()));
        let mut left = home.files();
        left.sort();
        assert_eq!(left, [socket, note]);
    }
}

#[test]
fn readers_that_read_nothing_and_programs_that_tell_nothing_keep_nobody_waiting() {
    let home = RuntimeDir::new(if is_root() { Caller::Root } else { Caller::Ordinary });
    let (served, stopped) = (home.serve("publishes", ""), home.serve("publishes", ""));
    stop(stopped.program.id());
    let socket = home.sockets().join(format!("{}.sock", served.program.id()));
    let idle: Vec<_> = (0..20).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let servers = home.servers(&[&served, &stopped]);
    assert_eq!((servers.len(), &servers[0]["pid"]), (1, &served.program.id().into()));
    drop(idle);
    signal(stopped.program.id(), "CONT");
    assert_eq!(home.servers(&[&served, &stopped]).len(), 2);
}

#[test]
fn servers_are_told_to_their_user_and_to_root_alone() {
    if !is_root() {
        return binder_testkit::skip("only root can be somebody else");
    }
    let (home, mine) = (RuntimeDir::new(Caller::Ordinary), RuntimeDir::new(Caller::Root));
    let (served, own) = (home.serve("publishes", ""), mine.serve("publishes", ""));
    // Whatever the modes of files and directories say.
    let all = fs::Permissions::from_mode(0o777);
    for path in [mine.dir.path().to_owned(), mine.sockets(), mine.files().remove(0)] {
        fs::set_permissions(path, all.clone()).unwrap();
    }
    let told = |caller: Caller, socket: &Path| {
        let mut reader = part(caller, &format!("{READS}{}", socket.display()));
        let outcome = finish(&mut reader);
        assert_eq!(outcome.code(), 0, "{outcome:?}");
        outcome.stdout
    };
    assert!(!told(Caller::Ordinary, &mine.files()[0]).contains("rpc_server"));
    for home in [&home, &mine] {
        assert!(told(Caller::Root, &home.files()[0]).contains("rpc_server"));
    }
    // Who may write there could have put anything there.
    assert_eq!(mine.servers(&[&own, &served]).len(), 0);
}
