//! Work items from outside: the contract tests of 004, levels, conflicts, the ends of items, kill -9, receipts, their envelopes, thaw and replay.

mod contract_004;
mod ends;
mod envelopes;
mod git;
mod kept;
mod killed;
mod kills;
mod levels;
mod page;
mod published;
mod receipts;
mod refusals;
mod rules;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::fixture::{Fixture, calls, says};

/// The arguments that run the items.
const RUN: [&str; 4] = ["work", "run", "work.yaml", "--json"];

/// A folder with a work tree `tree` of two files.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("tree/README.md", "one\ntwo\nthree\n");
    fixture.write("tree/src/a.txt", "a\n");
    fixture
}

/// A call that writes a file.
fn writes(path: &str, content: &str) -> String {
    calls(
        "write_file",
        &json!({"path": path, "content": content}).to_string(),
    )
}

impl Fixture {
    /// An agent whose scripted model makes these calls, and is done.
    fn item_agent(&self, name: &str, lines: &[String]) {
        self.agent_with(
            name,
            "tools: {builtin: [read_file, write_file, shell], sandbox: off}\n",
            lines,
        );
    }

    /// The same with other keys of its contract.
    fn agent_with(&self, name: &str, more: &str, lines: &[String]) {
        let contract = format!(
            "targets: [{{provider: demo, model: script}}]\n\
             providers: {{demo: {{type: scripted, file: {name}.jsonl}}}}\n\
             tool_policy: optional\n{more}"
        );
        self.write(&format!("{name}.yaml"), &contract);
        let done = says("done");
        let lines: Vec<&str> = lines.iter().chain([&done]).map(String::as_str).collect();
        self.write(&format!("{name}.jsonl"), &lines.join("\n"));
    }

    /// The file of items. Each has its id, its agent, and more keys; the agent of an item is the file of that name.
    fn items(&self, items: &[(&str, &str, Value)]) {
        let mut agents = BTreeMap::new();
        let listed: Vec<Value> = items
            .iter()
            .map(|(id, agent, more)| {
                agents.insert(*agent, format!("{agent}.yaml"));
                let mut item = json!({
                    "id": id, "agent_id": agent, "description": "Write the file.", "sandbox": "off",
                });
                let item = item.as_object_mut().unwrap();
                item.extend(more.as_object().unwrap().clone());
                Value::Object(item.clone())
            })
            .collect();
        let file = json!({"work_tree": "tree", "agents": agents, "items": listed});
        self.write("work.yaml", &file.to_string());
    }

    /// Runs the items; the exit code, and their results in the order of their ends.
    #[track_caller]
    fn item_results(&self, more: &[&str]) -> (i32, Vec<Value>) {
        let left = self.run(&[&RUN[..], more].concat());
        let lines = left
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let results: Vec<Value> = lines.collect();
        assert!(!results.is_empty(), "{}", left.printed());
        (left.code, results)
    }

    /// Runs one item; the exit code, and its result.
    #[track_caller]
    fn result(&self) -> (i32, Value) {
        let (code, mut results) = self.item_results(&[]);
        assert_eq!(results.len(), 1, "{results:?}");
        (code, results.remove(0))
    }

    /// Every file of the work tree with its mode and content.
    fn state(&self) -> BTreeMap<String, (u32, Vec<u8>)> {
        let mut found = BTreeMap::new();
        let root = self.path("tree");
        let mut left = vec![root.clone()];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    left.push(path);
                    continue;
                }
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                let mode = fs::metadata(&path).unwrap().permissions().mode();
                found.insert(name, (mode, fs::read(&path).unwrap()));
            }
        }
        found
    }

    /// Nothing of an attempt stays next to the work tree.
    #[track_caller]
    fn has_no_scratch(&self) {
        assert!(!self.path(".monolith-scratch").exists());
    }
}

/// The absolute path of a file of the work tree, as results have it.
fn absolute(fixture: &Fixture, name: &str) -> Value {
    let root = fixture.path("tree").canonicalize().unwrap();
    root.join(name).display().to_string().into()
}
