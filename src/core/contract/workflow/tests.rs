//! Definitions that keep the rules, and such that break one each.

use serde_json::json;

use super::*;
use crate::message::Digest;

fn id(name: &str) -> StepId {
    StepId::try_from(name.to_owned()).unwrap()
}

/// A definition in its stored form, read without being judged.
fn read(steps: &serde_json::Value, compensations: &serde_json::Value) -> WorkflowDefinition {
    let document = json!({
        "compensations": compensations, "file_digest": Digest::ZERO, "format": WORKFLOW_FORMAT, "id": "w",
        "max_steps": 10, "on_failure": "failFast", "steps": steps, "total_timeout_ms": 1000,
    });
    serde_json::from_value(document).unwrap()
}

fn prompt(name: &str, text: &str) -> serde_json::Value {
    json!({"id": name, "work": {"kind": "prompt", "value": text}})
}

fn waiting(name: &str, on: &[&str]) -> serde_json::Value {
    let mut step = prompt(name, "x");
    step["depends_on"] = json!(on);
    step
}

fn group(steps: &[serde_json::Value]) -> serde_json::Value {
    let value = json!({"max_concurrency": 2, "on_failure": "failFast", "steps": steps});
    json!({"id": "g", "work": {"kind": "parallel", "value": value}})
}

/// The faults of a definition of these steps, as they are shown.
#[track_caller]
fn check(steps: &serde_json::Value, expected: &[&str]) {
    let faults = read(steps, &json!([])).faults();
    let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(shown, expected);
}

#[test]
fn steps_that_name_earlier_ones_are_accepted() {
    let steps = json!([
        prompt("a", "${input}"),
        prompt("b", "${steps.a.output} $${nothing}"),
        group(&[prompt("c", "${steps.b.output}"), waiting("d", &["c"])]),
        prompt("e", "${steps.g.output}"),
    ]);
    check(&steps, &[]);
}

/// 003/INV-PE-002
#[test]
fn a_missing_dependency_is_another_fault_than_a_circle() {
    check(
        &json!([group(&[waiting("a", &["b", "gone"]), waiting("b", &[])])]),
        &["steps.0.parallel.0.depends_on.1: it depends on `gone`, which is no step of its group"],
    );
    check(
        &json!([group(&[
            waiting("a", &["c"]),
            waiting("b", &["a"]),
            waiting("c", &["b"]),
            waiting("d", &["a"]),
        ])]),
        &["steps.0.parallel.0.depends_on: these steps wait for each other: a → c → b → a"],
    );
    check(
        &json!([group(&[waiting("a", &["a"])])]),
        &["steps.0.parallel.0.depends_on: these steps wait for each other: a → a"],
    );
}

#[test]
fn every_circle_of_a_group_is_named() {
    check(
        &json!([group(&[
            waiting("a", &["b"]),
            waiting("b", &["a"]),
            waiting("c", &["d"]),
            waiting("d", &["c"]),
        ])]),
        &[
            "steps.0.parallel.0.depends_on: these steps wait for each other: a → b → a",
            "steps.0.parallel.2.depends_on: these steps wait for each other: c → d → c",
        ],
    );
}

#[test]
fn a_dependency_outside_of_a_group_is_refused() {
    let rule = "only steps of a `parallel` group have dependencies: others are done in the order of the file";
    check(
        &json!([prompt("a", "x"), waiting("b", &["a"])]),
        &[&format!("steps.1.depends_on: {rule}")],
    );
}

#[test]
fn a_step_is_given_only_what_has_ended_before_it() {
    check(
        &json!([
            prompt("a", "${steps.b.output}"),
            prompt("b", "${steps.c.output}")
        ]),
        &[
            "steps.0.prompt: the step `b` has not ended before this one begins",
            "steps.1.prompt: there is no step `c`",
        ],
    );
    // Beside each other, only what is waited for has ended.
    check(
        &json!([group(&[prompt("a", "x"), prompt("b", "${steps.a.output}")])]),
        &["steps.0.parallel.1.prompt: the step `a` has not ended before this one begins"],
    );
}

#[test]
fn what_stands_inside_of_a_step_is_not_seen_from_outside() {
    let value = json!({
        "condition": {"step": "a", "test": {"kind": "succeeded", "value": true}}, "then": [prompt("t", "x")],
    });
    check(
        &json!([
            prompt("a", "x"),
            {"id": "c", "work": {"kind": "if", "value": value}},
            prompt("d", "${steps.t.output}"),
        ]),
        &["steps.2.prompt: the step `t` has not ended before this one begins"],
    );
}

#[test]
fn placeholders_are_read_before_anything_is_begun() {
    check(
        &json!([
            prompt("a", "${wrong}"),
            prompt("b", "${input"),
            prompt("c", "${item}"),
            prompt("d", "${output}"),
        ]),
        &[
            "steps.0.prompt: there is no placeholder `${wrong}`",
            "steps.1.prompt: a placeholder is not closed: `${` without `}`",
            "steps.2.prompt: `${item}` and `${index}` stand inside of a `for_each` only",
            "steps.3.prompt: `${output}` stands in `compensations` only",
        ],
    );
}

#[test]
fn names_and_limits_are_judged() {
    let value = json!({"items": "[]", "max_iterations": 0, "steps": [prompt("a", "x")]});
    check(
        &json!([prompt("a", "x"), {"id": "l", "work": {"kind": "for_each", "value": value}}]),
        &[
            "steps.1.max_iterations: expected 1 to 1000, got 0",
            "steps.1.steps.0.id: the step `a` is defined twice",
        ],
    );
    check(&json!([]), &["steps: at least one step is needed"]);
    let many: Vec<_> = (0..257).map(|n| prompt(&format!("s{n}"), "x")).collect();
    check(
        &json!(many),
        &["steps: a workflow has at most 256 steps, got 257"],
    );
}

#[test]
fn steps_in_steps_have_a_limit() {
    let mut step = prompt("a", "x");
    for level in 0..9 {
        let value = json!({"items": "[]", "max_iterations": 1, "steps": [step]});
        step = json!({"id": format!("l{level}"), "work": {"kind": "for_each", "value": value}});
    }
    let faults = read(&json!([step]), &json!([])).faults();
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].rule, WorkflowRule::TooDeep);
}

#[test]
fn a_compensation_is_a_run_that_some_step_names() {
    let mut undone = prompt("a", "x");
    undone["compensate"] = json!("undo");
    let shown = |compensations: serde_json::Value| {
        let definition = read(&json!([undone]), &compensations);
        let faults = definition.faults();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        shown(json!([prompt("undo", "${output} ${steps.a.output}")])),
        Vec::<String>::new()
    );
    assert_eq!(
        shown(json!([])),
        ["steps.0.compensate: there is no compensation `undo`"]
    );
    assert_eq!(
        shown(json!([prompt("undo", "x"), prompt("other", "x")])),
        ["compensations.1.id: no step names this compensation"]
    );
    let mut held = group(&[prompt("b", "x")]);
    held["id"] = json!("undo");
    assert_eq!(
        shown(json!([held])),
        ["compensations.0: a compensation is a prompt, a tool or a delegate, without `compensate`"]
    );
}

#[test]
fn a_document_is_read_back_and_another_text_of_it_is_refused() {
    let definition = read(&json!([prompt("a", "x")]), &json!([]));
    let text = definition.canonical_text();
    assert_eq!(WorkflowDefinition::decode(&text), Ok(definition.clone()));
    let spaced = text.replace("\"id\":\"w\"", "\"id\": \"w\"");
    let fault = WorkflowDefinition::decode(&spaced).unwrap_err();
    assert_eq!(fault, WorkflowDocumentFault::NotCanonical);
    let newer = text.replace(WORKFLOW_FORMAT, "monolith-workflow/2");
    let fault = WorkflowDefinition::decode(&newer).unwrap_err();
    assert_eq!(
        fault,
        WorkflowDocumentFault::Format("monolith-workflow/2".to_owned())
    );
    assert_ne!(definition.definition_hash(), Digest::ZERO);
}

#[test]
fn conditions_ask_of_the_output_without_the_white_space_around_it() {
    assert!(Test::Equals("yes".to_owned()).holds(true, " yes\n"));
    assert!(Test::NotEquals("yes".to_owned()).holds(true, "no"));
    assert!(Test::Contains("e".to_owned()).holds(false, "yes"));
    assert!(Test::NotContains("e".to_owned()).holds(false, "no"));
    assert!(Test::Matches("^[0-9]+$".to_owned()).holds(true, "12\n"));
    assert!(!Test::Matches("^[0-9]+$".to_owned()).holds(true, "12a"));
    assert!(Test::Succeeded(false).holds(false, ""));
    assert!(Test::Matches("(?=x)".to_owned()).fault().is_some());
    assert_eq!(id("a").as_str(), "a");
}

/// A number that would be called as another one is not called at all.
#[test]
fn a_number_of_arguments_that_is_not_exact_is_refused() {
    let call = |n: &str| {
        let arguments: serde_json::Value = serde_json::from_str(n).unwrap();
        let value = json!({"tool": "t", "arguments": {"n": arguments}});
        json!([{"id": "a", "work": {"kind": "tool", "value": value}}])
    };
    for exact in ["9007199254740991", "-9007199254740991", "0.10", "1e2"] {
        check(&call(exact), &[]);
    }
    for inexact in ["9007199254740993", "-9007199254740993", "1e22"] {
        check(
            &call(inexact),
            &[
                "steps.0.arguments.n: the number has more digits than are exact in JSON (2^53): write it as a text",
            ],
        );
    }
}
