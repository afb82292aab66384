//! Calls that a contract lets run beside each other, over one connection and over two: against the binary.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use monolith_core::kernel::EventKind;
use monolith_core::message::RunId;
use monolith_host::store::StoreReader;
use serde_json::{Value, json};

use crate::fixture::{Fixture, says};

/// A line of a script: the model makes these calls in one message.
fn calls(calls: &[(&str, Value)]) -> String {
    let call = |(at, (name, arguments)): (usize, &(&str, Value))| {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        json!({"id": format!("c{at}"), "type": "function", "function": function})
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
    json!({"response": {"choices": [choice]}}).to_string()
}

/// Runs these calls beside each other under more terms; what each was observed as, and the order in which they came back.
#[track_caller]
fn run(terms: &str, message: &[(&str, Value)]) -> Option<(Vec<String>, Vec<u64>)> {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped 1 case: python3 is not here");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
    let server = json!({"command": "python3", "args": [script]});
    let names: BTreeSet<&str> = message.iter().map(|(name, _)| *name).collect();
    let terms = format!(
        "parallel_tool_calls: true\nparallel_safe: {}\n{terms}\ntools: {{workspace: ., mcp: {{a: {server}, b: {server}}}}}\n",
        json!(names)
    );
    let fixture = Fixture::new();
    fixture.script(&terms, &[&calls(message), &says("Done.")]);
    let ended = fixture.run(&["run", "--json", "--run-id", "r", "--contract", "c.yaml"]);
    assert_eq!(ended.code, 0, "{}", ended.printed());
    let result = ended.document();
    let conversation = result["conversation"].as_array().unwrap();
    let observed = conversation
        .iter()
        .filter(|message| message["role"] == "tool");
    let observed = observed.map(|tool| tool["content"].as_str().unwrap().to_owned());
    let mut reader = StoreReader::open(&fixture.path("home/runs.db")).unwrap();
    let run_id = RunId::try_from("r".to_owned()).unwrap();
    let entries = reader.read_run(&run_id).unwrap();
    let events = entries.filter_map(|entry| entry.unwrap().decode_event().unwrap());
    let returned = events.filter_map(|event| match event.event {
        EventKind::ToolReturned(returned) => Some(returned.call.0),
        _ => None,
    });
    let found = (observed.collect(), returned.collect());
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r"]);
    }
    Some(found)
}

fn meet(name: &str, of: u64) -> Value {
    json!({"name": name, "of": of})
}

/// Semantics §6: recorded as they complete, observed in call order.
#[test]
fn calls_over_one_connection_run_beside_each_other_and_are_observed_in_call_order() {
    let meeting = [
        ("a__meet", meet("one", 3)),
        ("a__meet", meet("two", 3)),
        ("a__meet", meet("three", 3)),
    ];
    if let Some((observed, returned)) = run("", &meeting) {
        assert_eq!(observed, ["one", "two", "three"]);
        assert_eq!(returned, [3, 2, 1]);
    }
}

#[test]
fn calls_of_two_servers_run_beside_each_other() {
    let files = |makes: &str, awaits: &str| json!({"makes": makes, "awaits": awaits});
    let waiting = [
        ("a__wait_for", files("x", "y")),
        ("b__wait_for", files("y", "x")),
    ];
    if let Some((observed, _)) = run("", &waiting) {
        assert_eq!(observed, ["was there", "was there"]);
    }
}

#[test]
fn a_queue_bounds_how_many_run_at_once() {
    let meeting = [
        ("a__meet", meet("one", 2)),
        ("a__meet", meet("two", 2)),
        ("a__meet", meet("three", 2)),
    ];
    let terms = "tool_timeout_ms: 4000\nqueues: {default: {concurrent: 1}}";
    // Alone each waits for another one; the server forgets none, so every second call meets the one before it.
    if let Some((observed, returned)) = run(terms, &meeting) {
        let late = "(tool failed: timeout)";
        assert_eq!(observed, [late, "two", late]);
        assert_eq!(returned, [1, 2, 3]);
    }
}
