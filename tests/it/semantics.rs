//! docs/audit/semantics.md against the library: what both state must be the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use monolith_core::kernel::{AgentOutcome, Outcome, OutcomeCode};

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The rows `| class | code | exit | meaning |` of §3; a row without a class continues the one above.
fn documented() -> Vec<(Outcome, u8)> {
    let document = read("docs/audit/semantics.md");
    let (_, section) = document.split_once("\n## §3").unwrap();
    let (section, _) = section.split_once("\n## §4").unwrap();
    let mut classes: Vec<AgentOutcome> = Vec::new();
    let mut rows = Vec::new();
    for line in section.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, class, code, exit, _, _] = cells.as_slice() else {
            continue;
        };
        let Some(code) = code.strip_prefix('`').and_then(|c| c.strip_suffix('`')) else {
            continue;
        };
        if !class.is_empty() {
            let parse = |name| serde_json::from_str(&format!("\"{name}\"")).unwrap();
            classes = class.split(", ").map(parse).collect();
        }
        let code: OutcomeCode = serde_json::from_str(&format!("\"{code}\"")).unwrap();
        for class in &classes {
            rows.push((Outcome::new(*class, code), exit.parse().unwrap()));
        }
    }
    rows
}

/// 000/2.exit.7
/// Shows 002/6.commit.4.
#[test]
fn exit_codes_are_the_documented_ones() {
    let rows = documented();
    assert!(!rows.is_empty());
    for (outcome, exit) in rows {
        assert_eq!(outcome.exit_code(), exit, "{outcome}");
    }
}

/// Shows 002/2.goals.1, 002/6.outcomes.1, 002/6.commit.4, 002/8.modify.2.
#[test]
fn every_class_and_code_is_documented_once() {
    let rows = documented();
    let unique: BTreeSet<Outcome> = rows.iter().map(|(outcome, _)| *outcome).collect();
    assert_eq!(unique.len(), rows.len(), "a pair stands twice");

    let classes: BTreeSet<AgentOutcome> = unique.iter().map(|outcome| outcome.class).collect();
    assert_eq!(classes, BTreeSet::from(AgentOutcome::ALL));

    // The library has no separate list of codes: their written forms are where they are spelt.
    let source = read("src/core/kernel/outcome.rs");
    let spelt: BTreeSet<&str> = source
        .lines()
        .filter_map(|line| line.split_once("=> \"")?.1.strip_suffix("\","))
        .filter(|text| text.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect();
    let documented: BTreeSet<&str> = unique.iter().map(|outcome| outcome.code.as_str()).collect();
    assert_eq!(documented, spelt);
}
