//! Two runs side by side.

use serde_json::{Value, json};

use super::golden;
use crate::fixture::{Fixture, Left};

#[test]
fn two_runs_part_where_their_decisions_do() {
    let fixture = Fixture::new();
    let compare = |left: &str, right: &str| {
        let Left {
            code, out: text, ..
        } = fixture.run(&["show", &golden(left), &golden(right), "--diff", "--json"]);
        (code, serde_json::from_str::<Value>(&text).unwrap())
    };
    let (code, report) = compare("core.valid_call", "core.valid_call");
    assert_eq!(
        (code, &report["same"], &report["common"]),
        (0, &json!(true), &json!(11))
    );
    assert_eq!(report["first_other_content"], Value::Null);
    // The same decisions, but a contract and a result that differ.
    let (code, report) = compare("core.valid_call", "core.oversized_result");
    assert_eq!((code, &report["same"]), (0, &json!(true)));
    assert_eq!(
        report["contract"][0]["pointer"],
        "/tool_output_budget/max_bytes_per_call"
    );
    assert_eq!(report["first_other_content"]["left"]["seq"], 4);
    let (code, report) = compare("core.tool_timeout_then_call", "core.valid_call");
    assert_eq!((code, &report["common"]), (6, &json!(4)));
    assert_eq!(report["divergence"]["left"]["event"], "tool_timed_out");
    assert_eq!(report["divergence"]["right"]["event"], "tool_returned");
    assert_eq!(
        report["divergence"]["fields"][0]["pointer"],
        "/event/event/value/outcome/kind"
    );
    let last = report["segments"].as_array().unwrap().last().unwrap();
    assert_eq!(
        last,
        &json!({"side": "both", "left": [9, 15], "right": [4, 10]})
    );
    let Left {
        code, out: text, ..
    } = fixture.run(&[
        "show",
        &golden("core.tool_timeout_then_call"),
        &golden("core.valid_call"),
        "--diff",
    ]);
    assert_eq!(code, 6);
    for part in [
        "In common from the beginning: 4 decisions",
        "read_file timed out",
        "A9–A15  are  B4–B10",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_comparison_needs_two_runs_that_verify() {
    let fixture = Fixture::new();
    let whole = golden("core.valid_call");
    assert_eq!(fixture.run(&["show", &whole, "--diff"]).code, 4);
    assert_eq!(fixture.run(&["show", &whole, &whole]).code, 4);
    let text = std::fs::read_to_string(&whole).unwrap();
    let changed = text.replacen("\"at_ms\":0", "\"at_ms\":1", 1);
    std::fs::write(fixture.path("bad.jsonl"), changed).unwrap();
    assert_eq!(
        fixture.run(&["show", &whole, "bad.jsonl", "--diff"]).code,
        7
    );
}
