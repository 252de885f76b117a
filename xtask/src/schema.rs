//! `cargo xtask schema`: what tools may rely on in the records, written from their types and comments.

use std::fs;
use std::path::Path;

use binder_report::records::{CallRecord, EventRecord, ProcessRecord, StateRecord, StatsRecord};
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::TaskFailure;
use crate::workspace::{root, text};

const PAGE: &str = "docs/records.schema.json";

/// Writes the schema.
pub(crate) fn write() -> Result<(), TaskFailure> {
    fs::write(root().join(PAGE), schema())?;
    Ok(())
}

/// Whether the written schema is that of the types.
pub(crate) fn complaint() -> Result<Option<String>, TaskFailure> {
    let is_current = text(Path::new(PAGE))? == schema();
    Ok((!is_current).then(|| format!("{PAGE}: the records have changed: cargo xtask schema")))
}

/// One definition for each stream of records, by its file in `anybinder/`.
fn schema() -> String {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let streams = [
        ("processes", generator.subschema_for::<ProcessRecord>()),
        ("transactions", generator.subschema_for::<CallRecord>()),
        ("state", generator.subschema_for::<StateRecord>()),
        ("stats", generator.subschema_for::<StatsRecord>()),
        ("events", generator.subschema_for::<EventRecord>()),
    ];
    let any: Vec<Value> = streams.iter().map(|(_, record)| record.clone().into()).collect();
    let by_stream: serde_json::Map<String, Value> =
        streams.into_iter().map(|(name, record)| (name.to_owned(), record.into())).collect();
    let mut definitions = generator.take_definitions(true);
    definitions.extend(by_stream);
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A record of anybinder",
        "description": "One line of the program's --json output, and of the files in binder_logs/anybinder: \
                        a stream's lines are of the definition with its name. Further keys may come.",
        "anyOf": any,
        "$defs": definitions,
    });
    format!("{schema:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_golden_record_has_the_keys_that_the_schema_says() {
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        let definition = |name: &str| schema["$defs"][name].clone();
        for (file, name) in
            [("processes", "ProcessRecord"), ("calls", "CallRecord"), ("event", "EventRecord")]
        {
            let golden =
                Path::new("crates/binder-report/tests/golden").join(format!("{file}.json"));
            let line = text(&golden).unwrap().lines().next().unwrap().to_owned();
            let record: Value = serde_json::from_str(&line).unwrap();
            let known = definition(name)["properties"].clone();
            let keys =
                |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            assert_eq!(keys(&record), keys(&known), "{file}");
        }
    }
}
