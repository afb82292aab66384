//! kill -9 in the middle of parallel steps, of a compensation and of a delegated child: nothing is repeated, and every tree verifies
//! and replays.
//!
//! `MONOLITH_KILLS=1000 cargo test --test it workflow::kill` kills that often.

use std::path::Path;

use monolith::{RunFilter, RunId, StoreReader};
use serde_json::json;

use crate::bench::Bench;
use crate::desk::text;

/// How often the normal test run kills.
const KILLS: u64 = 12;
/// How often one workflow is killed before it may come to its end.
const KILLS_PER_WORKFLOW: u64 = 5;
/// About how many entries a workflow has that is not killed.
const ENTRIES: u64 = 10;
/// The step that calls a tool which there is not: after it everything is undone.
const STEPS: &str = "first both/a both/b both/child fails";

impl Bench {
    fn write_workflow(&self) {
        let server = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/counting_server.py"
        );
        let call = |id: &str| json!({"id": id, "tool": "fs__count", "compensate": "undo"});
        let child = json!({"id": "child", "delegate": "c.yaml", "task": "Count."});
        let both = [call("a"), call("b"), child];
        let workflow = json!({
            "workflow": "killed",
            "on_failure": "rollback",
            "contract": {
                "max_resumes": 100,
                "tools": {"mcp": {"fs": {"command": "python3", "args": [server, "executions"]}}},
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

    /// One workflow, killed up to `kills` times and then brought to its end; how often it was killed.
    fn kill_workflow(&mut self, number: u64, kills: u64) -> u64 {
        let run_id = RunId::try_from(format!("w{number}")).unwrap();
        let mut killed = 0;
        let mut entries = number % ENTRIES;
        for _ in 0..kills {
            let mut child = self.drive_workflow(&run_id).spawn().unwrap();
            let alive = self.wait_for(&mut child, &run_id, entries);
            child.kill().unwrap();
            child.wait().unwrap();
            killed += u64::from(alive);
            if self.sealed(&run_id) {
                break;
            }
            entries = self.length(&run_id) + self.below(3);
        }
        while !self.sealed(&run_id) {
            let left = self.drive_workflow(&run_id).output().unwrap();
            let code = left.status.code();
            assert_eq!(code, Some(1), "{run_id}: {}", text(&left.stderr));
        }
        self.judge_tree(&run_id);
        killed
    }

    fn judge_tree(&self, run_id: &RunId) {
        let store = self.path().join("runs.db");
        let ask = |args: &[&str]| {
            let left = crate::desk::monolith(self.path(), args)
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
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
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
            if step["place"] == "both/child" {
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
    if !Bench::has_python() {
        return;
    }
    let wanted = std::env::var("MONOLITH_KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let mut bench = Bench::new(0x2545_f491_4f6c_dd1d);
    bench.write_workflow();
    assert!(Path::new(&bench.path().join("w.json")).is_file());
    let (mut killed, mut workflows) = (0, 0);
    while killed < wanted {
        killed += bench.kill_workflow(workflows * 3, KILLS_PER_WORKFLOW.min(wanted - killed));
        workflows += 1;
        assert!(
            workflows < wanted * 4 + 8,
            "only {killed} kills in {workflows} workflows"
        );
    }
    println!("{killed} kills over {workflows} workflows");
}
