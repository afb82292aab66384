//! A run that ends while runs below it go on: those end first, what they used is charged, and nothing stays open.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{asks, named, prompt};
use crate::fixture::Fixture;
use crate::verifier::forge::forged;
use monolith_core::kernel::Counters;
use monolith_host::store::StoreReader;

impl Fixture {
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
        self.killed_while(&run, &["lead.1.1"]);
    }

    /// Begins a run, and kills the process once each of these has executed a call.
    fn killed_while(&self, run: &[&str], work: &[&str]) {
        let mut process = self.command(run).spawn().unwrap();
        let works = |run: &&str| self.used_by(run).is_some_and(|used| used.executed >= 1);
        while !work.iter().all(works) {
            assert!(process.try_wait().unwrap().is_none(), "it ended early");
            std::thread::yield_now();
        }
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Runs `resume` in another store, and puts these runs, as they ended there, in their place here: what is below them is open.
    fn has_ended_runs(&self, runs: &[&str]) {
        for end in ["", "-wal"] {
            let from = self.path(&format!("home/runs.db{end}"));
            if from.exists() {
                std::fs::copy(from, self.path(&format!("home/other.db{end}"))).unwrap();
            }
        }
        let other = ["--store", "home/other.db"];
        self.run(&[&["resume", runs[0]], &other[..]].concat());
        let store = Connection::open(self.path("home/runs.db")).unwrap();
        let renames = "UPDATE runs SET run_id = 'gone-' || run_id WHERE run_id = ?1";
        for run in runs {
            assert_eq!(store.execute(renames, [run]).unwrap(), 1);
        }
        drop(store);
        for run in runs {
            let file = format!("{run}.moved.jsonl");
            self.ok(&[&["export", run, "-o", &file], &other[..]].concat());
            self.ok(&["import", &file]);
        }
    }

    /// Returns the end of a run; `None` if it is open.
    fn end_of(&self, run: &str) -> Option<String> {
        let mut reader = StoreReader::open(&self.path("home/runs.db")).unwrap();
        let stored = reader.read_run(&named(run)).unwrap();
        let (class, code) = stored.row().outcome.clone()?;
        Some(format!("{class} ({code})"))
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

/// The first run is charged for the child runs of an agent that was ended, and each end is recorded.
#[test]
fn a_run_that_times_out_is_charged_for_what_its_agents_used() {
    let fixture = Fixture::new();
    fixture.works_for_ever("total_timeout_ms: 3000\n", "");
    fixture.leads();
    let [middle] = fixture.children_of("lead").try_into().unwrap();
    assert_eq!(middle.outcome.to_string(), "FAILED_TIMEOUT (total_timeout)");
    let [worker] = fixture.children_of("lead.1").try_into().unwrap();
    // Its own time is what was left of the one above: either may be over first.
    let ends = ["INTERRUPTED (parent)", "FAILED_TIMEOUT (total_timeout)"];
    let end = worker.outcome.to_string();
    assert!(ends.contains(&end.as_str()), "{end}");
    let own = |run: &str| tokens(&fixture.used_by(run).unwrap());
    assert_eq!(worker.tokens, own("lead.1.1"));
    assert_eq!(middle.tokens, own("lead.1") + own("lead.1.1"));
    assert!(worker.tokens > 0, "the worker was ended before it answered");
}

/// A run that was killed too often ends, and so do all below it.
#[test]
fn what_is_below_a_run_that_has_ended_is_ended_too() {
    let fixture = Fixture::new();
    fixture.works_for_ever("", "max_resumes: 0\n");
    fixture.killed_while_it_works();
    let (code, result) = fixture.json(&["resume", "lead"]);
    assert_eq!(result["outcome"]["class"], "INTERRUPTED", "{code} {result}");
    assert_eq!(result["outcome"]["code"], "shutdown");
    let [middle] = fixture.children_of("lead").try_into().unwrap();
    assert_eq!(middle.tokens, 120);
    let tree = fixture.proves_tree("lead");
    assert_eq!(Fixture::tree_names(&tree), ["lead", "lead.1", "lead.1.1"]);
}

/// Only a run whose caller has ended is ended: where that one is not in the store, it is not known. It needs neither its file nor its models
/// to end.
#[test]
fn an_agent_whose_parent_has_ended_is_ended_by_its_stored_contract() {
    let fixture = Fixture::new();
    fixture.works_for_ever("", "max_resumes: 0\n");
    fixture.killed_while_it_works();
    let rename = |from: &str, to: &str| {
        let renames = "UPDATE runs SET run_id = ?2 WHERE run_id = ?1";
        let store = Connection::open(fixture.path("home/runs.db")).unwrap();
        assert_eq!(store.execute(renames, [from, to]).unwrap(), 1);
    };
    rename("lead", "away");
    let refused = fixture.ends(&["resume", "lead.1"], 4).err;
    let expected = "failed to resume run lead.1: its parent run lead is not in this store";
    assert!(refused.contains(expected), "{refused}");
    fixture.run(&["resume", "--all", "--no-wait"]);
    assert_eq!(fixture.end_of("lead.1"), None);
    rename("away", "lead");

    fixture.has_ended_runs(&["lead"]);
    for file in ["lead.yaml", "middle.yaml", "worker.yaml"] {
        std::fs::remove_file(fixture.path(file)).unwrap();
    }
    let (_, result) = fixture.json(&["resume", "lead.1"]);
    assert_eq!(result["outcome"]["code"], "shutdown", "{result}");
    let (code, tree) = fixture.json(&["verify", "lead.1", "--tree"]);
    assert_eq!(code, 0, "{tree}");
    assert_eq!(Fixture::tree_names(&tree), ["lead.1", "lead.1.1"]);
}

/// One run below that cannot be ended keeps neither the recorded result back nor the others open.
#[test]
fn what_cannot_be_ended_below_a_run_is_reported_after_its_result() {
    let fixture = Fixture::new();
    fixture.works_for_ever("", "");
    let call = ("agent__worker", prompt("go"));
    let terms = "agents: [worker.yaml]\nparallel_tool_calls: true\n\
                 parallel_safe: [agent__worker]\nmax_resumes: 0\n";
    fixture.agent("lead", terms, &asks(&[call.clone(), call], "Done."));
    let run = ["run", "lead.yaml", "--task", "go", "--run-id", "lead"];
    fixture.killed_while(&run, &["lead.1", "lead.2"]);
    fixture.has_ended_runs(&["lead"]);
    let damage = "UPDATE entries SET state = 'STOPPING' \
         WHERE seq = 1 AND run = (SELECT id FROM runs WHERE run_id = 'lead.1')";
    let store = Connection::open(fixture.path("home/runs.db")).unwrap();
    assert_eq!(store.execute(damage, []).unwrap(), 1);
    drop(store);
    let left = fixture.run(&["resume", "lead", "--json"]);
    assert_eq!(left.code, 7, "{}", left.printed());
    assert_eq!(left.document()["outcome"]["code"], "shutdown");
    assert!(
        left.err.contains("run lead.1, entry 1"),
        "{}",
        left.printed()
    );
    // It may be resumed no more often than the one above it.
    let ended = fixture.end_of("lead.2");
    assert_eq!(ended.as_deref(), Some("INTERRUPTED (shutdown)"));
    assert_eq!(fixture.end_of("lead.1"), None);
}

/// A workflow that has ended, too: what is open below its steps is ended by its name.
#[test]
fn what_is_open_below_an_ended_workflow_is_ended_by_its_name() {
    let fixture = Fixture::new();
    fixture.works_for_ever("max_resumes: 0\n", "");
    fixture.write(
        "w.yaml",
        "workflow: tried\nsteps: [{id: give, delegate: middle.yaml, task: go}]\n",
    );
    fixture.killed_while(&["run", "w.yaml", "--run-id", "w"], &["w.1.1"]);
    fixture.has_ended_runs(&["w", "w.1"]);
    assert_eq!(fixture.end_of("w.1.1"), None);
    let left = fixture.run(&["resume", "w", "--json"]);
    assert_eq!(left.document()["run_id"], "w", "{}", left.printed());
    // It may be resumed no more often than the one above it.
    let ended = fixture.end_of("w.1.1");
    assert_eq!(ended.as_deref(), Some("INTERRUPTED (shutdown)"));
}

/// A sealed run that recorded no end of a run that it began does not verify without that run.
#[test]
fn a_run_below_that_is_gone_is_missed_where_its_end_was_not_recorded() {
    let fixture = Fixture::new();
    fixture.worker("clock");
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    fixture.agent("lead", "agents: [clock.yaml]\n", &calls);
    fixture.leads();
    fixture.ok(&["export", "lead", "-o", "recorded.jsonl"]);
    let recorded = std::fs::read(fixture.path("recorded.jsonl")).unwrap();
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
    std::fs::write(fixture.path("recorded.jsonl"), without_end).unwrap();
    let store = ["--store", "other.db"];
    fixture.ok(&[&["import", "recorded.jsonl"], &store[..]].concat());
    let (code, tree) = fixture.json(&[&["verify", "lead", "--tree"], &store[..]].concat());
    assert_eq!(code, 7, "{tree}");
    assert_eq!(
        tree["runs"][1]["first_bad"]["actual"],
        "no such run in this store"
    );
}
