//! `anybinder service`, as it is typed.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::{Check, Outcome, Place, beside, contains, same};

pub(crate) const CHECKS: &[Check] = &[
    ("services_are_listed_checked_and_waited_for", list),
    ("a_service_is_called_with_words", call),
    ("services_are_dumped", dump),
    ("a_service_takes_commands", shell),
    ("where_nothing_is_the_tool_says_what_to_do", advise),
];

fn list(place: &Place) -> Outcome {
    let _manager = place.manager(&[])?;
    let service = place.program("serve", "checks.IAdder/default")?;
    let listed = place.ask(&["list"])?;
    same(
        listed.stdout.as_str(),
        "Found 2 services:\n0\tchecks.IAdder/default: [checks.IAdder]\n\
         1\tmanager: [android.os.IServiceManager]\n",
    )?;
    same(place.ask(&["list", "--names"])?.stdout.as_str(), "checks.IAdder/default\nmanager\n")?;
    let json = place.ask(&["list", "--json"])?.stdout;
    contains(&json, r#"{"name":"checks.IAdder/default","interface":"checks.IAdder"}"#)?;
    let here = place.ask(&["check", "manager"])?;
    same((here.code, here.stdout.as_str()), (Some(0), "Service manager: found\n"))?;
    let gone = place.ask(&["check", "nobody"])?;
    same((gone.code, gone.stdout.as_str()), (Some(1), "Service nobody: not found\n"))?;
    let gone = place.ask(&["--json", "check", "nobody"])?;
    same(gone.stdout.as_str(), "{\"name\":\"nobody\",\"found\":false}\n")?;
    let waited = place.ask(&["wait", "nobody", "--timeout", "0.1"])?;
    same((waited.code, waited.stdout.as_str()), (Some(1), "Service nobody: not found\n"))?;
    same(place.ask(&["wait", "manager"])?.code, Some(0))?;
    let who = place.ask(&["debug-info"])?.stdout;
    contains(&who, format!("{}  checks.IAdder/default\n", service.pid()))
}

fn call(place: &Place) -> Outcome {
    let _manager = place.manager(&[])?;
    let _service = place.program("serve", "adder")?;
    let sum = place.ask(&["call", "adder", "1", "i32", "45", "i32", "-3"])?;
    let wanted = "Result: Parcel(00000000 0000002a   '....*...')\n";
    same((sum.code, sum.stdout.as_str()), (Some(0), wanted))?;
    let json = place.ask(&["--json", "call", "adder", "1", "i32", "1", "i32", "1"])?;
    let wanted = "{\"status\":\"OK\",\"data\":\"0000000002000000\",\"objects\":[]}\n";
    same(json.stdout.as_str(), wanted)?;
    let length = place.ask(&["call", "adder", "2", "fd", "/proc/sys/kernel/ostype"])?;
    same(length.stdout.as_str(), "Result: Parcel(00000006 00000000   '........')\n")?;
    let unknown = place.ask(&["call", "adder", "77"])?;
    let wanted = "Result: Parcel(Error: 0xffffffb6 \"UNKNOWN_TRANSACTION\")\n";
    same((unknown.code, unknown.stdout.as_str()), (Some(1), wanted))?;
    let found = place.ask(&["call", "manager", "1", "s16", "adder"])?.stdout;
    contains(&found, "'sh*' = ")?;
    for (words, part) in [
        (&["call", "adder", "1", "i32"][..], "its value is missing"),
        (&["call", "adder", "1", "i32", "x"], "it is no number"),
        (&["call", "adder", "1", "what"], "it is no type of an argument"),
        (&["call", "nobody", "1"], "there is no such service"),
    ] {
        let answer = place.ask(words)?;
        same(answer.code, Some(1))?;
        contains(&answer.stderr, part)?;
    }
    same(place.ask(&["call", "adder", "first"])?.code, Some(2))
}

fn dump(place: &Place) -> Outcome {
    let _manager = place.manager(&[])?;
    let service = place.program("serve", "adder")?;
    let one = place.ask(&["dump", "adder", "a", "--b"])?;
    same((one.code, one.stdout.as_str()), (Some(0), "an adder, told [\"a\", \"--b\"]\n"))?;
    let pid = place.ask(&["dump", "--pid", "adder"])?;
    same(pid.stdout, format!("{}\n", service.pid()))?;
    let all = place.ask(&["dump"])?.stdout;
    contains(&all, "Currently running services:\n  adder\n  manager\n")?;
    contains(&all, "DUMP OF SERVICE adder:\nan adder, told [\"-a\"]\n")?;
    contains(&all, "was the duration of dumpsys manager\n")?;
    let rest = place.ask(&["dump", "--skip", "adder"])?.stdout;
    same(rest.contains("an adder"), false)?;
    let urgent = place.ask(&["dump", "-l", "--priority", "critical"])?.stdout;
    same(urgent.as_str(), "Currently running services:\n")?;
    let json = place.ask(&["--json", "dump", "adder"])?.stdout;
    contains(&json, r#""text":"an adder, told []\n","error":null"#)
}

fn shell(place: &Place) -> Outcome {
    let _manager = place.manager(&[])?;
    let _service = place.program("serve", "adder")?;
    let mut command = Command::new(beside("anybinder")?);
    command.args(["service", "--device"]).arg(&place.device);
    command.args(["shell", "adder", "/proc/sys/kernel/ostype", "--flag", "three"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().ok_or("it is piped")?.write_all(b"typed\n")?;
    let output = child.wait_with_output()?;
    let said = String::from_utf8(output.stdout)?;
    let wanted = "typed\n[\"/proc/sys/kernel/ostype\", \"--flag\", \"three\"], and Ok(6) bytes\n";
    same((output.status.code(), said.as_str()), (Some(3), wanted))?;
    let refused = place.ask(&["shell", "manager", "x"])?;
    same(refused.code, Some(1))?;
    contains(&refused.stderr, "the service takes no commands")
}

fn advise(place: &Place) -> Outcome {
    let alone = place.ask(&["list"])?;
    same(alone.code, Some(1))?;
    contains(&alone.stderr, "there is none")?;
    contains(&alone.stderr, "`anybinder servicemanager` is one")?;
    let nowhere = Place { device: "/dev/nowhere".into() }.ask(&["list"])?;
    same(nowhere.code, Some(1))?;
    contains(&nowhere.stderr, "/dev/nowhere")?;
    contains(&nowhere.stderr, "anybinder run --manager")
}
