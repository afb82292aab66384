//! The page reads a run from the bytes inside it; these tests compare its result with the view that every other display has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use serde::Deserialize;

use crate::source::Source;
use crate::text::narration::Transition;
use monolith_core::kernel::{Outcome, State};
use monolith_core::view::{Activity, Entry, RunView, Step};

const SOURCES: [&str; 4] = [
    include_str!("blake3.js"),
    include_str!("notes.js"),
    include_str!("transcript.js"),
    include_str!("run.js"),
];

/// Prints what the page reads from each file that it is given, a line of JSON each.
const READ: &str = r#"
const fs = require("node:fs");
for (const name of process.argv.slice(2)) {
  const run = readRun([...transcript.lines(fs.readFileSync(name))]);
  const calls = [...run.calls.values()].map(({ call, name, from, arguments: text }) => ({ call, name, from, arguments: text }));
  const spans = (lane) => run.spans.filter((span) => span.lane === lane).map((span) => [span.from, span.to]);
  const refused = run.entries.filter(({ states }) => states === "VALIDATE_CALLS → COMMIT").map((entry) => entry.what);
  const counted = run.entries.map((entry) => entry.counted);
  const tokens = run.entries.map((entry) => entry.tokens), times = run.entries.map((entry) => entry.at);
  console.log(JSON.stringify({ calls, counted, executions: spans("tool"), outcome: run.outcome, refused, requests: spans("model"), run_id: run.runId,
    times, tokens, total: run.total }));
}
"#;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    calls: Vec<CallFacts>,
    /// The time that the timeouts counted at each entry.
    counted: Vec<u64>,
    /// When each execution began and ended.
    executions: Vec<(u64, u64)>,
    outcome: Option<Outcome>,
    /// The words for each message of which nothing was executed.
    refused: Vec<String>,
    /// When each request was sent, and when it ended.
    requests: Vec<(u64, u64)>,
    run_id: String,
    /// When each entry was made.
    times: Vec<u64>,
    /// The tokens that each entry counted.
    tokens: Vec<u64>,
    total: u64,
}

/// The values taken at each entry.
#[derive(Default)]
struct OfEntries {
    counted: Vec<u64>,
    refused: Vec<String>,
    times: Vec<u64>,
    tokens: Vec<u64>,
}

impl OfEntries {
    fn take(&mut self, view: &RunView, entry: Entry<'_>, step: Step) {
        self.counted.push(view.counted_ms());
        self.times.push(view.at_ms());
        self.tokens.push(step.tokens);
        let transition = Transition::of(view, entry);
        let refused = |t: &Transition| (t.from, t.to) == (State::ValidateCalls, State::Commit);
        let refused = transition.filter(refused);
        // The page has no schemas: what is wrong with a report is for the terminal to say.
        let as_shown = |transition: Transition| match transition.detail {
            report if report.starts_with("the final report is refused") => {
                "nothing to execute".to_owned()
            }
            detail => detail,
        };
        self.refused.extend(refused.map(as_shown));
    }
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallFacts {
    call: u64,
    name: String,
    from: u64,
    arguments: String,
}

impl Facts {
    /// The facts of the view, as the page has them: it shows the arguments of a batch with the batch alone.
    fn of(view: &RunView, entries: OfEntries) -> Self {
        let (mut executions, mut requests) = (Vec::new(), Vec::new());
        let mut calls = BTreeMap::new();
        for activity in view.activities() {
            match activity {
                Activity::Request(inference) => {
                    let request = view.request(*inference).unwrap();
                    let ended = request.ended_at_ms.unwrap_or(view.at_ms());
                    requests.push((request.sent_at_ms, ended));
                }
                Activity::Execution(number, place) => {
                    let call = view.call(*number).unwrap();
                    let execution = &call.executions[*place];
                    let from = execution.began_at_ms;
                    executions.push((from, execution.ended_at_ms.unwrap_or(view.at_ms())));
                    let text = call.batch.is_none().then(|| call.arguments.clone());
                    let facts = CallFacts {
                        call: number.0,
                        name: call.name.clone(),
                        from,
                        arguments: text.unwrap_or_default(),
                    };
                    calls.insert(number.0, facts);
                }
                Activity::Report(_) => {}
            }
        }
        Self {
            calls: calls.into_values().collect(),
            counted: entries.counted,
            executions,
            outcome: view.outcome(),
            refused: entries.refused,
            requests,
            run_id: view.run_id().unwrap().to_string(),
            times: entries.times,
            tokens: entries.tokens,
            total: view.at_ms(),
        }
    }
}

fn goldens() -> io::Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../replay/v1");
    let files = fs::read_dir(folder)?.map(|file| Ok(file?.path()));
    files.collect()
}

#[test]
fn the_page_reads_the_run_that_the_other_displays_show() {
    let goldens = goldens().unwrap();
    let has_node = Command::new("node").arg("--version").output();
    if !has_node.is_ok_and(|output| output.status.success()) {
        println!("skipped {} cases: there is no node", goldens.len());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = format!("{}{READ}", SOURCES.concat());
    fs::write(folder.path().join("read.js"), script).unwrap();
    let output = Command::new("node")
        .arg("read.js")
        .args(&goldens)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(lines.len(), goldens.len(), "{stderr}");
    for (path, line) in goldens.into_iter().zip(lines) {
        let name = path.display().to_string();
        let mut entries = OfEntries::default();
        let view = Source::File(path).each_step(|view, entry, step| {
            entries.take(view, entry.entry(), step);
            Ok(())
        });
        let expect = Facts::of(&view.unwrap(), entries);
        let read: Facts = serde_json::from_str(line).unwrap();
        assert_eq!(read, expect, "{name}");
    }
}
