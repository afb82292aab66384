//! `session --stdio` from outside: the shipped exchange, a host in Python, lines that are refused, secrets, and a run that is resumed.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::fixture::{Fixture, Left};
use crate::harness::Harness;

const CONTRACT: &str = "
system: You tell the time.
task: How late is it?
tool_policy: optional
targets: [{provider: demo, model: canned, context_window: 8192}]
providers: {demo: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}
tools: {host: [clock]}
";

/// A host that a test speaks for, line by line.
struct Host {
    child: Child,
    heard: Lines<BufReader<ChildStdout>>,
    said: ChildStdin,
}

impl Host {
    fn new(fixture: &Fixture) -> Self {
        let mut command = fixture.command(&["session", "--stdio"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        Self {
            heard: BufReader::new(child.stdout.take().unwrap()).lines(),
            said: child.stdin.take().unwrap(),
            child,
        }
    }

    fn says(&mut self, line: &str) {
        self.said.write_all(line.as_bytes()).unwrap();
        self.said.write_all(b"\n").unwrap();
    }

    fn hands_in(&mut self, at_ms: u64, input: &Value) {
        self.says(&json!({"at_ms": at_ms, "input": input}).to_string());
    }

    fn hears(&mut self) -> Value {
        serde_json::from_str(&self.heard.next().unwrap().unwrap()).unwrap()
    }

    /// Hears an output of that kind.
    fn hears_of(&mut self, kind: &str) -> Value {
        let line = self.hears();
        assert_eq!(line["output"]["kind"], kind, "{line}");
        line
    }

    /// Says a line that is refused; the kind of the error.
    fn is_refused(&mut self, line: &str) -> String {
        self.says(line);
        let answer = self.hears();
        let kind = answer["error"]["kind"].as_str();
        kind.unwrap_or_else(|| panic!("{line}: {answer}"))
            .to_owned()
    }

    /// Opens a session; its header and the input that begins it.
    fn makes(&mut self, task: &str, secrets: &[&str]) -> (String, Value) {
        let line = json!({"session": "make", "contract": CONTRACT, "task": task, "run_id": "r1", "unix_ms": 1,
            "secrets": secrets,
            "servers": {"host": [{"name": "clock", "input_schema": {"type": "object"}}]}});
        self.says(&line.to_string());
        let ready = self.hears()["ready"].take();
        (text_of(&ready["header"]), ready["start"].clone())
    }

    /// Ends the input after these lines; what was heard since, and the exit code.
    fn ends_after(self, lines: String) -> (Vec<Value>, i32) {
        let Self {
            child,
            heard,
            mut said,
        } = self;
        let saying = std::thread::spawn(move || said.write_all(lines.as_bytes()).unwrap());
        let heard = heard.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        let heard: Vec<Value> = heard.collect();
        saying.join().unwrap();
        let left = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(left.stderr).unwrap(), "");
        (heard, left.status.code().unwrap())
    }

    fn ends(self) -> (Vec<Value>, i32) {
        self.ends_after(String::new())
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Returns the lines of a transcript that come with an `append`.
fn lines_of(append: &Value) -> Vec<String> {
    let lines = append["transcript"].as_array().unwrap();
    lines.iter().map(text_of).collect()
}

/// A host that writes the host's lines of the document gets the other lines of the document.
#[test]
fn the_program_gives_the_exchange_of_the_document() {
    let shipped = include_str!("../../docs/session-api.jsonl");
    let lines: Vec<Value> = shipped
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (outputs, said): (Vec<&Value>, Vec<&Value>) =
        lines.iter().partition(|line| line.get("output").is_some());
    let said: Vec<String> = said.iter().map(ToString::to_string).collect();
    let said = said.join("\n") + "\n";
    let fixture = Fixture::new();
    let (given, code) = Host::new(&fixture).ends_after(said);
    for (given, expected) in given.iter().zip(&outputs) {
        assert_eq!(given.get("output"), expected.get("output"), "{given}");
    }
    assert_eq!(given.len(), outputs.len());
    assert_eq!(code, 0, "the last run completed");
}

#[test]
fn a_host_in_python_drives_a_run_that_verifies_and_replays() {
    if !Harness::has_python() {
        return;
    }
    let fixture = Fixture::new();
    let command = fixture.command(&[]);
    let mut host = Command::new("python3");
    host.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/host.py"));
    host.arg(command.get_program());
    host.current_dir(fixture.path(""));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => host.env(name, value),
            None => host.env_remove(name),
        };
    }
    let left = Left::from(host.output().unwrap());
    assert_eq!(left.out, "COMPLETED_WITH_TOOLS\n", "{}", left.err);
    assert_eq!((left.code, left.err.as_str()), (0, "model: It is noon.\n"));
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "run.jsonl"]);
    }
}

/// Each wrong line gets one error that names it, and the session continues as if the line had not come.
#[test]
fn a_line_that_is_wrong_is_answered_and_changes_nothing() {
    let fixture = Fixture::new();
    let mut host = Host::new(&fixture);
    assert_eq!(host.is_refused("nonsense"), "malformed");
    let timer = r#"{"at_ms": 0, "input": {"kind": "timer"}}"#;
    assert_eq!(host.is_refused(timer), "unexpected");
    let resume = format!(r#"{{"session": "resume", "head": "{}"}}"#, "0".repeat(64));
    assert_eq!(host.is_refused(&resume), "unexpected");
    let make = json!({"session": "make", "contract": "task: [", "run_id": "r1", "unix_ms": 1});
    assert_eq!(host.is_refused(&make.to_string()), "contract");
    let make = json!({"session": "make", "contract": CONTRACT, "run_id": "r1", "unix_ms": 1});
    host.says(&make.to_string());
    let refused = host.hears();
    let expected = "`servers` lacks \"host\", a server of the contract";
    assert_eq!(refused["error"]["message"], expected, "{refused}");
    assert_eq!(refused["error"]["line"], 5, "{refused}");

    let untold = CONTRACT.replace("task: How late is it?\n", "");
    let make = json!({"session": "make", "contract": untold, "run_id": "r1", "unix_ms": 1});
    host.says(&make.to_string());
    let refused = host.hears();
    let expected = "no task given: add `task` to this line or to the contract";
    assert_eq!(refused["error"]["message"], expected, "{refused}");

    // Wherever a run is asked for, it means another one.
    for named in ["last", "run.jsonl"] {
        let make = json!({"session": "make", "contract": CONTRACT, "run_id": named, "unix_ms": 1});
        host.says(&make.to_string());
        let refused = host.hears();
        assert_eq!(refused["error"]["kind"], "malformed", "{refused}");
        let message = text_of(&refused["error"]["message"]);
        let expected = format!("`{named}` means something else");
        assert!(message.starts_with(&expected), "{message}");
    }

    let (header, start) = host.makes("How late is it?", &[]);
    assert_eq!(host.is_refused(timer), "refused", "before `start`");
    host.hands_in(0, &start);
    let first = host.hears_of("append");
    let beyond = r#"{"at_ms": 1, "input": {"kind": "durable", "value": 100}}"#;
    assert_eq!(host.is_refused(beyond), "refused");
    assert_eq!(host.is_refused(&make.to_string()), "unexpected");
    let odd = r#"{"at_ms": 1, "input": {"kind": "durable", "value": 0}, "more": 1}"#;
    assert_eq!(host.is_refused(odd), "malformed");
    let never = r#"{"at_ms": 1, "input": {"kind": "response_ended", "value": {"inference": 9}}}"#;
    assert_eq!(host.is_refused(never), "refused");
    host.hands_in(1, &json!({"kind": "durable", "value": 0}));
    host.hears_of("probe");
    host.hears_of("arm");

    // The input ends before the run does: the run is suspended.
    let (rest, code) = host.ends();
    assert_eq!(code, 8);
    let last = rest.iter().rfind(|line| line["output"]["kind"] == "append");
    let lines = [lines_of(&first), lines_of(last.unwrap())].concat();
    fixture.write("run.jsonl", &(header + &lines.concat()));
    fixture.ok(&["verify", "run.jsonl", "--open"]);
    let shown = fixture.ok(&["show", "run.jsonl"]);
    assert!(shown.contains("no end yet: suspended"), "{shown}");
}

#[test]
fn an_input_that_ends_within_a_line_or_before_any_is_no_run() {
    for (given, errors) in [("", 0), ("{\"session\":", 1)] {
        let fixture = Fixture::new();
        let mut host = Host::new(&fixture);
        host.said.write_all(given.as_bytes()).unwrap();
        let (rest, code) = host.ends();
        assert_eq!((rest.len(), code), (errors, 4), "{given:?}: {rest:?}");
    }
}

/// The host names its secrets: no entry and no output has one, whatever the host hands in.
#[test]
fn a_secret_that_a_host_names_is_in_nothing_that_is_recorded() {
    let secret = "correct horse battery";
    let fixture = Fixture::new();
    let mut host = Host::new(&fixture);
    let task = format!("Say {secret}.");
    let (header, mut start) = host.makes(&task, &[secret]);
    let begins = start.to_string();
    assert!(
        begins.contains("[REDACTED:") && !begins.contains(secret),
        "{begins}"
    );
    assert!(!header.contains(secret), "{header}");
    // A host that does not hand in what it was given is scrubbed, too.
    let messages = start["value"]["messages"].as_array_mut().unwrap();
    messages.last_mut().unwrap()["content"] = json!(task);
    host.hands_in(0, &start);
    let first = host.hears_of("append").to_string();
    assert!(
        first.contains("[REDACTED:") && !first.contains(secret),
        "{first}"
    );
    let holding = CONTRACT.replace("You tell the time.", secret);
    let make = json!({"session": "make", "contract": holding, "run_id": "r2", "unix_ms": 1,
        "secrets": [secret], "servers": {"host": [{"name": "clock", "input_schema": {"type": "object"}}]}});
    let mut other = Host::new(&fixture);
    assert_eq!(other.is_refused(&make.to_string()), "contract");
}

#[test]
fn another_process_resumes_a_run_only_from_the_record_that_the_host_has() {
    let fixture = Fixture::new();
    let mut host = Host::new(&fixture);
    let (header, start) = host.makes("How late is it?", &[]);
    host.hands_in(0, &start);
    let first = host.hears_of("append");
    host.hands_in(1, &json!({"kind": "durable", "value": 0}));
    drop(host.ends());

    let entry = &first["output"]["value"]["entries"][0];
    let event: Value = serde_json::from_str(entry["event"].as_str().unwrap()).unwrap();
    let mut host = Host::new(&fixture);
    host.says(&json!({"session": "recorded", "header": header}).to_string());
    let resume = |head: &str| json!({"session": "resume", "head": head}).to_string();
    let head = text_of(&entry["hash"]);
    assert_eq!(
        host.is_refused(&resume(&head)),
        "record",
        "nothing was recorded"
    );
    let timer = r#"{"at_ms": 0, "input": {"kind": "timer"}}"#;
    assert_eq!(host.is_refused(timer), "unexpected");
    host.hands_in(0, &json!({"kind": "recorded", "value": event["event"]}));
    assert_eq!(host.is_refused(&resume(&"0".repeat(64))), "record");
    host.says(&resume(&head));
    assert_eq!(host.is_refused(timer), "refused", "before `resumed`");
    host.hands_in(
        5,
        &json!({"kind": "resumed", "value": {"tools_changed": []}}),
    );
    let resumed = host.hears_of("append");
    assert_eq!(resumed["output"]["value"]["entries"][0]["seq"], 1);
    let (rest, code) = host.ends();
    assert!(
        rest.is_empty(),
        "nothing is asked for before the entries are durable: {rest:?}"
    );
    assert_eq!(code, 8);
}
