//! What a person is told of calls that were refused, and of calls that failed in a run that succeeded. Against the binary.

use crate::desk::{Desk, calls, says};

/// A desk whose scripted model gives a wrong argument as often as it may.
fn slipping() -> Desk {
    let desk = Desk::new();
    let wrong = calls("echo", "{\"text\":7}");
    desk.script(
        "tool_policy: required\ntools: {builtin: [echo]}\n",
        &[wrong.as_str(); 3],
    );
    desk
}

#[test]
fn what_was_refused_is_told_by_tool_field_and_rule() {
    let desk = slipping();
    let printed = desk
        .ends(&["run", "c.yaml", "--run-id", "r1", "--verbose"], 5)
        .said();
    let refused =
        "refused echo: TOOL_VALIDATION_ERROR: /text: type: value is not of type \"string\"";
    let line = format!("VALIDATE_CALLS → COMMIT   {refused}");
    assert_eq!(printed.matches(&line).count(), 3, "{printed}");
    assert!(
        printed.contains(&format!("schema. ({refused})")),
        "{printed}"
    );
    assert!(
        printed.contains("FAILED_VALIDATION (arguments)"),
        "{printed}"
    );
}

#[test]
fn a_required_run_that_ends_before_its_invalid_turns_do_is_warned_of() {
    let desk = slipping();
    for (turns, warned) in [("3", true), ("4", false)] {
        let set = format!("max_turns={turns}");
        let printed = desk
            .ends(&["contract", "check", "c.yaml", "--set", &set], 0)
            .said();
        assert_eq!(
            printed.contains("warning: max_turns 3 is not above max_invalid_turns 3"),
            warned,
            "{printed}"
        );
    }
    let args = [
        "contract",
        "check",
        "c.yaml",
        "--set",
        "max_turns=3",
        "--json",
    ];
    let report = desk.ends(&args, 0).document();
    assert_eq!(report["warnings"].as_array().unwrap().len(), 1, "{report}");
    let args = [
        "contract",
        "check",
        "c.yaml",
        "--set",
        "max_invalid_turns=0",
    ];
    assert!(
        desk.ends(&args, 4)
            .said()
            .contains("max_invalid_turns is 0")
    );
}

#[test]
fn success_on_failed_calls_says_so() {
    let desk = Desk::new();
    let missing = calls("read_file", "{\"path\":\"no-such-file\"}");
    let tools = "tool_policy: required\ntools: {builtin: [read_file], workspace: .}\n";
    desk.script(tools, &[&missing, &says("MIT")]);
    let printed = desk.ends(&["run", "c.yaml", "--run-id", "r1"], 0);
    assert!(
        printed.err.contains("1 of 1 call reported an error"),
        "{}",
        printed.err
    );
    let set = [
        "run",
        "c.yaml",
        "--run-id",
        "r2",
        "--set",
        "tool_proof=succeeded",
    ];
    assert!(desk.ends(&set, 1).said().contains("proof_not_succeeded"));
}
