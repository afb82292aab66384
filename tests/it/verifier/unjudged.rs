use serde_json::{Value, json};

use super::forge::{forged, rehash_contract};
use super::{Case, golden, library, python};

/// Returns files that `monolith verify` refuses and verify.py takes, with all hashes recomputed, and the words of its README
/// for each.
fn cases() -> Vec<(&'static str, Case)> {
    let bytes = golden("core.valid_call");
    let mut cases = Vec::new();
    let mut put = |words: &'static str, line: usize, place: &str, value: Value| {
        let change = |lines: &mut Vec<Value>| {
            let (parent, key) = place.rsplit_once('/').unwrap();
            let parent = lines[line - 1].pointer_mut(parent).unwrap();
            match parent {
                Value::Array(items) => items[key.parse::<usize>().unwrap()] = value.clone(),
                _ => parent[key] = value.clone(),
            }
            if line == 1 {
                rehash_contract(lines);
            }
        };
        let name = format!("line {line} {place}: {value}");
        cases.push((words, Case::whole(&name, forged(&bytes, &change))));
    };
    let structure = "its structure";
    put(structure, 1, "/contract/max_turns", json!(0));
    put(structure, 1, "/contract/targets", json!([]));
    let form = "its keys and their types";
    put(form, 1, "/contract/max_turns", json!("ten"));
    put(form, 1, "/contract/surprise", json!(1));
    put(form, 1, "/contract/tool_policy", json!("sometimes"));
    let words = "an unknown word";
    let returned = "/event/event/value";
    put(words, 3, "/action/checks/0/name", json!("dreamt"));
    put(words, 8, "/action/predicate/name", json!("dreamt"));
    put(words, 4, "/action/kind", json!("dreamt"));
    put(
        words,
        6,
        &format!("{returned}/outcome/value/status"),
        json!("dreamt"),
    );
    put(
        words,
        4,
        &format!("{returned}/result/status"),
        json!("dreamt"),
    );
    put(
        words,
        4,
        &format!("{returned}/result/stop"),
        json!("dreamt"),
    );
    let message = format!("{returned}/result/canonical_message");
    put(words, 4, &format!("{message}/role"), json!("dreamt"));
    let ranges = "a number that is too large for its counter";
    put(
        ranges,
        3,
        "/action/counters/turns",
        json!(9_007_199_254_740_991_u64),
    );
    put(
        ranges,
        3,
        "/action/attempt",
        json!(9_007_199_254_740_991_u64),
    );
    put(
        ranges,
        8,
        "/action/predicate/item",
        json!(9_007_199_254_740_991_u64),
    );
    let arguments = "`arguments` that are not the text of one JSON object";
    let call = format!("{message}/tool_calls/0/arguments");
    put(arguments, 4, &call, json!("no object"));
    cases
}

/// A list of what is not judged is exact where each item is shown.
#[test]
fn what_verify_py_does_not_judge_is_what_its_readme_lists() {
    let (words, cases): (Vec<&str>, Vec<Case>) = cases().into_iter().unzip();
    let readme = include_str!("../../../verifier/README.md");
    let readme = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut wrong: Vec<String> = words
        .iter()
        .filter(|words| !readme.contains(**words))
        .map(|words| format!("the README does not say {words:?}"))
        .collect();
    for case in &cases {
        if library(case, false, &[]).holds {
            wrong.push(format!("the library takes {}", case.name));
        }
    }
    for (case, verdict) in cases
        .iter()
        .zip(python::verdicts(&cases, &[]).unwrap_or_default())
    {
        if !verdict.holds {
            wrong.push(format!("verify.py refuses {}: {verdict}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
