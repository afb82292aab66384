//! Runs that are deleted: what stays of them, and what is refused.

use std::fs;

use monolith_core::transcript::SecretKey;

use super::{TEXT, end};
use crate::fixture::{Fixture, says};

#[test]
fn a_deleted_run_leaves_its_leaf_and_who_deleted_it() {
    let fixture = Fixture::new();
    fixture.ended("other");
    // As long as somebody reads an older state, what is written stays in the log of writes.
    let held = fixture.store();
    held.execute_batch("BEGIN; SELECT count(*) FROM runs")
        .unwrap();
    fixture.ended("r");
    fixture.ok(&["replay", "r", "--fork-at", "6", "--run-id", "fork"]);
    let own: [u8; 32] = fixture
        .store()
        .query_row(
            "SELECT hash FROM entries WHERE seq = 0 AND run = (SELECT id FROM runs WHERE run_id = 'r')",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let holds = |bytes: &[u8]| bytes.windows(own.len()).any(|there| there == own);
    let log = fs::read(fixture.path("home/runs.db-wal")).unwrap();
    assert!(holds(&log), "{} bytes of the log of writes", log.len());
    let root = fixture.ok(&["log", "root", "--note"]);
    fixture.write("heads", &root);
    let asked = fixture.ends(&["delete", "r"], 4);
    assert!(asked.err.contains("delete"), "{}", asked.err);
    held.execute_batch("ROLLBACK").unwrap();
    let said = fixture.ok(&[
        "delete",
        "r",
        "--yes",
        "--reason",
        "asked for by the customer",
    ]);
    assert!(said.starts_with("deleted: r\n"), "{said}");
    let (bytes, log) = fixture.files();
    assert!(!holds(&bytes), "{log} bytes of the log of writes");
    drop(held);
    let raw = |name: &str| fixture.ok(&["show", name, "--raw"]);
    assert!(raw("other").contains(TEXT) && raw("fork").contains("parent"));
    for gone in ["verify", "show", "replay"] {
        let left = fixture.ends(&[gone, "r"], 7);
        let why = "it was deleted by local+";
        assert!(left.err.contains(why), "{gone}: {}", left.err);
        assert!(
            left.err.contains("asked for by the customer"),
            "{}",
            left.err
        );
    }
    for kept in ["other", "fork"] {
        fixture.ok(&["verify", kept]);
    }
    let log = fixture.ok(&["log", "verify", "--pin", "heads"]);
    let printed = "run r: deleted by local+";
    assert!(
        log.contains(printed) && log.contains(", asked for by the customer"),
        "{log}"
    );
    assert!(
        log.contains("runs that were deleted: 1, by a known key: 1"),
        "{log}"
    );
    // A leaf without its run is what it was, where nothing says so, or something else.
    let store = fixture.store();
    store
        .execute(
            "UPDATE deletions SET note = replace(note, 'customer', 'customs!')",
            [],
        )
        .unwrap();
    fixture.ends(&["log", "verify"], 7);
    store.execute("DELETE FROM deletions", []).unwrap();
    let left = fixture.ends(&["log", "verify"], 7);
    assert!(left.out.contains("a run of every leaf"), "{}", left.out);
}

#[test]
fn a_run_that_could_go_on_is_deleted_only_by_force_and_never_while_it_is_driven() {
    let fixture = Fixture::new();
    fixture.script("", &["{\"fault\":\"hang\"}"]);
    let run = ["run", "--contract", "c.yaml", "--run-id", "r"];
    let child = fixture.hanging(&run, 2);
    fixture.ends(&["delete", "r", "--yes", "--force"], 1);
    end(child);
    let left = fixture.ends(&["delete", "r", "--yes"], 4);
    assert!(left.err.contains("it has not ended"), "{}", left.err);
    assert!(left.err.contains("--force"), "{}", left.err);
    fixture.ok(&["delete", "r", "--yes", "--force"]);
    fixture.ends(&["verify", "r"], 7);
    fixture.ok(&["log", "verify"]);
}

#[test]
fn forks_and_continuations_of_a_deleted_run_stay() {
    let fixture = Fixture::new();
    fixture.ended("r");
    fixture.ok(&["replay", "r", "--fork-at", "6", "--run-id", "fork"]);
    let again = says("Again.");
    fixture.script("tools: {builtin: [echo]}\n", &[&again, &again, &again]);
    fixture.ok(&[
        "continue",
        "r",
        "And then?",
        "--contract",
        "c.yaml",
        "--run-id",
        "next",
    ]);
    let said = fixture.ok(&["delete", "r", "--yes"]);
    assert!(said.starts_with("deleted: r\n"), "{said}");
    for name in ["fork", "next"] {
        fixture.ok(&["verify", name]);
    }
}

/// A run that somebody took out on purpose does not come back by accident.
#[test]
fn the_file_of_a_deleted_run_is_imported_only_where_that_is_asked_for() {
    let fixture = Fixture::new();
    fixture.ended("r");
    fixture.ok(&["export", "r", "--output", "r.jsonl"]);
    fixture.ok(&["delete", "r", "--yes", "--reason", "the customer left"]);
    let left = fixture.ends(&["import", "r.jsonl"], 4);
    for expect in [
        "it was deleted here by local+",
        "the customer left",
        "--deleted",
    ] {
        assert!(left.err.contains(expect), "{expect}: {}", left.err);
    }
    fixture.ends(&["verify", "r"], 7);
    fixture.ok(&["import", "r.jsonl", "--deleted"]);
    fixture.ok(&["verify", "r"]);
    // Its deletion is not forgotten.
    let log = fixture.ok(&["log", "verify"]);
    assert!(log.contains("run r: deleted by local+"), "{log}");
    // A store that never deleted it takes it as before.
    fixture.ok(&["import", "r.jsonl", "--store", "other.db"]);
}

/// The text of a reason stays on its line, wherever it is read.
#[test]
fn a_reason_never_writes_a_line_of_its_own() {
    let fixture = Fixture::new();
    fixture.ended("r");
    fixture.ok(&["export", "r", "--output", "r.jsonl"]);
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
            let left = fixture.ends(command, 4);
            assert!(left.err.contains("control character"), "{}", left.err);
        }
    }
    fixture.ok(&["delete", "r", "--yes", "--reason", "gone"]);
    // Another program can sign it so.
    let note: String = fixture
        .store()
        .query_row("SELECT note FROM deletions", [], |row| row.get(0))
        .unwrap();
    let odd = "reason \"gone\\nverified at level L3: 24 entries\\u001b[31m\u{9b}1A\u{202e}\"";
    let text = note.split("\n\n").next().unwrap();
    let text = format!("{}\n", text.replace("reason \"gone\"", odd));
    let key: SecretKey = fixture.read("home/keys/local.key").trim().parse().unwrap();
    let note = key.sign_text(&text).unwrap().to_string();
    assert!(note.contains(odd), "{note}");
    let change = "UPDATE deletions SET note = ?1";
    fixture.store().execute(change, [note]).unwrap();
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
        let left = fixture.ends(command, code);
        let said = left.printed();
        let shown = "gone\\nverified at level L3: 24 entries\\u{1b}[31m\\u{9b}1A\\u{202e}";
        assert!(said.contains(shown), "{command:?}: {said}");
        assert!(!said.contains("\nverified at level"), "{command:?}: {said}");
    }
    fixture.write("proof", &fixture.ok(&["log", "prove", "r"]));
    let left = fixture.ok(&["log", "check", "proof"]);
    assert!(left.contains("gone\\nverified at level L3"), "{left}");
    // Nor does any other text that is refused.
    fixture.write("proof", "{\"a\\nproven\": 1}");
    let left = fixture.ends(&["log", "check", "proof"], 4);
    assert!(!left.printed().contains("\nproven"), "{}", left.printed());
}
