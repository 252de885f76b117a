//! A strict reader of what Prometheus scrapes, in its format 0.0.4.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

/// Scrapes `/metrics` of a server and reads all samples: the value of each by its name with its labels, as it is written.
///
/// # Panics
///
/// If there is no answer, or it is not as it must be.
pub fn scrape(address: SocketAddr) -> BTreeMap<String, f64> {
    let text = get_metrics(address);
    lint(&text);
    read_exposition(&text)
}

/// Gets the text.
fn get_metrics(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    body.to_owned()
}

/// Has Prometheus' own tool look at a text, where there is one.
fn lint(text: &str) {
    let mut command = Command::new("promtool");
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut tool) = command.stderr(Stdio::piped()).spawn() else { return };
    let mut stdin = tool.stdin.take().expect("it is a pipe");
    stdin.write_all(text.as_bytes()).expect("the tool reads");
    drop(stdin);
    let output = tool.wait_with_output().expect("the tool ends");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "promtool: {words}\n{text}");
}

/// Reads a text: families one after the other, each with its meaning and its type before its samples.
///
/// # Panics
///
/// If it is not so, or a name, a label, a value or a unit is not as Prometheus wants it.
pub fn read_exposition(text: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let mut families = BTreeSet::new();
    let mut family: Option<(&str, &str)> = None;
    let mut lines = text.lines();
    assert!(text.ends_with('\n'), "the last line has an end");
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, meaning) = help.split_once(' ').expect(line);
            let kind = lines.next().and_then(|it| it.strip_prefix("# TYPE ")).expect(line);
            let (of, kind) = kind.split_once(' ').expect(line);
            assert_eq!(of, name, "a type follows the meaning");
            assert!(!meaning.is_empty() && families.insert(name.to_owned()), "{line}");
            assert!(is_name(name), "{line}");
            assert!(["gauge", "counter", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            for unit in ["_ms", "_us", "_ns", "_milliseconds", "_kib", "_mb"] {
                assert!(!name.trim_end_matches("_total").ends_with(unit), "no base unit: {line}");
            }
            family = Some((name, kind));
        } else {
            let (name, kind) = family.expect("a sample has a family before it");
            let (sample, value) = line.rsplit_once(' ').expect(line);
            let (own_name, labels) = sample.split_once('{').unwrap_or((sample, "}"));
            let suffix = own_name.strip_prefix(name).expect(line);
            let is_part = kind == "histogram" && ["_sum", "_count", "_bucket"].contains(&suffix);
            assert!(suffix.is_empty() != is_part, "{line}");
            read_labels(labels);
            let value: f64 = value.parse().expect(line);
            assert!(value >= 0.0, "{line}");
            assert!(samples.insert(sample.to_owned(), value).is_none(), "twice: {line}");
        }
    }
    samples
}

fn is_name(name: &str) -> bool {
    name.starts_with(|it: char| it.is_ascii_lowercase())
        && name.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
}

/// Reads `a="b",c="d"}`.
fn read_labels(mut labels: &str) {
    while labels != "}" {
        let (name, rest) = labels.split_once("=\"").expect(labels);
        assert!(is_name(name), "{labels}");
        let mut is_escaped = false;
        let end = rest.find(|it: char| {
            let is_end = it == '"' && !is_escaped;
            is_escaped = it == '\\' && !is_escaped;
            is_end
        });
        let rest = &rest[end.expect(labels) + 1..];
        labels = rest.strip_prefix(',').unwrap_or(rest);
        assert!(rest.starts_with([',', '}']) && !labels.is_empty(), "{rest}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_it_is_written() {
        let text = "# HELP a_total It's.\n# TYPE a_total counter\na_total{b=\"c\\\"d\",e=\"\"} 1\n\
                    # HELP f_seconds It.\n# TYPE f_seconds gauge\nf_seconds 0.5\n";
        let samples = read_exposition(text);
        assert_eq!(samples.len(), 2);
        assert_eq!(samples["a_total{b=\"c\\\"d\",e=\"\"}"], 1.0);
    }

    #[test]
    fn a_text_that_is_not_as_it_must_be_is_not_read() {
        let head = "# HELP a It.\n# TYPE a gauge\n";
        for wrong in [
            "a 1\n",
            &format!("{head}b 1\n"),
            &format!("{head}a 1\na 2\n"),
            &format!("{head}a{{b=\"c\" 1\n"),
            &format!("{head}a one\n"),
            &format!("{head}a 1"),
            "# HELP a It.\n# TYPE a counter\na 1\n",
            "# HELP a_ms It.\n# TYPE a_ms gauge\na_ms 1\n",
        ] {
            let read = std::panic::catch_unwind(|| read_exposition(wrong));
            assert!(read.is_err(), "{wrong}");
        }
    }
}
