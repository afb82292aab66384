//! A process that leaves a tree in which one branch works and another waits for a person, and what the next process makes of it.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{asks, lead, prompt};
use crate::fixture::{Fixture, Left, shell_word};
use crate::harness::{COUNTING_SERVER, Harness, MEETING_SERVER};
use crate::terminal::Terminal;

/// Far more than any machine needs.
const SOON: Duration = Duration::from_secs(60);

/// A call that begins, and ends once the file `go` is there.
const UNTIL_GO: &str = "touch begun; for n in $(seq 600); do if [ -e go ]; then touch done; exit 0; fi; sleep 0.05; done";

/// `works.yaml`, which runs that command; `waits.yaml`, whose call waits for a person; `lead.yaml` calls both at once, in `w.yaml` they are
/// steps.
fn tree(works: &str) -> Fixture {
    let fixture = Fixture::new();
    let terms = "tools: {builtin: [shell]}\n";
    let says = asks(&[("shell", json!({"command": works}))], "worked");
    fixture.agent("works", terms, &says);
    let says = asks(&[("shell", json!({"command": "touch ran"}))], "ran");
    fixture.agent(
        "waits",
        &format!("{terms}require_approval: [shell]\n"),
        &says,
    );
    let calls = [
        ("agent__works", prompt("go")),
        ("agent__waits", prompt("go")),
    ];
    let terms = "agents: [works.yaml, waits.yaml]\nparallel_tool_calls: true\n\
                 parallel_safe: [agent__works, agent__waits]\n";
    fixture.agent("lead", terms, &asks(&calls, "Done."));
    let line = json!({"contract": "lead.yaml", "task": "go", "run_id": "lead"});
    fixture.write("list.jsonl", &format!("{line}\n"));
    fixture.write(
        "w.yaml",
        "workflow: w\nsteps:\n- id: both\n  parallel:\n\
         \x20 - {id: a, delegate: works.yaml, task: go}\n\
         \x20 - {id: b, delegate: waits.yaml, task: go}\n",
    );
    fixture
}

impl Fixture {
    /// A process whose words are not looked at.
    fn quietly(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Waits until it is so.
    #[track_caller]
    fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < SOON, "{what}");
        }
    }

    fn both_are_at_it(&self) {
        self.until("both are at it", |fixture| {
            let waiting = fixture.json(&["approvals"]).1;
            fixture.path("begun").exists() && waiting["approvals"] != json!([])
        });
    }

    fn is_suspended(&self, run: &str) -> bool {
        let raw = self.run(&["show", run, "--raw"]).out;
        raw.contains("\"suspended\"")
    }
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// SIGTERM lets what is in flight end, though another branch waits for a person; an answer that comes meanwhile is there for the next
/// process.
#[test]
fn what_is_in_flight_may_end_and_an_answer_that_comes_meanwhile_is_kept() {
    for (begin, top, waits, resume) in [
        (
            &lead(&["--grace", "60"])[..],
            "lead",
            "lead.2",
            &["resume", "lead", "--no-wait"][..],
        ),
        (
            &["run", "--contracts", "list.jsonl", "--grace", "60"],
            "lead",
            "lead.2",
            &["resume", "--all"],
        ),
        (
            &["run", "w.yaml", "--run-id", "w", "--grace", "60"],
            "w",
            "w.2",
            &["resume", "w"],
        ),
    ] {
        let fixture = tree(UNTIL_GO);
        let mut driven = fixture.quietly(begin);
        fixture.both_are_at_it();
        signal(&driven, Signal::TERM);
        fixture.until("suspended", |fixture| {
            fixture.is_suspended(top) && fixture.is_suspended(waits)
        });
        fixture.answers("approve", waits);
        // The tree would be looked at more than once before the other branch continues.
        for _ in 0..20 {
            fixture.ok(&["list"]);
        }
        assert!(driven.try_wait().unwrap().is_none(), "{begin:?}");
        fixture.write("go", "");
        let ended = driven.wait().unwrap();
        assert_eq!(ended.code(), Some(8), "{begin:?}");
        assert!(fixture.path("done").exists(), "{begin:?}");
        assert!(!fixture.path("ran").exists(), "{begin:?}");
        fixture.ok(resume);
        assert!(fixture.path("ran").exists(), "{begin:?}");
        fixture.proves_tree(top);
    }
}

/// An agent that was to begin when the process died begins with the next one, though another branch waits for a person.
#[test]
fn an_agent_that_had_no_run_yet_is_begun_by_the_next_process() {
    if !Harness::has_python() {
        return;
    }
    for resume in [&["resume", "lead", "--no-wait"][..], &["resume", "--all"]] {
        let fixture = tree(UNTIL_GO);
        let [go, called] =
            ["go.tmp", "called.log"].map(|name| fixture.path(name).display().to_string());
        let server = json!({"command": "python3", "args": [MEETING_SERVER, go, called, ""], "sandbox": "off"});
        let tools = json!({"mcp": {"fs": server}});
        let says = asks(&[("fs__meet", json!({}))], "Met.");
        fixture.agent("works", &format!("tools: {tools}\n"), &says);
        let mut driven = fixture.quietly(&lead(&["--no-wait"]));
        fixture.until("lead.2 waits", |fixture| {
            fixture.json(&["approvals"]).1["approvals"] != json!([])
        });
        signal(&driven, Signal::KILL);
        driven.wait().unwrap();
        fixture.write("go.tmp", "");
        fixture.ends(resume, 8);
        let shown = fixture.json(&["show", "lead.1"]).1;
        assert_eq!(shown["outcome"]["code"], "final_message", "{shown}");
        // From then on there is nothing to resume.
        let entries = || fixture.json(&["show", "lead"]).1["entries"].clone();
        let before = entries();
        fixture.ends(resume, 8);
        assert_eq!(entries(), before, "{resume:?}");
    }
}

/// A workflow that was ended while its process left it ends with the next one: a call that waits for a person keeps it no longer.
#[test]
fn a_workflow_that_was_ended_while_it_was_left_waits_for_no_person() {
    let fixture = tree(UNTIL_GO);
    let mut driven = fixture.quietly(&["run", "w.yaml", "--run-id", "w"]);
    fixture.both_are_at_it();
    signal(&driven, Signal::TERM);
    fixture.until("suspended", |fixture| {
        fixture.is_suspended("w") && fixture.is_suspended("w.2")
    });
    signal(&driven, Signal::INT);
    fixture.until("it stops", |fixture| {
        fixture.ok(&["show", "w", "--raw"]).contains("STOPPING")
    });
    signal(&driven, Signal::INT);
    driven.wait().unwrap();
    let ended = fixture.run(&["resume", "w", "--json"]);
    assert_eq!(
        ended.document()["outcome"]["class"],
        "STOPPED",
        "{}",
        ended.printed()
    );
    let waiting = fixture.json(&["approvals"]).1;
    assert_eq!(waiting["approvals"], json!([]), "{waiting}");
}

/// An answer that is given while another branch works is taken then: that branch sees what came of it.
#[test]
fn an_answer_is_taken_while_another_branch_works() {
    let until =
        "for n in $(seq 200); do if [ -e ran ]; then exit 0; fi; sleep 0.1; done; touch late";
    let fixture = tree(until);
    for (args, waits) in [
        (&["run", "--contracts", "list.jsonl"][..], "lead.2"),
        (&["run", "w.yaml", "--run-id", "w"], "w.2"),
    ] {
        let mut driven = fixture.quietly(args);
        while fixture.json(&["approvals"]).1["approvals"] == json!([]) {
            assert!(driven.try_wait().unwrap().is_none(), "{args:?}");
        }
        fixture.answers("approve", waits);
        assert!(driven.wait().unwrap().success(), "{args:?}");
        assert!(!fixture.path("late").exists(), "{args:?}");
        std::fs::remove_file(fixture.path("ran")).unwrap();
    }
}

/// A tree whose agent's tool server is down is left: another call may end meanwhile. However often a resume is tried, the run
/// continues once the server is there.
#[test]
fn a_tree_whose_agent_cannot_be_brought_up_is_left_and_loses_nothing() {
    if !Harness::has_python() {
        return;
    }
    let fixture = tree(UNTIL_GO);
    let terms = "tools: {builtin: [shell]}\nrequire_approval: [shell]\n";
    let says = asks(&[("shell", json!({"command": UNTIL_GO}))], "worked");
    fixture.agent("works", terms, &says);
    let executions = fixture.path("executions");
    let script = format!("exec python3 server.py {}", shell_word(&executions));
    let server = json!({"command": "sh", "args": ["-c", script], "sandbox": "off"});
    let tools = json!({"mcp": {"fs": server}});
    fixture.agent(
        "waits",
        &format!("tools: {tools}\nrequire_approval: [fs__count]\nmax_resumes: 2\n"),
        &asks(&[("fs__count", json!({}))], "counted"),
    );
    let text = fixture.read("lead.yaml");
    fixture.write("lead.yaml", &format!("{text}max_resumes: 2\n"));
    let server = std::fs::read_to_string(COUNTING_SERVER).unwrap();
    fixture.write("server.py", &server);
    fixture.ends(&lead(&["--no-wait"]), 8);
    for run in ["lead.1", "lead.2"] {
        fixture.answers("approve", run);
    }
    // The server fails only once the other call runs: an earlier failure leaves the tree before that call begins.
    let begun = fixture.path("begun");
    let fails = format!(
        "import os, sys, time\nwhile not os.path.exists({begun:?}): time.sleep(0.01)\nsys.exit(3)\n"
    );
    fixture.write("server.py", &fails);
    let mut driven = fixture.quietly(&["resume", "lead", "--grace", "60"]);
    fixture.until("the call beside it is made", |fixture| {
        fixture.path("begun").exists() && fixture.is_suspended("lead.1")
    });
    fixture.write("go", "");
    assert_eq!(driven.wait().unwrap().code(), Some(3));
    assert!(fixture.path("done").exists());
    for resume in [&["resume", "lead"][..], &["resume", "--all"]] {
        for _ in 0..3 {
            let left = fixture.run(resume);
            assert!(left.printed().contains("fs"), "{}", left.printed());
            assert_eq!(std::fs::read_to_string(&executions).unwrap(), "");
        }
    }
    fixture.write("server.py", &server);
    fixture.ok(&["resume", "lead"]);
    let shown = fixture.ok(&["show", "lead.1"]);
    assert!(!shown.contains("effect unknown"), "{shown}");
    let counted = std::fs::read_to_string(executions).unwrap();
    assert_eq!(counted.lines().count(), 1);
    fixture.proves_tree("lead");
}

/// The question of one agent passes at the terminal: the next one is asked there.
#[test]
fn a_question_that_is_over_keeps_no_other_from_the_terminal() {
    let fixture = Fixture::new();
    let terms = "tools: {builtin: [shell]}\napproval:\n\
                 - {tool: shell, arguments: {properties: {command: {const: 'touch ran'}}}, action: ask}\n";
    let asked = asks(&[("shell", json!({"command": "true"}))], "");
    let works = asks(&[("shell", json!({"command": UNTIL_GO}))], "passed");
    let passes = [&asked[..1], &works].concat();
    let short = "tools: {builtin: [shell]}\napproval_timeout_ms: 500\napproval:\n\
                 - {tool: shell, arguments: {properties: {command: {const: 'true'}}}, action: ask}\n";
    fixture.agent("passes", short, &passes);
    // The other agent asks second, whichever of them starts first.
    let until_asked = UNTIL_GO.replace("begun", "second").replace("go", "asked");
    let second = asks(&[("shell", json!({"command": until_asked}))], "");
    let says = asks(&[("shell", json!({"command": "touch ran"}))], "ran");
    let says = [&second[..1], &says].concat();
    fixture.agent("waits", terms, &says);
    let calls = [
        ("agent__passes", prompt("go")),
        ("agent__waits", prompt("go")),
    ];
    let both = "agents: [passes.yaml, waits.yaml]\nparallel_tool_calls: true\n\
                parallel_safe: [agent__passes, agent__waits]\n";
    fixture.agent("lead", both, &asks(&calls, "Done."));
    let mut terminal = Terminal::start(fixture.command(&lead(&[])));
    terminal.until("run lead.1: call 1 of shell");
    fixture.write("asked", "");
    terminal
        .until("no answer is waited for any more")
        .until("run lead.2: call 2 of shell")
        .until("allow it? [y/N] ")
        .types("y\n");
    fixture.until("the other call has run", |fixture| {
        fixture.path("ran").exists()
    });
    fixture.write("go", "");
    let (code, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
}

/// A lead whose agent makes a call that never returns, once that is under way.
fn calling(of_lead: &str, of_worker: &str) -> (Fixture, Child) {
    let fixture = Fixture::new();
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp_server.py");
    let terms = format!(
        "tools: {{workspace: ., mcp: {{odd: {{command: python3, args: ['{server}']}}}}}}\n{of_worker}"
    );
    let says = asks(&[("odd__never", json!({}))], "Late.");
    fixture.agent("worker", &terms, &says);
    let says = asks(&[("agent__worker", prompt("go"))], "Done.");
    fixture.agent("lead", &format!("agents: [worker.yaml]\n{of_lead}"), &says);
    let mut command = fixture.command(&lead(&["--grace", "0"]));
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let shown = || fixture.run(&["show", "lead.1"]).out;
    while !shown().contains("     no result yet") {
        assert!(process.try_wait().unwrap().is_none(), "it ended early");
    }
    (fixture, process)
}

/// A call that may be made again.
const AGAIN: &str = "idempotent: [odd__never]\n";

/// The loss in a child run at a resume is known before: its author sees it when the process ends, and in `show` of the run.
#[test]
fn a_call_below_whose_result_is_lost_is_named_above() {
    if !Harness::has_python() {
        return;
    }
    let lost = "un lead.1: the result of odd__never is lost: resume does not make the call again \
                because its tool is not in `idempotent`, and records its effect as unknown";
    for (killed, of_worker) in [(true, ""), (false, ""), (true, AGAIN)] {
        let (fixture, mut process) = calling("", of_worker);
        if killed {
            signal(&process, Signal::KILL);
            process.wait().unwrap();
        } else {
            signal(&process, Signal::TERM);
            let said = Left::from(process.wait_with_output().unwrap()).err;
            assert!(said.contains(&format!("note: r{lost}\n")), "{said}");
        }
        let shown = fixture.ok(&["show", "lead"]);
        let expected = format!("R{lost}.\nResume it: monolith resume lead\n");
        let is_lost = of_worker != AGAIN;
        assert_eq!(shown.contains(&expected), is_lost, "{shown}");
        assert_eq!(shown.contains("is lost"), is_lost, "{shown}");
    }
}

/// An answer would come to nothing: the next process takes none.
#[test]
fn no_answer_is_asked_for_below_where_the_next_resume_ends_the_run() {
    let (spent, more) = ("max_resumes: 0\n", "max_resumes: 5\n");
    for (of_lead, of_agent) in [(spent, more), (more, spent)] {
        let fixture = Fixture::new();
        let terms = format!("tools: {{builtin: [echo]}}\nrequire_approval: [echo]\n{of_agent}");
        let says = asks(&[("echo", json!({"text": "hi"}))], "said");
        fixture.agent("waits", &terms, &says);
        let calls = asks(&[("agent__waits", prompt("go"))], "Done.");
        fixture.agent("lead", &format!("agents: [waits.yaml]\n{of_lead}"), &calls);
        let mut command = fixture.command(&lead(&[]));
        let mut process = command.stderr(Stdio::null()).spawn().unwrap();
        let waits = |run: &str| fixture.run(&["show", run]).out;
        while !waits("lead.1").contains("waits for an approval") {
            assert!(process.try_wait().unwrap().is_none(), "it ended early");
        }
        let live = waits("lead");
        assert!(live.contains("monolith approve lead.1"), "{live}");
        signal(&process, Signal::KILL);
        process.wait().unwrap();
        for run in ["lead", "lead.1"] {
            let shown = fixture.ok(&["show", run]);
            assert!(!shown.contains("monolith approve"), "{run}: {shown}");
        }
        let below = fixture.ok(&["show", "lead.1"]);
        let ends = if of_agent == more {
            "A parent run ends: monolith resume lead ends it, too\n"
        } else {
            "`max_resumes: 0` allows no more: monolith resume lead ends it\n"
        };
        assert!(below.contains(ends), "{below}");
        fixture.takes_no_answer("lead.1", "lead", "resume ends the run", "ends it");
        let above = fixture.ok(&["show", "lead"]);
        let is_spent = above.contains("Run lead.1 has used up `max_resumes: 0`: resume ends it.\n");
        assert_eq!(is_spent, of_agent == spent, "{above}");
        fixture.run(&["resume", "lead", "--no-wait"]);
        let below = fixture.json(&["show", "lead.1"]).1;
        assert_eq!(below["outcome"]["class"], "INTERRUPTED", "{below}");
    }
}

#[test]
fn a_call_below_a_run_that_the_next_resume_ends_is_lost_though_it_may_be_made_again() {
    if !Harness::has_python() {
        return;
    }
    let (fixture, mut process) = calling("max_resumes: 0\n", AGAIN);
    signal(&process, Signal::KILL);
    process.wait().unwrap();
    let shown = fixture.ok(&["show", "lead"]);
    let lost = "Run lead.1: the result of odd__never is lost: resume ends the run, and records its effect as unknown.\n";
    assert!(shown.contains(lost), "{shown}");
    let below = fixture.ok(&["show", "lead.1"]);
    assert!(below.contains("     result lost"), "{below}");
}
