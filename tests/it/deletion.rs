//! Runs and bytes that go for good, and a run that is gone on with only where it is what was noted: from outside.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::desk::{Desk, calls, says};

/// More than anything here takes.
const LONGEST: Duration = Duration::from_secs(120);
const TEXT: &str = "a sentence that only this tool says, and nobody else";

impl Desk {
    /// A run that has ended, with a call of the tool `echo`.
    fn ended(&self, name: &str) {
        let call = calls("echo", &format!("{{\"text\":\"{TEXT}\"}}"));
        self.script("tools: {builtin: [echo]}\n", &[&call, &says("Done.")]);
        self.ok(&["run", "--contract", "c.yaml", "--run-id", name]);
    }

    fn begun(&self, args: &[&str]) -> Child {
        self.command(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// A run whose model never answers, with at least so many entries; driven still.
    fn hanging(&self, args: &[&str], entries: u64) -> Child {
        let child = self.begun(args);
        self.wait_for(entries);
        child
    }

    fn wait_for(&self, entries: u64) {
        let until = Instant::now() + LONGEST;
        loop {
            let left = self.run(&["show", "r", "--json"]);
            let shown: serde_json::Value = serde_json::from_str(&left.out).unwrap_or_default();
            if shown["entries"].as_u64() >= Some(entries) {
                return;
            }
            assert!(
                Instant::now() < until,
                "the run never had {entries} entries"
            );
        }
    }

    fn store(&self) -> Connection {
        Connection::open(self.path("home/runs.db")).unwrap()
    }

    fn entries(&self, name: &str) -> u64 {
        let left = self.run(&["show", name, "--json"]);
        left.document()["entries"].as_u64().unwrap()
    }
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_deleted_run_leaves_its_leaf_and_who_deleted_it() {
    let desk = Desk::new();
    desk.ended("r");
    desk.ended("other");
    desk.ok(&["replay", "r", "--fork-at", "6", "--run-id", "fork"]);
    let root = desk.ok(&["log", "root", "--note"]);
    desk.write("heads", &root);
    let asked = desk.ends(&["delete", "r"], 4);
    assert!(asked.err.contains("delete"), "{}", asked.err);
    let said = desk.ok(&[
        "delete",
        "r",
        "--yes",
        "--reason",
        "asked for by the customer",
    ]);
    assert!(said.starts_with("deleted: r\n"), "{said}");
    let bytes = fs::read(desk.path("home/runs.db")).unwrap();
    let raw = |name: &str| desk.ok(&["show", name, "--raw"]);
    assert!(raw("other").contains(TEXT) && raw("fork").contains("parent"));
    assert!(!String::from_utf8_lossy(&bytes).contains("\"run_id\":\"r\",\"started"));
    for gone in ["verify", "show", "replay"] {
        let left = desk.ends(&[gone, "r"], 7);
        let why = "it was deleted by local+";
        assert!(left.err.contains(why), "{gone}: {}", left.err);
        assert!(
            left.err.contains("asked for by the customer"),
            "{}",
            left.err
        );
    }
    for kept in ["other", "fork"] {
        desk.ok(&["verify", kept]);
    }
    let log = desk.ok(&["log", "verify", "--pin", "heads"]);
    let told = "run r: deleted by local+";
    assert!(
        log.contains(told) && log.contains(", asked for by the customer"),
        "{log}"
    );
    let proof = desk.run(&["log", "prove", "r"]);
    desk.write("proof", &proof.out);
    desk.ok(&["log", "check", "proof"]);
    // A leaf without its run is what it was, where nobody says so, or says something else.
    let store = desk.store();
    store
        .execute(
            "UPDATE deletions SET note = replace(note, 'customer', 'customs!')",
            [],
        )
        .unwrap();
    desk.ends(&["log", "verify"], 7);
    store.execute("DELETE FROM deletions", []).unwrap();
    let left = desk.ends(&["log", "verify"], 7);
    assert!(left.out.contains("a run of every leaf"), "{}", left.out);
}

#[test]
fn a_run_that_could_go_on_is_deleted_only_by_force_and_never_while_it_is_driven() {
    let desk = Desk::new();
    desk.script("", &["{\"fault\":\"hang\"}"]);
    let run = ["run", "--contract", "c.yaml", "--run-id", "r"];
    let child = desk.hanging(&run, 2);
    desk.ends(&["delete", "r", "--yes", "--force"], 1);
    end(child);
    let left = desk.ends(&["delete", "r", "--yes"], 4);
    assert!(left.err.contains("it has not ended"), "{}", left.err);
    assert!(left.err.contains("--force"), "{}", left.err);
    desk.ok(&["delete", "r", "--yes", "--force"]);
    desk.ends(&["verify", "r"], 7);
    desk.ok(&["log", "verify"]);
}

#[test]
fn forks_and_continuations_of_a_deleted_run_stay() {
    let desk = Desk::new();
    desk.ended("r");
    desk.ok(&["replay", "r", "--fork-at", "6", "--run-id", "fork"]);
    let again = says("Again.");
    desk.script("tools: {builtin: [echo]}\n", &[&again, &again, &again]);
    desk.ok(&[
        "continue",
        "r",
        "And then?",
        "--contract",
        "c.yaml",
        "--run-id",
        "next",
    ]);
    let said = desk.ok(&["delete", "r", "--yes"]);
    assert!(said.starts_with("deleted: r\n"), "{said}");
    for name in ["fork", "next"] {
        desk.ok(&["verify", name]);
    }
}

#[test]
fn prune_deletes_runs_that_have_ended_by_age_and_outcome() {
    let desk = Desk::new();
    desk.ended("a");
    desk.ended("b");
    desk.script("", &["{\"fault\":\"hang\"}"]);
    end(desk.hanging(&["run", "--contract", "c.yaml", "--run-id", "r"], 2));
    let said = desk.ok(&["prune", "--older-than", "1h", "--yes"]);
    assert_eq!(said, "0 runs would be deleted\n");
    desk.store()
        .execute(
            "UPDATE runs SET created_unix_ms = created_unix_ms - 7200000",
            [],
        )
        .unwrap();
    let said = desk.ok(&["prune", "--older-than", "1h", "--dry-run"]);
    assert!(said.ends_with("2 runs would be deleted\n"), "{said}");
    let none = [
        "prune",
        "--older-than",
        "1h",
        "--outcome",
        "FAILED_TIMEOUT",
        "--yes",
    ];
    assert_eq!(desk.ok(&none), "0 runs would be deleted\n");
    desk.ends(&["prune", "--older-than", "1h"], 4);
    let old = [
        "prune",
        "--older-than",
        "1h",
        "--outcome",
        "completed_with_tools",
        "--yes",
    ];
    let said = desk.ok(&old);
    assert!(said.contains("deleted: a, b\n"), "{said}");
    desk.ok(&["verify", "r", "--open"]);
    desk.ok(&["log", "verify"]);
    desk.ends(&["prune", "--older-than", "soon"], 4);
}

#[test]
fn what_is_erased_is_named_wherever_else_it_stands() {
    let desk = Desk::new();
    desk.ended("r");
    desk.ended("other");
    let raw = desk.ok(&["show", "r", "--raw"]);
    let hash = raw.split("\"raw_hash\":\"").nth(1).unwrap();
    let hash = &hash[..64];
    let left = desk.ends(&["erase", "r", "--blob", hash], 4);
    let text = left.said();
    assert!(text.contains("Parts of its text stand elsewhere"), "{text}");
    for run in ["r", "other"] {
        assert!(text.contains(&format!("run {run}, entries ")), "{text}");
    }
    // Nobody was there to say yes.
    let report = desk.ok(&["verify", "r"]);
    assert!(!report.contains("erased"), "{report}");
    let said = desk.ok(&["erase", "r", "--blob", hash, "--all-runs", "--yes"]);
    assert!(said.contains("erased: "), "{said}");
}

/// A store that is older than it was would do again what it had done.
#[test]
fn a_run_that_lost_its_newest_entries_is_not_gone_on_with_under_a_pin() {
    let desk = Desk::new();
    desk.script(
        "",
        &[
            "{\"fault\":\"hang\"}",
            "{\"fault\":\"hang\"}",
            &says("Done."),
        ],
    );
    end(desk.hanging(&["run", "--contract", "c.yaml", "--run-id", "r"], 2));
    let files = ["runs.db", "runs.db-wal", "runs.db-shm"];
    let here = |name: &str| desk.path(&format!("home/{name}"));
    let old = |name: &str| desk.path(&format!("old-{name}"));
    for name in files {
        if here(name).exists() {
            fs::copy(here(name), old(name)).unwrap();
        }
    }
    let entries = desk.entries("r");
    end(desk.hanging(&["resume", "r"], entries + 1));
    desk.ok(&["verify", "r", "--open", "--write-pin", "heads"]);
    desk.write("others", &desk.read("heads").replacen("r ", "x ", 1));
    for name in files {
        drop(fs::remove_file(here(name)));
        if old(name).exists() {
            fs::copy(old(name), here(name)).unwrap();
        }
    }
    let left = desk.ends(&["resume", "r", "--pin", "heads"], 7);
    assert!(left.err.contains("rollback"), "{}", left.err);
    assert_eq!(desk.entries("r"), entries, "nothing was written");
    let left = desk.ends(&["resume", "r", "--pin", "others"], 4);
    assert!(left.err.contains("no head among the pins"), "{}", left.err);
}
