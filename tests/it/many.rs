//! Many runs in one process: `run --contracts` and `resume --all`. Against the binary, a model server on loopback, and tool servers that keep
//! count.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use monolith_core::kernel::EventKind;
use monolith_core::message::RunId;
use monolith_core::transcript::SealedEntry;
use monolith_host::store::StoreReader;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

mod faults;
#[cfg(unix)]
mod rest;

use crate::fixture::{Fixture, Left, shell_word};
use crate::harness::{COUNTING_SERVER, Harness};
use crate::http::HttpRequest;

/// More than the requests of a list take to come.
const LONGEST: Duration = Duration::from_secs(300);

/// A model that calls a tool so many times in each run, and then answers. It counts, and lets requests wait.
#[derive(Clone)]
struct Model(Arc<(Mutex<Counts>, Condvar)>);

#[derive(Default)]
struct Counts {
    /// Requests for an inference so far.
    asked: usize,
    /// The requests without an answer yet, and the most at once.
    open: usize,
    most: usize,
    /// From this request on none is answered.
    held_from: Option<usize>,
    /// The first requests get no answer before this many are open.
    together: usize,
    port: u16,
}

impl Model {
    fn serving(tool: &'static str, calls: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let counts = Counts {
            port,
            ..Counts::default()
        };
        let model = Self(Arc::new((Mutex::new(counts), Condvar::new())));
        let serving = model.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let model = serving.clone();
                thread::spawn(move || model.serve(stream, tool, calls));
            }
        });
        model
    }

    fn serve(&self, stream: TcpStream, tool: &str, calls: usize) {
        let mut reader = BufReader::new(stream);
        loop {
            let asked = HttpRequest::read(&mut reader);
            let body = match asked.head.split(' ').next() {
                Some("POST") => self.infer(&asked.body, tool, calls),
                Some("GET") => json!({"data": [{"id": "m"}]}).to_string(),
                _ => return,
            };
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            if write!(reader.get_mut(), "{head}{body}").is_err() {
                return;
            }
        }
    }

    fn infer(&self, body: &str, tool: &str, calls: usize) -> String {
        let (counts, changed) = &*self.0;
        let mut now = counts.lock().unwrap();
        now.asked += 1;
        now.open += 1;
        now.most = now.most.max(now.open);
        let number = now.asked;
        changed.notify_all();
        if number <= now.together {
            now = changed.wait_while(now, |c| c.most < c.together).unwrap();
        }
        let held = |c: &mut Counts| c.held_from.is_some_and(|from| number >= from);
        now = changed.wait_while(now, held).unwrap();
        now.open -= 1;
        drop(now);
        let body: Value = serde_json::from_str(body).unwrap();
        let messages = body["messages"].as_array().unwrap();
        let results = messages.iter().filter(|m| m["role"] == "tool").count();
        let message = if results < calls && body.get("tools").is_some() {
            let function = json!({"name": tool, "arguments": "{}"});
            let call =
                json!({"id": format!("c{results}"), "type": "function", "function": function});
            json!({"role": "assistant", "content": null, "tool_calls": [call]})
        } else {
            json!({"role": "assistant", "content": "done"})
        };
        json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).to_string()
    }

    fn set(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.0.0.lock().unwrap());
        self.0.1.notify_all();
    }

    fn see<T>(&self, look: impl FnOnce(&Counts) -> T) -> T {
        look(&self.0.0.lock().unwrap())
    }

    /// Waits until so many requests have come; who would ask may have ended.
    #[track_caller]
    fn has(&self, asked: usize) {
        let (counts, changed) = &*self.0;
        let now = counts.lock().unwrap();
        let waited = changed.wait_timeout_while(now, LONGEST, |c| c.asked < asked);
        let (now, _) = waited.unwrap();
        let came = now.asked;
        drop(now);
        assert!(came >= asked, "{came} requests of {asked} came");
    }

    fn contract(&self, more: &str) -> String {
        let port = self.see(|counts| counts.port);
        format!(
            "task: go on\ntool_policy: optional\nmax_turns: 20\nmax_resumes: 9\n\
             targets: [{{provider: own, model: m, context_window: 90000}}]\n\
             providers: {{own: {{type: openai, base_url: 'http://127.0.0.1:{port}/v1'}}}}\n{more}"
        )
    }
}

/// The lines of a list: runs r0, r1, … under `c.yaml`.
fn lines(runs: usize) -> String {
    let line = |n| json!({"contract": "c.yaml", "run_id": format!("r{n}")}).to_string() + "\n";
    (0..runs).map(line).collect()
}

/// A tool server that writes a line into `starts` when it starts, and one into `executions` for each call.
fn counting(shared: bool) -> String {
    let command = format!(
        "echo $$ >> starts; exec python3 {} executions",
        shell_word(COUNTING_SERVER)
    );
    let server = json!({"command": "sh", "args": ["-c", command], "shared": shared});
    format!("tools: {{workspace: ., mcp: {{fs: {server}}}}}\n")
}

/// Number of runs that are open when their process is killed.
const KILLED: usize = 12;

const ECHO: &str = "tools: {builtin: [clock]}\n";

impl Fixture {
    fn many(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    fn list(&self, runs: usize) {
        self.write("list.jsonl", &lines(runs));
    }

    fn events_of(&self, run: &str) -> Vec<EventKind> {
        let run_id = RunId::try_from(run.to_owned()).unwrap();
        let mut reader = StoreReader::open(&self.path("home/runs.db")).unwrap();
        let run = reader.read_run(&run_id).unwrap();
        let entries: Vec<SealedEntry> = run.map(Result::unwrap).collect();
        let events = entries.iter().filter_map(|e| e.decode_event().unwrap());
        events.map(|event| event.event).collect()
    }

    #[track_caller]
    fn all_verify(&self, runs: usize) {
        let mut reader = StoreReader::open(&self.path("home/runs.db")).unwrap();
        for n in 0..runs {
            let run_id = RunId::try_from(format!("r{n}")).unwrap();
            let report = reader.verify_run(&run_id, false).unwrap();
            assert!(report.holds(), "r{n}: {:?}", report.first_bad);
        }
    }
}

fn left(child: Child) -> Left {
    Left::from(child.wait_with_output().unwrap())
}

fn documents(text: &str) -> Vec<Value> {
    let documents = text.lines().map(serde_json::from_str);
    documents
        .collect::<Result<_, _>>()
        .unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

/// Returns the end of each run that the results name.
fn ends(text: &str) -> BTreeMap<String, (String, u64)> {
    let end = |document: Value| {
        let class = document["outcome"]["class"].as_str().unwrap_or("none");
        let code = document["exit_code"].as_u64().unwrap();
        let run = document["run_id"].as_str().unwrap_or("none").to_owned();
        (run, (class.to_owned(), code))
    };
    documents(text).into_iter().map(end).collect()
}

#[test]
fn two_hundred_runs_of_a_list_end_and_never_ask_more_than_so_many_at_once() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 2));
    model.set(|counts| counts.together = 3);
    fixture.write("c.yaml", &model.contract(ECHO));
    let args = [
        "run",
        "--contracts",
        "-",
        "--max-runs",
        "40",
        "--max-inferences",
        "3",
    ];
    let mut command = fixture.command(&args);
    command.args(["--durability", "normal"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let feeding = thread::spawn(move || input.write_all(lines(200).as_bytes()).unwrap());
    let left = left(child);
    feeding.join().unwrap();
    assert_eq!(left.code, 0, "{}", left.printed());
    assert_eq!(left.err, "", "a pipe shows no progress");
    let ends = ends(&left.out);
    assert_eq!(ends.len(), 200);
    let as_expected = ("COMPLETED_WITH_TOOLS".to_owned(), 0);
    assert!(ends.values().all(|end| *end == as_expected), "{ends:?}");
    assert_eq!(model.see(|counts| (counts.asked, counts.most)), (600, 3));
    // The results are those of the store.
    let reader = StoreReader::open(&fixture.path("home/runs.db")).unwrap();
    for document in documents(&left.out) {
        let run_id = RunId::try_from(document["run_id"].as_str().unwrap().to_owned()).unwrap();
        let rows = reader
            .list_runs(1_000, monolith_host::store::RunFilter::Sealed)
            .unwrap();
        let row = rows.iter().find(|row| row.run_id == run_id).unwrap();
        assert_eq!(document["head"], row.head.to_string());
        assert_eq!(document["entries"], row.length);
    }
    fixture.all_verify(200);
    // Each request and each call stands once in the accounting.
    let accounts = fixture.read("home/accounting.jsonl");
    let accounts: BTreeSet<String> = documents(&accounts)
        .iter()
        .map(|line| format!("{} {}", line["txnId"], line["index"]))
        .collect();
    assert_eq!(accounts.len(), 200 * 5);
}

#[test]
fn the_files_of_a_folder_are_run_in_the_order_of_their_names() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 0));
    for name in ["b.yaml", "a.json", "B.yml", "é.yaml"] {
        let contract = model.contract(&format!("system: I am {name}\n{ECHO}"));
        fixture.write(&format!("all/{name}"), &contract);
    }
    fixture.write("all/notes.txt", "no contract");
    fixture.write("all/deeper/c.yaml", "not looked at");
    fixture.write("task", "the same for all");
    let out = fixture.ok(&[
        "run",
        "--contracts",
        "all",
        "--max-runs",
        "1",
        "--task",
        "@task",
    ]);
    let said = documents(&out).into_iter().map(|document| {
        let said = |n: usize| document["conversation"][n]["content"].clone();
        (said(0), said(1))
    });
    let expect = ["B.yml", "a.json", "b.yaml", "é.yaml"];
    let expect = expect.map(|name| (format!("I am {name}").into(), "the same for all".into()));
    assert_eq!(said.collect::<Vec<_>>(), expect);
}

#[test]
fn a_line_that_is_no_run_is_a_result_and_the_others_go_on() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 0));
    fixture.write("c.yaml", &model.contract(ECHO));
    fixture.write("bad.yaml", "targets: []\nzzqqzz: 1\n");
    let list = [
        "{",
        "",
        r#"{"contract": "c.yaml", "tusk": "x"}"#,
        r#"{"contract": "missing.yaml"}"#,
        r#"{"contract": "bad.yaml"}"#,
        r#"{"contract": "c.yaml", "run_id": "No!"}"#,
        r#"{"contract": "c.yaml", "set": ["max_turns=none"]}"#,
        r#"{"contract": "c.yaml", "run_id": "good", "task": "mine"}"#,
    ];
    fixture.write("list.jsonl", &list.join("\n"));
    let left = fixture.ends(&["run", "--contracts", "list.jsonl", "--max-runs", "1"], 1);
    let documents = documents(&left.out);
    let errors: Vec<String> = documents
        .iter()
        .map(|document| {
            assert_eq!(document["format"], "monolith-result/1");
            let error = document["error"].as_str().unwrap_or_default();
            let error = error.split(';').next().unwrap_or_default();
            format!("{} {error}", document["exit_code"])
        })
        .collect();
    assert_eq!(errors.len(), 7, "{}", left.out);
    let begins = |n: usize, text: &str| assert!(errors[n].starts_with(text), "{}", errors[n]);
    begins(0, "4 line 1: EOF while parsing an object");
    begins(1, "4 line 3: unknown field `tusk`");
    begins(2, "4 line 4: ");
    assert!(errors[2].contains("missing.yaml"), "{}", errors[2]);
    begins(3, "4 line 5: ");
    assert!(
        errors[3].contains("bad.yaml:1:10: targets: "),
        "{}",
        errors[3]
    );
    begins(4, "4 line 6: ");
    begins(5, "4 line 7: ");
    assert!(errors[5].contains("max_turns"), "{}", errors[5]);
    begins(6, "0 ");
    assert_eq!(documents[6]["conversation"][0]["content"], "mine");
}

#[test]
fn what_cannot_be_begun_at_all_is_refused_with_its_number() {
    let fixture = Fixture::new();
    fixture.list(1);
    let check = |args: &[&str], words: &str| {
        let left = fixture.ends(args, 4);
        let said = left
            .printed()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(said.contains(words), "{args:?}: {said}");
    };
    check(&["run", "c.yaml", "--max-runs", "2"], "require --contracts");
    check(&["resume", "r1", "--max-inferences", "2"], "require --all");
    check(
        &["run", "--contracts", "list.jsonl", "c.yaml"],
        "cannot be used with",
    );
    check(
        &["run", "--contracts", "list.jsonl", "--max-runs", "0"],
        "0",
    );
    check(
        &["run", "--contracts", "missing"],
        "read the runs of missing",
    );
    check(&["run", "--contracts", "home"], "read the runs of home");
    std::fs::create_dir(fixture.path("empty")).unwrap();
    check(
        &["run", "--contracts", "empty"],
        "it has no .yaml, .yml or .json file",
    );
    let most = [
        "run",
        "--contracts",
        "list.jsonl",
        "--max-runs",
        "99999999999",
    ];
    check(
        &most,
        "needs 100000000383 open files, but the system allows",
    );
    assert_eq!(fixture.ok(&["resume", "--all"]), "");
}

#[test]
fn runs_share_a_tool_server_unless_their_contract_wants_one_of_its_own() {
    if !Harness::has_python() {
        return;
    }
    for (shared, starts) in [(true, 1), (false, 6)] {
        let (fixture, model) = (Fixture::new(), Model::serving("fs__count", 2));
        // All are open at once: none is answered before all have asked.
        model.set(|counts| counts.together = 6);
        fixture.write("c.yaml", &model.contract(&counting(shared)));
        fixture.list(6);
        let args = ["run", "--contracts", "list.jsonl", "--durability", "normal"];
        let left = fixture.ends(&args, 0);
        assert_eq!(ends(&left.out).len(), 6, "{}", left.printed());
        assert_eq!(fixture.read("starts").lines().count(), starts);
        let keys = fixture.read("executions");
        let keys: BTreeSet<&str> = keys.lines().collect();
        assert_eq!(keys.len(), 12, "each run has its own keys");
        #[cfg(target_os = "linux")]
        assert_eq!(
            fixture.processes(),
            Vec::<String>::new(),
            "none outlives them"
        );
        fixture.all_verify(6);
    }
}

#[test]
fn after_a_kill_all_runs_go_on_and_no_call_is_repeated() {
    if !Harness::has_python() {
        return;
    }
    let (fixture, model) = (Fixture::new(), Model::serving("fs__count", 3));
    fixture.write("c.yaml", &model.contract(&counting(true)));
    fixture.list(KILLED);
    for asked in [KILLED + 3, KILLED + 14] {
        model.set(|counts| counts.held_from = Some(asked));
        let again = ["resume", "--all", "--max-inferences", "5"];
        let begin = ["run", "--contracts", "list.jsonl", "--max-inferences", "5"];
        let has_store = fixture.path("home/runs.db").exists();
        let mut child = fixture.many(if has_store { &again } else { &begin });
        model.has(asked);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    model.set(|counts| counts.held_from = None);
    let begun = StoreReader::open(&fixture.path("home/runs.db")).unwrap();
    let begun = begun
        .list_runs(99, monolith_host::store::RunFilter::All)
        .unwrap();
    let open = begun.iter().filter(|row| row.outcome.is_none()).count();
    assert_eq!(begun.len(), KILLED);
    let left = fixture.ends(&["resume", "--all"], 0);
    let ends = ends(&left.out);
    assert_eq!(ends.len(), open, "{}", left.printed());
    let keys = fixture.read("executions");
    let once: BTreeSet<&str> = keys.lines().collect();
    assert_eq!(once.len(), keys.lines().count(), "a call was repeated");
    fixture.all_verify(KILLED);
    // No run is accounted for twice, and no run is left to resume.
    let accounts = documents(&fixture.read("home/accounting.jsonl"));
    let named: BTreeSet<String> = accounts
        .iter()
        .map(|line| format!("{} {}", line["txnId"], line["index"]))
        .collect();
    assert_eq!(named.len(), accounts.len());
    assert_eq!(fixture.ok(&["resume", "--all"]), "");
}

#[test]
fn on_sigterm_all_runs_are_suspended_and_requests_that_wait_are_not_sent() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 1));
    model.set(|counts| counts.held_from = Some(1));
    fixture.write("c.yaml", &model.contract(ECHO));
    fixture.list(8);
    let args = ["run", "--contracts", "list.jsonl", "--max-inferences", "2"];
    let mut child = fixture.many(&[&args[..], &["--grace", "100000"]].concat());
    model.has(2);
    // Every run waits for the model now, or for its turn.
    let all_ask = || {
        let reader = StoreReader::open(&fixture.path("home/runs.db"));
        let rows =
            reader.and_then(|reader| reader.list_runs(9, monolith_host::store::RunFilter::Open));
        rows.is_ok_and(|rows| rows.len() == 8 && rows.iter().all(|row| row.length >= 2))
    };
    while !all_ask() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut first: Vec<String> = (0..6).map(|_| printed.next().unwrap().unwrap()).collect();
    // What is in flight may end; then nothing more is asked for.
    model.set(|counts| counts.held_from = None);
    first.extend(printed.map(Result::unwrap));
    assert_eq!(left(child).code, 8);
    assert_eq!(model.see(|counts| counts.asked), 2);
    let suspended = ends(&first.join("\n"));
    assert_eq!(suspended.len(), 8);
    assert!(
        suspended.values().all(|end| *end == ("none".to_owned(), 8)),
        "{suspended:?}"
    );
    let lost = (0..8).map(|n| fixture.events_of(&format!("r{n}")));
    let lost = lost
        .flatten()
        .filter(|e| matches!(e, EventKind::EffectLost(_)));
    assert_eq!(lost.count(), 6);
    let left = fixture.ends(&["resume", "--all"], 0);
    assert_eq!(ends(&left.out).len(), 8, "{}", left.printed());
    fixture.all_verify(8);
}

#[test]
fn on_ctrl_c_open_runs_are_brought_to_their_ends_and_no_other_begins() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 5));
    model.set(|counts| counts.held_from = Some(1));
    fixture.write("c.yaml", &model.contract(ECHO));
    fixture.list(9);
    let child = fixture.many(&["run", "--contracts", "list.jsonl", "--max-runs", "3"]);
    model.has(3);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    // The stop is recorded before anything is answered.
    while (0..3).any(|n| {
        let events = fixture.events_of(&format!("r{n}"));
        !events.contains(&EventKind::StopRequested)
    }) {
        thread::yield_now();
    }
    model.set(|counts| counts.held_from = None);
    let left = left(child);
    assert_eq!(left.code, 1, "{}", left.printed());
    let ends = ends(&left.out);
    let stopped: Vec<&str> = ends.keys().map(String::as_str).collect();
    assert_eq!(stopped, ["r0", "r1", "r2"]);
    let rest = "not started: the rest of the list, from line 4 on; monolith run --contracts list.jsonl --max-runs 3 --from 4 starts it";
    assert!(left.err.contains(rest), "{}", left.err);
    assert_eq!(fixture.ok(&["resume", "--all"]), "");
}

#[test]
fn a_run_of_another_process_is_skipped_and_named_and_an_approval_is_not_waited_for() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 1));
    fixture.write(
        "c.yaml",
        &model.contract(&format!("{ECHO}require_approval: [clock]\n")),
    );
    fixture.list(2);
    let left = fixture.ends(&["run", "--contracts", "list.jsonl"], 8);
    let suspended = ends(&left.out);
    assert_eq!(suspended.len(), 2);
    assert!(
        suspended.values().all(|end| end.1 == 8),
        "{}",
        left.printed()
    );
    // Only the process that begins a run waits for an answer without a terminal.
    let mut held = fixture.many(&["run", "c.yaml", "--run-id", "held"]);
    let mut printed = String::new();
    let mut err = BufReader::new(held.stderr.take().unwrap());
    while !printed.contains("approve held") {
        assert_ne!(err.read_line(&mut printed).unwrap(), 0, "{printed}");
    }
    for run in ["r0", "r1"] {
        let asked = fixture.ends(&["approve", run], 4).printed();
        let hash = asked.split("blake3     ").nth(1).unwrap();
        let hash = hash.split('\n').next().unwrap().trim();
        fixture.ends(&["approve", run, "--yes", "--arguments", hash], 0);
    }
    let again = fixture.ends(&["resume", "--all"], 0);
    assert_eq!(ends(&again.out).keys().collect::<Vec<_>>(), ["r0", "r1"]);
    assert!(again.err.contains("skipped run held: "), "{}", again.err);
    held.kill().unwrap();
    held.wait().unwrap();
}
