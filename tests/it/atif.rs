//! Exported trajectories against the models of the Agent Trajectory Interchange Format, which its own Python package holds.
//!
//! Without python3, pip or a package registry the cases are skipped, and counted.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::{env, fs};

use serde_json::Value;

use crate::fixture::{Left, monolith};
use crate::golden::{file_of, goldens};

use crate::verifier::python;

/// Prints what the models say of each document, one line each.
const VALIDATE: &str = "
import json, sys
from atif import Trajectory
for path in sys.argv[1:]:
    with open(path) as file:
        document = json.load(file)
    try:
        trajectory = Trajectory.model_validate(document)
        assert trajectory.to_json_dict() == document, 'a member that the models do not keep as it is'
        print('ok', len(trajectory.steps))
    except Exception as fault:
        print(repr(fault))
";

fn trajectory(golden: &Path, home: &Path) -> Value {
    let mut command = monolith(home, &["export", "--format", "atif"]);
    let left = Left::from(command.arg(golden).output().unwrap());
    assert_eq!(left.code, 0, "{golden:?}: {}", left.err);
    left.document()
}

/// Every golden transcript with its trajectory.
static TRAJECTORIES: LazyLock<Vec<(PathBuf, Value)>> = LazyLock::new(|| {
    let home = tempfile::tempdir().unwrap();
    let all = goldens().into_iter();
    let all = all.map(|golden| {
        let document = trajectory(&golden, home.path());
        (golden, document)
    });
    all.collect()
});

#[test]
fn every_golden_run_is_a_trajectory_to_the_models_of_the_format() {
    let pins = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/atif.txt");
    let packages = python::install("atif", &pins);
    let folder = tempfile::tempdir().unwrap();
    let mut names = Vec::new();
    for (golden, document) in &*TRAJECTORIES {
        let name = golden.file_stem().unwrap().to_str().unwrap().to_owned();
        fs::write(folder.path().join(&name), document.to_string()).unwrap();
        names.push(name);
    }
    let packages = match packages {
        Ok(packages) => packages,
        Err(reason) => {
            println!("skipped {} cases: {reason}", names.len());
            return;
        }
    };
    let output = Command::new("python3")
        .args(["-c", VALIDATE])
        .args(&names)
        .current_dir(folder.path())
        .env("PYTHONPATH", packages)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        said.lines().count(),
        names.len(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for (name, said) in names.iter().zip(said.lines()) {
        assert!(said.starts_with("ok "), "{name}: {said}");
    }
}

/// Sums of the steps are the totals, and the totals are the counters of the transcript.
#[test]
fn the_metrics_of_a_trajectory_add_up() {
    for (golden, document) in &*TRAJECTORIES {
        let steps = document["steps"].as_array().unwrap();
        let sum = |key: &str| -> u64 {
            steps
                .iter()
                .filter_map(|step| step["metrics"][key].as_u64())
                .sum()
        };
        let totals = &document["final_metrics"];
        let counters = &totals["extra"]["counters"];
        let number = |value: &Value| value.as_u64().unwrap();
        let read = number(&counters["tokens_cache_read"]);
        assert_eq!(
            sum("prompt_tokens"),
            number(&totals["total_prompt_tokens"]),
            "{golden:?}"
        );
        assert_eq!(
            sum("prompt_tokens"),
            number(&counters["tokens_in"]) + read,
            "{golden:?}"
        );
        assert_eq!(
            sum("completion_tokens"),
            number(&counters["tokens_out"]),
            "{golden:?}"
        );
        // What the session's own tools answer is no call of the counters; what a batch held stands with it, each for itself.
        let mut observed = 0;
        for step in steps {
            let calls = || step["tool_calls"].as_array().into_iter().flatten();
            let is_own = |result: &&Value| {
                if result["extra"]["part"].is_object() {
                    return false;
                }
                let mut asked =
                    calls().filter(|call| call["tool_call_id"] == result["source_call_id"]);
                asked.any(|call| {
                    let name = call["function_name"].as_str();
                    name.is_some_and(|name| name.starts_with("agent__"))
                })
            };
            let results = step["observation"]["results"].as_array();
            let own = results.into_iter().flatten().filter(is_own).count();
            observed += results.map_or(0, Vec::len) - own;
        }
        assert!(observed as u64 <= number(&counters["calls"]), "{golden:?}");
        assert!(
            observed as u64 >= number(&counters["executed"]),
            "{golden:?}"
        );
    }
}

#[test]
fn a_result_stands_with_the_step_that_asked_for_its_call() {
    let folder = tempfile::tempdir().unwrap();
    let mut results = 0;
    for (golden, document) in &*TRAJECTORIES {
        for step in document["steps"].as_array().unwrap() {
            let asked = step["tool_calls"].as_array().into_iter().flatten();
            let asked: Vec<&Value> = asked.map(|call| &call["tool_call_id"]).collect();
            for result in step["observation"]["results"]
                .as_array()
                .into_iter()
                .flatten()
            {
                assert!(
                    asked.contains(&&result["source_call_id"]),
                    "{golden:?}: {step}"
                );
                results += 1;
            }
        }
    }
    assert!(results >= 20, "{results}");
    let check = |name: &str, step: usize, content: &str, said: &str| {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("replay/v1/{name}.jsonl"));
        let document = trajectory(&golden, folder.path());
        let results = &document["steps"][step]["observation"]["results"];
        assert_eq!(results.as_array().unwrap().len(), 1, "{name}");
        assert_eq!(results[0]["content"], content, "{name}");
        let steps = document["steps"].as_array().unwrap().iter();
        let mut system = steps.filter(|step| step["message"] == said);
        assert_eq!(system.next().unwrap()["extra"]["call"], 1, "{name}");
    };
    check("approval.given", 2, "MIT", "A person approved the call.");
    let unknown = "lost with its process: whether it was executed is not known";
    check(
        "resume.lost_call",
        2,
        unknown,
        "The call was lost with its process.",
    );
}

#[test]
fn what_the_calls_of_a_batch_gave_stands_with_the_batch() {
    let folder = tempfile::tempdir().unwrap();
    let document = trajectory(&file_of("session.batch"), folder.path());
    let results = &document["steps"][2]["observation"]["results"];
    let printed = results.as_array().unwrap().iter().map(|result| {
        let part = &result["extra"]["part"];
        [
            &result["source_call_id"],
            &part["tool_call_id"],
            &part["function_name"],
            &result["content"],
        ]
        .map(|text| text.as_str().unwrap_or_default())
    });
    assert_eq!(
        printed.collect::<Vec<_>>(),
        [
            ["call_1", "call_1/1", "read_file", "MIT"],
            ["call_1", "call_1/2", "clock", "no clock here"],
        ]
    );
}

#[test]
fn a_trajectory_holds_what_was_said_called_and_observed() {
    let folder = tempfile::tempdir().unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("replay/v1/core.valid_call.jsonl");
    let document = trajectory(&golden, folder.path());
    let sources: Vec<&str> = document["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["source"].as_str().unwrap())
        .collect();
    assert_eq!(sources, ["system", "user", "agent", "agent"]);
    let step = &document["steps"][2];
    assert_eq!(step["tool_calls"][0]["function_name"], "read_file");
    assert!(step["tool_calls"][0]["arguments"]["path"].is_string());
    assert_eq!(step["observation"]["results"][0]["content"], "MIT");
    assert_eq!(
        step["observation"]["results"][0]["source_call_id"],
        step["tool_calls"][0]["tool_call_id"]
    );
    assert_eq!(
        document["extra"]["outcome"]["class"],
        "COMPLETED_WITH_TOOLS"
    );
}
