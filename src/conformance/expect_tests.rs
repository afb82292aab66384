//! No expectation of a case is empty talk: with any leaf of any of them changed, the case fails.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::bring_up::{BringUp, bring_up};
use super::case::{Base, Case};
use super::case_row::row_of;
use super::drive::play;
use super::expect::Expect;
use super::metrics::Tally;
use super::source::Corpus;

/// The pointers to all leaves under `value`; an empty list is one, an empty mapping is none.
fn leaves(value: &Value, at: &str) -> Vec<String> {
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(key, value)| leaves(value, &format!("{at}/{key}")))
            .collect(),
        Value::Array(items) if !items.is_empty() => items
            .iter()
            .enumerate()
            .flat_map(|(n, value)| leaves(value, &format!("{at}/{n}")))
            .collect(),
        _ => vec![at.to_owned()],
    }
}

/// Another value of the same kind, which does not hold where the old one does.
fn other(pointer: &str, value: &Value) -> Value {
    let keys: Vec<&str> = pointer
        .split('/')
        .filter(|key| key.parse::<u8>().is_err())
        .collect();
    match (keys.as_slice(), value) {
        // Every request has a role, every entry a kind.
        ([_, "asks", "never"], _) => json!("\"role\""),
        ([_, "never"], _) => json!("\"kind\""),
        ([_, "closing"], old) if old == "stop" => json!("context"),
        ([_, "closing"], _) => json!("stop"),
        ([_, "path"], old) if old == "TERMINATE" => json!("INFER"),
        ([_, "path"], Value::String(_)) => json!("TERMINATE"),
        ([_, "predicate", "name"], old) if old == "total_timeout" => json!("stop"),
        ([_, "predicate", "name"], _) => json!("total_timeout"),
        ([_, "waits" | "targets"], Value::Array(_)) => json!([77]),
        (_, Value::Array(_)) => json!(["zz"]),
        (_, Value::String(text)) => json!(format!("zz{text}")),
        (_, Value::Number(number)) => match number.as_u64() {
            Some(number) => json!(number + 1),
            None => json!(77.5),
        },
        (_, Value::Bool(flag)) => json!(!flag),
        (_, Value::Null | Value::Object(_)) => json!("zz"),
    }
}

#[test]
fn a_case_fails_with_any_leaf_of_its_expectations_changed() {
    let corpus = Corpus::built_in();
    let base = Base::parse(&corpus.base).unwrap();
    let (mut changed, mut survivors) = (0, Vec::new());
    for source in &corpus.cases {
        let case = Case::parse(&source.id, &source.text).unwrap();
        let brought_up = bring_up(&source.id, &base, &case).unwrap();
        let document: Value = serde_saphyr::from_str(&source.text).unwrap();
        let played = match brought_up {
            BringUp::Made(made) => play(&source.id, &case, *made).unwrap(),
            BringUp::Refused(_) => continue,
        };
        for pointer in leaves(&document["expect"], "") {
            let mut expect = document["expect"].clone();
            let leaf = expect.pointer_mut(&pointer).unwrap();
            *leaf = other(&pointer, leaf);
            let what = format!("{} {pointer} {leaf}", source.id);
            // What cannot be read would fail for that alone.
            let expect: Expect = serde_json::from_value(expect).expect(&what);
            let found = if pointer == "/verifies" {
                expect.differences(&played)
            } else {
                expect.compared(&played)
            };
            changed += 1;
            if found.is_empty() {
                survivors.push(what);
            }
        }
    }
    assert!(changed > 2000, "{changed}");
    assert!(survivors.is_empty(), "{survivors:#?}");
}

/// A sentence is carried by the assertion that its case names: with that one broken the case fails.
#[test]
fn a_case_fails_with_the_assertion_broken_that_carries_a_sentence() {
    let corpus = Corpus::built_in();
    let base = Base::parse(&corpus.base).unwrap();
    let (mut broken, mut flaws) = (0, Vec::new());
    for source in &corpus.cases {
        let case = Case::parse(&source.id, &source.text).unwrap();
        let shown = case.session.values().chain(case.machine.values());
        let carriers: BTreeSet<&String> = shown.collect();
        if carriers.is_empty() {
            continue;
        }
        let document: Value = serde_saphyr::from_str(&source.text).unwrap();
        let played = match bring_up(&source.id, &base, &case).unwrap() {
            BringUp::Made(made) => Some(play(&source.id, &case, *made).unwrap()),
            BringUp::Refused(_) => None,
        };
        for carrier in carriers {
            let in_script = carrier.starts_with("script/");
            let at = if in_script { "" } else { "/expect" };
            let within = document.pointer(&format!("{at}/{carrier}"));
            let pointers = within.map_or_else(Vec::new, |v| leaves(v, &format!("/{carrier}")));
            if pointers.is_empty() {
                flaws.push(format!("{}: there is no {carrier}", source.id));
            }
            for pointer in pointers {
                let mut document = document.clone();
                let leaf = document.pointer_mut(&format!("{at}{pointer}")).unwrap();
                *leaf = if in_script {
                    json!("BODY_TOO_LARGE")
                } else {
                    other(&pointer, leaf)
                };
                let text = serde_json::to_string(&document).unwrap();
                let case = Case::parse(&source.id, &text);
                let holds = match (&case, &played) {
                    // What was played does not depend on what is expected of it.
                    (Ok(Case { expect, .. }), Some(played)) if !in_script => {
                        expect.compared(played).is_empty() && expect.differences(played).is_empty()
                    }
                    _ => row_of(&base, &source.id, case, &mut Tally::default()).ok,
                };
                broken += 1;
                if holds {
                    flaws.push(format!("{}: {pointer} carries nothing", source.id));
                }
            }
        }
    }
    assert!(broken > 800, "{broken}");
    assert!(flaws.is_empty(), "{flaws:#?}");
}
