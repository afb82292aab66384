//! The forms of an agent's task and report, with schemas in place or from a file. Opens no file.
//!
//! Like ai-agent, accepts an empty form, which means no form, and a bare schema, which means JSON of that schema.

use serde_json::Value;

use super::front::{Translator, put, scalar};
use crate::contract::spec::contract_spec::InputSpec;
use crate::contract::spec::form::Read as _;
use crate::contract::spec::keys::{FILE, FINAL_REPORT};
use crate::contract::spec::reader::choose;
use crate::contract::spec::reporter::{Reporter, suggest};
use crate::contract::spec::tree::{Kind, MAX_DEPTH, Node, node_of};
use crate::contract::{ReportFormat, Validators};

/// The keys of a form.
const KEYS: [&str; 3] = ["format", "schema", "schemaRef"];
/// Keys that only a schema has.
const OF_SCHEMAS: [&str; 7] = [
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "properties",
    "required",
    "type",
];

impl Translator<'_, '_> {
    /// Reads the task's form.
    pub(super) fn input(&self, value: &Node, reporter: &Reporter<'_>) -> Option<InputSpec> {
        let (format, schema) = self.form(value, reporter)?;
        let words = [("json", true), ("text", false)];
        let is_json = match &format {
            Some(node) => choose(node, &reporter.below("format"), &words)?,
            None => false,
        };
        if let Some(schema) = schema.as_ref().filter(|_| !is_json) {
            let help = "write `format: json`".to_owned();
            let rule = "only input in JSON has a schema";
            reporter.below("schema").refuse(schema, rule, Some(help));
        }
        let schema = schema.and_then(|node| Value::read(&node, &reporter.below("schema")));
        is_json.then_some(InputSpec { schema })
    }

    /// Reads the report's form.
    pub(super) fn output(&self, root: &mut Node, value: &Node, reporter: &Reporter<'_>) {
        let Some((format, schema)) = self.form(value, reporter) else {
            return;
        };
        let section = FILE.final_report.name;
        // Markdown gives way to the form that the place asks for (001 §11).
        let gives_way = |node: &Node| matches!(&node.kind, Kind::Scalar { text, .. } if text == ReportFormat::Markdown.as_str());
        if let Some(format) = format.filter(|node| !gives_way(node)) {
            put(root, &[section, FINAL_REPORT.format.name], format);
        }
        if let Some(schema) = schema {
            put(root, &[section, FINAL_REPORT.schema.name], schema);
        }
    }

    /// Reads `format`, and the schema written in place or in the named file.
    fn form(&self, value: &Node, reporter: &Reporter<'_>) -> Option<(Option<Node>, Option<Node>)> {
        if value.is_null() {
            return Some((None, None));
        }
        let Kind::Map(entries) = &value.kind else {
            reporter.expected(value, "a mapping");
            return None;
        };
        let has = |keys: &[&str]| {
            let mut entries = entries.iter();
            entries.any(|(key, _)| keys.contains(&key.text.as_str()))
        };
        if has(&OF_SCHEMAS) && !has(&KEYS) {
            let format = scalar(ReportFormat::Json.as_str(), &value.place);
            return Some((Some(format), judged_schema(value.clone(), "", reporter)));
        }
        let (mut format, mut schema) = (None, None);
        for (key, value) in entries {
            let below = reporter.below(&key.text);
            match key.text.as_str() {
                "format" => format = Some(value.clone()),
                "schema" | "schemaRef" if schema.is_some() => {
                    below.refuse(value, "give the schema here or in a file, not both", None);
                }
                "schema" => schema = judged_schema(value.clone(), "", &below),
                "schemaRef" => schema = self.referred(value, &below),
                other => {
                    let rule = format!("unknown key `{other}`");
                    let help = suggest(other, KEYS.into_iter());
                    let help = help.unwrap_or_else(|| format!("known keys: {}", KEYS.join(", ")));
                    let findings = reporter.findings;
                    findings.add(&key.place, &reporter.join(other), rule, Some(help));
                }
            }
        }
        Some((format.filter(|node: &Node| !node.is_null()), schema))
    }

    /// The schema of a file.
    fn referred(&self, value: &Node, reporter: &Reporter<'_>) -> Option<Node> {
        let path = String::read(value, reporter)?;
        let refuse = |rule: String| {
            reporter.refuse(value, format!("invalid_parameters: {rule}"), None);
        };
        match self.beside.schema(&path) {
            Ok(schema) => {
                let node = node_of(schema, &value.place, MAX_DEPTH);
                if node.is_none() {
                    refuse(format!("`{path}` is nested deeper than {MAX_DEPTH} levels"));
                }
                judged_schema(node?, &format!("`{path}`: "), reporter)
            }
            Err(fault) => {
                refuse(format!("`{path}`: {fault}"));
                None
            }
        }
    }
}

/// A schema, which is refused where it is none; `file` is where it stands, if that is not here. `None` if it is no value at all.
fn judged_schema(node: Node, file: &str, reporter: &Reporter<'_>) -> Option<Node> {
    let schema = Value::read(&node, reporter)?;
    if let Some(fault) = Validators::fault_of(&schema) {
        let (pointer, why) = (fault.pointer, fault.rule);
        let rule = format!("invalid_parameters: {file}the schema at {pointer:?}: {why}");
        reporter.refuse(&node, rule, None);
    }
    Some(node)
}
