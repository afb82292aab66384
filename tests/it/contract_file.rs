//! docs/contract-file.md against the reader of contract files: no key may be missing, and every example must be one.

use std::fs;
use std::path::Path;

use monolith_core::contract::ContractSpec;

/// The part of the page that describes a section of the file, and the file's text with an unknown key in it.
const SECTIONS: [(&str, &str); 15] = [
    ("the file", "zzqqzz: 1"),
    ("a target", "targets: [{zzqqzz: 1}]"),
    ("a provider", "providers: {p: {type: openai, zzqqzz: 1}}"),
    (
        "a model",
        "providers: {p: {type: openai, models: {m: {zzqqzz: 1}}}}",
    ),
    (
        "overrides",
        "providers: {p: {type: openai, overrides: {zzqqzz: 1}}}",
    ),
    ("sampling", "sampling: {zzqqzz: 1}"),
    ("queues", "queues: {q: {zzqqzz: 1}}"),
    ("tools", "tools: {zzqqzz: 1}"),
    ("tools.mcp", "tools: {mcp: {m: {command: c, zzqqzz: 1}}}"),
    ("max_calls", "max_calls: {zzqqzz: 1}"),
    ("metadata", "metadata: {zzqqzz: 1}"),
    (
        "cycle_exceptions",
        "metadata: {cycle_exceptions: [{zzqqzz: 1}]}",
    ),
    ("redact", "redact: {zzqqzz: 1}"),
    ("context_budget", "context_budget: {zzqqzz: 1}"),
    ("tool_output_budget", "tool_output_budget: {zzqqzz: 1}"),
];

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/contract-file.md");
    fs::read_to_string(path).unwrap()
}

/// The keys that the reader names when it meets one that it does not know.
fn known_keys(text: &str) -> Vec<String> {
    let faults = ContractSpec::parse("sample", text, &[]).unwrap_err();
    let helps = faults
        .errors
        .iter()
        .filter_map(|fault| fault.help.as_deref());
    let listed = helps.filter_map(|help| help.strip_prefix("known keys: "));
    listed
        .flat_map(|list| list.split(", "))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_key_that_the_reader_knows_stands_on_the_page() {
    let page = page();
    for (section, text) in SECTIONS {
        let keys = known_keys(text);
        assert!(!keys.is_empty(), "{section}: no key is known");
        for key in keys {
            assert!(page.contains(&format!("`{key}`")), "{section}: {key}");
        }
    }
}

#[test]
fn every_example_of_the_page_is_read() {
    let page = page();
    let examples: Vec<&str> = page
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```"))
        .map(|(text, _)| text)
        .collect();
    assert!(!examples.is_empty());
    for text in examples {
        let spec = ContractSpec::parse("example", text, &[]);
        assert!(spec.is_ok(), "{:?}", spec.err());
    }
}
