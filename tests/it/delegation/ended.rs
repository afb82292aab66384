//! A run that ends while runs below it go on: those end first, what they used is charged, and nothing stays open.

use serde_json::{Value, json};

use super::{asks, named, prompt};
use crate::desk::Desk;
use crate::verifier::forge::forged;
use monolith::{Counters, StoreReader};

impl Desk {
    /// An agent `worker` whose second answer does not come, below `middle`, below `lead`.
    fn works_for_ever(&self, middle: &str, lead: &str) {
        let says = asks(&[("clock", json!({}))], "Late.");
        self.agent("worker", "tools: {builtin: [clock]}\n", &says);
        let script = self.read("worker.jsonl");
        let (first, last) = script.split_once('\n').unwrap();
        let last = last.replace("{\"response\"", "{\"delay_ms\":600000,\"response\"");
        self.write("worker.jsonl", &format!("{first}\n{last}"));
        let calls = |agent: &str| asks(&[(&*format!("agent__{agent}"), prompt("go"))], "Done.");
        let terms = format!("agents: [worker.yaml]\n{middle}");
        self.agent("middle", &terms, &calls("worker"));
        let terms = format!("agents: [middle.yaml]\n{lead}");
        self.agent("lead", &terms, &calls("middle"));
    }

    /// Begins `lead`, and kills the process once the worker waits for its second answer.
    fn killed_while_it_works(&self) {
        let run = ["run", "lead.yaml", "--task", "go", "--run-id", "lead"];
        let mut process = self.command(&run).spawn().unwrap();
        while self
            .used_by("lead.1.1")
            .is_none_or(|used| used.executed < 1)
        {
            std::thread::yield_now();
        }
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// The counters of a run, once it has entries.
    fn used_by(&self, run: &str) -> Option<Counters> {
        let mut reader = StoreReader::open(&self.path("home/runs.db")).ok()?;
        let stored = reader.read_run(&named(run)).ok()?;
        let last = stored.last()?.ok()?;
        Some(last.decode_action().ok()?.counters)
    }
}

fn tokens(counters: &Counters) -> u64 {
    counters.tokens_in + counters.tokens_out
}

/// What runs below an agent used that was ended is charged to the first run, and each end is recorded.
#[test]
fn a_run_that_times_out_is_charged_for_what_its_agents_used() {
    let desk = Desk::new();
    desk.works_for_ever("total_timeout_ms: 3000\n", "");
    desk.leads();
    let [middle] = desk.children_of("lead").try_into().unwrap();
    assert_eq!(middle.outcome.to_string(), "FAILED_TIMEOUT (total_timeout)");
    let [worker] = desk.children_of("lead.1").try_into().unwrap();
    // Its own time is what was left of the one above: either may be over first.
    let ends = ["INTERRUPTED (parent)", "FAILED_TIMEOUT (total_timeout)"];
    let end = worker.outcome.to_string();
    assert!(ends.contains(&end.as_str()), "{end}");
    let own = |run: &str| tokens(&desk.used_by(run).unwrap());
    assert_eq!(worker.tokens, own("lead.1.1"));
    assert_eq!(middle.tokens, own("lead.1") + own("lead.1.1"));
    assert!(worker.tokens > 0, "the worker was ended before it answered");
}

/// A run that was killed too often ends, and so do all below it.
#[test]
fn what_is_below_a_run_that_has_ended_is_ended_too() {
    let desk = Desk::new();
    desk.works_for_ever("", "max_resumes: 0\n");
    desk.killed_while_it_works();
    let (code, result) = desk.json(&["resume", "lead"]);
    assert_eq!(result["outcome"]["class"], "INTERRUPTED", "{code} {result}");
    assert_eq!(result["outcome"]["code"], "shutdown");
    let [middle] = desk.children_of("lead").try_into().unwrap();
    assert_eq!(middle.tokens, 120);
    let tree = desk.proves_tree("lead");
    assert_eq!(Desk::tree_names(&tree), ["lead", "lead.1", "lead.1.1"]);
}

/// One that stands alone needs neither its file nor its models to end.
#[test]
fn an_agent_whose_parent_is_gone_is_ended_by_its_stored_contract() {
    let desk = Desk::new();
    desk.works_for_ever("", "");
    desk.killed_while_it_works();
    let renames = "UPDATE runs SET run_id = 'other' WHERE run_id = 'lead'";
    desk.plain_store().execute(renames, ()).unwrap();
    for file in ["lead.yaml", "middle.yaml", "worker.yaml"] {
        std::fs::remove_file(desk.path(file)).unwrap();
    }
    let (_, result) = desk.json(&["resume", "lead.1"]);
    assert_eq!(result["outcome"]["code"], "parent", "{result}");
    let (code, tree) = desk.json(&["verify", "lead.1", "--tree"]);
    assert_eq!(code, 0, "{tree}");
    assert_eq!(Desk::tree_names(&tree), ["lead.1", "lead.1.1"]);
}

/// A sealed run that recorded no end of a run that it began does not verify without that run.
#[test]
fn a_run_below_that_is_gone_is_missed_where_its_end_was_not_recorded() {
    let desk = Desk::new();
    desk.worker("clock");
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    desk.agent("lead", "agents: [clock.yaml]\n", &calls);
    desk.leads();
    desk.ok(&["export", "lead", "-o", "recorded.jsonl"]);
    let recorded = std::fs::read(desk.path("recorded.jsonl")).unwrap();
    let without_end = forged(&recorded, &|lines: &mut Vec<Value>| {
        lines.retain(|line| line.get("checkpoint").is_none());
        for line in lines.iter_mut() {
            if let Some(child) = line.pointer_mut("/event/event/value/child")
                && !child.is_null()
            {
                line["event"]["event"]["value"]["call"] = json!(99);
            }
        }
    });
    std::fs::write(desk.path("recorded.jsonl"), without_end).unwrap();
    let store = ["--store", "other.db"];
    desk.ok(&[&["import", "recorded.jsonl"], &store[..]].concat());
    let (code, tree) = desk.json(&[&["verify", "lead", "--tree"], &store[..]].concat());
    assert_eq!(code, 7, "{tree}");
    assert_eq!(
        tree["runs"][1]["first_bad"]["actual"],
        "no such run in this store"
    );
}
