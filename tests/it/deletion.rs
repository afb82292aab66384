//! Runs and bytes that go for good, and a run that is gone on with only where it is what was noted: from outside.

use std::fs;
#[cfg(unix)]
use std::process::Command;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use monolith::SecretKey;
use rusqlite::Connection;

#[cfg(unix)]
use crate::desk::Left;
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

    /// Everything that the files of the store hold, the log of writes among them; how much that log holds of it.
    fn files(&self) -> (Vec<u8>, usize) {
        let read = |name: &str| fs::read(self.path(name)).unwrap_or_default();
        let log = read("home/runs.db-wal");
        let length = log.len();
        (
            [read("home/runs.db"), log, read("home/runs.db-shm")].concat(),
            length,
        )
    }

    /// Writes that run so often again, as a store that is long in use has it: with the same blobs.
    fn copies(&self, name: &str, count: u32) {
        let store = self.store();
        store
            .execute_batch(&format!(
                "PRAGMA foreign_keys = OFF; \
                 CREATE TEMP TABLE more AS WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count}) \
                 SELECT n, (SELECT max(id) FROM runs) + n AS id, '{name}-' || n AS name FROM n; \
                 CREATE TEMP TABLE old AS SELECT * FROM runs WHERE run_id = '{name}'; \
                 INSERT INTO runs SELECT more.id, more.name, contract, contract_hash, created_unix_ms, epoch, owner, head_seq, head_hash, class, code \
                 FROM old, more; \
                 INSERT INTO entries SELECT more.id, seq, state, event, action, e.hash FROM entries e, more WHERE run = (SELECT id FROM old); \
                 INSERT INTO run_blobs SELECT more.id, hash FROM run_blobs, more WHERE run = (SELECT id FROM old); \
                 INSERT INTO log_leaves SELECT (SELECT max(idx) FROM log_leaves) + more.n, more.id, replace(leaf, '\"{name}\"', '\"' || more.name || '\"') \
                 FROM log_leaves, more WHERE run = (SELECT id FROM old);"
            ))
            .unwrap();
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
    desk.ended("other");
    // As long as somebody reads an older state, what is written stays in the log of writes.
    let held = desk.store();
    held.execute_batch("BEGIN; SELECT count(*) FROM runs")
        .unwrap();
    desk.ended("r");
    desk.ok(&["replay", "r", "--fork-at", "6", "--run-id", "fork"]);
    let own = "\"run_id\":\"r\",\"started";
    let holds = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(own);
    let log = fs::read(desk.path("home/runs.db-wal")).unwrap();
    assert!(holds(&log), "{} bytes of the log of writes", log.len());
    let root = desk.ok(&["log", "root", "--note"]);
    desk.write("heads", &root);
    let asked = desk.ends(&["delete", "r"], 4);
    assert!(asked.err.contains("delete"), "{}", asked.err);
    held.execute_batch("ROLLBACK").unwrap();
    let said = desk.ok(&[
        "delete",
        "r",
        "--yes",
        "--reason",
        "asked for by the customer",
    ]);
    assert!(said.starts_with("deleted: r\n"), "{said}");
    let (bytes, log) = desk.files();
    assert!(!holds(&bytes), "{log} bytes of the log of writes");
    drop(held);
    let raw = |name: &str| desk.ok(&["show", name, "--raw"]);
    assert!(raw("other").contains(TEXT) && raw("fork").contains("parent"));
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
    assert!(
        log.contains("runs that were deleted: 1, by a known key: 1"),
        "{log}"
    );
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

/// A run that was deleted by design is no rollback, where a known key says that it had what was noted.
#[test]
fn a_pin_of_a_deleted_run_holds_where_a_known_key_deleted_as_much() {
    let desk = Desk::new();
    desk.ended("r");
    desk.ended("other");
    desk.ok(&["verify", "r", "--write-pin", "heads"]);
    desk.ok(&["delete", "r", "--yes"]);
    let log = desk.ok(&["log", "verify", "--pin", "heads"]);
    assert!(
        log.contains("pins        run r: deleted by local+"),
        "{log}"
    );
    // Whoever pinned more of it, or another end, was not told of this deletion.
    let pin = desk.read("heads");
    let words: Vec<&str> = pin.split_whitespace().collect();
    let [name, entries, head] = words[..] else {
        panic!("{pin}");
    };
    let more: u64 = entries.parse().unwrap();
    for (line, why) in [
        (format!("{name} {} {head}\n", more + 1), "rollback"),
        (format!("{name} {entries} {}\n", "0".repeat(64)), "tampered"),
        (format!("x {entries} {head}\n"), "rollback"),
    ] {
        desk.write("others", &line);
        let left = desk.ends(&["log", "verify", "--pin", "others"], 7);
        assert!(left.out.contains(why), "{line}: {}", left.out);
    }
    // A stranger's word for it is nobody's.
    desk.store()
        .execute("UPDATE deletions SET note = ?1", [strangers(&desk, "r")])
        .unwrap();
    let left = desk.ends(&["log", "verify", "--pin", "heads"], 7);
    assert!(left.out.contains("rollback"), "{}", left.out);
    let log = desk.ok(&["log", "verify"]);
    assert!(
        log.contains("not checked: deletions: run r: deleted by local+"),
        "{log}"
    );
    assert!(log.contains("(not known here)"), "{log}");
    assert!(log.contains("by a known key: 0"), "{log}");
    let key = ["log", "verify", "--key", "home/keys/local.pub"];
    assert!(desk.ends(&key, 7).out.contains("unsigned"));
}

/// The note of a deleted run, as somebody else signs it.
fn strangers(desk: &Desk, name: &str) -> String {
    let select = "SELECT note FROM deletions WHERE run_id = ?1";
    let note: String = desk
        .store()
        .query_row(select, [name], |row| row.get(0))
        .unwrap();
    let (text, _) = note.split_once("\n\n").unwrap();
    let key = SecretKey::from_seed("local", &[9; 32]).unwrap();
    key.sign_text(&format!("{text}\n")).unwrap().to_string()
}

#[test]
fn every_row_of_a_deletion_is_judged() {
    let desk = Desk::new();
    desk.ended("r");
    desk.ended("other");
    desk.script("", &["{\"fault\":\"hang\"}"]);
    let run = ["run", "--contract", "c.yaml", "--run-id", "open"];
    let mut child = desk.begun(&run);
    let until = Instant::now() + LONGEST;
    while desk.run(&["show", "open"]).code != 0 {
        assert!(Instant::now() < until, "the run was never begun");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    for name in ["r", "open"] {
        desk.ok(&["delete", name, "--yes", "--force"]);
    }
    let log = desk.ok(&["log", "verify"]);
    assert!(
        log.contains("runs that were deleted: 2, by a known key: 2"),
        "{log}"
    );
    assert!(log.contains("run open: deleted by local+"), "{log}");
    let copy = desk.path("whole.db");
    fs::copy(desk.path("home/runs.db"), &copy).unwrap();
    let note: String = desk
        .store()
        .query_row("SELECT note FROM deletions WHERE leaf IS NULL", [], |row| {
            row.get(0)
        })
        .unwrap();
    for change in [
        // The deletion of a run that had no leaf is a signed note, too.
        "UPDATE deletions SET note = 'nothing' WHERE leaf IS NULL".to_owned(),
        format!("UPDATE deletions SET note = '{}' WHERE leaf IS NULL", note.replace("entries ", "entries 1")),
        "UPDATE deletions SET run_id = 'x' WHERE leaf IS NULL".to_owned(),
        // That of another run says nothing of this leaf.
        "UPDATE deletions SET leaf = NULL WHERE leaf IS NOT NULL".to_owned(),
        "UPDATE deletions SET leaf = 1 WHERE leaf IS NULL".to_owned(),
        "UPDATE deletions SET leaf = 7 WHERE leaf IS NULL".to_owned(),
        // What the leaf holds is read, not looked for in it.
        "UPDATE log_leaves SET leaf = leaf || ' ' WHERE run IS NULL".to_owned(),
        "UPDATE log_leaves SET leaf = replace(leaf, '\"code\":', '\"x\":0,\"code\":') WHERE run IS NULL".to_owned(),
    ] {
        let store = desk.store();
        store.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        assert_eq!(store.execute(&change, []).unwrap(), 1, "{change}");
        drop(store);
        let left = desk.run(&["log", "verify"]);
        assert_eq!(left.code, 7, "{change}: {}", left.out);
        fs::copy(&copy, desk.path("home/runs.db")).unwrap();
    }
    desk.ok(&["log", "verify"]);
}

/// What somebody took out on purpose does not come back by the way.
#[test]
fn the_file_of_a_deleted_run_is_imported_only_where_that_is_asked_for() {
    let desk = Desk::new();
    desk.ended("r");
    desk.ok(&["export", "r", "--output", "r.jsonl"]);
    desk.ok(&["delete", "r", "--yes", "--reason", "the customer left"]);
    let left = desk.ends(&["import", "r.jsonl"], 4);
    for expect in [
        "it was deleted here by local+",
        "the customer left",
        "--deleted",
    ] {
        assert!(left.err.contains(expect), "{expect}: {}", left.err);
    }
    desk.ends(&["verify", "r"], 7);
    desk.ok(&["import", "r.jsonl", "--deleted"]);
    desk.ok(&["verify", "r"]);
    // Its deletion is not forgotten.
    let log = desk.ok(&["log", "verify"]);
    assert!(log.contains("run r: deleted by local+"), "{log}");
    // A store that never deleted it takes it as before.
    desk.ok(&["import", "r.jsonl", "--store", "other.db"]);
}

/// A proof holds for the leaf of a deleted run as for any other, so it says beside it what was deleted.
#[test]
fn a_proof_names_the_deleted_runs_and_what_does_not_cover_them() {
    let desk = Desk::new();
    for name in ["a", "b", "c", "d"] {
        desk.ended(name);
    }
    for name in ["b", "c"] {
        desk.ok(&["delete", name, "--yes", "--reason", "asked for"]);
    }
    let change = "UPDATE deletions SET note = ?1 WHERE run_id = 'c'";
    let note = strangers(&desk, "c");
    desk.store().execute(change, [&note]).unwrap();
    for proof in [
        &["log", "prove", "b"][..],
        &["log", "prove", "a"],
        &["log", "consistency", "3"],
    ] {
        desk.write("proof", &desk.ok(proof));
        let told = desk.ok(&["log", "check", "proof"]);
        for expect in [
            "ok      deletions   leaf 1, run b: deleted by local+",
            "not checked: deletions: leaf 2, run c: deleted by local+",
            "not checked: deletions: 2 of 4 runs",
        ] {
            assert!(told.contains(expect), "{proof:?}: {expect}: {told}");
        }
        let key = ["log", "check", "proof", "--key", "home/keys/local.pub"];
        assert!(desk.ends(&key, 7).out.contains("not proven: unsigned"));
        // A note of another run says nothing of this leaf.
        let mut told: serde_json::Value = serde_json::from_str(&desk.read("proof")).unwrap();
        told["deletions"]["notes"][0]["note"] = note.as_str().into();
        desk.write("proof", &told.to_string());
        desk.ends(&["log", "check", "proof"], 7);
        told["deletions"]["count"] = 1.into();
        desk.write("proof", &told.to_string());
        desk.ends(&["log", "check", "proof"], 7);
    }
    // Without any the proof says that, too.
    desk.ended("e");
    let other = ["log", "prove", "e", "--store", "other.db"];
    desk.ok(&["export", "e", "--output", "e.jsonl"]);
    desk.ok(&["import", "e.jsonl", "--store", "other.db"]);
    desk.write("proof", &desk.ok(&other));
    let told = desk.ok(&["log", "check", "proof"]);
    assert!(told.contains("deletions: 0 of 1 run,"), "{told}");
}

/// Locks are files: a process has fewer of them than a store has runs.
#[cfg(unix)]
#[test]
fn prune_needs_no_descriptor_for_each_run() {
    let desk = Desk::new();
    desk.ended("r");
    desk.copies("r", 600);
    desk.ok(&["log", "verify"]);
    let script = "ulimit -n 128; exec \"$@\"";
    let pruned = Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_monolith")])
        .args(["prune", "--older-than", "2100-01-01", "--yes"])
        .current_dir(desk.path(""))
        .env("MONOLITH_HOME", desk.path("home"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let left = Left::from(pruned);
    assert_eq!(left.code, 0, "{}", left.err);
    assert!(
        left.out.contains("deleted: r, r-1, r-10, r-100,"),
        "{}",
        left.out
    );
    let rows = |table: &str| -> i64 {
        let count = format!("SELECT count(*) FROM {table}");
        desk.store()
            .query_row(&count, [], |row| row.get(0))
            .unwrap()
    };
    let left = ["runs", "entries", "blobs", "run_blobs", "deletions"].map(rows);
    assert_eq!(left, [0, 0, 0, 0, 601]);
    desk.ok(&["log", "verify"]);
}

/// Who owns two stores, or two leaves of one run, cannot show the note of the one for the other.
#[test]
fn a_note_of_another_log_or_of_another_leaf_deletes_nothing() {
    let desk = Desk::new();
    desk.ended("r");
    desk.ok(&["export", "r", "--output", "r.jsonl"]);
    desk.ok(&["import", "r.jsonl", "--store", "other.db"]);
    desk.ok(&["verify", "r", "--write-pin", "heads"]);
    desk.ok(&["delete", "r", "--yes", "--store", "other.db"]);
    let elsewhere: String = Connection::open(desk.path("other.db"))
        .unwrap()
        .query_row("SELECT note FROM deletions", [], |row| row.get(0))
        .unwrap();
    // Deleted, back from its file, deleted again: two leaves, two notes.
    desk.ok(&["delete", "r", "--yes", "--reason", "first"]);
    desk.ok(&["import", "r.jsonl", "--deleted"]);
    desk.ok(&["delete", "r", "--yes", "--reason", "second"]);
    desk.ended("end");
    let judged = [
        "log",
        "verify",
        "--key",
        "home/keys/local.pub",
        "--pin",
        "heads",
    ];
    let log = desk.ok(&judged);
    assert!(log.contains("by a known key: 2"), "{log}");
    let notes = |leaf: i64| -> String {
        let select = "SELECT note FROM deletions WHERE leaf = ?1";
        desk.store()
            .query_row(select, [leaf], |row| row.get(0))
            .unwrap()
    };
    let (first, second) = (notes(0), notes(1));
    let put = |leaf: i64, note: &str| {
        let changed = desk
            .store()
            .execute(
                "UPDATE deletions SET note = ?2 WHERE leaf = ?1",
                (leaf, note),
            )
            .unwrap();
        assert_eq!(changed, 1);
    };
    for (leaf, note, expect) in [
        (1, &elsewhere, "log: expected "),
        (1, &first, "leaf: expected "),
        (0, &second, "leaf: expected "),
    ] {
        put(leaf, note);
        let left = desk.ends(&judged, 7);
        let deletions = left.out.lines().find(|line| line.contains("deletions"));
        assert!(deletions.unwrap().contains(expect), "{}", left.out);
        assert!(left.out.contains("table deletions"), "{}", left.out);
        if leaf == 1 {
            // Nor does it explain what was pinned, or say who deleted the run.
            let pins = left.out.lines().find(|line| line.contains("pins "));
            assert!(pins.unwrap().starts_with("FAILED"), "{}", left.out);
            for ends in [&["verify", "r"][..], &["show", "r"]] {
                let left = desk.ends(ends, 7);
                assert!(
                    left.err.contains("a note that does not hold"),
                    "{}",
                    left.err
                );
            }
            let left = desk.ends(&["import", "r.jsonl"], 4);
            assert!(
                left.err.contains("a note that does not hold"),
                "{}",
                left.err
            );
        }
        let proof = desk.ok(&["log", "prove", "end"]);
        desk.write("proof", &proof);
        let left = desk.ends(&["log", "check", "proof"], 7);
        assert!(left.out.contains("not proven: tampered"), "{}", left.out);
        put(0, &first);
        put(1, &second);
    }
    desk.ok(&judged);
    // In a proof, too, a note stands at its leaf alone, and once.
    let proof = desk.ok(&["log", "prove", "end"]);
    desk.write("proof", &proof);
    desk.ok(&["log", "check", "proof"]);
    let mut changed: serde_json::Value = serde_json::from_str(&proof).unwrap();
    changed["deletions"]["notes"][0]["leaf"] = 2.into();
    desk.write("proof", &changed.to_string());
    desk.ends(&["log", "check", "proof"], 7);
    let mut changed: serde_json::Value = serde_json::from_str(&proof).unwrap();
    changed["deletions"]["notes"][1] = changed["deletions"]["notes"][0].clone();
    desk.write("proof", &changed.to_string());
    desk.ends(&["log", "check", "proof"], 7);
}

/// The note of a run that never ended is signed for no leaf: it takes the place of none, and stands once.
#[test]
fn the_note_of_a_run_without_a_seal_is_that_of_no_leaf() {
    let desk = Desk::new();
    desk.script("", &["{\"fault\":\"hang\"}"]);
    end(desk.hanging(&["run", "--contract", "c.yaml", "--run-id", "r"], 2));
    desk.ok(&["delete", "r", "--yes", "--force"]);
    let log = desk.ok(&["log", "verify"]);
    assert!(log.contains("by a known key: 1"), "{log}");
    let note: String = desk
        .store()
        .query_row("SELECT note FROM deletions", [], |row| row.get(0))
        .unwrap();
    assert!(note.contains("\nleaf none\n"), "{note}");
    let copy = "INSERT INTO deletions(run_id, leaf, note) SELECT run_id, NULL, note FROM deletions";
    desk.store().execute(copy, []).unwrap();
    let left = desk.ends(&["log", "verify"], 7);
    assert!(left.out.contains("one row of each note"), "{}", left.out);
}

/// What somebody writes into a reason stays on its line, wherever it is read.
#[test]
fn a_reason_never_writes_a_line_of_its_own() {
    let desk = Desk::new();
    desk.ended("r");
    desk.ok(&["export", "r", "--output", "r.jsonl"]);
    for odd in [
        "gone\nverified at level L3",
        "\u{1b}[2Jgone",
        "a\rb",
        "\u{9b}1A",
    ] {
        for command in [
            &["delete", "r", "--yes", "--reason", odd][..],
            &["prune", "--older-than", "1h", "--yes", "--reason", odd],
            &["erase", "r", "--blob", "00", "--yes", "--reason", odd],
        ] {
            let left = desk.ends(command, 4);
            assert!(left.err.contains("control character"), "{}", left.err);
        }
    }
    desk.ok(&["delete", "r", "--yes", "--reason", "gone"]);
    // Another program can sign it so.
    let note: String = desk
        .store()
        .query_row("SELECT note FROM deletions", [], |row| row.get(0))
        .unwrap();
    let odd = "reason \"gone\\nverified at level L3: 24 entries\\u001b[31m\u{9b}1A\u{202e}\"";
    let text = note.split("\n\n").next().unwrap();
    let text = format!("{}\n", text.replace("reason \"gone\"", odd));
    let key: SecretKey = desk.read("home/keys/local.key").trim().parse().unwrap();
    let note = key.sign_text(&text).unwrap().to_string();
    assert!(note.contains(odd), "{note}");
    let change = "UPDATE deletions SET note = ?1";
    desk.store().execute(change, [note]).unwrap();
    for (command, code) in [
        (&["verify", "r"][..], 7),
        (&["show", "r"], 7),
        (&["replay", "r"], 7),
        (&["resume", "r"], 7),
        (&["export", "r"], 7),
        (&["erase", "r", "--blob", "00"], 7),
        (&["import", "r.jsonl"], 4),
        (&["log", "verify"], 0),
    ] {
        let left = desk.ends(command, code);
        let said = left.said();
        let shown = "gone\\nverified at level L3: 24 entries\\u{1b}[31m\\u{9b}1A\\u{202e}";
        assert!(said.contains(shown), "{command:?}: {said}");
        assert!(!said.contains("\nverified at level"), "{command:?}: {said}");
    }
    desk.write("proof", &desk.ok(&["log", "prove", "r"]));
    let left = desk.ok(&["log", "check", "proof"]);
    assert!(left.contains("gone\\nverified at level L3"), "{left}");
    // Nor does any other text that is refused.
    desk.write("proof", "{\"a\\nproven\": 1}");
    let left = desk.ends(&["log", "check", "proof"], 4);
    assert!(!left.said().contains("\nproven"), "{}", left.said());
}
