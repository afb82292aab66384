//! kill -9 in the middle of parallel steps, of a compensation and of a delegated child: nothing is repeated, and every tree verifies
//! and replays. Each kill is counted by what was under way in the record that it left.
//!
//! `MONOLITH_KILLS=1000 cargo test --test it workflow::kill` kills that often.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use monolith_core::message::RunId;
use monolith_host::store::{RunFilter, StoreReader};
use serde_json::{Value, json};

use crate::fixture::{text, wanted_kills};
use crate::harness::{COUNTING_SERVER, Harness};

/// Kills of the quick and of the deep form.
const KILLS: (u64, u64) = (6, 12);
/// The phases that the kills of one workflow wait for, before it may come to its end: in turn one whose steps are killed, and
/// one that has more to undo, since a tool whose process was killed has not completed.
const AIMS: [&[Phase]; 2] = [
    &[Phase::Parallel, Phase::Child, Phase::Compensation],
    &[
        Phase::Compensation,
        Phase::Compensation,
        Phase::Compensation,
    ],
];

/// The numbers of the steps of the group, of the one of them that delegates, and of the compensations.
const GROUP: std::ops::RangeInclusive<u64> = 2..=4;
const CHILD: u64 = 4;
const COMPENSATIONS: std::ops::RangeInclusive<u64> = 6..=8;

/// The work in progress in a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Two steps of its group.
    Parallel,
    /// The run that a step delegates to, which has begun.
    Child,
    /// A compensation.
    Compensation,
}

/// The number of kills in each phase, and in none of them.
#[derive(Debug, Default)]
struct Hits {
    in_phase: BTreeMap<Phase, u64>,
    killed: u64,
    between: u64,
}

impl Hits {
    fn least(&self) -> u64 {
        let all = [Phase::Parallel, Phase::Child, Phase::Compensation];
        let hits = all.map(|phase| self.in_phase.get(&phase).copied().unwrap_or(0));
        hits.into_iter().min().unwrap_or(0)
    }
}
/// The step that calls a tool which there is not: after it everything is undone.
const STEPS: &str = "first both/a both/b both/child fails";

/// Returns the work in progress in a workflow: step runs that have entries and no recorded end. The check of the tree judges
/// the numbers of the steps.
fn phases(reader: &mut StoreReader, run_id: &RunId) -> BTreeSet<Phase> {
    let mut is_open = |number: u64| {
        let run = RunId::try_from(format!("{run_id}.{number}")).unwrap();
        let run = reader.read_run(&run);
        run.is_ok_and(|run| run.row().length > 0 && run.row().outcome.is_none())
    };
    let mut phases = BTreeSet::new();
    if GROUP.filter(|number| is_open(*number)).count() > 1 {
        phases.insert(Phase::Parallel);
    }
    if is_open(CHILD) {
        phases.insert(Phase::Child);
    }
    if COMPENSATIONS.into_iter().any(is_open) {
        phases.insert(Phase::Compensation);
    }
    phases
}

impl Harness {
    fn write_workflow(&self) {
        let server = COUNTING_SERVER;
        let call = |id: &str| json!({"id": id, "tool": "fs__count", "compensate": "undo"});
        let child = json!({"id": "child", "delegate": "c.yaml", "task": "Count."});
        let both = [call("a"), call("b"), child];
        let workflow = json!({
            "workflow": "killed",
            "on_failure": "rollback",
            "contract": {
                "max_resumes": 100,
                "tools": {"mcp": {"fs": {"command": "python3", "args": [server, "executions", "0.1"]}}},
            },
            "steps": [
                call("first"),
                {"id": "both", "parallel": both, "max_concurrency": 2, "on_failure": "continueOnError"},
                {"id": "fails", "tool": "fs__nosuch"},
            ],
            "compensations": [{"id": "undo", "tool": "fs__count"}],
        });
        std::fs::write(self.path().join("w.json"), workflow.to_string()).unwrap();
    }

    fn drive_workflow(&self, run_id: &RunId) -> std::process::Command {
        let name = run_id.as_str();
        if self.length(run_id) == 0 {
            self.command(&["run", "w.json", "--run-id", name], "normal")
        } else {
            self.command(&["resume", name], "normal")
        }
    }

    /// Every run of a workflow, itself included.
    fn tree(&self, run_id: &RunId) -> Vec<RunId> {
        let reader = StoreReader::open(&self.database()).unwrap();
        let steps = format!("{run_id}.");
        let rows = reader.list_runs(1_000, RunFilter::All).unwrap();
        let own = rows.into_iter().map(|row| row.run_id);
        own.filter(|run| run == run_id || run.as_str().starts_with(&steps))
            .collect()
    }

    /// Waits until that is under way, and then for a moment that lies somewhere in it. False where the process ended first.
    fn wait_in(&mut self, child: &mut Child, run_id: &RunId, phase: Phase) -> bool {
        let mut reader = None;
        loop {
            reader = reader.or_else(|| StoreReader::open(&self.database()).ok());
            let phases = reader.as_mut().map(|reader| phases(reader, run_id));
            if phases.is_some_and(|phases| phases.contains(&phase)) {
                break;
            }
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::yield_now();
        }
        let moment = Instant::now() + Duration::from_micros(self.below(50_000));
        while Instant::now() < moment {
            std::thread::yield_now();
        }
        child.try_wait().unwrap().is_none()
    }

    /// One workflow, killed up to three times and then brought to its end.
    fn kill_workflow(&mut self, number: u64, hits: &mut Hits) {
        let run_id = RunId::try_from(format!("w{number}")).unwrap();
        for aim in AIMS[usize::try_from(number % 2).unwrap()] {
            let mut child = self.drive_workflow(&run_id).spawn().unwrap();
            let alive = self.wait_in(&mut child, &run_id, *aim);
            child.kill().unwrap();
            child.wait().unwrap();
            if alive {
                let mut reader = StoreReader::open(&self.database()).unwrap();
                let phases = phases(&mut reader, &run_id);
                hits.killed += 1;
                hits.between += u64::from(phases.is_empty());
                for phase in phases {
                    *hits.in_phase.entry(phase).or_default() += 1;
                }
            }
            if self.sealed(&run_id) {
                break;
            }
        }
        while !self.sealed(&run_id) {
            let left = self.drive_workflow(&run_id).output().unwrap();
            let code = left.status.code();
            assert_eq!(code, Some(1), "{run_id}: {}", text(&left.stderr));
        }
        self.judge_tree(&run_id);
    }

    fn judge_tree(&self, run_id: &RunId) {
        let store = self.path().join("home/runs.db");
        let ask = |args: &[&str]| {
            let left = crate::fixture::monolith(self.path(), args)
                .args(["--store", store.to_str().unwrap()])
                .output()
                .unwrap();
            (left.status.code(), text(&left.stdout), text(&left.stderr))
        };
        let tree = self.tree(run_id);
        for run in &tree {
            for proof in ["verify", "replay"] {
                let (code, out, err) = ask(&[proof, run.as_str()]);
                assert_eq!(code, Some(0), "{proof} {run}: {out}{err}");
            }
        }
        let (_, shown, _) = ask(&["show", run_id.as_str(), "--json"]);
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let steps = shown["steps"].as_array().unwrap();
        let places: Vec<&str> = steps.iter().map(|s| s["place"].as_str().unwrap()).collect();
        let forward = places
            .iter()
            .filter(|place| STEPS.split(' ').any(|s| s == **place));
        assert_eq!(forward.count(), 5, "{run_id}: {places:?}");
        let mut once: Vec<&str> = places.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), places.len(), "{run_id}: {places:?}");
        // A step run for each step that begins one, and none besides.
        let began = steps
            .iter()
            .filter(|step| step["run_id"].is_string())
            .count();
        assert_eq!(tree.len(), began + 1, "{run_id}: {tree:?}");
        for step in steps {
            let Some(run) = step["run_id"].as_str() else {
                continue;
            };
            let number: u64 = run.rsplit('.').next().unwrap().parse().unwrap();
            let undoes = step["place"].as_str().unwrap().ends_with("/undo");
            assert_eq!(COMPENSATIONS.contains(&number), undoes, "{step}");
            let in_group = !undoes && step["place"].as_str().unwrap().starts_with("both/");
            assert_eq!(GROUP.contains(&number), in_group, "{step}");
            assert_eq!(number == CHILD, step["place"] == "both/child", "{step}");
            if number == CHILD {
                continue;
            }
            // What counts is no idempotent tool: it is executed once, or was lost with its process.
            let run = RunId::try_from(run.to_owned()).unwrap();
            let executed: u64 = self.executions(&run).values().sum();
            assert!(executed <= 1, "{run}: executed {executed} times");
            let done = step["state"] == "done" || step["state"] == "compensated";
            assert!(!done || executed == 1, "{run}: {step}");
        }
    }
}

#[test]
fn a_killed_workflow_repeats_nothing_and_its_tree_verifies() {
    if !Harness::has_python() {
        return;
    }
    let wanted = wanted_kills(KILLS);
    let mut harness = Harness::new(0x2545_f491_4f6c_dd1d);
    harness.write_workflow();
    assert!(Path::new(&harness.path().join("w.json")).is_file());
    let (mut hits, mut workflows) = (Hits::default(), 0);
    // A kill may fall into two of the three at once, and into none if what it waited for has just ended.
    while hits.killed < wanted || hits.least() < wanted / 6 {
        harness.kill_workflow(workflows, &mut hits);
        workflows += 1;
        assert!(
            workflows < wanted + 8,
            "too few kills in {workflows} workflows: {hits:?}"
        );
    }
    println!("{hits:?} over {workflows} workflows");
}
