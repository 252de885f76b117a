//! `anybinder aidl`: the compiler of `binder-build`, for projects without a build script.

use std::io::{self, Write};
use std::process::ExitCode;

use binder_build::{Error, MethodCode, Unit};
use serde::Serialize;

use crate::cli::AidlArguments;
use crate::failure::{Failure, failed};
use crate::inspect::RecordTable;
use crate::log;

/// The code of the method whose number is 0.
const FIRST_CALL: u32 = 1;

pub(crate) fn run(options: &AidlArguments) -> Result<ExitCode, Failure> {
    let unit = unit(options).map_err(told)?;
    if options.action.list {
        list(&unit.methods().map_err(told)?, options.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let compiled = unit.compile().map_err(told)?;
    let warnings = compiled.warnings_report();
    if !warnings.is_empty() {
        log::tell(format_args!("{warnings}\n"));
    }
    if let Some(out) = &options.action.output {
        compiled.write_into(out).map_err(told)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn unit(options: &AidlArguments) -> Result<Unit, Error> {
    let mut unit = Unit::of_paths(&options.paths)?;
    for include in &options.includes {
        unit = unit.include(include);
    }
    if let Some(version) = options.interface_version {
        unit = unit.version(version, &options.interface_hash);
    }
    if options.stability.is_some() {
        unit = unit.vintf();
    }
    Ok(unit)
}

/// Shows mistakes with their sources. What remains to be said is the failure.
fn told(error: Error) -> Failure {
    let tried = "compiling AIDL";
    match error {
        Error::Mistakes { count, report } => {
            log::tell(format_args!("{report}\n"));
            let mistakes = if count == 1 { "mistake" } else { "mistakes" };
            Failure::new(tried, format!("{count} {mistakes}"))
        }
        error => Failure::new(tried, error),
    }
}

/// A line of the listing, for programs.
#[derive(Serialize)]
struct ListingLine<'a> {
    interface: &'a str,
    method: &'a str,
    code: u32,
    oneway: bool,
}

fn list(methods: &[MethodCode], as_json: bool) -> Result<(), Failure> {
    let text = if as_json { json(methods)? } else { code_map(methods) };
    io::stdout().write_all(text.as_bytes()).map_err(failed("writing to stdout"))
}

fn json(methods: &[MethodCode]) -> Result<String, Failure> {
    let mut text = String::new();
    for MethodCode { interface, method, code, is_oneway } in methods {
        let code = FIRST_CALL.saturating_add(*code);
        let listed = ListingLine { interface, method, code, oneway: *is_oneway };
        text += &serde_json::to_string(&listed).map_err(failed("writing JSON"))?;
        text.push('\n');
    }
    Ok(text)
}

/// A table that is a code map at the same time: its head, and what else there is to say, are comments.
fn code_map(methods: &[MethodCode]) -> String {
    let mut table = RecordTable::new(["# INTERFACE", ">CODE", "METHOD", ""]);
    for MethodCode { interface, method, code, is_oneway } in methods {
        table.row([
            interface.clone(),
            FIRST_CALL.saturating_add(*code).to_string(),
            method.clone(),
            if *is_oneway { "# oneway".into() } else { String::new() },
        ]);
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use binder_trace::MethodNames;

    use super::*;

    fn methods() -> Vec<MethodCode> {
        let method = |method: &str, code, is_oneway| MethodCode {
            interface: "a.b.I".into(),
            method: method.into(),
            code,
            is_oneway,
        };
        vec![method("first", 0, false), method("second", 9, true)]
    }

    #[test]
    fn what_is_listed_is_a_code_map() {
        let text = code_map(&methods());
        let mut read = MethodNames::default();
        read.add_code_map(&text).unwrap();
        let mut named = MethodNames::default();
        named.add("a.b.I", 1, "first");
        named.add("a.b.I", 10, "second");
        assert_eq!(read, named, "{text}");
    }

    #[test]
    fn programs_get_an_object_for_each_method() {
        let text = json(&methods()).unwrap();
        let wanted = r#"{"interface":"a.b.I","method":"first","code":1,"oneway":false}
{"interface":"a.b.I","method":"second","code":10,"oneway":true}
"#;
        assert_eq!(text, wanted);
    }
}
