//! The accounting file, the exit tags and the result document, seen from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use monolith_core::message::RunId;
use serde_json::{Value, json};

use crate::fixture::{Fixture, Left, bound, calls, monolith, says, shell_word, text};
use crate::harness::Harness;

/// Runs that are killed, each at another entry, in the quick and in the deep form.
const KILLED_RUNS: (u64, u64) = (4, 12);

/// A fixture with a contract whose scripted model makes a call and answers.
fn fixture(more: &str) -> Fixture {
    let fixture = Fixture::new();
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 10});
    let lines = [calls("echo", "{\"text\":\"hi\"}"), says("said")].map(|line| {
        let mut line: Value = serde_json::from_str(&line).unwrap();
        line["response"]["usage"] = usage.clone();
        line.to_string()
    });
    fixture.script(
        &format!("tool_policy: optional\ntools: {{builtin: [echo]}}\n{more}"),
        &lines.each_ref().map(String::as_str),
    );
    fixture
}

/// The lines of an accounting file, each of which must be one entry, by run.
fn billed(path: &Path) -> BTreeMap<String, Vec<Value>> {
    let mut runs = BTreeMap::<String, Vec<Value>>::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let run = entry["txnId"].as_str().unwrap().to_owned();
        runs.entry(run).or_default().push(entry);
    }
    for entries in runs.values_mut() {
        entries.sort_by_key(|entry| entry["index"].as_u64());
    }
    runs
}

/// Whatever an attempt failed of, its entry has failed: a message that was cut or filtered is not an answer, and the file says what the
/// result says.
/// 001/1.models.3
#[test]
fn a_fallback_has_a_failed_entry_for_the_first_target() {
    let cut = |finish: &str| says("The first of").replace("\"stop\"", &format!("\"{finish}\""));
    let fault = r#"{"status": 500, "response": {"error": {"message": "down"}}}"#.to_owned();
    for (n, (first, error)) in [
        (cut("length"), "cut at the output limit"),
        (cut("content_filter"), "refused: content_filter"),
        (says(""), "empty"),
        (fault, "model: down"),
    ]
    .into_iter()
    .enumerate()
    {
        let fixture = Fixture::new();
        fixture.write("a.jsonl", &format!("{first}\n"));
        fixture.write("b.jsonl", &format!("{}\n", says("Whole.")));
        fixture.write(
            "c.yaml",
            "task: go\ntool_policy: forbidden\n\
             targets: [{provider: a, model: m, context_window: 9000}, {provider: b, model: m, context_window: 9000}]\n\
             providers: {a: {type: scripted, file: a.jsonl}, b: {type: scripted, file: b.jsonl}}\n",
        );
        let run = format!("r{n}");
        let left = fixture.run(&["run", "c.yaml", "--json", "--run-id", &run]);
        let result = left.document();
        assert_eq!(left.code, 0, "{}", left.printed());
        let entries = result["accounting"].as_array().unwrap().iter();
        let said = entries.map(|line| (&line["provider"], &line["status"], &line["error"]));
        let said: Vec<_> = said.collect();
        let (a, b) = (json!("a"), json!("b"));
        let [failed, ok] = ["failed", "ok"].map(|status| json!(status));
        let expect = [(&a, &failed, &json!(error)), (&b, &ok, &Value::Null)];
        assert_eq!(said, expect);
        let kept = billed(&fixture.path("home/accounting.jsonl"));
        assert_eq!(json!(kept[&run]), result["accounting"]);
    }
}

const PRICES: &str = "prices: {version: a, models: {demo: {script: {input: 2.5, output: 10}}}}\n";

/// 001/1.running.1
/// 001/11.direct.10, 001/11.direct.15, 001/12.snapshots.5
/// 001/1.accounts.1, 001/1.accounts.2
#[test]
fn each_request_and_each_call_is_a_line_and_the_lines_are_those_of_the_result() {
    let fixture = fixture(PRICES);
    let output = fixture.run(&["run", "c.yaml", "--json", "--run-id", "r1"]);
    let result = output.document();
    assert_eq!(
        (output.code, &result["exit_tag"]),
        (0, &json!("EXIT-FINAL-ANSWER"))
    );
    assert_eq!(result["counters"]["cost_micro_usd"], 5200);
    let kept = billed(&fixture.path("home/accounting.jsonl"));
    assert_eq!(json!(kept["r1"]), result["accounting"]);
    let kinds: Vec<&Value> = kept["r1"].iter().map(|entry| &entry["type"]).collect();
    assert_eq!(kinds, ["llm", "tool", "llm"]);
    assert_eq!(kept["r1"][0]["costUsd"], 0.0026);
    assert_eq!(kept["r1"][0]["originTxnId"], "r1");

    let output = fixture.run(&[
        "run",
        "c.yaml",
        "--billing-file",
        "b.jsonl",
        "--run-id",
        "r2",
    ]);
    assert_eq!(output.code, 0);
    assert_eq!(billed(&fixture.path("b.jsonl"))["r2"].len(), 3);
    let kept = billed(&fixture.path("home/accounting.jsonl"));
    assert_eq!(kept.len(), 1, "the other file was named instead");
}

/// Names of 000 stay as they are; all others are in snake_case, in the accounting, too.
#[test]
fn every_name_of_the_result_is_the_session_contracts_or_in_snake_case() {
    let fixture = fixture(PRICES);
    let result = fixture.run(&["run", "c.yaml", "--json"]).document();
    let mut names = BTreeSet::new();
    names_in(&result, &mut names);
    for expect in ["cost_micro_usd", "cost_source", "tool_calls", "exit_tag"] {
        assert!(names.contains(expect), "{expect}: {names:?}");
    }
    let of_contract = [
        "cachedTokens",
        "charactersIn",
        "charactersOut",
        "costUsd",
        "finalReport",
        "inputTokens",
        "mcpServer",
        "originTxnId",
        "outputTokens",
        "stopReason",
        "totalTokens",
        "txnId",
    ];
    names.retain(|name| name.contains(char::is_uppercase));
    assert_eq!(Vec::from_iter(names), of_contract);
}

/// The names of all members of a document, without those of arguments of calls.
fn names_in(document: &Value, names: &mut BTreeSet<String>) {
    match document {
        Value::Object(members) => {
            for (name, value) in members {
                names.insert(name.clone());
                if name != "arguments" {
                    names_in(value, names);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names_in(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn processes_share_the_file() {
    let fixture = fixture("");
    let children: Vec<_> = (0..4)
        .map(|n| {
            let (name, store) = (format!("r{n}"), format!("{n}.db"));
            let args = ["run", "c.yaml", "--run-id", &name, "--store", &store];
            let mut command = fixture.command(&args);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let kept = billed(&fixture.path("home/accounting.jsonl"));
    assert_eq!(kept.values().map(Vec::len).collect::<Vec<_>>(), [3; 4]);
}

#[test]
fn a_fork_says_where_it_comes_from() {
    let fixture = fixture("");
    fixture.ok(&["run", "c.yaml", "--run-id", "r1"]);
    let fork = |from: &str, name: &str| {
        let args = ["replay", from, "--fork-at", "2", "--run-id", name, "--json"];
        let result = fixture.run(&args).document();
        let first = result["accounting"][0].clone();
        let shown = fixture.run(&["show", name, "--json"]).document();
        assert_eq!(shown["accounting"], result["accounting"]);
        (first["parentTxnId"].clone(), first["originTxnId"].clone())
    };
    assert_eq!(fork("r1", "r2"), (json!("r1"), json!("r1")));
    assert_eq!(fork("r2", "r3"), (json!("r2"), json!("r1")));
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_run() {
    let fixture = fixture("");
    for file in [".", "none/b.jsonl"] {
        let output = fixture.run(&["run", "c.yaml", "--billing-file", file, "--json"]);
        let result = output.document();
        assert_eq!(
            (output.code, &result["run_id"]),
            (4, &Value::Null),
            "{file}"
        );
        assert_eq!(result["exit_tag"], "EXIT-CONFIGURATION");
        let said = result["error"].as_str().unwrap();
        assert!(said.contains("the accounting file"), "{said}");
    }
    let listed = fixture.run(&["list", "--json"]).document();
    assert_eq!(
        listed["runs"].as_array().map(Vec::len),
        Some(0),
        "nothing was begun"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_takes_no_more_costs_no_run() {
    let fixture = fixture("");
    // Longer than any file may become, so that only this one is refused.
    let mut ledger = std::fs::File::create(fixture.path("b.jsonl")).unwrap();
    std::io::Write::write_all(&mut ledger, b"{\"type\":\"tool\"}\n").unwrap();
    ledger.set_len(1 << 28).unwrap();
    let run = format!(
        "trap '' XFSZ; ulimit -f 131072; exec {} run c.yaml --billing-file b.jsonl --json",
        shell_word(env!("CARGO_BIN_EXE_monolith"))
    );
    let output = Command::new("sh")
        .args(["-c", &run])
        .env("MONOLITH_HOME", fixture.path("home"))
        .current_dir(fixture.path(""))
        .output()
        .unwrap();
    let output = Left::from(output);
    let said = &output.err;
    assert_eq!(output.code, 0, "{said}");
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    assert!(said.contains("the accounting file"), "{said}");
    assert_eq!(
        output.document()["accounting"].as_array().map(Vec::len),
        Some(3)
    );
    assert_eq!(
        ledger.metadata().unwrap().len(),
        1 << 28,
        "no half line stays"
    );
}

/// 001/1.running.2
/// 001/11.direct.14, 001/13.appendices.2
/// 001/1.exit.1, 001/1.exit.2
#[test]
fn verbose_tells_the_tag_and_what_was_used_also_of_a_failure() {
    let fixture = fixture(PRICES);
    let output = fixture.run(&["run", "c.yaml", "--verbose"]);
    let said = &output.err;
    let tagged = said.lines().filter(|line| line.starts_with('['));
    let (exchanged, printed): (Vec<&str>, Vec<&str>) =
        tagged.partition(|line| line.contains(" → [") || line.contains(" ← ["));
    let (headers, printed): (Vec<&str>, Vec<&str>) = printed
        .into_iter()
        .partition(|line| line.starts_with("[VRB] turn "));
    assert_eq!(headers, ["[VRB] turn 1 of 10", "[VRB] turn 2 of 10"]);
    let begins = [
        "[VRB] → [1.0] llm demo:script: messages 1, 2 bytes",
        "[VRB] ← [1.0] llm demo:script: tokens 1000 in, 10 out, 0 cached, ",
        "[VRB] → [1.1] tool builtin:echo: {",
        "[VRB] ← [1.1] tool builtin:echo: ok, ",
        "[VRB] → [2.0] llm demo:script: messages 3, ",
        "[VRB] ← [2.0] llm demo:script: tokens 1000 in, 10 out, 0 cached, ",
    ];
    assert_eq!(exchanged.len(), begins.len(), "{said}");
    for (line, begin) in exchanged.iter().zip(begins) {
        assert!(line.starts_with(begin), "{begin}: {said}");
    }
    assert_eq!(
        printed[0],
        "[VRB] EXIT-FINAL-ANSWER fatal=false: COMPLETED_WITH_TOOLS (final_message)"
    );
    assert!(
        printed[1].starts_with("[FIN] llm demo:script: 2 ok, 0 failed, "),
        "{said}"
    );
    assert!(
        printed[1].ends_with("tokens 2000 in, 20 out, 0 cached, 0.005200 USD"),
        "{said}"
    );
    assert!(
        printed[2].starts_with("[FIN] tool builtin:echo: 1 ok, 0 failed, "),
        "{said}"
    );
    assert!(printed[3].starts_with("[FIN] run: 2 turns, "), "{said}");
    assert!(said.contains("INFER → VALIDATE_CALLS"), "{said}");
    let output = fixture.run(&[
        "run",
        "c.yaml",
        "--verbose",
        "--set",
        "max_cost_micro_usd=2599",
    ]);
    let said = &output.err;
    assert_eq!(output.code, 1);
    assert!(
        said.contains("[ERR] EXIT-BUDGET fatal=true: FAILED_BUDGET_EXHAUSTED (max_cost)"),
        "{said}"
    );
    let output = fixture.run(&["run", "none.yaml", "--verbose"]);
    let said = &output.err;
    assert!(
        said.contains("[ERR] EXIT-CONFIGURATION fatal=true: "),
        "{said}"
    );
    let quiet = fixture.run(&["run", "c.yaml"]).err;
    assert!(!quiet.contains("[FIN]"), "{quiet}");
}

fn has_ended(harness: &Harness, run_id: &RunId) -> bool {
    let entries = harness.stored(run_id);
    let last = entries.last().map(|entry| entry.decode_action().unwrap());
    last.is_some_and(|action| action.outcome.is_some())
}

#[test]
fn a_killed_run_is_accounted_for_once_whatever_the_kill_cut() {
    if !Harness::has_python() {
        return;
    }
    let mut harness = Harness::new(11);
    let ledger = harness.path().join("home/accounting.jsonl");
    for n in 0..bound(KILLED_RUNS.0, KILLED_RUNS.1) {
        let run_id = RunId::try_from(format!("r{n}")).unwrap();
        let mut child = harness.drive(&run_id, "normal").spawn().unwrap();
        if harness.wait_for(&mut child, &run_id, 2 + n) {
            child.kill().unwrap();
        }
        child.wait().unwrap();
        // Half of the time a line is cut, too, as a crash of the machine may.
        if n % 2 == 0
            && !has_ended(&harness, &run_id)
            && let Ok(bytes) = std::fs::read(&ledger)
            && !bytes.is_empty()
        {
            let newline = bytes[..bytes.len() - 1]
                .iter()
                .rposition(|byte| *byte == b'\n');
            let last = newline.map_or(0, |at| at + 1);
            let cut = last + (bytes.len() - last) / 2;
            let of_this_run = text(&bytes[last..]).contains(&format!("\"txnId\":\"{run_id}\""));
            if of_this_run {
                std::fs::write(&ledger, &bytes[..cut]).unwrap();
            }
        }
        assert!(
            harness
                .drive(&run_id, "normal")
                .status()
                .unwrap()
                .code()
                .is_some()
        );
        let show = ["show", run_id.as_str(), "--json", "--store", "home/runs.db"];
        let shown = Left::from(monolith(harness.path(), &show).output().unwrap());
        let expect = shown.document()["accounting"].clone();
        let kept = std::fs::read_to_string(&ledger).unwrap();
        let entries = kept
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut own: Vec<Value> = entries.filter(|e| e["txnId"] == run_id.as_str()).collect();
        own.sort_by_key(|entry| entry["index"].as_u64());
        assert_eq!(json!(own), expect, "{run_id}");
    }
}
