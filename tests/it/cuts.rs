//! Quotes of a tool server are short: its secrets are taken out before the cut, against the binary.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::fixture::{Fixture, Left, calls, says};

/// As many bytes of a secret give it away.
const PIECE: usize = 8;

fn has_python() -> bool {
    let there = Command::new("python3").arg("--version").output().is_ok();
    if !there {
        println!("skipped 1 case: python3 is not here");
    }
    there
}

/// Runs a contract whose one tool server is the fixture in that mode; what was said, and every byte of the store.
fn left_by(kind: &str, secret: &str) -> Option<(String, Vec<u8>)> {
    if !has_python() {
        return None;
    }
    let fixture = Fixture::new();
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cutting_server.py");
    let server = format!(
        "{{command: python3, args: ['{}', {kind}], env: {{SECRET: '${{SECRET}}'}}}}",
        server.display()
    );
    let contract = format!("tool_policy: required\ntools: {{mcp: {{t: {server}}}}}\n");
    fixture.script(&contract, &[&calls("t__tell", "{}"), &says("done")]);
    let run = ["run", "c.yaml", "--run-id", "r", "--verbose"];
    let mut run = fixture.command(&run);
    let run = run.env("SECRET", secret).env("MONOLITH_LOG", "trace");
    let mut said = Left::from(run.output().unwrap()).printed();
    said += &fixture.run(&["show", "r"]).printed();
    fixture.ok(&["export", "r", "--output", "r.jsonl"]);
    let mut left = fs::read(fixture.path("r.jsonl")).unwrap();
    for entry in fs::read_dir(fixture.path("home")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            left.extend(fs::read(path).unwrap());
        }
    }
    Some((said, left))
}

#[track_caller]
fn shows_no_piece(kind: &str, secret: &str, (said, left): &(String, Vec<u8>)) {
    for piece in secret.as_bytes().windows(PIECE) {
        let shown = [said.as_bytes(), left]
            .iter()
            .any(|place| place.windows(PIECE).any(|found| found == piece));
        let piece = String::from_utf8_lossy(piece);
        assert!(!shown, "{kind}: {piece} is shown: {said}");
    }
}

/// Text that is like nothing else.
fn secret(length: usize) -> String {
    let mut state = 7_u32;
    let letter = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b"abcdefghijkmnopqrstuvwxyz0123456"[(state >> 27) as usize])
    };
    (0..length).map(letter).collect()
}

#[test]
fn the_end_of_a_standard_error_is_scrubbed_before_it_is_cut() {
    let secret = secret(400);
    // Where it was cut once, and where it is cut now.
    for kept in [4_096, 262_144] {
        let kind = format!("stderr, '{kept}'");
        let Some(left) = left_by(&kind, &secret) else {
            return;
        };
        assert!(
            left.0.contains("its standard error ended with"),
            "{}",
            left.0
        );
        shows_no_piece(&kind, &secret, &left);
    }
}

#[test]
fn the_words_of_a_server_are_scrubbed_before_they_are_cut() {
    // One that is known, and one that only looks like a credential.
    let shaped = format!("ghp_{}", secret(36));
    for (kind, secret, expect) in [
        ("refuses", secret(40), "it refused: xxx"),
        ("refuses", shaped.clone(), "it refused: xxx"),
        ("lists", secret(40), "xxx"),
        ("lists", shaped, "xxx"),
    ] {
        let Some(left) = left_by(kind, &secret) else {
            return;
        };
        assert!(left.0.contains(expect), "{kind}: {}", left.0);
        shows_no_piece(kind, &secret, &left);
    }
}

/// Every call of such a tool would be refused, so it is refused itself.
#[test]
fn a_tool_that_can_take_no_arguments_is_refused_before_the_run() {
    if !has_python() {
        return;
    }
    let fixture = Fixture::new();
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cutting_server.py");
    let contract = format!(
        "tool_policy: required\ntools: {{mcp: {{t: {{command: python3, args: ['{}', schema]}}}}}}\n",
        server.display()
    );
    fixture.script(&contract, &[&calls("t__tell", "{}"), &says("done")]);
    let twice = |n: usize| {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        json!({"anyOf": [next, next]})
    };
    let mut definitions: serde_json::Map<String, Value> =
        (0..7).map(|n| (format!("d{n}"), twice(n))).collect();
    definitions.insert("d7".to_owned(), json!({"type": "string"}));
    let member = json!({"properties": {"a": {"$ref": "#/$defs/d0"}}});
    let schema = json!({"type": "object", "$defs": definitions, "allOf": vec![member; 64]});
    fixture.write("schema.json", &schema.to_string());
    let refused = fixture.ends(&["run", "c.yaml"], 3).printed();
    let refused = refused.split_whitespace().collect::<Vec<_>>().join(" ");
    for expect in [
        "tool \"tell\" left out",
        "not even an object without members",
    ] {
        assert!(refused.contains(expect), "{expect}: {refused}");
    }
}
