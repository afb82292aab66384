//! Everybody repeats a secret that monolith knows: 0 hits in what it writes, says, exports and shows. And a secret that it does
//! not know is found, so the search can find.

use std::fs;
use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use assert_cmd::Command;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::HttpRequest;

const KEY: &str = "cnry-key/7f3a+9Zq";
const HEADER: &str = "cnry header 51bd";
const VARIABLE: &str = r#"cnry-env-"q"\n-é8c2e"#;
const QUERY: &str = "cnry-query-aa11";
const TASK: &str = "cnry-task-d00d";
const CANARIES: [&str; 5] = [KEY, HEADER, VARIABLE, QUERY, TASK];

/// The forms of `export --format`; a new one is added here. The endings of exports, each the name of its form except for a
/// trajectory.
const ENDINGS: [&str; 4] = ["json", "cast", "html", "jsonl"];

/// A switch: monolith knows the secrets, or only others know them.
#[derive(Clone, Copy, PartialEq)]
enum Canaries {
    Yes,
    No,
}

struct Fixture {
    folder: TempDir,
    said: Vec<(String, Vec<u8>)>,
    canaries: Canaries,
}

impl Fixture {
    fn new(canaries: Canaries) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("canary.txt"), CANARIES.join("\n")).unwrap();
        let said = Vec::new();
        Self {
            folder,
            said,
            canaries,
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the value for monolith: the secret, or something else of that kind.
    fn value(&self, canary: &'static str) -> &'static str {
        match self.canaries {
            Canaries::Yes => canary,
            Canaries::No => "something-else",
        }
    }

    fn process(&self, arguments: &[&str]) -> Process {
        let mut process = Process::new(env!("CARGO_BIN_EXE_monolith"));
        process
            .args(arguments)
            .current_dir(self.path())
            .env("MONOLITH_HOME", self.path().join("home"))
            .env("MONOLITH_LOG", "trace")
            .env("THE_KEY", self.value(KEY))
            .env("THE_HEADER", self.value(HEADER))
            .env("THE_VARIABLE", self.value(VARIABLE))
            .env("THE_TASK", self.value(TASK));
        process
    }

    /// Runs a command and keeps what it says.
    fn monolith(&mut self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = Command::from_std(self.process(arguments)).output().unwrap();
        let name = arguments.join(" ");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        self.said.push((format!("stdout of {name}"), output.stdout));
        self.said.push((format!("stderr of {name}"), output.stderr));
        (output.status.code(), stdout)
    }

    /// Everything that monolith says and shows of a run.
    fn tell_all(&mut self, run: &str) {
        for ending in ENDINGS {
            let name = format!("{run}.{ending}");
            self.monolith(&["export", run, "--withheld", "-o", &name]);
            if !self.folder.path().join(&name).exists() {
                let (code, _) = self.monolith(&["export", run, "-o", &name]);
                assert_eq!(code, Some(0), "{name}");
            }
        }
        for form in [
            ["show", run].as_slice(),
            &["show", run, "--json"],
            &["show", run, "--raw"],
            &["show", run, "--why"],
        ] {
            self.monolith(form);
        }
        for seq in 0..60 {
            let shown = self.monolith(&["show", run, "--step", &seq.to_string()]);
            if shown.0 != Some(0) {
                break;
            }
        }
        self.monolith(&["list", "--json"]);
    }

    /// Finds the places of a canary, in whatever form.
    fn hits(&self) -> Vec<String> {
        let mut places = self.said.clone();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path: PathBuf = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.file_name().is_none_or(|name| name != "canary.txt") {
                    places.push((path.display().to_string(), fs::read(&path).unwrap()));
                }
            }
        }
        // Texts of entries are packed in the file.
        let store = places.iter().find(|(place, _)| place.ends_with("runs.db"));
        let store = PathBuf::from(&store.expect("a store").0);
        let place = store.display().to_string();
        for (_, entry) in crate::fixture::entries_of(&store) {
            let texts = entry.event + &entry.action;
            places.push((place.clone(), texts.into_bytes()));
        }
        let mut hits = Vec::new();
        for (place, bytes) in places {
            for canary in CANARIES {
                for form in forms(canary) {
                    if bytes
                        .windows(form.len())
                        .any(|part| part == form.as_bytes())
                    {
                        hits.push(format!("{place}: {form}"));
                    }
                }
            }
        }
        hits
    }
}

/// A value as it is, escaped for JSON, percent-encoded, and in base64 wherever it begins.
fn forms(value: &str) -> Vec<String> {
    let quoted = serde_json::to_string(value).unwrap();
    let twice = serde_json::to_string(&quoted[1..quoted.len() - 1]).unwrap();
    let percent: String = value.bytes().map(percent_of).collect();
    let mut forms = vec![
        value.to_owned(),
        quoted[1..quoted.len() - 1].to_owned(),
        twice[1..twice.len() - 1].to_owned(),
        percent.to_lowercase(),
        percent,
    ];
    for before in 0..3 {
        let bytes = [vec![0; before].as_slice(), value.as_bytes()].concat();
        let (from, to) = ((before * 8_usize).div_ceil(6), bytes.len() * 8 / 6);
        for text in [
            STANDARD_NO_PAD.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
        ] {
            forms.push(text[from..to].to_owned());
        }
    }
    forms
}

fn percent_of(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        char::from(byte).to_string()
    } else {
        format!("%{byte:02X}")
    }
}

fn message(message: &Value) -> String {
    json!({"model": format!("m {KEY}"), "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5}})
    .to_string()
}

fn calls(id: &str, name: &str, arguments: &str, more: &Value) -> String {
    let call = json!({"id": id, "type": "function", "function": {"name": format!("odd__{name}"), "arguments": arguments}});
    let mut said = json!({"role": "assistant", "content": format!("I say {KEY}."),
        "reasoning_content": format!("They told me {HEADER} and {VARIABLE}."), "tool_calls": [call]});
    if let (Value::Object(said), Value::Object(more)) = (&mut said, more) {
        said.extend(more.clone());
    }
    message(&said)
}

/// A stream that has `text` in pieces of three characters.
fn stream(field: &str, text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let parts = letters.chunks(3).map(|part| {
        let part: String = part.iter().collect();
        let chunk = json!({"model": "m", "choices": [{"index": 0, "delta": {field: part}}]});
        format!("data: {chunk}\n\n")
    });
    parts.collect::<Vec<_>>().concat()
}

/// Returns the provider's answers, in turn.
fn answers() -> Vec<(u16, String)> {
    let arguments = json!({"a": VARIABLE, "b": format!("Bearer {KEY}")}).to_string();
    let odd = KEY.bytes().map(|byte| format!("\\u{byte:04x}"));
    let odd = odd.collect::<Vec<_>>().concat();
    let done = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let split = format!(
        "{}{}{done}\n\ndata: [DONE]\n\n",
        stream(
            "reasoning_content",
            &format!("thinking of {HEADER}, {VARIABLE}")
        ),
        stream("content", &format!("Done with {KEY} and {QUERY}.")),
    );
    vec![
        (500, json!({"error": {"message": format!("{KEY} is no key; sent authorization: Bearer {KEY}"), "code": HEADER}}).to_string()),
        (503, format!("<html>busy, {KEY} {}</html>", percent_of_text(HEADER))),
        (200, calls("c0", "leak", &format!("{{\"a\": \"{KEY}"), &json!({}))),
        (200, calls("c1", "leak", &arguments, &json!({}))),
        (200, calls("c2", "fail", &format!(r#"{{"a":"{odd}"}}"#), &json!({}))),
        (200, calls(KEY, "refuse", "{}", &json!({}))),
        (200, calls("c4", "huge", "{}", &json!({}))),
        (200, calls("c5", "die", "{}", &json!({}))),
        (200, split),
    ]
}

fn percent_of_text(text: &str) -> String {
    text.bytes().map(percent_of).collect()
}

/// A provider on loopback: every GET is well, every POST gets the next answer. Returns its address.
fn provider(answers: Vec<(u16, String)>) -> String {
    provider_that_waits(answers, Vec::new(), mpsc::channel().0)
}

/// As [`provider`]; between `before` and `after` it tells of one request and leaves that without an answer.
fn provider_that_waits(
    before: Vec<(u16, String)>,
    after: Vec<(u16, String)>,
    asked: mpsc::Sender<()>,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let pause = (!after.is_empty()).then_some(None);
        let before = before.into_iter().map(Some);
        let mut answers = before.chain(pause).chain(after.into_iter().map(Some));
        let mut left = Vec::new();
        for connection in listener.incoming() {
            let Ok(connection) = connection else { return };
            if let Some(unanswered) = serve(connection, &mut answers) {
                left.push(unanswered);
                let _ = asked.send(());
            }
        }
    });
    format!("http://{address}")
}

/// Answers one request; gives the connection back where it is to stay without an answer.
fn serve(
    connection: TcpStream,
    answers: &mut impl Iterator<Item = Option<(u16, String)>>,
) -> Option<TcpStream> {
    let mut reader = BufReader::new(connection);
    let asked = HttpRequest::read(&mut reader);
    let first = asked.head.lines().next().unwrap_or_default();
    let (status, body) = if first.starts_with("GET") {
        (404, format!("no such thing: {first}"))
    } else {
        let Some(answer) = answers.next().unwrap_or(Some((500, "no more".to_owned()))) else {
            return Some(reader.into_inner());
        };
        answer
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\nset-cookie: {KEY}\r\n\r\n",
        body.len()
    );
    let mut connection = reader.into_inner();
    drop(connection.write_all(head.as_bytes()));
    drop(connection.write_all(body.as_bytes()));
    None
}

fn contract(address: &str, fixture: &Fixture) -> String {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/canary_server.py");
    format!(
        "tool_policy: optional\n\
         strict_mode: true\n\
         max_attempts_per_turn: 5\n\
         targets: [{{provider: web, model: m}}]\n\
         context_budget: {{context_window: 100000}}\n\
         redact: {{env: [THE_TASK]}}\n\
         providers:\n\
         \x20 web: {{type: openai, base_url: '{address}/v1?token={}', api_key_env: THE_KEY, headers: {{X-Session: 'Token ${{THE_HEADER}}'}}}}\n\
         tools: {{workspace: ., mcp: {{odd: {{command: python3, args: ['{}'], env: {{CANARY: '${{THE_VARIABLE}}'}}}}}}}}\n",
        fixture.value(QUERY),
        server.display(),
    )
}

fn has_python() -> bool {
    let there = Process::new("python3").arg("--version").output().is_ok();
    if !there {
        println!("skipped 1 case: python3 is not here");
    }
    there
}

/// A run in which everybody tells what they know.
fn play(canaries: Canaries) -> (Fixture, Value) {
    let mut fixture = Fixture::new(canaries);
    let address = provider(answers());
    fs::write(fixture.path().join("c.yaml"), contract(&address, &fixture)).unwrap();
    let task = format!("Use the tools. My password is {TASK}, theirs {KEY}.");
    let mut arguments = vec!["run", "--json", "--run-id", "r1", "--contract", "c.yaml"];
    let set = format!("task={task}");
    arguments.extend(["--set", &set, "--set", "max_turns=8"]);
    let (_, result) = fixture.monolith(&arguments);
    // The arguments are the test's own words, and so are the names of what was said.
    let result = serde_json::from_str(&result).unwrap();
    fixture.tell_all("r1");
    fs::remove_file(fixture.path().join("c.yaml")).unwrap();
    (fixture, result)
}

#[test]
fn a_secret_that_everybody_tells_is_nowhere() {
    if !has_python() {
        return;
    }
    let (mut fixture, result) = play(Canaries::Yes);
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_WITH_TOOLS",
        "{result}"
    );
    assert_eq!(result["counters"]["inferences"], 9, "{result}");
    let hits = fixture.hits();
    assert!(hits.is_empty(), "{hits:#?}");
    let (code, report) = fixture.monolith(&["replay", "r1", "--json"]);
    assert_eq!(code, Some(0), "{report}");
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["same"], true);
    let lost = report["not_compared"].as_array().unwrap();
    assert!(
        lost.iter()
            .any(|what| what.as_str().unwrap().contains("was redacted")),
        "{lost:?}"
    );
    assert_eq!(fixture.monolith(&["verify", "r1"]).0, Some(0));
    let exported = fs::read(fixture.path().join("r1.jsonl")).unwrap();
    crate::verifier::both_hold("a redacted run", exported);
}

#[test]
fn a_secret_that_nobody_told_monolith_of_is_found_by_the_same_search() {
    if !has_python() {
        return;
    }
    let (fixture, _) = play(Canaries::No);
    let hits = fixture.hits();
    for canary in CANARIES {
        let found = |place: &str| {
            hits.iter()
                .any(|hit| hit.contains(place) && hit.ends_with(&format!(": {canary}")))
        };
        assert!(
            found("runs.db") || canary == VARIABLE,
            "{canary}: {hits:#?}"
        );
    }
    for place in ["runs.db", "r1.jsonl", "stdout of show r1", "stdout of run"] {
        assert!(
            hits.iter().any(|hit| hit.contains(place)),
            "{place}: {hits:#?}"
        );
    }
}

#[test]
fn a_marker_is_opened_with_the_key_and_the_value() {
    if !has_python() {
        return;
    }
    let (fixture, result) = play(Canaries::Yes);
    let mut child = fixture.process(&["key", "commitment", "r1"]);
    let mut child = child
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(format!("{TASK}\n").as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let marker = String::from_utf8(output.stdout).unwrap();
    let task = result["conversation"][0]["content"].as_str().unwrap();
    assert!(
        marker.starts_with("[REDACTED:") && task.contains(marker.trim_end()),
        "{marker}: {task}"
    );
}

/// The model has called a tool and is asked again when the process is killed; the resumed run has the same salt.
#[test]
fn a_run_that_is_killed_and_resumed_stays_clean_and_has_the_same_markers() {
    if !has_python() {
        return;
    }
    let mut fixture = Fixture::new(Canaries::Yes);
    let mut answers = answers();
    let done = answers.split_off(8);
    let call = answers.swap_remove(3);
    let (sender, asked) = mpsc::channel();
    let address = provider_that_waits(vec![call], done, sender);
    fs::write(fixture.path().join("c.yaml"), contract(&address, &fixture)).unwrap();
    let task = format!("Use {TASK}.");
    let arguments = ["run", "--json", "--run-id", "r1", "c.yaml", "--task", &task];
    let mut child = fixture.process(&arguments);
    child.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    asked.recv_timeout(Duration::from_secs(60)).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let (code, result) = fixture.monolith(&["resume", "r1", "--json"]);
    assert_eq!(code, Some(0), "{result}");
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["outcome"]["class"], "COMPLETED_WITH_TOOLS");
    let key_in = |at: usize| {
        let text = result["conversation"][at]["content"].as_str().unwrap();
        let from = text.find("[REDACTED:").unwrap();
        text[from..from + 43].to_owned()
    };
    let last = result["conversation"].as_array().unwrap().len() - 1;
    assert_eq!(key_in(1), key_in(last), "before the kill and after it");
    fixture.tell_all("r1");
    assert_eq!(fixture.monolith(&["replay", "r1"]).0, Some(0));
    fs::remove_file(fixture.path().join("c.yaml")).unwrap();
    let hits = fixture.hits();
    assert!(hits.is_empty(), "{hits:#?}");
}

#[test]
fn a_server_that_does_not_come_up_tells_nothing_either() {
    let mut fixture = Fixture::new(Canaries::Yes);
    let address = provider(vec![(500, format!("no {QUERY}, {HEADER}")); 4]);
    let text = format!(
        "task: Try.\ntargets: [{{provider: demo, model: script}}]\n\
         providers: {{demo: {{type: scripted, file: s.jsonl}}}}\n\
         tools: {{mcp: {{web: {{url: '{address}/mcp?token={QUERY}', headers: {{X-Session: '${{THE_HEADER}}'}}}}}}}}\n"
    );
    fs::write(fixture.path().join("s.jsonl"), "").unwrap();
    fs::write(fixture.path().join("c.yaml"), text).unwrap();
    let (code, result) = fixture.monolith(&["run", "--json", "--run-id", "r1", "c.yaml"]);
    assert_eq!(code, Some(3), "{result}");
    fixture.monolith(&["contract", "show", "c.yaml"]);
    fixture.monolith(&["contract", "check", "c.yaml", "--start-servers"]);
    fixture.tell_all("r1");
    fs::remove_file(fixture.path().join("c.yaml")).unwrap();
    let hits = fixture.hits();
    assert!(hits.is_empty(), "{hits:#?}");
}

#[test]
fn a_contract_that_shows_a_secret_is_refused_with_the_place_and_not_the_value() {
    let mut fixture = Fixture::new(Canaries::Yes);
    let text = format!(
        "system: 'The key is {KEY}.'\ntask: Try.\ntargets: [{{provider: web, model: m, context_window: 8192}}]\n\
         providers: {{web: {{type: openai, api_key_env: THE_KEY, base_url: 'http://127.0.0.1:9/v1'}}}}\n"
    );
    fs::write(fixture.path().join("c.yaml"), text).unwrap();
    for command in [
        ["run", "--json", "c.yaml"].as_slice(),
        &["contract", "check", "c.yaml"],
    ] {
        assert_eq!(fixture.monolith(command).0, Some(4));
        let said = String::from_utf8_lossy(&fixture.said.last().unwrap().1).into_owned();
        assert!(
            said.contains("providers.web.api_key_env") && said.contains("\"/system\""),
            "{said}"
        );
    }
    fs::remove_file(fixture.path().join("c.yaml")).unwrap();
    let hits = fixture.hits();
    assert!(hits.is_empty(), "{hits:#?}");
}
