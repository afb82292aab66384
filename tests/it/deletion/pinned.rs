//! Runs that were noted, and are checked against the note after they lost entries or were deleted.

use std::fs;

use super::{end, strangers};
use crate::fixture::{Fixture, says};

/// A store that is older than it was would do again what it had done.
#[test]
fn a_run_that_lost_its_newest_entries_is_not_gone_on_with_under_a_pin() {
    let fixture = Fixture::new();
    fixture.script(
        "",
        &[
            "{\"fault\":\"hang\"}",
            "{\"fault\":\"hang\"}",
            &says("Done."),
        ],
    );
    end(fixture.hanging(&["run", "--contract", "c.yaml", "--run-id", "r"], 2));
    let files = ["runs.db", "runs.db-wal", "runs.db-shm"];
    let here = |name: &str| fixture.path(&format!("home/{name}"));
    let old = |name: &str| fixture.path(&format!("old-{name}"));
    for name in files {
        if here(name).exists() {
            fs::copy(here(name), old(name)).unwrap();
        }
    }
    let entries = fixture.entries("r");
    end(fixture.hanging(&["resume", "r"], entries + 1));
    fixture.ok(&["verify", "r", "--open", "--write-pin", "heads"]);
    fixture.write("others", &fixture.read("heads").replacen("r ", "x ", 1));
    for name in files {
        drop(fs::remove_file(here(name)));
        if old(name).exists() {
            fs::copy(old(name), here(name)).unwrap();
        }
    }
    let left = fixture.ends(&["resume", "r", "--pin", "heads"], 7);
    assert!(left.err.contains("rollback"), "{}", left.err);
    assert_eq!(fixture.entries("r"), entries, "nothing was written");
    let left = fixture.ends(&["resume", "r", "--pin", "others"], 4);
    assert!(left.err.contains("no head among the pins"), "{}", left.err);
}

/// A run that was deleted by design is no rollback, where a known key says that it had what was noted.
#[test]
fn a_pin_of_a_deleted_run_holds_where_a_known_key_deleted_as_much() {
    let fixture = Fixture::new();
    fixture.ended("r");
    fixture.ended("other");
    fixture.ok(&["verify", "r", "--write-pin", "heads"]);
    fixture.ok(&["delete", "r", "--yes"]);
    let log = fixture.ok(&["log", "verify", "--pin", "heads"]);
    assert!(
        log.contains("pins        run r: deleted by local+"),
        "{log}"
    );
    // A pin of more of it, or of another end, is not explained by this deletion.
    let pin = fixture.read("heads");
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
        fixture.write("others", &line);
        let left = fixture.ends(&["log", "verify", "--pin", "others"], 7);
        assert!(left.out.contains(why), "{line}: {}", left.out);
    }
    // A stranger's note counts for nothing.
    fixture
        .store()
        .execute("UPDATE deletions SET note = ?1", [strangers(&fixture, "r")])
        .unwrap();
    let left = fixture.ends(&["log", "verify", "--pin", "heads"], 7);
    assert!(left.out.contains("rollback"), "{}", left.out);
    let log = fixture.ok(&["log", "verify"]);
    assert!(
        log.contains("not checked: deletions: run r: deleted by local+"),
        "{log}"
    );
    assert!(log.contains("(not known here)"), "{log}");
    assert!(log.contains("by a known key: 0"), "{log}");
    let key = ["log", "verify", "--key", "home/keys/local.pub"];
    assert!(fixture.ends(&key, 7).out.contains("unsigned"));
}
