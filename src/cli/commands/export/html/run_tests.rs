//! The page reads a run from the bytes inside it; here what it reads is held against the view that every other display has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use serde::Deserialize;

use crate::cli::context::source::Source;
use crate::kernel::Outcome;
use crate::view::{Activity, RunView};

const SOURCES: [&str; 3] = [
    include_str!("blake3.js"),
    include_str!("transcript.js"),
    include_str!("run.js"),
];

/// Prints what the page reads from each file that it is given, a line of JSON each.
const READ: &str = r#"
const fs = require("node:fs");
for (const name of process.argv.slice(2)) {
  const run = readRun([...transcript.lines(fs.readFileSync(name))]);
  const calls = [...run.calls.values()].map(({ call, name, from, arguments: text }) => ({ call, name, from, arguments: text }));
  const spans = (lane) => run.spans.filter((span) => span.lane === lane).map((span) => span.from);
  const tokens = run.entries.map((entry) => entry.tokens), times = run.entries.map((entry) => entry.at);
  console.log(JSON.stringify({ calls, executions: spans("tool"), outcome: run.outcome, requests: spans("model"), run_id: run.runId,
    times, tokens, total: run.total }));
}
"#;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    calls: Vec<CallFacts>,
    /// When each execution began.
    executions: Vec<u64>,
    outcome: Option<Outcome>,
    /// When each request was sent.
    requests: Vec<u64>,
    run_id: String,
    /// When each entry was made.
    times: Vec<u64>,
    /// The tokens that each entry counted.
    tokens: Vec<u64>,
    total: u64,
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
    fn of(view: &RunView, times: Vec<u64>, tokens: Vec<u64>) -> Self {
        let (mut executions, mut requests) = (Vec::new(), Vec::new());
        let mut calls = BTreeMap::new();
        for activity in view.activities() {
            match activity {
                Activity::Request(inference) => {
                    requests.push(view.request(*inference).unwrap().sent_at_ms);
                }
                Activity::Execution(number, place) => {
                    let call = view.call(*number).unwrap();
                    let from = call.executions[*place].began_at_ms;
                    executions.push(from);
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
            executions,
            outcome: view.outcome(),
            requests,
            run_id: view.run_id().unwrap().to_string(),
            times,
            tokens,
            total: view.at_ms(),
        }
    }
}

fn goldens() -> io::Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("replay/v1");
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
        let (mut times, mut tokens) = (Vec::new(), Vec::new());
        let view = Source::File(path).each_step(|view, _, step| {
            times.push(view.at_ms());
            tokens.push(step.tokens);
            Ok(())
        });
        let expect = Facts::of(&view.unwrap(), times, tokens);
        let read: Facts = serde_json::from_str(line).unwrap();
        assert_eq!(read, expect, "{name}");
    }
}
