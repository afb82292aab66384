//! Agents that delegate to agents: each call is a separate run, linked both ways, within the remaining budget of its parent
//! run. Against the binary.

mod budgets;
mod continued;
mod ended;
mod ends;
mod leaving;
mod left;
mod lies;
mod people;
mod refused;
mod seen;
mod servers;
mod tree;

use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{ChildEnd, EventKind};
use monolith_core::message::RunId;
use monolith_host::store::StoreReader;
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// A model that calls these tools in one message, each with its arguments, and then says that.
pub fn asks(calls: &[(&str, Value)], then: &str) -> Vec<Value> {
    let calls = calls.iter().enumerate().map(|(n, (name, arguments))| {
        json!({"id": format!("c{n}"), "type": "function",
            "function": {"name": name, "arguments": arguments.to_string()}})
    });
    let calls: Vec<Value> = calls.collect();
    vec![
        json!({"role": "assistant", "content": null, "tool_calls": calls}),
        json!({"role": "assistant", "content": then}),
    ]
}

/// The task of an agent whose input is text.
pub fn prompt(text: &str) -> Value {
    json!({"prompt": text})
}

impl Fixture {
    /// The contract file `NAME.yaml`, whose scripted model says that; each answer uses 60 tokens.
    pub fn agent(&self, name: &str, more: &str, says: &[Value]) {
        let contract = format!(
            "system: You are {name}.\ntargets: [{{provider: demo, model: script, context_window: 32768}}]\n\
             providers: {{demo: {{type: scripted, file: {name}.jsonl}}}}\n{more}"
        );
        self.write(&format!("{name}.yaml"), &contract);
        let lines = says.iter().map(|message| {
            let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
            let usage = json!({"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60});
            json!({"response": {"choices": [choice], "usage": usage}}).to_string()
        });
        self.write(
            &format!("{name}.jsonl"),
            &lines.collect::<Vec<_>>().join("\n"),
        );
    }

    /// An agent that uses a tool of monolith's own and answers.
    pub fn worker(&self, name: &str) {
        let says = asks(&[("clock", json!({}))], "Noon.");
        self.agent(name, "tools: {builtin: [clock]}\n", &says);
    }

    /// An agent `middle` that calls `worker`, whose call waits for a person.
    pub fn middle_that_waits(&self) {
        let says = asks(&[("echo", json!({"text": "hi"}))], "said");
        let terms = "tools: {builtin: [echo]}\nrequire_approval: [echo]\n";
        self.agent("worker", terms, &says);
        let calls = asks(&[("agent__worker", prompt("say it"))], "It was said.");
        self.agent("middle", "agents: [worker.yaml]\n", &calls);
    }

    /// Runs `lead.yaml` under that name; its result. It and every run below it verify and replay.
    #[track_caller]
    pub fn leads(&self) -> Value {
        let ended = self.run(&lead(&["--json"]));
        let result = ended.document();
        self.proves_tree("lead");
        result
    }

    /// The run and every run below it verify against what the one above recorded, and replay.
    #[track_caller]
    pub fn proves_tree(&self, run: &str) -> Value {
        let (code, tree) = self.json(&["verify", run, "--tree"]);
        assert_eq!(code, 0, "{tree}");
        for one in tree["runs"].as_array().unwrap() {
            self.ok(&["replay", one["run_id"].as_str().unwrap()]);
        }
        tree
    }

    /// The names of the runs of a tree, each after the one above.
    pub fn tree_names(tree: &Value) -> Vec<String> {
        let runs = tree["runs"].as_array().unwrap();
        let names = runs.iter().map(|one| one["run_id"].as_str().unwrap());
        names.map(str::to_owned).collect()
    }

    pub fn contract_of(&self, run: &str) -> ExecutionContract {
        let mut reader = StoreReader::open(&self.path("home/runs.db")).unwrap();
        let stored = reader.read_run(&named(run)).unwrap();
        stored.contract().unwrap()
    }

    /// The ends of runs below that a run has recorded.
    pub fn children_of(&self, run: &str) -> Vec<ChildEnd> {
        let mut reader = StoreReader::open(&self.path("home/runs.db")).unwrap();
        let stored = reader.read_run(&named(run)).unwrap();
        let events = stored.filter_map(|entry| entry.unwrap().decode_event().unwrap());
        let children = events.filter_map(|event| match event.event {
            EventKind::ToolReturned(returned) => returned.child.map(|child| *child),
            _ => None,
        });
        children.collect()
    }
}

/// The command that runs `lead.yaml` under that name, with more arguments.
pub fn lead<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let run = ["run", "lead.yaml", "--task", "go", "--run-id", "lead"];
    [&run[..], more].concat()
}

pub fn named(name: &str) -> RunId {
    RunId::try_from(name.to_owned()).unwrap()
}

/// Returns the model's view of each call.
pub fn shown(result: &Value) -> Vec<String> {
    let conversation = result["conversation"].as_array().unwrap();
    let tools = conversation
        .iter()
        .filter(|message| message["role"] == "tool");
    let texts = tools.map(|tool| tool["content"].as_str().unwrap().to_owned());
    texts.collect()
}
