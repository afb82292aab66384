//! The notes that deletions leave: each is judged, by its signature and its place in the log.

use std::fs;
use std::time::Instant;

use rusqlite::Connection;

use super::{LONGEST, end, strangers};
use crate::fixture::{Fixture, HELD};

#[test]
fn every_row_of_a_deletion_is_judged() {
    let fixture = Fixture::new();
    fixture.ended("r");
    fixture.ended("other");
    fixture.script("", &["{\"fault\":\"hang\"}"]);
    let run = ["run", "--contract", "c.yaml", "--run-id", "open"];
    let mut child = fixture.begun(&run);
    let until = Instant::now() + LONGEST;
    while fixture.run(&["show", "open"]).code != 0 {
        assert!(Instant::now() < until, "the run was never begun");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    for name in ["r", "open"] {
        fixture.ok(&["delete", name, "--yes", "--force"]);
    }
    let log = fixture.ok(&["log", "verify"]);
    assert!(
        log.contains("runs that were deleted: 2, by a known key: 2"),
        "{log}"
    );
    assert!(log.contains("run open: deleted by local+"), "{log}");
    let copy = fixture.path("whole.db");
    fs::copy(fixture.path("home/runs.db"), &copy).unwrap();
    let note: String = fixture
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
        let store = fixture.store();
        store.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        assert_eq!(store.execute(&change, []).unwrap(), 1, "{change}");
        drop(store);
        let left = fixture.run(&["log", "verify"]);
        assert_eq!(left.code, 7, "{change}: {}", left.out);
        fs::copy(&copy, fixture.path("home/runs.db")).unwrap();
    }
    fixture.ok(&["log", "verify"]);
}

/// A proof holds for the leaf of a deleted run as for any other, so it also says what was deleted.
#[test]
fn a_proof_names_the_deleted_runs_and_what_does_not_cover_them() {
    let fixture = Fixture::new();
    for name in ["a", "b", "c", "d"] {
        fixture.ended(name);
    }
    for name in ["b", "c"] {
        fixture.ok(&["delete", name, "--yes", "--reason", "asked for"]);
    }
    let change = "UPDATE deletions SET note = ?1 WHERE run_id = 'c'";
    let note = strangers(&fixture, "c");
    fixture.store().execute(change, [&note]).unwrap();
    for proof in [
        &["log", "prove", "b"][..],
        &["log", "prove", "a"],
        &["log", "consistency", "3"],
    ] {
        fixture.write("proof", &fixture.ok(proof));
        let printed = fixture.ok(&["log", "check", "proof"]);
        for expect in [
            "ok      deletions   leaf 1, run b: deleted by local+",
            "not checked: deletions: leaf 2, run c: deleted by local+",
            "not checked: deletions: 2 of 4 runs",
        ] {
            assert!(printed.contains(expect), "{proof:?}: {expect}: {printed}");
        }
        let key = ["log", "check", "proof", "--key", "home/keys/local.pub"];
        assert!(fixture.ends(&key, 7).out.contains("not proven: unsigned"));
        // A note of another run says nothing of this leaf.
        let mut printed: serde_json::Value = serde_json::from_str(&fixture.read("proof")).unwrap();
        printed["deletions"]["notes"][0]["note"] = note.as_str().into();
        fixture.write("proof", &printed.to_string());
        fixture.ends(&["log", "check", "proof"], 7);
        printed["deletions"]["count"] = 1.into();
        fixture.write("proof", &printed.to_string());
        fixture.ends(&["log", "check", "proof"], 7);
    }
    // Without any the proof says that, too.
    fixture.ended("e");
    let other = ["log", "prove", "e", "--store", "other.db"];
    fixture.ok(&["export", "e", "--output", "e.jsonl"]);
    fixture.ok(&["import", "e.jsonl", "--store", "other.db"]);
    fixture.write("proof", &fixture.ok(&other));
    let printed = fixture.ok(&["log", "check", "proof"]);
    assert!(printed.contains("deletions: 0 of 1 run,"), "{printed}");
}

/// Who owns two stores, or two leaves of one run, cannot show the note of the one for the other.
#[test]
fn a_note_of_another_log_or_of_another_leaf_deletes_nothing() {
    let fixture = Fixture::new();
    fixture.ended("r");
    fixture.ok(&["export", "r", "--output", "r.jsonl"]);
    fixture.ok(&["import", "r.jsonl", "--store", "other.db"]);
    fixture.ok(&["verify", "r", "--write-pin", "heads"]);
    fixture.ok(&["delete", "r", "--yes", "--store", "other.db"]);
    let elsewhere: String = Connection::open(fixture.path("other.db"))
        .unwrap()
        .query_row("SELECT note FROM deletions", [], |row| row.get(0))
        .unwrap();
    // Deleted, back from its file, deleted again: two leaves, two notes.
    fixture.ok(&["delete", "r", "--yes", "--reason", "first"]);
    fixture.ok(&["import", "r.jsonl", "--deleted"]);
    fixture.ok(&["delete", "r", "--yes", "--reason", "second"]);
    fixture.ended("end");
    let log = fixture.ok(&HELD);
    assert!(log.contains("by a known key: 2"), "{log}");
    let notes = |leaf: i64| -> String {
        let select = "SELECT note FROM deletions WHERE leaf = ?1";
        fixture
            .store()
            .query_row(select, [leaf], |row| row.get(0))
            .unwrap()
    };
    let (first, second) = (notes(0), notes(1));
    let put = |leaf: i64, note: &str| {
        let changed = fixture
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
        let left = fixture.ends(&HELD, 7);
        let deletions = left.out.lines().find(|line| line.contains("deletions"));
        assert!(deletions.unwrap().contains(expect), "{}", left.out);
        assert!(left.out.contains("table deletions"), "{}", left.out);
        if leaf == 1 {
            // Nor does it explain what was pinned, or say who deleted the run.
            let pins = left.out.lines().find(|line| line.contains("pins "));
            assert!(pins.unwrap().starts_with("FAILED"), "{}", left.out);
            for ends in [&["verify", "r"][..], &["show", "r"]] {
                let left = fixture.ends(ends, 7);
                assert!(
                    left.err.contains("a note that does not hold"),
                    "{}",
                    left.err
                );
            }
            let left = fixture.ends(&["import", "r.jsonl"], 4);
            assert!(
                left.err.contains("a note that does not hold"),
                "{}",
                left.err
            );
        }
        let proof = fixture.ok(&["log", "prove", "end"]);
        fixture.write("proof", &proof);
        let left = fixture.ends(&["log", "check", "proof"], 7);
        assert!(left.out.contains("not proven: tampered"), "{}", left.out);
        put(0, &first);
        put(1, &second);
    }
    fixture.ok(&HELD);
    // In a proof, too, a note stands at its leaf alone, and once.
    let proof = fixture.ok(&["log", "prove", "end"]);
    fixture.write("proof", &proof);
    fixture.ok(&["log", "check", "proof"]);
    let mut changed: serde_json::Value = serde_json::from_str(&proof).unwrap();
    changed["deletions"]["notes"][0]["leaf"] = 2.into();
    fixture.write("proof", &changed.to_string());
    fixture.ends(&["log", "check", "proof"], 7);
    let mut changed: serde_json::Value = serde_json::from_str(&proof).unwrap();
    changed["deletions"]["notes"][1] = changed["deletions"]["notes"][0].clone();
    fixture.write("proof", &changed.to_string());
    fixture.ends(&["log", "check", "proof"], 7);
}

/// The note of a run that never ended is signed for no leaf: it takes the place of none, and stands once.
#[test]
fn the_note_of_a_run_without_a_seal_is_that_of_no_leaf() {
    let fixture = Fixture::new();
    fixture.script("", &["{\"fault\":\"hang\"}"]);
    end(fixture.hanging(&["run", "--contract", "c.yaml", "--run-id", "r"], 2));
    fixture.ok(&["delete", "r", "--yes", "--force"]);
    let log = fixture.ok(&["log", "verify"]);
    assert!(log.contains("by a known key: 1"), "{log}");
    let note: String = fixture
        .store()
        .query_row("SELECT note FROM deletions", [], |row| row.get(0))
        .unwrap();
    assert!(note.contains("\nleaf none\n"), "{note}");
    let copy = "INSERT INTO deletions(run_id, leaf, note) SELECT run_id, NULL, note FROM deletions";
    fixture.store().execute(copy, []).unwrap();
    let left = fixture.ends(&["log", "verify"], 7);
    assert!(left.out.contains("one row of each note"), "{}", left.out);
}
