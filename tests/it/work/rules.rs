//! Ignore rules, the count of edits, and what a file of items may say.

use std::fs;

use serde_json::json;

use super::{RUN, fixture, writes};
use crate::fixture::calls;

#[test]
fn an_item_that_changes_the_ignore_rules_replays_is_done_and_has_dependents() {
    let fixture = fixture();
    fixture.write("tree/x.log", "old\n");
    fixture.item_agent(
        "agent-1",
        &[writes(".gitignore", "*.log\n"), writes("x.log", "new\n")],
    );
    fixture.item_agent("agent-2", &[writes("later.txt", "later\n")]);
    fixture.items(&[("w", "agent-1", json!({}))]);
    let (code, result) = fixture.result();
    assert_eq!(code, 0, "{result}");
    assert_eq!(fixture.read("tree/x.log"), "new\n");
    fixture.ok(&["work", "replay", "w"]);
    let (code, result) = fixture.result();
    assert_eq!(
        (code, &result["metrics"]["tool_ops_count"]),
        (0, &json!(0)),
        "{result}"
    );
    fixture.items(&[("v", "agent-2", json!({"dependencies": ["w"]}))]);
    let (code, result) = fixture.result();
    assert_eq!(code, 0, "{result}");
}

#[test]
fn a_new_ignore_rule_hides_no_file_that_the_item_adds() {
    let fixture = fixture();
    fixture.item_agent(
        "agent-1",
        &[writes(".gitignore", "*.log\n"), writes("y.log", "y\n")],
    );
    fixture.items(&[("w", "agent-1", json!({}))]);
    let (code, result) = fixture.result();
    assert_eq!(code, 0, "{result}");
    assert_eq!(fixture.read("tree/y.log"), "y\n");
    fixture.ok(&["work", "replay", "w"]);
}

#[test]
fn a_byte_that_is_no_text_does_not_make_edits_cheaper() {
    let fixture = fixture();
    let lines = (0..60)
        .map(|n| n.to_string())
        .collect::<Vec<_>>()
        .join("\n")
        + "\n";
    fs::write(
        fixture.path("tree/raw"),
        [b"\xff\n", lines.as_bytes()].concat(),
    )
    .unwrap();
    let command = json!({"command": "sed -i '3~2s/$/ changed/' raw"});
    fixture.item_agent("agent-1", &[calls("shell", &command.to_string())]);
    let more = json!({"allow_external": ["shell"], "constraints": {"max_delta_size": 20}});
    fixture.items(&[("w", "agent-1", more)]);
    let (code, result) = fixture.result();
    assert_eq!(code, 1, "{result}");
    assert_eq!(result["denial_reason"], "Exceeded max delta size: 31 > 20");
}

#[test]
fn a_pattern_or_a_path_that_can_match_nothing_is_refused_before_anything_is_made() {
    for (more, expect) in [
        (json!({"excludes": ["["]}), "excludes.0: `[` is no pattern"),
        (
            json!({"allow_external": [""]}),
            "allow_external.0: `` is no pattern",
        ),
        (
            json!({"output_files": [".git/config"]}),
            "output_files.0: repositories",
        ),
    ] {
        let fixture = fixture();
        fixture.item_agent("agent-1", &[]);
        fixture.items(&[("w", "agent-1", more)]);
        let said = fixture.ends(&RUN, 4).err;
        assert!(said.contains(expect), "{said}");
        fixture.has_no_scratch();
    }
}

#[test]
fn an_agent_without_a_limit_of_turns_has_those_that_its_calls_need() {
    let fixture = fixture();
    let lines: Vec<String> = (0..15)
        .map(|n| writes("README.md", &format!("{n}\n")))
        .collect();
    fixture.item_agent("agent-1", &lines);
    fixture.items(&[("w", "agent-1", json!({}))]);
    let (code, result) = fixture.result();
    assert_eq!(code, 0, "{result}");
    assert_eq!(fixture.read("tree/README.md"), "14\n");
}
