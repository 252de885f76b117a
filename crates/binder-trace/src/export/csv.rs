//! A table with commas (RFC 4180): a head, and a line for each call.

use alloc::format;
use alloc::string::{String, ToString};

use super::CallLog;
use crate::line::{printable, status_words};
use crate::record::SendKind;

const HEAD: &str = "unix_ns,device,kind,id,within,from_pid,from_tid,from_name,to_pid,to_tid,to_name,interface,method,\
    code,data_bytes,reply_bytes,objects,queue_ns,service_ns,return_ns,total_ns,status\r\n";

/// Writes a trace as a table. The cell of an unknown value is empty.
pub fn csv(log: &CallLog) -> String {
    let mut text = String::from(HEAD);
    for call in &log.calls {
        let sent = &call.sent;
        let naming = log.methods.naming(sent);
        let number = |number: Option<u64>| number.map_or(String::new(), |it| it.to_string());
        let known = |word: u32| number((word != 0).then_some(word.into()));
        let name = |pid: u32| log.tracker.name(pid).unwrap_or_default().to_string();
        let reply = call.reply.as_ref();
        let objects = call.objects.len() + reply.map_or(0, |reply| reply.objects.len());
        let cells = [
            log.tracker.unix_ns(sent.at_ns).to_string(),
            sent.device.to_string(),
            if sent.kind == SendKind::Oneway { "oneway" } else { "call" }.into(),
            sent.id.to_string(),
            known(sent.within),
            sent.from_pid.to_string(),
            sent.from_tid.to_string(),
            name(sent.from_pid),
            known(call.receiver.pid),
            known(call.receiver.tid),
            name(call.receiver.pid),
            naming.interface.unwrap_or_default().into(),
            naming.method.unwrap_or_default().into(),
            sent.code.to_string(),
            sent.data_bytes.to_string(),
            number(reply.map(|reply| reply.sent.data_bytes)),
            objects.to_string(),
            number(call.queue_ns()),
            number(call.service_ns()),
            number(call.return_ns()),
            number(call.total_ns()),
            status_words(call.status),
        ];
        text.push_str(&cells.map(quoted).join(","));
        text.push_str("\r\n");
    }
    text
}

/// A cell without characters that act on a terminal or end a line, and in quotes where it needs them.
fn quoted(cell: String) -> String {
    let cell = guarded(&printable(&cell));
    if cell.contains([',', ';', '"']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell
}

/// Puts an apostrophe before text that a spreadsheet would take for a formula: programs choose their names. In
/// countries with a decimal comma a spreadsheet parts cells at semicolons, and does not heed our quotes then.
fn guarded(cell: &str) -> String {
    let pieces = cell.split_inclusive(';');
    pieces.flat_map(|piece| [if is_formula(piece) { "'" } else { "" }, piece]).collect()
}

/// Whether a spreadsheet takes this for a formula. Some pass over what is before it, and some know wide signs.
fn is_formula(text: &str) -> bool {
    let is_passed_over = |c: char| c.is_whitespace() || c == '"';
    let signs = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];
    text.trim_start_matches(is_passed_over).starts_with(signs)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::tests::story;
    use super::*;

    #[test]
    fn each_call_is_a_line_with_as_many_cells_as_the_head() {
        let text = csv(&story());
        let lines: Vec<_> = text.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), 6);
        assert_eq!(
            lines[1],
            "1000000001000,binder,call,1,,10,11,client,20,21,,demo.IGreeter,hello,1,64,64,0,1000,3000,1000,5000,ok"
        );
        assert!(lines[2].contains(",\"demo.IPrompter, \"\"quoted\"\"\",,1,"), "{}", lines[2]);
        assert!(
            lines[4].ends_with(",BR_FAILED_REPLY (EINVAL)") && lines[5].ends_with(",,,,pending")
        );
        let cells = |line: &str| line.matches(',').count();
        assert!([1, 3, 4, 5].iter().all(|at| cells(lines[*at]) == cells(lines[0])));
    }

    #[test]
    fn no_cell_ends_a_line_or_acts_on_a_terminal() {
        assert_eq!(quoted("a\r\nb\u{1b}[31m\u{202e}".into()), "ab[31m");
    }

    #[test]
    fn no_cell_is_a_formula() {
        let cases = [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\u{ff1d}1", "'\u{ff1d}1"),
            (" =1", "' =1"),
            ("\t=1", "'=1"),
            ("\r=1", "'=1"),
            ("a;=1", "\"a;'=1\""),
            ("a;\n\u{1b}-1", "\"a;'-1\""),
            ("\"=1\"", "\"'\"\"=1\"\"\""),
            ("a-b=c", "a-b=c"),
        ];
        for (cell, expected) in cases {
            assert_eq!(quoted(cell.into()), expected, "{cell:?}");
        }
    }
}
