//! What a person, or a supervisor, asks of a workflow reaches its steps and every run below them.

use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{CONTRACT, desk};
use crate::bench::Bench;
use crate::desk::{Desk, Left};

/// How long a process may take for what should take none: far more than any machine needs.
const SOON: Duration = Duration::from_secs(120);

impl Desk {
    fn begins(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs a command that must end at all, so.
    #[track_caller]
    fn comes_to_an_end(&self, args: &[&str], code: i32) -> Left {
        let child = self.begins(args);
        let pid = Pid::from_child(&child);
        let (sender, ended) = mpsc::channel();
        std::thread::spawn(move || sender.send(child.wait_with_output().unwrap()));
        let Ok(output) = ended.recv_timeout(SOON) else {
            kill_process(pid, Signal::KILL).unwrap();
            panic!("{args:?} does not end");
        };
        let left = Left::from(output);
        assert_eq!(left.code, code, "{args:?}: {}", left.said());
        left
    }

    /// A person allows the call that a run waits with.
    fn allows(&self, run: &str) {
        let asked = self.ends(&["approve", run], 4).said();
        let hash = asked.split_once("--arguments ").unwrap().1;
        let hash = hash.split('`').next().unwrap();
        self.ok(&["approve", run, "--yes", "--arguments", hash]);
    }
}

/// A step's agent calls an agent whose call waits for a person.
#[test]
fn an_approval_below_a_step_suspends_the_workflow_and_its_answer_lets_it_go_on() {
    for no_wait in [&[][..], &["--no-wait"]] {
        let desk = desk("steps: [{id: have, delegate: middle.yaml, task: have it said}]\n");
        desk.middle_that_waits();
        let run = ["run", "w.yaml", "--run-id", "w"];
        let left = desk.comes_to_an_end(&[&run[..], no_wait].concat(), 8);
        let hint = "monolith approve w.1.1";
        assert!(left.err.contains(hint), "{}", left.said());
        // Unanswered, it is left again.
        desk.comes_to_an_end(&[&["resume", "w"][..], no_wait].concat(), 8);
        desk.allows("w.1.1");
        let ended = desk
            .comes_to_an_end(&["resume", "w", "--json"], 0)
            .document();
        assert_eq!(ended["output"], "It was said.");
        desk.tree_holds(&ended);
        desk.proves_tree("w.1");
        let (_, worker) = desk.json(&["show", "w.1.1"]);
        assert_eq!(crate::delegation::shown(&worker), ["hi"]);
    }
}

/// The process that resumes a step waits for the step's tool server: what is asked of the workflow meanwhile is asked of the step once
/// it is there, and its call is not made.
#[test]
fn a_stop_that_comes_while_a_step_is_brought_up_again_ends_the_step() {
    if !Bench::has_python() {
        return;
    }
    let desk = desk("");
    let server = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/counting_server.py"
    );
    // It begins once the file `open` is there.
    let script =
        format!("while [ ! -e open ]; do sleep 0.02; done; exec python3 {server} executions");
    let tools = json!({"mcp": {"fs": {"command": "sh", "args": ["-c", script]}}});
    let contract = CONTRACT.split_once("  tools:").unwrap().0;
    desk.write(
        "w.yaml",
        &format!(
            "workflow: tried\n{contract}  require_approval: [fs__count]\n  tools: {tools}\n\
             steps: [{{id: count, tool: fs__count}}]\n"
        ),
    );
    desk.write("open", "");
    desk.comes_to_an_end(&["run", "w.yaml", "--run-id", "w"], 8);
    desk.allows("w.1");
    std::fs::remove_file(desk.path("open")).unwrap();

    let child = desk.begins(&["resume", "w"]);
    let began = Instant::now();
    let until = |event: &str| {
        while !desk.ok(&["show", "w", "--raw"]).contains(event) {
            assert!(began.elapsed() < SOON, "{event} is not recorded");
        }
    };
    until("\"kind\":\"resumed\"");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    until("stop_requested");
    desk.write("open", "");
    let left = Left::from(child.wait_with_output().unwrap());
    let (_, shown) = desk.json(&["show", "w"]);
    assert_eq!(left.code, 1, "{}", left.said());
    assert_eq!(shown["outcome"]["class"], "STOPPED", "{shown}");
    assert_eq!(shown["steps"][0]["state"], "ended", "{shown}");
    let executions = std::fs::read_to_string(desk.path("executions"));
    assert_eq!(executions.unwrap_or_default(), "");
    desk.tree_holds(&shown);
}
