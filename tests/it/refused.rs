//! Messages to a person about refused calls and requests, and about failed calls in a run that succeeded. Against the binary.

use crate::fixture::{Fixture, calls, says};
use crate::http::serving;

/// A fixture whose scripted model gives a wrong argument as often as it may.
fn slipping() -> Fixture {
    let fixture = Fixture::new();
    let wrong = calls("echo", "{\"text\":7}");
    fixture.script(
        "tool_policy: required\ntools: {builtin: [echo]}\n",
        &[wrong.as_str(); 3],
    );
    fixture
}

#[test]
fn what_was_refused_is_told_by_tool_field_and_rule() {
    let fixture = slipping();
    let printed = fixture
        .ends(&["run", "c.yaml", "--run-id", "r1", "--verbose"], 5)
        .printed();
    let refused = "refused echo: TOOL_VALIDATION_ERROR: /text: type: value is not of type \"string\". Arguments: {text: string}";
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
    let fixture = slipping();
    for (turns, warned) in [("3", true), ("4", false)] {
        let set = format!("max_turns={turns}");
        let printed = fixture
            .ends(&["contract", "check", "c.yaml", "--set", &set], 0)
            .printed();
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
    let report = fixture.ends(&args, 0).document();
    assert_eq!(report["warnings"].as_array().unwrap().len(), 1, "{report}");
    let args = [
        "contract",
        "check",
        "c.yaml",
        "--set",
        "max_invalid_turns=0",
    ];
    assert!(
        fixture
            .ends(&args, 4)
            .printed()
            .contains("max_invalid_turns is 0")
    );
}

#[test]
fn success_on_failed_calls_says_so() {
    let fixture = Fixture::new();
    let missing = calls("read_file", "{\"path\":\"no-such-file\"}");
    let tools = "tool_policy: required\ntools: {builtin: [read_file], workspace: .}\n";
    fixture.script(tools, &[&missing, &says("MIT")]);
    let printed = fixture.ends(&["run", "c.yaml", "--run-id", "r1"], 0);
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
    assert!(
        fixture
            .ends(&set, 1)
            .printed()
            .contains("proof_not_succeeded")
    );
}

#[test]
fn a_refused_member_of_provider_options_is_the_authors_word() {
    let port = serving(|_| {
        let head = "400 X\r\ncontent-type: application/json";
        let body = r#"{"error": {"message": "Unrecognized request argument supplied: foo"}}"#;
        (head.to_owned(), body.to_owned())
    });
    let fixture = Fixture::new();
    let provider = format!(
        "{{type: openai, base_url: 'http://127.0.0.1:{port}/v1', provider_options: {{foo: 1}}}}"
    );
    fixture.write(
        "c.yaml",
        &format!(
            "task: hi\ntargets: [{{provider: p, model: m, context_window: 9000}}]\nproviders: {{p: {provider}}}\n"
        ),
    );
    let left = fixture.ends(&["run", "c.yaml", "--run-id", "r", "--json"], 4);
    let result = left.document();
    assert_eq!(
        result["outcome"]["code"], "profile_incompatible",
        "{result}"
    );
    let error = result["error"].as_str().unwrap();
    assert!(error.contains("supplied: foo"), "{error}");
    assert!(left.err.contains("`provider_options`"), "{}", left.err);
}
