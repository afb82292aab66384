//! The words of the page about a run: the cause of a failure, shortened pauses, and clipped texts. Asks the page's own sources in node.

use std::path::Path;
use std::process::Command;
use std::{fs, slice};

use serde_json::{Value, json};

use crate::text::diff::LineDiff;
use monolith_core::message::Digest;

const SOURCES: [&str; 7] = [
    include_str!("blake3.js"),
    include_str!("notes.js"),
    include_str!("transcript.js"),
    include_str!("run.js"),
    include_str!("draw.js"),
    include_str!("parts.js"),
    include_str!("changes.js"),
];
const PAGE: &str = include_str!("page.html");

/// Prints the cause, the pauses and some places on the scale of each file, a line of JSON each.
const READ: &str = r#"
const fs = require("node:fs");
for (const name of process.argv.slice(2)) {
  const run = readRun([...transcript.lines(fs.readFileSync(name))]);
  const { from, pauses, to, whole } = run.time;
  const back = run.entries.every(({ at }) => Math.abs(from(to(at)) - at) < 1);
  console.log(JSON.stringify({ back, cause: run.cause, pauses, total: run.total, whole: Math.round(whole) }));
}
"#;

/// Prints what `script` does, in node; `None` if node is missing.
fn printed(script: &str, files: &[String]) -> Option<String> {
    let has_node = Command::new("node").arg("--version").output();
    if !has_node.is_ok_and(|output| output.status.success()) {
        println!("skipped a case: there is no node");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = format!("{}{script}", SOURCES.concat());
    fs::write(folder.path().join("page.js"), script).unwrap();
    let mut node = Command::new("node");
    let node = node.arg("page.js").args(files).current_dir(folder.path());
    let output = node.output().unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The data that the page reads from a golden transcript.
fn read(name: &str) -> Option<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../replay/v1");
    let file = folder.join(format!("{name}.jsonl")).display().to_string();
    let text = printed(READ, slice::from_ref(&file))?;
    Some(serde_json::from_str(&text).unwrap())
}

#[test]
fn the_headline_of_a_failed_run_has_its_cause() {
    let check = |name: &str, cause: &str| {
        if let Some(run) = read(name) {
            assert_eq!(run["cause"], cause, "{name}");
        }
    };
    check("core.valid_call", "");
    check(
        "provider.auth_before",
        "auth 401: invalid_api_key: no such key",
    );
    check(
        "preflight.tool_unavailable",
        "tools: the tool server `fs` is not available",
    );
    check(
        "batch.malformed_in_the_middle",
        "echo malformed: the result has no content",
    );
    check("core.step_timeout", "read_file did not return");
    check("budget.next_inference", "2 of 2 inferences used");
    check(
        "flow.denied_strict",
        "flow.0 denies echo: the model has seen untrusted (entry 4: read_file)",
    );
    // The call that proves nothing is of an earlier turn.
    check(
        "proof.failing_calls_must_succeed",
        "read_file error, TOOL_ERROR: no such file",
    );
}

#[test]
fn a_long_wait_is_drawn_short_and_every_moment_keeps_its_place() {
    // A person takes a thousand seconds; the model and the tool take two.
    let Some(run) = read("approval.stands_outside_the_timeouts") else {
        return;
    };
    let [pause] = run["pauses"].as_array().unwrap().as_slice() else {
        panic!("one pause: {run}");
    };
    let length = pause["to"].as_u64().unwrap() - pause["from"].as_u64().unwrap();
    assert_eq!(length, 1_000_000, "{run}");
    let work = run["total"].as_u64().unwrap() - length;
    let whole = run["whole"].as_u64().unwrap();
    assert!(whole < work + work / 10, "{run}");
    assert_eq!(run["back"], json!(true), "{run}");
    let short = read("core.valid_call").unwrap();
    assert_eq!(short["pauses"], json!([]), "{short}");
}

#[test]
fn a_clipped_text_says_how_much_is_shown_and_a_duration_has_its_units() {
    let script = r#"console.log(JSON.stringify([parts.clipping("x".repeat(20000), 4000), parts.clipping("short", 4000),
      parts.lasting(999), parts.lasting(61000), parts.lasting(3600000), parts.lasting(90000000)]));"#;
    let Some(text) = printed(script, &[]) else {
        return;
    };
    let read: Value = serde_json::from_str(&text).unwrap();
    let clipped = "the first 4,000 of 20,000 characters; show all";
    let expect = json!([clipped, "", "0 s", "1 min 1 s", "1 h", "1 d 1 h"]);
    assert_eq!(read, expect);
}

/// A page may bring any contents: only those are drawn whose hashes the entries state.
#[test]
fn a_diff_is_bound_to_the_hashes_of_both_contents() {
    let digest = |text: &str| Digest::of(text.as_bytes()).to_string();
    let node = |text: &str| json!({"kind": "file", "value": {"content": digest(text), "mode": 420, "size": 0}});
    let hunks = |before: &str, after: &str| LineDiff::between(before, after).hunks;
    let (old, new) = ("one\ntwo\n", "one\n2");
    let cases = json!([
        [{"before": node(old), "after": node(new)}, {"before": old, "hunks": hunks(old, new)}],
        [{"after": node(new)}, {"before": "", "hunks": hunks("", new)}],
        [{"before": node(old)}, {"before": old, "hunks": hunks(old, "")}],
        [{"before": node(old), "after": node(new)}, {"before": old, "hunks": hunks(old, "one\n3")}],
        [{"before": node(old), "after": node(new)}, {"before": "one\n", "hunks": hunks("one\n", new)}],
        [{"before": node(old), "after": node(new)}, {"before": old, "hunks": [{"old_offset": 9, "lines": []}]}],
        [{"before": node(old), "after": node(new)}, {"before": old, "hunks": [{}]}],
        [{"after": node(new)}, {"before": old, "hunks": hunks(old, new)}],
    ]);
    let script = format!(
        "console.log(JSON.stringify({cases}.map(([change, file]) => itemView.isBound(change, file))));"
    );
    let Some(text) = printed(&script, &[]) else {
        return;
    };
    let read: Value = serde_json::from_str(&text).unwrap();
    let expect = json!([true, true, true, false, false, false, false, false]);
    assert_eq!(read, expect);
}

#[test]
fn the_conversation_is_the_first_view_of_a_run() {
    let tabs = PAGE.split("data-tab=\"").skip(1);
    let tabs: Vec<&str> = tabs.map(|tab| tab.split('"').next().unwrap()).collect();
    // The steps of a workflow and the work item are hidden where there are none.
    assert_eq!(
        tabs,
        [
            "steps", "item", "talk", "timeline", "calls", "check", "family"
        ]
    );
}
