//! `monolith resume` from outside: what it says, what it refuses, and what a full, read-only or locked disk comes to.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use monolith_core::kernel::EffectRecord;
use monolith_core::message::RunId;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::fixture::{monolith, text};
use crate::harness::Harness;

/// An entry in the middle of the harness's run.
const MIDDLE: u64 = 8;

fn name() -> RunId {
    RunId::try_from("r1".to_owned()).unwrap()
}

impl Harness {
    /// A run whose process was killed in its middle.
    fn killed() -> Self {
        // A process that gets the machine to itself may end before it is seen in its middle.
        (7..27)
            .find_map(|random| {
                let mut harness = Self::new(random);
                let mut child = harness.drive(&name(), "normal").spawn().unwrap();
                harness.wait_for(&mut child, &name(), MIDDLE);
                child.kill().unwrap();
                child.wait().unwrap();
                (!harness.sealed(&name())).then_some(harness)
            })
            .expect("a process that can be killed in its middle")
    }

    fn says(&self, args: &[&str]) -> Output {
        let mut command = monolith(self.path(), args);
        command.args(["--store", "home/runs.db"]).output().unwrap()
    }

    /// Asserts that a resume is refused so, and leaves the run as it is.
    fn refuses(&self, args: &[&str], code: i32, expect: &str) {
        let before = self.stored(&name());
        let left = self.says(args);
        let said = text(&left.stderr);
        assert_eq!(left.status.code(), Some(code), "{said}");
        assert!(said.contains(expect), "{said}");
        assert_eq!(self.stored(&name()), before);
    }
}

#[test]
fn an_unfinished_run_is_listed_shown_and_resumed() {
    if !Harness::has_python() {
        return;
    }
    let harness = Harness::killed();
    for args in [&["list"][..], &["list", "--open"]] {
        let listed = text(&harness.says(args).stdout);
        let row = listed.lines().nth(1).unwrap();
        assert!(
            row.starts_with("r1 ")
                && row.ends_with("process died (monolith resume r1 --store home/runs.db)"),
            "{row}"
        );
    }
    let shown = text(&harness.says(&["show", "r1"]).stdout);
    let hint = "Resume it: monolith resume r1 --store home/runs.db\n";
    assert!(shown.ends_with(hint), "{shown}");

    let left = harness.says(&["resume", "last", "--json"]);
    assert_eq!(left.status.code(), Some(0), "{}", text(&left.stderr));
    let resumed: Value = serde_json::from_slice(&left.stdout).unwrap();
    let shown = harness.says(&["show", "r1", "--json"]).stdout;
    let shown: Value = serde_json::from_slice(&shown).unwrap();
    assert_eq!(resumed, shown, "the result is that of the whole run");
    assert_eq!(resumed["outcome"]["class"], "COMPLETED_WITH_TOOLS");
    assert!(harness.says(&["list", "--open"]).stdout.is_empty());
    let again = harness.says(&["resume", "r1", "--json"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again, resumed, "a run that has ended has its result");
    let locks = std::fs::read_dir(harness.path().join("home/runs.db.locks")).unwrap();
    let of_runs = locks.filter(|file| file.as_ref().unwrap().file_name() != "_store");
    assert_eq!(of_runs.count(), 0, "a run that has ended needs no lock");
}

#[test]
fn a_run_has_one_process_at_a_time() {
    if !Harness::has_python() {
        return;
    }
    let mut harness = Harness::new(7);
    let hangs = r#"{"response": "", "fault": "hang"}"#;
    std::fs::write(harness.path().join("s.jsonl"), hangs).unwrap();
    let mut child = harness.drive(&name(), "normal").spawn().unwrap();
    assert!(harness.wait_for(&mut child, &name(), 2));
    let listed = text(&harness.says(&["list"]).stdout);
    let row = listed.lines().nth(1).unwrap();
    let running = format!("running (process {})", child.id());
    assert!(row.ends_with(&running), "{row}");
    let shown = text(&harness.says(&["show", "r1"]).stdout);
    assert!(
        shown.ends_with("Watch it: monolith show r1 --follow --store home/runs.db\n"),
        "{shown}"
    );
    let expect = format!(
        "failed to drive run r1: process {} is already driving it",
        child.id()
    );
    harness.refuses(&["resume", "r1"], 1, &expect);
    harness.refuses(&["continue", "r1", "more"], 1, &expect);
    harness.refuses(&["delete", "r1", "--yes"], 1, &expect);
    child.kill().unwrap();
    child.wait().unwrap();
    // The system has dropped the lock with the process, so no process is in the way.
    let mut next = harness
        .command(&["resume", "r1"], "normal")
        .spawn()
        .unwrap();
    assert!(
        harness.wait_for(&mut next, &name(), 5),
        "resumed and asked again"
    );
    next.kill().unwrap();
    next.wait().unwrap();
}

#[test]
fn what_does_not_fit_the_run_is_refused_and_leaves_it_as_it_is() {
    if !Harness::has_python() {
        return;
    }
    let harness = Harness::killed();
    harness.refuses(
        &["resume", "r1", "--set", "system=Be brief."],
        4,
        "/system is \"Be brief.\", but the run started with \"\"",
    );
    harness.refuses(
        &["resume", "r1", "--contract", "none.yaml"],
        4,
        "failed to read the contract none.yaml",
    );
    harness.refuses(&["resume", "r2"], 4, "failed to find run \"r2\"");
    let log = harness.path().join("executions");
    // The server of the killed process may still write down what it had been given.
    std::fs::remove_file(&log).unwrap();
    while std::fs::create_dir(&log).is_err() {
        std::fs::remove_file(&log).unwrap();
    }
    harness.refuses(
        &["resume", "r1"],
        3,
        "failed to resume run r1: tool server fs: ",
    );
    std::fs::remove_dir(&log).unwrap();
    assert_eq!(harness.says(&["resume", "r1"]).status.code(), Some(0));
}

#[test]
fn tools_that_have_changed_are_refused_call_by_call() {
    if !Harness::has_python() {
        return;
    }
    let harness = Harness::killed();
    let issued: Vec<u64> = harness
        .stored(&name())
        .iter()
        .flat_map(|entry| entry.decode_action().unwrap().effects)
        .filter_map(|effect| match effect {
            EffectRecord::Execute { call, .. } => Some(call.0),
            _ => None,
        })
        .collect();
    std::fs::write(harness.path().join("described"), "Counts otherwise.").unwrap();
    let left = harness.says(&["resume", "r1"]);
    assert_eq!(left.status.code(), Some(0), "{}", text(&left.stderr));
    // The server of the killed process may still have finished what it had been given.
    for (call, times) in harness.executions(&name()) {
        assert!(
            issued.contains(&call) && times == 1,
            "call {call} ran {times} times"
        );
    }
    let entries = harness.stored(&name());
    let changed = r#""tools_changed":["fs__count","fs__safe"]"#;
    assert!(entries.iter().any(|entry| entry.event.contains(changed)));
    let shown = text(&harness.says(&["show", "r1"]).stdout);
    for (printed, before) in [
        (
            text(&left.stderr),
            "note: tool server fs offers other tools than the contract holds: ",
        ),
        (
            shown,
            "server    fs offers other tools than the contract holds, from entry ",
        ),
    ] {
        let line = printed.lines().find(|line| line.starts_with(before));
        let differs = "`count` has changed: description: \"";
        assert!(
            line.is_some_and(|line| line.contains(differs) && line.contains("Counts otherwise.")),
            "{printed}"
        );
    }
    assert_eq!(harness.says(&["replay", "r1"]).status.code(), Some(0));
}

#[test]
fn a_locked_file_is_a_typed_end() {
    if !Harness::has_python() {
        return;
    }
    let harness = Harness::killed();
    let other = Connection::open(harness.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    harness.refuses(&["resume", "r1"], 1, "another process holds its write lock");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(harness.says(&["resume", "r1"]).status.code(), Some(0));
}

/// A separate file system, unmounted in the end.
struct Disk(PathBuf);

impl Disk {
    /// `None` if this user may not mount.
    fn mount(folder: &Path, size: &str) -> Option<Self> {
        let mounted = mount(
            &[
                "-t",
                "tmpfs",
                "-o",
                &format!("mode=0755,size={size}"),
                "tmpfs",
            ],
            folder,
        );
        if !mounted {
            println!("skipped: this user may not mount a small disk");
        }
        mounted.then(|| Self(folder.to_owned()))
    }

    fn remount(&self, options: &str) {
        assert!(mount(&["-o", &format!("remount,{options}")], &self.0));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).status());
    }
}

fn mount(args: &[&str], folder: &Path) -> bool {
    let mut command = Command::new("mount");
    command.args(args).arg(folder).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[test]
fn a_full_or_read_only_disk_is_a_typed_end_and_a_resume_goes_on() {
    let harness = Harness::new(7);
    let disk = harness.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let Some(small) = Disk::mount(&disk, "700k") else {
        return;
    };
    // Each result is kept whole as a blob, so a few of them fill the disk.
    let reads = |n: u32| {
        let file = format!("big-{n}");
        let big = format!("{n} ").repeat(60_000);
        std::fs::write(harness.path().join(&file), big).unwrap();
        let arguments = json!({"path": file}).to_string();
        let call = json!({"id": format!("c{n}"), "type": "function",
            "function": {"name": "read_file", "arguments": arguments}});
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        json!({"response": {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}}).to_string()
    };
    let mut lines: Vec<String> = (0..7).map(reads).collect();
    let said = json!({"role": "assistant", "content": "read"});
    lines.push(
        json!({"response": {"choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}})
            .to_string(),
    );
    std::fs::write(harness.path().join("s.jsonl"), lines.join("\n")).unwrap();
    let contract = json!({
        "task": "Read.",
        "tool_policy": "optional",
        "targets": [{"provider": "demo", "model": "script"}],
        "providers": {"demo": {"type": "scripted", "file": "s.jsonl"}},
        "tool_output_budget": {"max_bytes_per_call": 100},
        "tools": {"builtin": ["read_file"]},
    });
    std::fs::write(harness.path().join("c.yaml"), contract.to_string()).unwrap();
    let on_disk = |args: &[&str]| {
        let mut command = monolith(harness.path(), args);
        let left = command.args(["--store", "disk/runs.db"]).output().unwrap();
        (left.status.code(), text(&left.stdout), text(&left.stderr))
    };
    let (code, _, said) = on_disk(&["run", "--contract", "c.yaml", "--run-id", "r1"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("the disk is full"), "{said}");

    small.remount("ro");
    let (code, _, said) = on_disk(&["resume", "r1"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("disk/runs.db"), "{said}");

    small.remount("rw,size=64m");
    let (code, printed, _) = on_disk(&["verify", "r1", "--open"]);
    assert_eq!(code, Some(0), "no half entry: {printed}");
    let (code, printed, said) = on_disk(&["resume", "r1"]);
    assert_eq!((code, printed.as_str()), (Some(0), "read\n"), "{said}");
    assert_eq!(on_disk(&["verify", "r1"]).0, Some(0));
    assert_eq!(on_disk(&["replay", "r1"]).0, Some(0));
}
