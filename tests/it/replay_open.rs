//! Runs that have no seal yet, runs that began from them, and asking again that somebody or time ends.

use std::process::{Child, Command, Stdio};

use monolith_core::message::RunId;
use monolith_host::store::StoreReader;
use serde_json::json;
use tokio::runtime::Runtime;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::fixture::Fixture;
use crate::replay_modes::{first, fixture, reads, says};

/// Longer than any of these tests takes.
const LATE_MS: u64 = 600_000;

impl Fixture {
    fn begin(&self, args: &[&str]) -> Child {
        self.command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn length(&self, run: &str) -> u64 {
        let run = RunId::try_from(run.to_owned()).unwrap();
        let Ok(mut reader) = StoreReader::open(&self.path("home/runs.db")) else {
            return 0;
        };
        reader.read_run(&run).map_or(0, |run| run.row().length)
    }

    /// Begins a run, and kills it once it has so many entries.
    fn kill(&self, args: &[&str], run: &str, entries: u64) {
        let mut child = self.begin(args);
        while self.length(run) < entries {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// The script: each answer after so many milliseconds.
    fn late_script(&self, answers: &[(serde_json::Value, u64)]) {
        let lines = answers.iter();
        let lines =
            lines.map(|(body, late)| json!({"response": body, "delay_ms": late}).to_string());
        self.write("s.jsonl", &lines.collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn a_run_in_progress_is_the_same_so_far() {
    let fixture = fixture();
    fixture.late_script(&[(reads("LICENSE"), 0), (says("Never."), LATE_MS)]);
    fixture.kill(&["run", "c.yaml", "--run-id", "r2"], "r2", 7);
    let check = |args: &[&str], code: i32, same: bool| {
        let (found, report) = fixture.json(&[&["replay", "r2"][..], args].concat());
        assert_eq!((found, &report["same"]), (code, &json!(same)), "{report}");
        assert_eq!(report["open"], true, "{report}");
    };
    check(&[], 7, false);
    check(&["--open"], 0, true);
    check(&["--live", "tools"], 7, false);
    check(&["--live", "tools", "--open"], 0, true);
    let so_far = "same so far: 7 entries; the run has not ended yet\n";
    assert_eq!(fixture.ok(&["replay", "r2", "--open"]), so_far);
    let said = fixture.run(&["replay", "r2"]);
    assert!(
        said.out.starts_with(so_far) && said.out.contains("--open"),
        "{}",
        said.out
    );
    let said = fixture.run(&["replay", "r2", "--set", "max_turns=9"]);
    let end = "same so far: the recorded run has no end yet\n";
    assert!(said.code == 6 && said.out.ends_with(end), "{}", said.out);

    // Cut within a step, it is no run in progress.
    fixture.ok(&["replay", "r1", "--open"]);
    let whole = fixture.ok(&["export", "r1"]);
    let blobs = whole.lines().filter(|line| line.starts_with("{\"blob\":"));
    let cut: Vec<&str> = whole.lines().take(7).chain(blobs).collect();
    fixture.write("cut.jsonl", &(cut.join("\n") + "\n"));
    let (code, report) = fixture.json(&["replay", "cut.jsonl", "--open"]);
    let last = report["differences"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (code, &last["attribution"]),
        (7, &json!("truncated")),
        "{report}"
    );
    assert!(report.get("open").is_none(), "{report}");
}

#[test]
fn a_fork_that_is_resumed_or_forked_plays_its_script_on() {
    let fixture = fixture();
    fixture.late_script(&[(reads("LICENSE"), 0), (says("Second."), 1_000)]);
    fixture.ok(&["run", "c.yaml", "--run-id", "parent"]);
    let fork = ["replay", "parent", "--fork-at", "6", "--run-id", "child"];
    let fork = [&fork[..], &["--set", "tool_policy=optional"]].concat();
    fixture.kill(&fork, "child", 2);
    let forked = fixture.ok(&[
        "replay",
        "child",
        "--fork-at",
        "0",
        "--run-id",
        "grandchild",
    ]);
    assert_eq!(forked, "Second.\n");
    let (code, report) = fixture.json(&["replay", "grandchild", "--live", "inference"]);
    assert_eq!((code, &report["inferences"]), (0, &json!(1)), "{report}");

    // Another script is named as what it is.
    let script = std::fs::read_to_string(fixture.path("s.jsonl")).unwrap();
    fixture.write("s.jsonl", &format!("{script}\n{script}"));
    for args in [
        &["resume", "child"][..],
        &["replay", "child", "--live", "inference", "--open"],
    ] {
        let said = fixture.run(args);
        assert_eq!(said.code, 4, "{}", said.err);
        assert!(
            said.err
                .contains("s.jsonl of provider `demo` is not the one"),
            "{}",
            said.err
        );
    }
    fixture.write("s.jsonl", &script);
    assert_eq!(fixture.ok(&["resume", "child"]), "Second.\n");
}

#[test]
fn a_fork_is_judged_by_what_its_user_said_before_too() {
    let fixture = fixture();
    let contract = std::fs::read_to_string(fixture.path("c.yaml")).unwrap();
    let contract = contract.replace("Which licence?", "Which licence has this repository?");
    fixture.write("c.yaml", &format!("page: code\n{contract}"));
    fixture.late_script(&[
        (reads("LICENSE"), 0),
        (reads("LICENSE"), 0),
        (says("MIT."), 0),
    ]);
    fixture.ok(&["run", "c.yaml", "--run-id", "parent"]);
    let more = ["--task", "And now?"];
    let fork = ["replay", "parent", "--fork-at", "6", "--run-id", "child"];
    assert_eq!(fixture.ok(&[&fork[..], &more].concat()), "MIT.\n");
    for nothing in ["--task=", "--task= "] {
        let said = fixture.run(&[&fork[..4], &[nothing]].concat());
        assert_eq!(said.code, 4);
        assert!(said.err.contains("no task given"), "{}", said.err);
    }
    let said = fixture.run(&[&["run", "c.yaml"][..], &more].concat());
    assert_eq!(said.code, 4);
    assert!(said.err.contains("--set page=null"), "{}", said.err);
}

/// A finished run `r9` whose model does not answer any more.
fn silent(runtime: &Runtime, total_timeout_ms: u64) -> (Fixture, MockServer) {
    let server = runtime.block_on(MockServer::start());
    let answer = |late| {
        let response = ResponseTemplate::new(200).set_body_json(says("Hello."));
        let response = response.set_delay(std::time::Duration::from_millis(late));
        Mock::given(method("POST")).respond_with(response)
    };
    runtime.block_on(answer(0).mount(&server));
    let fixture = Fixture::new();
    let contract = format!(
        "task: hi\ntotal_timeout_ms: {total_timeout_ms}\n\
         targets: [{{provider: cloud, model: m, context_window: 100000}}]\n\
         providers: {{cloud: {{type: openai, base_url: \"{}/v1\"}}}}\n",
        server.uri()
    );
    fixture.write("c.yaml", &contract);
    fixture.ok(&["run", "c.yaml", "--run-id", "r9"]);
    runtime.block_on(server.reset());
    runtime.block_on(answer(LATE_MS).mount(&server));
    (fixture, server)
}

#[test]
fn asking_again_ends_with_the_total_timeout() {
    let runtime = Runtime::new().unwrap();
    let (fixture, _server) = silent(&runtime, 4_000);
    let before = fixture.ok(&["list"]);
    let (code, report) = fixture.json(&["replay", "r9", "--live", "inference"]);
    assert_eq!(
        (code, first(&report)),
        (6, (2, "/event/event/kind", "model")),
        "{report}"
    );
    let actual = report["first_difference"]["actual"].as_str().unwrap();
    assert!(actual.contains("total_timeout_ms has passed"), "{actual}");
    assert_eq!(fixture.ok(&["list"]), before);
}

#[cfg(unix)]
#[test]
fn asking_again_ends_with_ctrl_c() {
    let runtime = Runtime::new().unwrap();
    let (fixture, server) = silent(&runtime, LATE_MS);
    let before = fixture.ok(&["list"]);
    let child = fixture.begin(&["replay", "r9", "--live", "inference", "--json"]);
    let asked = || {
        runtime
            .block_on(server.received_requests())
            .unwrap_or_default()
    };
    while !asked()
        .iter()
        .any(|request| request.method == wiremock::http::Method::POST)
    {
        std::thread::yield_now();
    }
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert!(sent.success());
    let left = child.wait_with_output().unwrap();
    let said = String::from_utf8(left.stderr).unwrap();
    assert_eq!(left.status.code(), Some(1), "{said}");
    assert_eq!(said, "error: failed to ask again for run r9: interrupted\n");
    assert!(left.stdout.is_empty(), "no half of a report");
    assert_eq!(fixture.ok(&["list"]), before);
}
