//! Runs that are deleted by age and outcome, many at a time.

#[cfg(unix)]
use std::process::{Command, Stdio};

use super::end;
use crate::fixture::Fixture;
#[cfg(unix)]
use crate::fixture::Left;

#[test]
fn prune_deletes_runs_that_have_ended_by_age_and_outcome() {
    let fixture = Fixture::new();
    fixture.ended("a");
    fixture.ended("b");
    fixture.script("", &["{\"fault\":\"hang\"}"]);
    end(fixture.hanging(&["run", "--contract", "c.yaml", "--run-id", "r"], 2));
    let said = fixture.ok(&["prune", "--older-than", "1h", "--yes"]);
    assert_eq!(said, "0 runs would be deleted\n");
    fixture
        .store()
        .execute(
            "UPDATE runs SET created_unix_ms = created_unix_ms - 7200000",
            [],
        )
        .unwrap();
    let said = fixture.ok(&["prune", "--older-than", "1h", "--dry-run"]);
    assert!(said.ends_with("2 runs would be deleted\n"), "{said}");
    let none = [
        "prune",
        "--older-than",
        "1h",
        "--outcome",
        "FAILED_TIMEOUT",
        "--yes",
    ];
    assert_eq!(fixture.ok(&none), "0 runs would be deleted\n");
    fixture.ends(&["prune", "--older-than", "1h"], 4);
    let old = [
        "prune",
        "--older-than",
        "1h",
        "--outcome",
        "completed_with_tools",
        "--yes",
    ];
    let said = fixture.ok(&old);
    assert!(said.contains("deleted: a, b\n"), "{said}");
    fixture.ok(&["verify", "r", "--open"]);
    fixture.ok(&["log", "verify"]);
    fixture.ends(&["prune", "--older-than", "soon"], 4);
}

/// Locks are files: a process has fewer of them than a store has runs.
#[cfg(unix)]
#[test]
fn prune_needs_no_descriptor_for_each_run() {
    let fixture = Fixture::new();
    fixture.ended("r");
    fixture.copies("r", 600);
    fixture.ok(&["log", "verify"]);
    let script = "ulimit -n 128; exec \"$@\"";
    let pruned = Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_monolith")])
        .args(["prune", "--older-than", "2100-01-01", "--yes"])
        .current_dir(fixture.path(""))
        .env("MONOLITH_HOME", fixture.path("home"))
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
        fixture
            .store()
            .query_row(&count, [], |row| row.get(0))
            .unwrap()
    };
    let left = ["runs", "entries", "blobs", "run_blobs", "deletions"].map(rows);
    assert_eq!(left, [0, 0, 0, 0, 601]);
    fixture.ok(&["log", "verify"]);
}
