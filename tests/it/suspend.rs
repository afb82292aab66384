//! SIGTERM: a process leaves its run, and another one resumes it. Against the binary.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use monolith_core::kernel::EventKind;
use monolith_core::message::RunId;
use monolith_core::transcript::SealedEntry;
use monolith_host::store::StoreReader;
use rustix::process::{Pid, Signal, kill_process};

use crate::fixture::{Fixture, Left, calls, says};

/// Time limit of a process for work that should take none: far more than any machine needs.
const SOON: Duration = Duration::from_secs(60);

fn terminate(child: &Child) {
    kill_process(Pid::from_child(child), Signal::TERM).unwrap();
}

/// A scripted answer that never comes.
const HANGS: &str = r#"{"response":"","fault":"hang"}"#;

/// A fixture whose scripted model makes a call that needs an approval, and answers.
fn asking() -> Fixture {
    let fixture = Fixture::new();
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [echo]}\nrequire_approval: [echo]\nmax_resumes: 2\n",
        &[&calls("echo", "{\"text\":\"hi\"}"), &says("said")],
    );
    fixture
}

impl Fixture {
    fn drives(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// The events of run r1 that are durable now.
    fn events(&self) -> Vec<EventKind> {
        let run_id = RunId::try_from("r1".to_owned()).unwrap();
        let Ok(mut reader) = StoreReader::open(&self.path("home/runs.db")) else {
            return Vec::new();
        };
        let Ok(run) = reader.read_run(&run_id) else {
            return Vec::new();
        };
        let entries: Vec<SealedEntry> = run.map(Result::unwrap).collect();
        let events = entries.iter().filter_map(|e| e.decode_event().unwrap());
        events.map(|event| event.event).collect()
    }

    /// Waits until that many events of run r1 are durable.
    fn has_events(&self, child: &mut Child, events: usize) {
        let began = Instant::now();
        while self.events().len() < events {
            assert!(began.elapsed() < SOON, "{} events", self.events().len());
            if let Some(status) = child.try_wait().unwrap() {
                panic!("it ended {status} after {} events", self.events().len());
            }
            std::thread::yield_now();
        }
    }
}

fn left(child: Child) -> Left {
    Left::from(child.wait_with_output().unwrap())
}

/// Waits until a process tells on stderr that a call waits for a person; what it told.
fn waits(child: &mut Child) -> String {
    let mut printed = String::new();
    for line in BufReader::new(child.stderr.as_mut().unwrap()).lines() {
        printed.push_str(&line.unwrap());
        if printed.contains("monolith approve r1") {
            return printed;
        }
    }
    panic!("it ended and never waited: {printed}");
}

/// The deploy loop: a worker is drained twenty times while a person has not answered. Only the first process waits: without a terminal
/// `resume` suspends the run again by itself, and names the call that waits.
#[test]
fn twenty_suspends_leave_an_approval_waiting_and_valid() {
    let fixture = asking();
    for n in 0..20 {
        let first = ["run", "c.yaml", "--run-id", "r1"];
        let again = ["resume", "r1"];
        let mut child = fixture.drives(if n == 0 { &first } else { &again });
        let said = waits(&mut child);
        if n == 0 {
            terminate(&child);
        } else {
            assert!(
                said.contains("monolith approve r1 answers call 1 of echo"),
                "{said}"
            );
        }
        let left = left(child);
        assert_eq!(left.code, 8, "{n}: {}", left.printed());
    }
    let events = fixture.events();
    let count = |is: fn(&EventKind) -> bool| events.iter().filter(|event| is(event)).count();
    // A resume that finds no answer leaves the run as it is.
    assert_eq!(count(|event| *event == EventKind::Suspended), 1);
    assert_eq!(count(|event| matches!(event, EventKind::EffectLost(_))), 0);
    fixture.ok(&["verify", "r1", "--open"]);
    // However often it was left, and whichever command looks.
    let listed = fixture.ok(&["list"]);
    let expect = "suspended (monolith approve r1), waits for an approval";
    assert!(listed.contains(expect), "{listed}");
    let (_, listed) = fixture.json(&["list"]);
    assert_eq!(listed["runs"][0]["state"], "suspended");
    assert_eq!(listed["runs"][0]["waits_for_approval"], true);
    let shown = fixture.ok(&["show", "r1"]);
    assert!(
        shown.contains("no end yet: suspended, no process drives the run"),
        "{shown}"
    );
    assert!(shown.contains("Resume it: monolith resume r1"), "{shown}");
    let (_, shown) = fixture.json(&["show", "r1"]);
    assert_eq!(
        (&shown["error"], &shown["exit_code"]),
        (&"suspended".into(), &8.into())
    );
    fixture.ok(&["export", "r1", "--output", "r1.jsonl"]);
    let shown = fixture.ok(&["show", "r1.jsonl"]);
    assert!(shown.contains("no end yet: suspended"), "{shown}");
    fixture.ok(&["import", "r1.jsonl", "--open", "--store", "other.db"]);
    let listed = fixture.ok(&["list", "--store", "other.db"]);
    assert!(
        listed.contains("suspended, waits for an approval, imported"),
        "{listed}"
    );
    // It continues where it was begun, and is answered there.
    let inbox = fixture.json(&["approvals", "--store", "other.db"]).1;
    assert!(inbox["approvals"].as_array().unwrap().is_empty(), "{inbox}");
    let refused = fixture
        .ends(&["approve", "r1", "--store", "other.db"], 4)
        .err;
    assert!(refused.contains("the run was imported"), "{refused}");
    let asked = fixture.ends(&["approve", "r1"], 4).printed();
    let hash = asked
        .split("blake3     ")
        .nth(1)
        .unwrap()
        .split('\n')
        .next()
        .unwrap();
    fixture.ends(&["approve", "r1", "--yes", "--arguments", hash.trim()], 0);
    let again = fixture.ends(&["resume", "r1"], 0);
    assert_eq!(again.out, "said\n");
    fixture.ends(&["replay", "r1"], 0);
    fixture.ends(&["verify", "r1"], 0);
    let ended = [fixture.ok(&["list"]), fixture.ok(&["show", "r1"])].concat();
    assert!(
        !ended.contains("no end yet") && !ended.contains("suspended ("),
        "{ended}"
    );
}

#[test]
fn the_result_of_a_suspended_run_says_so_and_what_was_cut_off_is_lost_when_it_goes_on() {
    let fixture = Fixture::new();
    let more = "tool_policy: optional\ntools: {builtin: [echo]}\n";
    let slow = says("said").replacen('{', "{\"delay_ms\":3000,", 1);
    fixture.script(more, &[&slow]);
    let args = ["run", "c.yaml", "--run-id", "r1", "--json", "--grace", "0"];
    let mut child = fixture.drives(&args);
    fixture.has_events(&mut child, 2);
    terminate(&child);
    let left = left(child);
    let result = left.document();
    assert_eq!(left.code, 8, "{}", left.printed());
    for (pointer, expect) in [
        ("/success", serde_json::json!(false)),
        ("/outcome", serde_json::json!(null)),
        ("/error", serde_json::json!("suspended")),
        ("/exit_code", serde_json::json!(8)),
        ("/finalReport", serde_json::json!(null)),
        ("/run_id", serde_json::json!("r1")),
    ] {
        assert_eq!(result.pointer(pointer), Some(&expect), "{pointer}");
    }
    assert_eq!(fixture.ends(&["resume", "r1"], 0).out, "said\n");
    let lost = |event: &EventKind| matches!(event, EventKind::EffectLost(_));
    assert_eq!(
        fixture.events().iter().filter(|event| lost(event)).count(),
        1
    );
    fixture.ends(&["replay", "r1"], 0);
}

#[test]
fn a_second_signal_leaves_at_once() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[HANGS]);
    let mut child = fixture.drives(&["run", "c.yaml", "--run-id", "r1", "--grace", "100000"]);
    fixture.has_events(&mut child, 2);
    terminate(&child);
    fixture.has_events(&mut child, 3);
    assert!(
        child.try_wait().unwrap().is_none(),
        "it waits for its grace"
    );
    terminate(&child);
    let left = left(child);
    assert_eq!(left.code, 8, "{}", left.printed());
    assert!(left.err.contains("monolith resume r1"), "{}", left.err);
}

#[test]
fn without_waiting_a_run_that_needs_an_approval_is_suspended_at_once() {
    let fixture = asking();
    let printed = fixture
        .ends(&["run", "c.yaml", "--run-id", "r1", "--no-wait"], 8)
        .printed();
    let hash = printed
        .split("blake3     ")
        .nth(1)
        .unwrap()
        .split('\n')
        .next()
        .unwrap();
    fixture.ends(&["resume", "r1", "--no-wait"], 8);
    fixture.ends(&["approve", "r1", "--yes", "--arguments", hash.trim()], 0);
    assert_eq!(
        fixture.ends(&["resume", "r1", "--no-wait"], 0).out,
        "said\n"
    );
}

/// An approval that a process waits for would end by its timeout, and the run with it.
#[test]
fn a_resume_without_a_terminal_suspends_again_and_says_which_call_waits() {
    let fixture = Fixture::new();
    let terms = "tool_policy: optional\ntools: {builtin: [echo]}\nrequire_approval: [echo]\n\
                 approval_timeout_ms: 20000\n";
    fixture.script(terms, &[&calls("echo", "{\"text\":\"hi\"}"), &says("said")]);
    fixture.ends(&["run", "c.yaml", "--run-id", "r1", "--no-wait"], 8);
    let left = fixture.ends(&["resume", "r1"], 8);
    let said = "monolith approve r1 answers call 1 of echo, then monolith resume r1 continues it";
    assert!(left.err.contains(said), "{}", left.err);
    fixture.answers("approve", "r1");
    assert_eq!(fixture.ends(&["resume", "r1"], 0).out, "said\n");
}

/// A contract whose model calls a tool that never answers.
fn hanging(more: &str) -> Fixture {
    let fixture = Fixture::new();
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
    let terms = format!(
        "tool_policy: required\n{more}\
         tools: {{workspace: ., mcp: {{odd: {{command: python3, args: [{}]}}}}}}\n",
        server.display()
    );
    fixture.script(&terms, &[&calls("odd__never", "{}"), &says("I tried.")]);
    fixture
}

/// Drives the run until its call is under way.
fn calling(fixture: &Fixture) -> Child {
    let mut child = fixture.drives(&["run", "c.yaml", "--run-id", "r1", "--grace", "0"]);
    fixture.has_events(&mut child, 3);
    let began = Instant::now();
    while !fixture
        .run(&["show", "r1"])
        .out
        .contains("     no result yet")
    {
        assert!(began.elapsed() < SOON, "the call does not run");
    }
    child
}

/// Resuming such a run may spend it: its author learns that before.
#[test]
fn a_run_that_is_left_in_the_middle_of_a_call_says_whether_its_result_is_lost() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped 1 case: python3 is not here");
        return;
    }
    let lost = "he result of odd__never is lost: resume does not make the call again \
                because its tool is not in `idempotent`, and records its effect as unknown";
    let check = |idempotent: &str, killed: bool| {
        let is_lost = idempotent.is_empty();
        let fixture = hanging(idempotent);
        let mut child = calling(&fixture);
        let running = fixture.run(&["show", "r1"]).out;
        assert!(!running.contains("result lost"), "{running}");
        if killed {
            child.kill().unwrap();
            child.wait().unwrap();
        } else {
            terminate(&child);
            let left = left(child);
            assert_eq!(left.code, 8, "{}", left.printed());
            assert_eq!(left.err.contains(lost), is_lost, "{}", left.err);
        }
        let shown = fixture.ok(&["show", "r1"]);
        assert_eq!(shown.contains("     result lost"), is_lost, "{shown}");
        assert_eq!(shown.contains("     no result yet"), !is_lost, "{shown}");
        assert_eq!(shown.contains(lost), is_lost, "{shown}");
        assert!(shown.contains("Resume it: monolith resume r1"), "{shown}");
        fixture
    };
    drop(check("idempotent: [odd__never]\n", false));
    for (killed, why) in [
        (false, "the run was suspended, and its process left"),
        (true, "the process that drove the run ended"),
    ] {
        let ended = check("", killed).ends(&["resume", "r1"], 1).err;
        let why = format!("{why} in the middle of odd__never, and nothing recorded says");
        assert!(ended.contains(&why), "{ended}");
    }
}

#[test]
fn a_call_that_a_resume_does_not_repeat_although_it_may_be_repeated_is_said_to_be_lost() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped 2 cases: python3 is not here");
        return;
    }
    let killed = |more: &str, stops: bool| {
        let fixture = hanging(&format!("idempotent: [odd__never]\n{more}"));
        let mut child = calling(&fixture);
        if stops {
            kill_process(Pid::from_child(&child), Signal::INT).unwrap();
            fixture.has_events(&mut child, 4);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let shown = fixture.ok(&["show", "r1"]);
        assert!(shown.contains("     result lost"), "{shown}");
        (fixture, shown)
    };
    let (fixture, spent) = killed("max_resumes: 0\n", false);
    let expected = "The result of odd__never is lost: resume ends the run, and records its effect as unknown.\n\
                    `max_resumes: 0` allows no more: monolith resume r1 ends it\n";
    assert!(spent.contains(expected), "{spent}");
    let ended = fixture.run(&["resume", "r1"]).err;
    assert!(ended.contains("INTERRUPTED (shutdown)"), "{ended}");

    let (fixture, stopped) = killed("", true);
    let expected = "The result of odd__never is lost: resume does not make the call again \
                    because the run is ending, and records its effect as unknown.\n\
                    Resume it: monolith resume r1\n";
    assert!(stopped.contains(expected), "{stopped}");
    let ended = fixture.run(&["resume", "r1", "--json"]).out;
    assert!(ended.contains("effect unknown"), "{ended}");
}

/// Creates a run that waits for an approval and that cannot be resumed, with its process.
fn waiting_for_the_last_time() -> (Fixture, Child) {
    let fixture = Fixture::new();
    let terms = "tools: {builtin: [echo]}\nrequire_approval: [echo]\nmax_resumes: 0\n";
    fixture.script(terms, &[&calls("echo", "{\"text\":\"hi\"}"), &says("said")]);
    let mut child = fixture.drives(&["run", "c.yaml", "--run-id", "r1"]);
    waits(&mut child);
    (fixture, child)
}

#[test]
fn no_answer_is_asked_for_where_the_next_resume_ends_the_run() {
    let (fixture, mut child) = waiting_for_the_last_time();
    child.kill().unwrap();
    child.wait().unwrap();
    let shown = fixture.ok(&["show", "r1"]);
    let expected = "`max_resumes: 0` allows no more: monolith resume r1 ends it\n";
    assert!(shown.contains(expected), "{shown}");
    assert!(!shown.contains("monolith approve"), "{shown}");
    fixture.takes_no_answer("r1", "r1", "resume ends the run", "ends it");
    let ended = fixture.ends(&["resume", "r1", "--no-wait"], 1).err;
    assert!(ended.contains("INTERRUPTED (shutdown)"), "{ended}");
}

/// Its process takes it, whatever a resume would do.
#[test]
fn a_live_run_takes_an_answer_that_its_next_resume_would_not() {
    let (fixture, mut child) = waiting_for_the_last_time();
    let listed = fixture.ok(&["list"]);
    assert!(listed.contains("waits for an approval"), "{listed}");
    assert_eq!(
        fixture.json(&["approvals"]).1["approvals"][0]["run_id"],
        "r1"
    );
    fixture.answers("approve", "r1");
    assert!(child.wait().unwrap().success());
    assert!(fixture.ok(&["show", "r1"]).contains("said"));
}

/// A run that has ended has its result: asked to resume it, monolith states it again.
#[test]
fn resuming_a_run_that_has_ended_tells_its_result_again() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("said")]);
    let first = fixture
        .ends(&["run", "c.yaml", "--run-id", "r1", "--json"], 0)
        .document();
    assert_eq!(
        fixture.ends(&["resume", "r1", "--json"], 0).document(),
        first
    );
    assert_eq!(fixture.ends(&["resume", "r1"], 0).out, "said\n");
    fixture.script(
        "tool_policy: required\ntools: {builtin: [echo]}\n",
        &[&says("said")],
    );
    let first = fixture
        .ends(&["run", "c.yaml", "--run-id", "r2", "--json"], 1)
        .document();
    assert_eq!(first["outcome"]["class"], "FAILED_PROTOCOL_NO_TOOLS");
    assert_eq!(
        fixture.ends(&["resume", "r2", "--json"], 1).document(),
        first
    );
}
