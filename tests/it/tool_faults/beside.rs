//! Faulty servers among others, in one process: each ends its own calls, and other runs and servers continue.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use super::*;

/// So long has a call of a run with a faulty server. It covers the start of every server of this test.
const PATIENCE_MS: u64 = 15_000;
/// The result of a call without an answer.
const LATE: &str = "(tool failed: timeout)";
/// The result of a call whose server is gone.
const GONE: &str = "(tool failed: connection lost)";
/// The result of a call with an invalid answer.
const UNKNOWN: &str = "(tool failed: interrupted, effect unknown)";

/// The tool, and what its call came to.
const FAULTS: [(&str, &str); 10] = [
    ("killed", GONE),
    ("die_midway", GONE),
    ("freeze", LATE),
    ("flood", LATE),
    ("late", LATE),
    ("wrong_id", LATE),
    ("twice", "first"),
    ("stray", "after strays"),
    ("wrong_type", UNKNOWN),
    ("broken_json", UNKNOWN),
];

/// Writes a contract of that name with these servers, each in the mode of its name, and returns the line of a list that runs
/// it.
fn contract(
    fixture: &Fixture,
    name: &str,
    timeout_ms: u64,
    servers: &[&str],
    lines: &[&str],
) -> String {
    let modes: Vec<[&str; 1]> = servers.iter().map(|server| [*server]).collect();
    let named: Vec<(&str, &[&str])> = servers
        .iter()
        .zip(&modes)
        .map(|(server, mode)| (*server, &mode[..]))
        .collect();
    // The definitions of all tools of all servers would be more than the model can read.
    let mut taken = vec!["hello", "wait_for"];
    taken.extend(
        FAULTS
            .map(|(tool, _)| tool)
            .iter()
            .filter(|tool| **tool == name),
    );
    let taken = format!("tools_allowed: [{}], health_probe", taken.join(", "));
    let tools = tools(&named).replace("health_probe", &taken);
    let terms =
        format!("tool_policy: required\nmax_turns: 20\ntool_timeout_ms: {timeout_ms}\n{tools}");
    fixture.script(&terms, lines);
    let contract = fixture.read("c.yaml");
    fixture.write(
        &format!("{name}.yaml"),
        &contract.replace("s.jsonl", &format!("{name}.jsonl")),
    );
    fixture.write(&format!("{name}.jsonl"), &lines.join("\n"));
    json!({"contract": format!("{name}.yaml"), "run_id": name}).to_string() + "\n"
}

/// Returns the results of a run's calls, as its model saw them, and its outcome.
fn end(result: &Value) -> (Vec<String>, String) {
    let conversation = result["conversation"].as_array().unwrap();
    let of_tools = conversation
        .iter()
        .filter(|message| message["role"] == "tool");
    let texts = of_tools.map(|tool| tool["content"].as_str().unwrap().to_owned());
    let outcome = [&result["outcome"]["class"], &result["outcome"]["code"]];
    let outcome = outcome.map(|word| word.as_str().unwrap());
    (texts.collect(), outcome.join(" "))
}

/// One run has a call in flight while every faulty server does its harm to a separate run. That call returns, every run can use
/// another server after the fault, and the servers that were faulty serve the first run afterwards.
#[test]
fn s5_what_a_faulty_server_does_ends_its_own_calls_and_no_others() {
    if !python() {
        return;
    }
    let fixture = Fixture::new();
    let files = |makes: &str, awaits: &str| json!({"makes": makes, "awaits": awaits}).to_string();
    let faulty: Vec<String> = FAULTS.iter().map(|(tool, _)| format!("x-{tool}")).collect();
    let (hello, done) = (calls("other__hello", "{}"), says("Done."));

    let mut servers: Vec<&str> = faulty.iter().map(String::as_str).collect();
    servers.push("steady");
    let mut lines = vec![calls("steady__wait_for", &files("in", "out"))];
    lines.extend(
        faulty
            .iter()
            .map(|server| calls(&format!("{server}__hello"), "{}")),
    );
    lines.push(done.clone());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut list = contract(&fixture, "steady", 600_000, &servers, &lines);

    for ((tool, _), server) in FAULTS.iter().zip(&faulty) {
        let waits = calls("other__wait_for", &files("there", "in"));
        let fault = calls(&format!("{server}__{tool}"), "{}");
        let again = calls(&format!("{server}__hello"), "{}");
        let lines = [&waits, &fault, &again, &hello, &done].map(String::as_str);
        list += &contract(&fixture, tool, PATIENCE_MS, &[server, "other"], &lines);
    }
    fixture.write("list.jsonl", &list);

    let mut command = fixture.command(&["run", "--contracts", "list.jsonl", "--max-runs", "20"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let printed = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ends = BTreeMap::new();
    for line in printed {
        let result: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let run = result["run_id"].as_str().unwrap().to_owned();
        assert!(ends.insert(run, end(&result)).is_none(), "{result}");
        if ends.len() == FAULTS.len() {
            // Every other run is over: the call that began before them may return.
            assert!(!ends.contains_key("steady"), "{ends:?}");
            fixture.write("out", "");
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(1));

    let completed = "COMPLETED_WITH_TOOLS final_message".to_owned();
    let (texts, outcome) = &ends["steady"];
    let mut expect = vec!["was there"];
    expect.extend(FAULTS.map(|_| "hello"));
    assert_eq!(
        (texts, outcome),
        (
            &expect.iter().map(ToString::to_string).collect(),
            &completed
        )
    );
    for (tool, came_to) in FAULTS {
        let (texts, outcome) = &ends[tool];
        if came_to == UNKNOWN {
            assert_eq!(*texts, ["was there", UNKNOWN], "{tool}");
            assert_eq!(outcome, "FAILED_VALIDATION tool_envelope", "{tool}");
        } else {
            assert_eq!(*texts, ["was there", came_to, "hello", "hello"], "{tool}");
            assert_eq!(*outcome, completed, "{tool}");
        }
        fixture.ok(&["verify", tool]);
    }
    fixture.is_left();
}
