//! The modes of `monolith replay`: evidence first, under another contract, live, and on from one of a run's entries.

use rusqlite::Connection;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::fixture::{Fixture, Left, monolith};
use crate::harness::Harness;

const CONTRACT: &str = "task: Which licence?\n\
    tool_policy: required\n\
    targets: [{provider: demo, model: script}]\n\
    providers: {demo: {type: scripted, file: s.jsonl}}\n\
    tools: {builtin: [read_file], workspace: .}\n";

/// A fixture with a finished run `r1` that has read a file.
pub fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("LICENSE", "MIT");
    fixture.write("c.yaml", CONTRACT);
    let lines = [reads("LICENSE"), says("It is MIT.")];
    let lines = lines.map(|body| json!({"response": body}).to_string());
    fixture.write("s.jsonl", &lines.join("\n"));
    fixture.ok(&["run", "c.yaml", "--run-id", "r1"]);
    fixture
}

impl Fixture {
    #[track_caller]
    fn sql(&self, sql: &str) {
        let store = Connection::open(self.path("home/runs.db")).unwrap();
        store.pragma_update(None, "foreign_keys", false).unwrap();
        store.execute_batch(sql).unwrap();
        assert!(store.total_changes() > 0, "{sql} changes nothing");
    }
}

fn body(message: &Value, finish: &str) -> Value {
    json!({"model": "script", "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}})
}

pub fn reads(path: &str) -> Value {
    let arguments = json!({"path": path}).to_string();
    let call = json!({"id": "c1", "type": "function",
        "function": {"name": "read_file", "arguments": arguments}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    body(&message, "tool_calls")
}

pub fn says(text: &str) -> Value {
    body(&json!({"role": "assistant", "content": text}), "stop")
}

/// Returns the first difference: its entry, its pointer, its attribution.
pub fn first(report: &Value) -> (u64, &str, &str) {
    let first = &report["first_difference"];
    (
        first["seq"].as_u64().unwrap_or(u64::MAX),
        first["pointer"].as_str().unwrap_or_default(),
        first["attribution"].as_str().unwrap_or_default(),
    )
}

#[test]
fn bad_evidence_comes_before_every_decision() {
    let fixture = fixture();
    let whole = fixture.ok(&["export", "r1"]);
    let (code, report) = fixture.json(&["replay", "r1"]);
    assert_eq!((code, &report["same"]), (0, &json!(true)));
    let header = whole.lines().next().unwrap();
    // The raw answer of the model, of which every byte is decoded again, and a blob that no entry names.
    let stray = format!(
        "{{\"blob\":\"{}\",\"bytes\":\"eA==\"}}",
        monolith_core::message::Digest::of(b"x")
    );
    let check = |name: &str, text: String, attribution: &str| {
        fixture.write(name, &text);
        let (code, report) = fixture.json(&["replay", name]);
        let found = first(&report).2;
        assert_eq!((code, found), (7, attribution), "{name}: {report}");
        assert_eq!(report["same"], false);
        for mode in [&["--set", "max_turns=3"][..], &["--live", "all"]] {
            let (code, other) = fixture.json(&[&["replay", name][..], mode].concat());
            assert_eq!((code, first(&other).2), (7, attribution), "{mode:?}");
        }
        let forked = fixture.run(&["replay", name, "--fork-at", "1", "--contract", "c.yaml"]);
        assert_eq!(forked.code, 7, "{}", forked.err);
    };
    check("second.jsonl", format!("{whole}{header}\n"), "extended");
    let lines: Vec<&str> = whole.lines().collect();
    let place = lines.iter().position(|line| line.starts_with("{\"blob\":"));
    let (entries, blobs) = lines.split_at(place.unwrap());
    let mut blobs = [blobs, &[stray.as_str()]].concat();
    blobs.sort_unstable();
    let with_stray = [entries, &blobs].concat().join("\n") + "\n";
    check("stray.jsonl", with_stray, "extended");
    let cut = entries[..entries.len() - 1].join("\n") + "\n";
    check("cut.jsonl", cut, "truncated");

    fixture.sql("UPDATE runs SET code = 'synthesis' WHERE run_id = 'r1'");
    let (code, report) = fixture.json(&["replay", "r1"]);
    assert_eq!((code, first(&report).2), (7, "tampered"), "{report}");
}

#[test]
fn another_contract_that_decides_the_same_comes_to_the_same_end() {
    let fixture = fixture();
    let (code, report) = fixture.json(&["replay", "r1", "--set", "max_turns=4"]);
    assert_eq!(code, 0, "{report}");
    assert_eq!(report["same_outcome"], true);
    assert_eq!(report["same_decisions"], report["entries"]);
    let differ = report["contract_differences"].as_array().unwrap();
    let turns = differ.iter().find(|field| field["pointer"] == "/max_turns");
    let turns = turns.unwrap();
    assert_eq!(
        (&turns["recorded"], &turns["other"]),
        (&json!("10"), &json!("4"))
    );
    assert!(report.get("no_longer_fits").is_none(), "{report}");
}

#[test]
fn another_contract_says_what_would_have_happened_as_far_as_it_is_recorded() {
    let fixture = fixture();
    // The recording says it all: the call would not have been made.
    let (code, report) = fixture.json(&["replay", "r1", "--set", "max_calls.run=0"]);
    assert_eq!(code, 6, "{report}");
    assert_eq!(report["recorded_outcome"]["class"], "COMPLETED_WITH_TOOLS");
    assert_eq!(report["outcome"]["code"], "max_calls", "{report}");
    assert_eq!(report["first_other_decision"]["seq"], 3, "{report}");
    let printed = fixture.run(&["replay", "r1", "--set", "max_calls.run=0"]);
    assert_eq!(printed.code, 6);
    assert!(
        printed
            .out
            .contains("The first that decides otherwise is entry 3:"),
        "{}",
        printed.out
    );
    assert!(
        printed.out.contains("FAILED_BUDGET_EXHAUSTED (max_calls)"),
        "{}",
        printed.out
    );

    // Another request: no entry shows what the model would have answered.
    fixture.write("other.yaml", &format!("{CONTRACT}system: Be brief.\n"));
    let (code, report) = fixture.json(&["replay", "r1", "--contract", "other.yaml"]);
    assert_eq!((code, &report["outcome"]), (6, &Value::Null), "{report}");
    assert_eq!(report["no_longer_fits"]["seq"], 2, "{report}");
    let why = report["no_longer_fits"]["why"].as_str().unwrap();
    assert_eq!(why, "request 1 is another one");

    // Less room for the result: the request after it is another one.
    let budget = "tool_output_budget.max_bytes_per_call=2";
    let (code, report) = fixture.json(&["replay", "r1", "--set", budget]);
    assert_eq!(
        (code, &report["no_longer_fits"]["seq"]),
        (6, &json!(7)),
        "{report}"
    );
}

#[test]
fn a_change_needs_nothing_but_the_transcript() {
    let author = fixture();
    let whole = author.ok(&["export", "r1"]);
    // Another machine: no contract file, no script, no tool, an empty state folder.
    let fixture = Fixture::new();
    fixture.write("r1.jsonl", &whole);

    let same = fixture.ok(&["replay", "r1.jsonl", "--set", "max_resumes=8"]);
    assert!(same.contains("The contracts are the same."), "{same}");
    assert!(same.contains("same end: COMPLETED_WITH_TOOLS"), "{same}");

    // What follows from a key follows its change: 4 turns of 3 attempts, a format retry, and 3 repeats for its target.
    let (code, report) = fixture.json(&["replay", "r1.jsonl", "--set", "max_turns=4"]);
    assert_eq!((code, &report["same_outcome"]), (0, &json!(true)));
    let fields = report["contract_differences"].as_array().unwrap().iter();
    let fields: Vec<_> = fields
        .map(|field| (&field["pointer"], &field["other"]))
        .collect();
    assert!(
        fields.contains(&(&json!("/max_inferences"), &json!("16"))),
        "{report}"
    );
    assert!(
        fields.contains(&(&json!("/max_turns"), &json!("4"))),
        "{report}"
    );

    let (code, report) = fixture.json(&["replay", "r1.jsonl", "--set", "max_calls.run=0"]);
    assert_eq!((code, &report["outcome"]["code"]), (6, &json!("max_calls")));

    let unknown = fixture.run(&["replay", "r1.jsonl", "--set", "max_tuns=3"]);
    assert_eq!(unknown.code, 4, "{}", unknown.err);
    for part in ["--set max_tuns=3", "unknown key `max_tuns`", "max_turns"] {
        assert!(unknown.err.contains(part), "{part}: {}", unknown.err);
    }
    let alone = [
        "replay",
        "r1.jsonl",
        "--set",
        "max_turns=3",
        "--start-servers",
    ];
    let alone = fixture.run(&alone);
    assert_eq!(alone.code, 4, "{}", alone.err);
    assert!(alone.err.contains("--contract <FILE>"), "{}", alone.err);
    assert!(!fixture.path("home/runs.db").exists());

    // The machine that has the author's file does the same, whatever became of the file.
    author.write("c.yaml", "gone");
    let set = ["replay", "r1", "--set", "max_turns=4", "--json"];
    let here = author.ok(&set);
    assert_eq!(
        here,
        fixture.ok(&["replay", "r1.jsonl", "--set", "max_turns=4", "--json"])
    );
}

#[test]
fn a_server_that_a_change_reaches_otherwise_is_not_known() {
    if !Harness::has_python() {
        return;
    }
    let harness = Harness::new(3);
    let monolith = |args: &[&str]| {
        let mut command = monolith(harness.path(), args);
        let command = command.args(["--store", "home/runs.db", "--json"]);
        let left = Left::from(command.output().unwrap());
        (left.code, left.document())
    };
    assert_eq!(monolith(&["run", "c.yaml", "--run-id", "r1"]).0, 0);
    let set = "tools.mcp.fs.command=other";
    let (code, report) = monolith(&["replay", "r1", "--set", set]);
    assert_eq!(code, 6, "{report}");
    assert_eq!(report["outcome"]["code"], "tool_unavailable", "{report}");
    let note = report["not_compared"].to_string();
    assert!(note.contains("--contract FILE --start-servers"), "{report}");
}

#[test]
fn another_contract_starts_no_server() {
    if !Harness::has_python() {
        return;
    }
    let harness = Harness::new(3);
    let monolith = |args: &[&str]| {
        let mut command = monolith(harness.path(), args);
        let command = command.args(["--store", "home/runs.db", "--json"]);
        let left = Left::from(command.output().unwrap());
        (Some(left.code), left.document())
    };
    assert_eq!(monolith(&["run", "c.yaml", "--run-id", "r1"]).0, Some(0));
    let log = harness.path().join("executions");
    std::fs::remove_file(&log).unwrap();
    let set = ["replay", "r1", "--set", "max_turns=9"];
    let (code, report) = monolith(&set);
    assert_eq!(code, Some(0), "{report}");
    assert!(!log.exists(), "a server that is started makes its file");
    let all = ["--contract", "c.yaml", "--start-servers"];
    let (code, report) = monolith(&[&set[..], &all].concat());
    assert_eq!(code, Some(0), "{report}");
    assert!(log.exists());

    // Only what is known to be repeatable is called again, with the key that it had.
    std::fs::remove_file(&log).unwrap();
    let (code, report) = monolith(&["replay", "r1", "--live", "tools"]);
    assert_eq!((code, &report["calls"]), (Some(0), &json!(2)), "{report}");
    let keys = std::fs::read_to_string(&log).unwrap();
    assert_eq!(keys.lines().count(), 2, "{keys}");
    assert!(keys.lines().all(|key| key.starts_with("r1:")), "{keys}");
    let left_out = report["not_compared"].as_array().unwrap();
    assert_eq!(left_out.len(), 5, "{report}");
    let (code, report) = monolith(&["replay", "r1", "--live", "tools", "--effects"]);
    assert_eq!((code, &report["calls"]), (Some(0), &json!(7)), "{report}");

    std::fs::write(harness.path().join("described"), "Counts otherwise.").unwrap();
    let (code, report) = monolith(&["replay", "r1", "--live", "tools"]);
    assert_eq!(code, Some(6), "{report}");
    assert_eq!(first(&report), (0, "/contract/tools/0/pin", "tool"));
}

#[test]
fn a_tool_that_answers_otherwise_is_the_first_difference_at_its_entry() {
    let fixture = fixture();
    let before = fixture.ok(&["list"]);
    let (code, report) = fixture.json(&["replay", "r1", "--live", "all"]);
    assert_eq!((code, &report["same"]), (0, &json!(true)), "{report}");
    assert_eq!(
        (&report["inferences"], &report["calls"]),
        (&json!(2), &json!(1))
    );
    fixture.write("LICENSE", "GPL");
    let (code, report) = fixture.json(&["replay", "r1", "--live", "tools"]);
    let pointer = "/event/event/value/outcome/value/content/0/value";
    assert_eq!(
        (code, first(&report)),
        (6, (4, pointer, "tool")),
        "{report}"
    );
    assert_eq!(fixture.ok(&["list"]), before, "nothing is written");

    // Another folder, another contract: the answers would say nothing.
    let said = fixture.run(&["replay", "r1", "--live", "all", "--set", "system=Hm."]);
    assert_eq!(said.code, 4, "{}", said.err);
    assert!(
        said.err
            .contains("the file gives another contract: /system"),
        "{}",
        said.err
    );
}

/// Serves the answers to the requests one after the other, and starts over after the last.
fn serve(runtime: &Runtime, server: &MockServer, answers: &[Value]) {
    runtime.block_on(async {
        server.reset().await;
        for answer in answers.iter().rev() {
            let response = ResponseTemplate::new(200).set_body_json(answer);
            let turn = if answer["choices"][0]["finish_reason"] == "stop" {
                3
            } else {
                1
            };
            // A conversation grows: the request after the tool call has its observation.
            Mock::given(method("POST"))
                .and(move |request: &wiremock::Request| {
                    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
                    body["messages"]
                        .as_array()
                        .is_some_and(|said| said.len() == turn)
                })
                .respond_with(response)
                .mount(server)
                .await;
        }
    });
}

#[test]
fn a_model_that_answers_otherwise_is_the_first_difference_at_its_entry() {
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(MockServer::start());
    let fixture = Fixture::new();
    fixture.write("LICENSE", "MIT");
    let contract = format!(
        "task: Which licence?\ntool_policy: required\n\
         targets: [{{provider: cloud, model: m, context_window: 100000}}]\n\
         providers: {{cloud: {{type: openai, base_url: \"{}/v1\"}}}}\n\
         tools: {{builtin: [read_file], workspace: .}}\n",
        server.uri()
    );
    fixture.write("c.yaml", &contract);
    serve(&runtime, &server, &[reads("LICENSE"), says("It is MIT.")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r1"]);
    let (code, report) = fixture.json(&["replay", "r1", "--live", "inference"]);
    assert_eq!((code, &report["inferences"]), (0, &json!(2)), "{report}");

    // The same words at another price, under another id.
    let mut same = reads("LICENSE");
    same["choices"][0]["message"]["tool_calls"][0]["id"] = json!("c9");
    same["usage"]["prompt_tokens"] = json!(21);
    serve(&runtime, &server, &[same, says("It is MIT.")]);
    let (code, report) = fixture.json(&["replay", "r1", "--live", "inference"]);
    assert_eq!((code, &report["same"]), (0, &json!(true)), "{report}");
    assert_eq!(
        report["notes"].as_array().map(Vec::len),
        Some(1),
        "{report}"
    );

    serve(&runtime, &server, &[reads("README"), says("It is GPL.")]);
    let (code, report) = fixture.json(&["replay", "r1", "--live", "inference"]);
    let message = "/event/event/value/result/canonical_message";
    let pointer = format!("{message}/tool_calls/0/arguments/path");
    assert_eq!(
        (code, first(&report)),
        (6, (2, pointer.as_str(), "model")),
        "{report}"
    );
    let all = report["differences"].as_array().unwrap();
    assert_eq!(all.len(), 2, "{report}");
    assert_eq!(all[1]["pointer"], json!(format!("{message}/content")));
    assert_eq!(all[1]["seq"], 7);

    runtime.block_on(server.reset());
    let (code, report) = fixture.json(&["replay", "r1", "--live", "inference"]);
    assert_eq!(
        (code, first(&report)),
        (6, (2, "/event/event/kind", "model")),
        "{report}"
    );
}

/// Shows 002/4.identity.3.
#[test]
fn a_fork_goes_on_from_an_entry_as_a_run_of_its_own() {
    let fixture = fixture();
    let fork = ["replay", "r1", "--fork-at", "6", "--run-id", "r2"];
    let (code, result) = fixture.json(&[&fork[..], &["--set", "tool_policy=optional"]].concat());
    assert_eq!(code, 0, "{result}");
    assert_eq!(result["run_id"], "r2");
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_CHAT_ONLY",
        "no call of its own"
    );
    assert_eq!(
        result["counters"]["inferences"], 1,
        "its counters begin at zero"
    );
    let said = result["conversation"].as_array().unwrap();
    let said: Vec<&str> = said.iter().filter_map(|m| m["content"].as_str()).collect();
    assert_eq!(said, ["Which licence?", "", "MIT", "It is MIT."]);

    let lists = fixture.ok(&["list"]);
    assert!(lists.contains("forked from r1 at entry 6"), "{lists}");
    let (_, listed) = fixture.json(&["list"]);
    assert_eq!(listed["runs"][0]["forked_from"]["entry"], 6, "{listed}");
    let shown = fixture.ok(&["show", "r2"]);
    assert!(
        shown.contains("parent    forked from r1 at entry 6\n"),
        "{shown}"
    );
    let (code, verified) = fixture.json(&["verify", "r2"]);
    assert_eq!(code, 0, "{verified}");
    let checks = verified["checks"].as_array().unwrap();
    let parent = checks
        .iter()
        .find(|check| check["name"] == "parent")
        .unwrap();
    assert_eq!(parent["detail"], "forked from r1 at entry 6");
    assert_eq!(fixture.json(&["replay", "r2"]).0, 0);

    // A file does not hold the parent, and says so.
    fixture.ok(&["export", "r2", "-o", "r2.jsonl"]);
    let (code, verified) = fixture.json(&["verify", "r2.jsonl"]);
    assert_eq!(code, 0, "{verified}");
    let printed = verified["not_checked"].to_string();
    assert!(
        printed.contains("parent: forked from r1, which a file does not hold"),
        "{printed}"
    );

    // Where the parent is another one than it was, the child says so.
    fixture.sql("UPDATE entries SET hash = zeroblob(32) WHERE seq = 6 AND run = (SELECT id FROM runs WHERE run_id = 'r1')");
    let (code, verified) = fixture.json(&["verify", "r2"]);
    assert_eq!(code, 7, "{verified}");
    assert_eq!(verified["first_bad"]["field"], "event.parent.head");
}

#[test]
fn a_fork_inherits_no_proof_and_may_be_told_more() {
    let fixture = fixture();
    let (code, result) = fixture.json(&["replay", "r1", "--fork-at", "6"]);
    assert_eq!(code, 1, "{result}");
    assert_eq!(result["outcome"]["class"], "FAILED_PROTOCOL_NO_TOOLS");
    let (_, result) = fixture.json(&["replay", "r1", "--fork-at", "0", "--task", "And whose?"]);
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_WITH_TOOLS",
        "{result}"
    );
    let said = result["conversation"].as_array().unwrap();
    assert_eq!(said[1]["content"], "And whose?");
}

#[test]
fn a_fork_where_a_call_has_no_answer_names_the_nearest_entries() {
    let fixture = fixture();
    let check = |at: &str, expect: &str| {
        let (code, result) = fixture.json(&["replay", "r1", "--fork-at", at]);
        assert_eq!((code, &result["run_id"]), (4, &Value::Null), "{result}");
        let said = result["error"].as_str().unwrap();
        assert!(said.contains(expect), "{said}");
    };
    check("3", "the nearest that will do are entries 2 and 5");
    check("4", "the nearest that will do are entries 2 and 5");
    check("99", "it has entries 0 to 10");
}
