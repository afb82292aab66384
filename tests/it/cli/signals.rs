//! The effects of signals and a closed stdout on a run of the real binary.

#[cfg(target_os = "linux")]
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command as Process, Stdio};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use rustix::event::{PollFd, PollFlags, poll};

use super::*;
use crate::fixture::calls;

/// More than anything here takes, on however slow a machine.
const LONGEST: Duration = Duration::from_secs(120);

/// Starts a run of `c.yaml`.
fn started(fixture: &Fixture) -> Child {
    fixture
        .command(&["run", "--contract", "c.yaml", "--run-id", "r", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Starts a run whose model never answers, and waits until it has been asked.
fn hanging(fixture: &Fixture) -> Child {
    fixture.script("", &["{\"fault\":\"hang\"}"]);
    let child = started(fixture);
    entries(fixture, 2);
    child
}

/// Starts a run that waits for an approval of its first call.
fn parked(fixture: &Fixture, more: &str) -> Child {
    fixture.script(
        &format!("tools: {{builtin: [echo]}}\nrequire_approval: [echo]\n{more}"),
        &[&calls("echo", "{\"text\":\"hi\"}"), &says("that is all")],
    );
    let child = started(fixture);
    entries(fixture, 4);
    child
}

/// Asks until the run has that many entries.
fn entries(fixture: &Fixture, wanted: u64) {
    for _ in 0..2_000 {
        let left = fixture.run(&["show", "r", "--json"]);
        let result: Value = serde_json::from_str(&left.out).unwrap_or_default();
        if result["entries"].as_u64() >= Some(wanted) {
            return;
        }
    }
    panic!("the run never had {wanted} entries");
}

fn signal(child: &Child, name: &str) {
    let sent = Process::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

fn end(child: Child) -> (i32, Value) {
    let output = child.wait_with_output().unwrap();
    let result = serde_json::from_slice(&output.stdout).unwrap();
    (output.status.code().unwrap(), result)
}

#[test]
fn asking_once_is_a_stop_and_twice_an_abort() {
    let fixture = Fixture::new();
    let child = hanging(&fixture);
    signal(&child, "INT");
    // The request in flight may finish, and this one never does: only the entry of the stop is added.
    entries(&fixture, 3);
    signal(&child, "INT");
    let (code, result) = end(child);
    assert_eq!(code, 1);
    assert_eq!(result["outcome"]["code"], "abort");
    assert_eq!(result["accounting"][0]["error"], "cancelled");
}

#[test]
fn a_stop_while_an_approval_is_waited_for_starts_nothing_and_closes_the_run() {
    let fixture = Fixture::new();
    let child = parked(&fixture, "tool_policy: optional\n");
    signal(&child, "INT");
    let (code, result) = end(child);
    assert_eq!((code, &result["outcome"]["code"]), (0, &"synthesis".into()));
    assert_eq!(result["counters"]["tools_executed"], 0);
    let said = result["conversation"].as_array().unwrap();
    let answered = said
        .iter()
        .find(|message| message["role"] == "tool")
        .unwrap();
    assert_eq!(
        answered["content"],
        "(tool failed: not started: stop requested)"
    );
    assert_eq!(fixture.run(&["replay", "r"]).code, 0);
}

#[test]
fn a_run_that_succeeds_after_it_was_stopped_says_so() {
    let fixture = Fixture::new();
    let child = parked(&fixture, "tool_policy: optional\n");
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let err = String::from_utf8(output.stderr).unwrap();
    let said = "stopped: the model was asked to answer without tools";
    assert!(err.contains(said), "{err}");
}

#[test]
fn where_no_closing_turn_is_possible_the_stop_ends_the_approval_and_the_run() {
    let fixture = Fixture::new();
    let child = parked(&fixture, "tool_policy: required\n");
    signal(&child, "INT");
    let (code, result) = end(child);
    assert_eq!((code, &result["outcome"]["code"]), (1, &"stop".into()));
    assert_eq!(fixture.run(&["replay", "r"]).code, 0);
}

#[test]
fn the_end_of_the_process_while_an_approval_is_waited_for_leaves_the_run_to_be_resumed() {
    let fixture = Fixture::new();
    let child = parked(&fixture, "tool_policy: optional\n");
    signal(&child, "TERM");
    let (code, result) = end(child);
    assert_eq!((code, &result["error"]), (8, &"suspended".into()));
    assert_eq!(result["counters"]["inferences"], 1);
    for command in ["verify", "replay"] {
        assert_eq!(fixture.run(&[command, "r", "--open"]).code, 0);
    }
}

/// Starts a run whose tool server never says a word, and waits until that one is up; gives its process.
fn in_bring_up(fixture: &Fixture) -> (Child, PathBuf) {
    fixture.script(
        "tools: {workspace: ., mcp: {mute: {command: sh, args: [-c, 'echo $$ > pid.new; mv pid.new pid; exec sleep 600']}}}\n",
        &[&says("never")],
    );
    let child = started(fixture);
    let until = Instant::now() + LONGEST;
    let process = loop {
        if let Ok(pid) = std::fs::read_to_string(fixture.path("pid")) {
            break PathBuf::from(format!("/proc/{}/cmdline", pid.trim()));
        }
        assert!(Instant::now() < until, "the server was never started");
        std::thread::yield_now();
    };
    (child, process)
}

#[test]
fn a_signal_during_bring_up_ends_the_process_at_once_and_its_servers_with_it() {
    for name in ["INT", "TERM", "HUP"] {
        let fixture = Fixture::new();
        let (child, server) = in_bring_up(&fixture);
        let began = Instant::now();
        signal(&child, name);
        let (code, result) = end(child);
        assert!(
            began.elapsed() < LONGEST / 4,
            "{name}: {:?}",
            began.elapsed()
        );
        assert_ne!(code, 0, "{name}");
        assert_eq!(result["run_id"], Value::Null, "{name}");
        assert_eq!(result["success"], false, "{name}");
        assert_eq!(
            result["finalReport"]["metadata"]["reason"], "cancelled",
            "{name}"
        );
        // The end of a process that was killed may be seen a moment later.
        let until = Instant::now() + LONGEST;
        while std::fs::read(&server).is_ok_and(|line| line.starts_with(b"sleep")) {
            assert!(
                Instant::now() < until,
                "{name}: the server outlives the run"
            );
            std::thread::yield_now();
        }
        assert_ne!(
            fixture.run(&["show", "r"]).code,
            0,
            "{name}: no run was begun"
        );
    }
}

/// A server that refuses to end is waited for two seconds, but not after the second interrupt: the run's end is printed at once.
#[cfg(target_os = "linux")]
#[test]
fn after_the_second_interrupt_no_server_is_waited_for_and_the_end_is_printed() {
    let fixture = Fixture::new();
    let server =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
    fixture.script(
        &format!(
            "tools: {{workspace: ., mcp: {{odd: {{command: python3, args: [{}, stubborn]}}}}}}\n",
            server.display()
        ),
        &["{\"fault\":\"hang\"}"],
    );
    let child = started(&fixture);
    entries(&fixture, 2);
    signal(&child, "INT");
    entries(&fixture, 3);
    signal(&child, "INT");
    let (code, result) = end(child);
    assert_eq!((code, &result["outcome"]["code"]), (1, &"abort".into()));
    assert_eq!(fixture.run(&["verify", "r"]).code, 0);
}

/// Also where nothing listens for it: the first is enough there.
#[test]
fn an_interrupt_ends_every_command() {
    for command in [
        &["import", "-"][..],
        &["run", "--contract", "c.yaml", "--task", "-"],
    ] {
        let fixture = Fixture::new();
        fixture.script("", &[&says("never")]);
        let mut child = fixture
            .command(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + LONGEST;
        let status = loop {
            signal(&child, "INT");
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "{command:?} ends by no signal");
            std::thread::yield_now();
        };
        assert!(!status.success(), "{command:?}");
    }
}

/// Returns how often the thread that counts interrupts has gone to sleep again, and whether it sleeps now.
#[cfg(target_os = "linux")]
fn counted(child: &Child) -> (u64, bool) {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    for task in tasks {
        let Ok(status) = std::fs::read_to_string(task.unwrap().path().join("status")) else {
            continue;
        };
        let value = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key));
            line.unwrap_or_default()
                .trim_start_matches(key)
                .trim()
                .to_owned()
        };
        if value("Name:") == "interrupts" {
            let slept = value("voluntary_ctxt_switches:").parse().unwrap();
            return (slept, value("State:").starts_with('S'));
        }
    }
    (0, false)
}

/// Sends an interrupt, and waits until it is counted: two at the same moment are one.
#[cfg(target_os = "linux")]
fn interrupt(child: &Child) {
    let until = Instant::now() + LONGEST;
    // The sleep that it is woken from, not the first one on its way there.
    let before = loop {
        let (slept, sleeps) = counted(child);
        if slept > 0 && sleeps {
            break slept;
        }
        assert!(Instant::now() < until, "no thread counts interrupts");
        std::thread::yield_now();
    };
    signal(child, "INT");
    loop {
        let (slept, sleeps) = counted(child);
        if slept > before && sleeps {
            return;
        }
        assert!(Instant::now() < until, "the interrupt is not counted");
        std::thread::yield_now();
    }
}

/// Each command hangs in a write that is not read, so nothing but the second interrupt can end it. That this takes less than a second
/// is the sum of the two waits in between, which the compiler holds to it.
#[cfg(target_os = "linux")]
#[test]
fn the_second_interrupt_ends_a_command_that_hangs_in_a_write() {
    let fixture = Fixture::new();
    // More than a pipe takes.
    let long = "x".repeat(1 << 21);
    fixture.script("", &[&says(&long), &says(&long), &says(&long)]);
    fixture.ok(&["run", "--contract", "c.yaml", "--run-id", "r"]);
    for (command, first_ends) in [
        (&["run", "--contract", "c.yaml"][..], false),
        (&["run", "--contract", "c.yaml", "--json"], false),
        (&["resume", "r"], true),
        (&["show", "r", "--raw"], true),
        (&["export", "r"], true),
    ] {
        let mut child = fixture
            .command(command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The first bytes are there, and no one takes them or the rest.
        let out = child.stdout.take().unwrap();
        let mut ready = [PollFd::new(&out, PollFlags::IN)];
        poll(&mut ready, None).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "{command:?} ended");
        if !first_ends {
            interrupt(&child);
            assert!(
                child.try_wait().unwrap().is_none(),
                "{command:?} ended by the first"
            );
        }
        signal(&child, "INT");
        let until = Instant::now() + LONGEST;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "{command:?} does not end");
            std::thread::yield_now();
        };
        assert_eq!(status.code(), Some(130), "{command:?}: {status}");
        drop(out);
    }
}

/// On a pipe no editor reads the keys: the interrupts that come while a line is awaited are the command's.
#[cfg(target_os = "linux")]
#[test]
fn two_interrupts_end_a_chat_on_a_pipe_that_waits_for_a_line() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("One.")]);
    let mut command = fixture.command(&["chat", "c.yaml"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut chat = command.stderr(Stdio::null()).spawn().unwrap();
    let mut typed = chat.stdin.take().unwrap();
    typed.write_all(b"first\n/help\n").unwrap();
    // Its answer, then its help: a line is awaited.
    let shown = BufReader::new(chat.stdout.take().unwrap()).lines();
    let mut shown = shown.map(Result::unwrap);
    assert!(shown.any(|line| line.starts_with("Ctrl-C ")));
    interrupt(&chat);
    assert!(chat.try_wait().unwrap().is_none(), "the first one ended it");
    signal(&chat, "INT");
    let until = Instant::now() + LONGEST;
    let status = loop {
        if let Some(status) = chat.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > until {
            chat.kill().unwrap();
        }
        std::thread::yield_now();
    };
    assert_eq!(status.code(), Some(130), "{status}");
    drop(typed);
}

#[test]
fn a_closed_stdout_changes_nothing_of_the_run_and_is_an_exit_code() {
    let fixture = Fixture::new();
    let long = "x".repeat(1 << 20);
    for (run, json) in [("plain", None), ("json", Some("--json"))] {
        fixture.script("", &[&says(&long)]);
        let mut child = fixture
            .command(&["run", "--contract", "c.yaml", "--run-id", run])
            .args(json)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(9), "{run}: {printed}");
        for part in [
            format!("write the answer of run {run}: Broken pipe"),
            format!("monolith show {run} prints it"),
        ] {
            assert!(printed.contains(&part), "{part}: {printed}");
        }
        assert!(!printed.contains("panic"), "{run}: {printed}");
        assert_eq!(fixture.run(&["verify", run]).code, 0);
        let billed = std::fs::read_to_string(fixture.path("home/accounting.jsonl")).unwrap();
        assert!(billed.contains(&format!("\"txnId\":\"{run}\"")), "{billed}");
    }
    // The same where there is no run to tell of.
    let mut child = fixture
        .command(&["run", "--contract", "no.yaml", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4));
}
