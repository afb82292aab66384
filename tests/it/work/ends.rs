//! The ends of an item: missing files, limits, deadlines, tests that hang, fork and print much, and calls outside of the tree.

use serde_json::{Value, json};

use super::{fixture, writes};
use crate::fixture::calls;

/// Runs one item that writes `new.txt`, and compares its status with `expect`; nothing is published unless it succeeds.
#[track_caller]
fn check(more: Value, expect: &str, reason: &str) -> Value {
    let fixture = fixture();
    fixture.item_agent("agent-1", &[writes("new.txt", "new\n")]);
    fixture.items(&[("w", "agent-1", more)]);
    let before = fixture.state();
    let (code, result) = fixture.result();
    assert_eq!(result["status"], expect, "{result}");
    assert_eq!(code, i32::from(expect != "success"));
    let said = result.get("error").or(result.get("denial_reason"));
    assert_eq!(
        said.and_then(Value::as_str).unwrap_or_default(),
        reason,
        "{result}"
    );
    assert_eq!(fixture.state() == before, expect != "success");
    fixture.has_no_scratch();
    #[cfg(target_os = "linux")]
    fixture.has_no_processes();
    result
}

/// 004/2.context.1, 004/2.context.2
#[test]
fn a_missing_input_fails_before_the_run_and_a_missing_output_before_publishing() {
    let input = json!({"input_files": ["gone.txt"]});
    let result = check(input, "failure", "input file missing: gone.txt");
    assert_eq!(result["metrics"]["tool_ops_count"], 0);
    let output = json!({"output_files": ["/docs/gone.md"]});
    let result = check(output, "failure", "output file missing: docs/gone.md");
    assert_eq!(result["metrics"]["tool_ops_count"], 1);
    check(json!({"output_files": ["new.txt"]}), "success", "");
}

/// 004/2.constraints.2, 004/2.constraints.3, 004/2.constraints.4, 004/5.admission.4,
/// 004/5.admission.6, 004/5.admission.9
#[test]
fn each_limit_denies_in_the_words_of_004() {
    let limit = |name: &str, most: u64| json!({"constraints": {name: most}});
    check(limit("max_files", 0), "denied", "Exceeded max files: 1 > 0");
    check(
        limit("max_tool_ops", 0),
        "denied",
        "Exceeded max tool ops: 1 > 0",
    );
    check(
        limit("max_delta_size", 0),
        "denied",
        "Exceeded max delta size: 1 > 0",
    );
    for name in ["max_files", "max_tool_ops", "max_delta_size"] {
        check(limit(name, 1), "success", "");
    }
}

/// 004/2.constraints.5, 004/3.result.1
#[test]
fn tests_that_hang_end_at_the_deadline_with_all_that_they_started() {
    let more =
        |command: &str| json!({"test_command": command, "constraints": {"timeout_ms": 3_000}});
    check(more("sleep 600"), "timeout", "the deadline passed");
    check(
        more("sleep 601 & sleep 602"),
        "timeout",
        "the deadline passed",
    );
}

/// 004/3.metrics.5, 004/3.metrics.6
#[test]
fn tests_may_leave_processes_behind_write_files_and_print_much() {
    check(json!({"test_command": "sleep 603 & exit 0"}), "success", "");
    check(
        json!({"test_command": "rm -rf src; echo x > new.txt"}),
        "success",
        "",
    );
    let loud = "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo 'test result: ok. 3 passed; 0 failed; 0 ignored'";
    let result = check(json!({"test_command": loud}), "success", "");
    let output = result["test_output"].as_str().unwrap();
    assert!(output.len() <= 16 << 10, "{}", output.len());
    assert_eq!(result["metrics"]["tests_passed"], 3);
    assert_eq!(result["metrics"]["tests_failed"], 0);
}

#[test]
fn a_call_outside_of_the_tree_is_a_denial_unless_the_item_allows_it() {
    let denied = |more: Value, expect: &str| {
        let fixture = fixture();
        fixture.item_agent(
            "agent-1",
            &[calls("shell", r#"{"command": "echo x > new.txt"}"#)],
        );
        fixture.items(&[("w", "agent-1", more)]);
        let (_, result) = fixture.result();
        assert_eq!(result["status"], expect, "{result}");
        result
    };
    let result = denied(json!({}), "denied");
    assert_eq!(result["denial_reason"], "External effect: shell");
    denied(json!({"allow_external": ["sh*"]}), "success");
}

/// 004/9.errors.4
#[test]
fn a_failed_call_fails_the_item_if_it_says_so() {
    let run = |more: Value| {
        let fixture = fixture();
        let reads = calls("read_file", r#"{"path": "gone.txt"}"#);
        fixture.item_agent("agent-1", &[reads, writes("new.txt", "new\n")]);
        fixture.items(&[("w", "agent-1", more)]);
        fixture.result().1
    };
    assert_eq!(run(json!({}))["status"], "success");
    let failed = run(json!({"tool_errors": "fail"}));
    assert_eq!(failed["error"], "tool failed: read_file", "{failed}");
}

#[test]
fn an_ignored_file_is_thrown_away_and_an_unchanged_one_stays_as_it_was() {
    let fixture = fixture();
    fixture.write("tree/.gitignore", "target/\n");
    fixture.write("tree/target/cache", "old\n");
    fixture.item_agent(
        "agent-1",
        &[writes("target/cache", "new\n"), writes("new.txt", "new\n")],
    );
    fixture.items(&[("w", "agent-1", json!({}))]);
    let (code, result) = fixture.result();
    assert_eq!(code, 0, "{result}");
    assert_eq!(fixture.read("tree/target/cache"), "old\n");
    let receipt: Value = serde_json::from_str(
        &std::fs::read_to_string(result["receipt_path"].as_str().unwrap()).unwrap(),
    )
    .unwrap();
    assert_eq!(receipt["capsule"]["discarded"], json!(["target/cache"]));
}
