//! Tool servers across a tree of runs: one process for all that reach it in the same way, or one for each run, counted as processes.

use std::collections::BTreeSet;

use serde_json::json;

use super::{asks, prompt};
use crate::fixture::{Fixture, shell_word};
use crate::harness::{COUNTING_SERVER, Harness};

/// The tools of a contract: an MCP server that writes a line into `starts` when its process begins.
fn counting(shared: bool) -> String {
    let command = format!(
        "echo up >> starts; exec python3 {} executions",
        shell_word(COUNTING_SERVER)
    );
    let server = json!({"command": "sh", "args": ["-c", command], "shared": shared});
    format!("tools: {{workspace: ., mcp: {{fs: {server}}}}}\n")
}

/// 001/5.hierarchies.8, 001/6.servers.10: the runs of a tree share a process, started once, also where the run above has none of it and its
/// agents come one after the other; with `shared: false` each run has its own.
#[test]
fn a_tree_shares_a_tool_server_unless_each_run_wants_one_of_its_own() {
    if !Harness::has_python() {
        return;
    }
    let check = |lead: Option<bool>, below: bool, starts: usize| {
        let fixture = Fixture::new();
        let count = ("fs__count", json!({}));
        fixture.agent(
            "worker",
            &counting(below),
            &asks(std::slice::from_ref(&count), "counted"),
        );
        let worker = ("agent__worker", prompt("Count."));
        fixture.agent(
            "middle",
            "agents: [worker.yaml]\n",
            &asks(std::slice::from_ref(&worker), "answered"),
        );
        let middle = ("agent__middle", prompt("Count."));
        let mut calls = vec![worker.clone(), worker, middle];
        let own = lead.map(counting).unwrap_or_default();
        if lead.is_some() {
            calls.push(count);
        }
        let agents = format!("agents: [worker.yaml, middle.yaml]\n{own}");
        fixture.agent("lead", &agents, &asks(&calls, "answered"));
        let result = fixture.leads();
        assert_eq!(
            result["outcome"]["class"], "COMPLETED_WITH_TOOLS",
            "{result}"
        );
        let started = fixture.read("starts");
        assert_eq!(
            started.lines().count(),
            starts,
            "{lead:?}, {below}: {started:?}"
        );
        // Each run has called it under separate keys.
        let keys = fixture.read("executions");
        let runs = keys.lines().filter_map(|key| key.rsplit_once(':'));
        let runs: BTreeSet<&str> = runs.map(|(run, _)| run).collect();
        let mut expect = BTreeSet::from(["lead.1", "lead.2", "lead.3.1"]);
        expect.extend(lead.map(|_| "lead"));
        assert_eq!(runs, expect);
        #[cfg(target_os = "linux")]
        assert_eq!(
            fixture.processes(),
            Vec::<String>::new(),
            "none outlives the tree"
        );
    };
    check(Some(true), true, 1);
    check(None, true, 1);
    check(Some(false), false, 4);
    check(None, false, 3);
}
