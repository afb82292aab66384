//! Workflows from outside: run, shown, verified, replayed, resumed; their failures, and kill -9 in the middle of them.

mod check;
mod faults;
mod kill;
mod left;
mod people;
mod results;
mod seen;
mod steps;
mod tree;
mod waits;

use serde_json::Value;

use crate::fixture::{Fixture, says};

/// The contract of the steps: a scripted model that says one thing, and the built-in file tools in the folder itself.
const CONTRACT: &str = "contract:
  targets: [{provider: demo, model: script}]
  providers: {demo: {type: scripted, file: s.jsonl}}
  tool_policy: optional
  tools: {builtin: [read_file, write_file, list_directory], workspace: w}
";

/// A fixture with a workflow of these steps, whose prompts are answered with `pong`.
fn fixture(steps: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture.write("w.yaml", &format!("workflow: tried\n{CONTRACT}{steps}"));
    fixture.write("s.jsonl", &says("pong"));
    fixture.write("w/in.txt", "[\"one\", \"two\"]");
    // An agent with a separate model.
    let agent = "targets: [{provider: demo, model: script}]\n\
                 providers: {demo: {type: scripted, file: agent.jsonl}}\n";
    fixture.write("agent.yaml", agent);
    fixture.write("agent.jsonl", &says("reviewed"));
    fixture
}

impl Fixture {
    /// From now on a person is asked before a step writes a file.
    fn asks_before_writing(&self) {
        let asks = "  require_approval: [write_file]\n  tool_policy:";
        let text = self.read("w.yaml").replace("  tool_policy:", asks);
        self.write("w.yaml", &text);
    }

    /// Runs the workflow under the name `w`; its code and its result. It verifies and replays, and so does each of its step runs.
    #[track_caller]
    fn workflow(&self) -> (i32, Value) {
        let ended = self.run(&["run", "w.yaml", "--json", "--run-id", "w"]);
        let result = ended.document();
        self.tree_holds(&result);
        (ended.code, result)
    }

    /// Checks that the workflow and each of its step runs verify and replay, and that each step ended at its recorded head.
    #[track_caller]
    fn tree_holds(&self, result: &Value) {
        for proof in ["verify", "replay"] {
            self.ok(&[proof, "w"]);
        }
        for step in result["steps"].as_array().unwrap() {
            let Some(run) = step["run_id"].as_str() else {
                continue;
            };
            for proof in ["verify", "replay"] {
                self.ok(&[proof, run]);
            }
            let shown: Value = serde_json::from_str(&self.ok(&["show", run, "--json"])).unwrap();
            assert_eq!(shown["head"], step["head"], "{run}");
        }
    }
}

/// The step runs of a result: place and state.
fn steps_of(result: &Value) -> Vec<(String, String)> {
    let steps = result["steps"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    steps
        .map(|step| (text(&step["place"]), text(&step["state"])))
        .collect()
}

/// Returns the states that a test expects.
fn are(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = expected.iter();
    owned
        .map(|(place, state)| ((*place).to_owned(), (*state).to_owned()))
        .collect()
}
