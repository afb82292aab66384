//! The three contract tests of 004 "Testing Contract", by their names.

use std::process::Command;

use serde_json::json;

use super::{absolute, fixture, writes};
use crate::fixture::{bound, text};

/// 004/4.atomic.1, 004/4.atomic.7, 004/8.testing.1
#[test]
fn test_1_atomicity_on_failure() {
    let fixture = fixture();
    fixture.item_agent(
        "agent-1",
        &[writes("README.md", "changed\n"), writes("new.txt", "new\n")],
    );
    fixture.items(&[("w", "agent-1", json!({"test_command": "false"}))]);
    let before = fixture.state();
    let (code, result) = fixture.result();
    assert_eq!(
        (code, &result["status"]),
        (1, &json!("failure")),
        "{result}"
    );
    assert_eq!(result["error"], "Tests failed");
    assert_eq!(fixture.state(), before);
    fixture.has_no_scratch();
}

/// 004/4.atomic.5, 004/8.testing.2
#[test]
fn test_2_admission_enforcement() {
    let fixture = fixture();
    fixture.item_agent(
        "agent-1",
        &[writes("one.txt", "1\n"), writes("two.txt", "2\n")],
    );
    fixture.items(&[("w", "agent-1", json!({"constraints": {"max_files": 1}}))]);
    let before = fixture.state();
    let (code, result) = fixture.result();
    assert_eq!((code, &result["status"]), (1, &json!("denied")), "{result}");
    assert_eq!(result["denial_reason"], "Exceeded max files: 2 > 1");
    assert_eq!(fixture.state(), before);
}

/// 004/1.purpose.1, 004/3.result.4, 004/3.result.5, 004/3.verification.2, 004/6.replay.1,
/// 004/6.replay.2, 004/6.replay.3, 004/8.testing.3
#[test]
fn test_3_replay_determinism() {
    let fixture = fixture();
    fixture.item_agent(
        "agent-1",
        &[
            writes("README.md", "one\n2\nthree\n"),
            writes("new.txt", "new\n"),
        ],
    );
    fixture.items(&[("w", "agent-1", json!({"test_command": "test -e new.txt"}))]);
    let (code, result) = fixture.result();
    assert_eq!(
        (code, &result["status"]),
        (0, &json!("success")),
        "{result}"
    );
    assert_eq!(
        result["created_files"],
        json!([absolute(&fixture, "new.txt")])
    );
    assert_eq!(
        result["modified_files"],
        json!([absolute(&fixture, "README.md")])
    );
    assert_eq!(fixture.read("tree/new.txt"), "new\n");
    let state = fixture.state();
    let script = result["proof_script"].as_str().unwrap();
    for _ in 0..bound(2, 100) {
        let replayed = Command::new(script).output().unwrap();
        let said = text(&replayed.stdout) + &text(&replayed.stderr);
        assert!(replayed.status.success(), "{said}");
        let hash = result["output_hash"].as_str().unwrap();
        assert!(said.contains(&format!("actual:   {hash}\n")), "{said}");
    }
    assert_eq!(fixture.state(), state);
}
