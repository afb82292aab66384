//! Runs that have the name of an earlier one: what was left or noted of one says nothing of the other. From outside.

use std::fs;

use rusqlite::Connection;

use crate::fixture::{Fixture, HELD, calls, says};
use crate::terminal::Terminal;

impl Fixture {
    /// A run that ends after so many calls of `echo`: the more calls, the more entries.
    fn with_calls(&self, name: &str, count: usize) {
        let mut lines = vec![calls("echo", "{\"text\":\"x\"}"); count];
        lines.push(says("done"));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        self.script("tool_policy: optional\ntools: {builtin: [echo]}\n", &lines);
        self.ok(&["run", "c.yaml", "--run-id", name]);
    }

    /// Takes a run out of the store as one does who can write to the file and has no key.
    fn taken_out(&self, name: &str) {
        let store = Connection::open(self.path("home/runs.db")).unwrap();
        let run: i64 = store
            .query_row("SELECT id FROM runs WHERE run_id = ?1", [name], |row| {
                row.get(0)
            })
            .unwrap();
        for table in [
            "contracts",
            "entries",
            "run_blobs",
            "checkpoints",
            "invocations",
            "log_leaves",
        ] {
            let sql = format!("DELETE FROM {table} WHERE run = {run}");
            store.execute(&sql, []).unwrap();
        }
        store
            .execute("DELETE FROM runs WHERE id = ?1", [run])
            .unwrap();
    }
}

/// The first run of a name was deleted by design. The second was not, and is gone.
#[test]
fn the_note_of_an_earlier_run_explains_no_pin_of_a_later_one() {
    for (first, second) in [(2, 1), (1, 1), (1, 2)] {
        let fixture = Fixture::new();
        fixture.with_calls("r", first);
        fixture.ok(&["verify", "r", "--write-pin", "first"]);
        fixture.ok(&["delete", "r", "--yes", "--reason", "the first"]);
        fixture.with_calls("r", second);
        fixture.ok(&["verify", "r", "--write-pin", "heads"]);
        fixture.ok(&HELD);
        fixture.taken_out("r");
        let left = fixture.ends(&HELD, 7);
        let kind = if first == second {
            "tampered"
        } else {
            "rollback"
        };
        assert!(left.out.contains(kind), "{}", left.out);
        // The pin of the first is explained all the same.
        fs::rename(fixture.path("first"), fixture.path("heads")).unwrap();
        let log = fixture.ok(&HELD);
        assert!(log.contains("the first, with "), "{log}");
    }
}

/// A run that replaces the noted one is not the noted one, however many entries it has.
#[test]
fn a_run_of_that_name_with_another_head_is_not_the_noted_one() {
    let fixture = Fixture::new();
    fixture.with_calls("r", 1);
    fixture.ok(&["verify", "r", "--write-pin", "heads"]);
    fixture.taken_out("r");
    fixture.with_calls("r", 2);
    let left = fixture.ends(&HELD, 7);
    assert!(left.out.contains("tampered"), "{}", left.out);
}

/// Each of two runs of a name that were deleted by design is explained by its own note, and so is the first beside a second.
#[test]
fn each_deleted_run_of_a_name_is_explained_by_its_own_note() {
    let fixture = Fixture::new();
    fixture.with_calls("r", 2);
    fixture.ok(&["verify", "r", "--write-pin", "heads"]);
    fixture.ok(&["delete", "r", "--yes"]);
    fixture.with_calls("r", 1);
    fixture.ok(&HELD);
    fixture.ok(&["verify", "r", "--write-pin", "heads"]);
    fixture.ok(&["delete", "r", "--yes"]);
    fixture.ok(&HELD);
    // A head between the two ends is that of no note.
    let pins = fixture.read("heads");
    let entries: Vec<u64> = pins
        .lines()
        .map(|line| line.split(' ').nth(1).unwrap().parse().unwrap())
        .collect();
    assert!(entries[0] > entries[1], "{pins}");
    let head = pins.lines().next().unwrap().rsplit(' ').next().unwrap();
    fixture.write("heads", &format!("r {} {head}\n", entries[0] - 1));
    let left = fixture.ends(&HELD, 7);
    assert!(left.out.contains("rollback"), "{}", left.out);
}

/// An answer allows a call of the run for which it was given, and of no other with its name.
#[test]
fn the_answer_to_an_earlier_run_of_that_name_allows_no_call() {
    let fixture = Fixture::new();
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [echo]}\nrequire_approval: [echo]\n",
        &[&calls("echo", "{\"text\":\"x\"}"), &says("done")],
    );
    let run = ["run", "c.yaml", "--run-id", "r", "--no-wait"];
    let shown = fixture.ends(&run, 8).err;
    let hash = |shown: &str| {
        let found = shown.lines().find_map(|line| line.split_once("blake3"));
        found.unwrap().1.trim().to_owned()
    };
    let first = hash(&shown);
    fixture.ok(&["approve", "r", "--yes", "--arguments", &first]);
    let answer = fixture.path("home/runs.db.answers/r");
    let left = fs::read(&answer).unwrap();
    fixture.ok(&["delete", "r", "--yes", "--force"]);
    assert!(!answer.exists());
    // As a deletion leaves it that ends before its last step.
    fs::write(&answer, &left).unwrap();
    let shown = fixture.ends(&run, 8).err;
    assert_eq!(hash(&shown), first, "the same call with the same arguments");
    // Nor does one that comes while the run waits.
    let mut waiting = Terminal::start(fixture.command(&["resume", "r"]));
    waiting.until("allow it? [y/N] ");
    fs::write(&answer, &left).unwrap();
    // It is looked at more than once meanwhile.
    for _ in 0..20 {
        fixture.ok(&["list"]);
    }
    fixture.ok(&["approve", "r", "--yes", "--arguments", &first]);
    waiting.until("approved elsewhere");
    let (code, said) = waiting.end();
    assert_eq!(code, 0, "{said}");
    assert!(!said.contains("denied"), "{said}");
}
