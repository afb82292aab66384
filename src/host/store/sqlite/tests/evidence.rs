//! Every changed byte of what the store keeps as evidence is found, in its table.

use std::sync::Arc;

use rusqlite::params;
use rusqlite::types::Value;
use tempfile::TempDir;

use super::{Attacked, folder, open, signer, write, write_signed};
use crate::store::RunFilter;
use monolith_core::message::Digest;
use monolith_core::transcript::FlawKind::{self, Extended, MissingBlob, Tampered, Truncated};
use monolith_core::transcript::Trust;
use monolith_testkit::depth::bound;
use monolith_testkit::sample::SampleRun;

/// A column that carries evidence, and how to tell which of its rows are which.
struct Column {
    table: &'static str,
    name: &'static str,
}

const EVIDENCE: [Column; 13] = {
    const fn column(table: &'static str, name: &'static str) -> Column {
        Column { table, name }
    }
    [
        column("runs", "run_id"),
        column("contracts", "document"),
        column("runs", "contract_hash"),
        column("runs", "head_hash"),
        column("runs", "class"),
        column("runs", "code"),
        column("entries", "state"),
        column("entries", "event"),
        column("entries", "action"),
        column("entries", "hash"),
        column("blobs", "hash"),
        column("blobs", "bytes"),
        column("run_blobs", "hash"),
    ]
};

/// A store with one finished run, open for the tests' own changes.
fn attacked() -> (TempDir, Attacked, SampleRun) {
    let (folder, path) = folder();
    let run = SampleRun::new("r-1");
    write(&open(&path), &run, 1);
    (folder, Attacked::at(path), run)
}

#[test]
fn every_changed_byte_of_every_evidence_column_is_found_in_its_table() {
    let (_folder, mut reader, run) = attacked();
    let mut changes = 0;
    for Column { table, name } in EVIDENCE {
        // A link of a blob has no row id: its hash is what it is called by.
        let key = if table == "run_blobs" {
            "hash"
        } else {
            "rowid"
        };
        let rows: Vec<(Value, Vec<u8>, String)> = reader
            .conn
            .prepare(&format!(
                "SELECT {key}, CAST({name} AS BLOB), typeof({name}) FROM {table}"
            ))
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for (row, bytes, kind) in rows {
            let update = format!("UPDATE {table} SET {name} = CAST(?1 AS {kind}) WHERE {key} = ?2");
            let number = match row {
                Value::Integer(number) => number,
                _ => 0,
            };
            for at in (0..bytes.len()).step_by(bound(5, 1)) {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                let updated = reader.conn.execute(&update, params![flipped, row]);
                assert_eq!(updated, Ok(1));
                let what = || format!("{table}.{name} row {number} byte {at}");
                check_located(&mut reader, &run, table, name, number, &what());
                let row = match &row {
                    Value::Blob(_) => &Value::Blob(flipped),
                    other => other,
                };
                reader.conn.execute(&update, params![bytes, row]).unwrap();
                changes += 1;
            }
        }
    }
    assert!(changes > bound(1_000, 5_000), "{changes}");
    assert!(reader.verify_run(&run.run_id, false).unwrap().holds());
}

fn check_located(
    reader: &mut Attacked,
    run: &SampleRun,
    table: &str,
    name: &str,
    rowid: i64,
    what: &str,
) {
    // The run is found under the name that it has now.
    let name_now: Vec<u8> = reader
        .conn
        .query_row("SELECT CAST(run_id AS BLOB) FROM runs", [], |row| {
            row.get(0)
        })
        .unwrap();
    let run_id = String::from_utf8(name_now)
        .ok()
        .and_then(|n| n.try_into().ok());
    let Some(run_id) = run_id else {
        // No name of a run at all: the index itself refuses it.
        assert_eq!((table, name), ("runs", "run_id"), "{what}");
        let listed = reader.list_rows(1, RunFilter::All).unwrap();
        assert!(matches!(listed.as_slice(), [Err(_)]), "{what}: {listed:?}");
        return;
    };
    let report = reader.verify_run(&run_id, false).unwrap();
    let bad = report
        .first_bad
        .as_ref()
        .unwrap_or_else(|| panic!("{what} is not found"));
    match table {
        "entries" => {
            let seq = u64::try_from(rowid - 1).unwrap();
            assert_eq!(
                (bad.table, bad.seq),
                (Some("entries"), Some(seq)),
                "{what}: {bad:?}"
            );
        }
        "runs" | "contracts" => assert_eq!(bad.table, Some("runs"), "{what}: {bad:?}"),
        // A blob or a link that changed its name is missing where an entry names it.
        _ if name == "hash" => {
            let kinds = [MissingBlob, Extended, Tampered];
            assert!(kinds.contains(&bad.kind), "{what}: {bad:?}");
            assert_ne!(bad.table, Some("runs"), "{what}: {bad:?}");
        }
        _ => {
            let hashes: Vec<_> = run
                .blobs
                .iter()
                .map(|b| Digest::of(b).to_string())
                .collect();
            assert_eq!(bad.table, Some("blobs"), "{what}: {bad:?}");
            assert!(hashes.contains(&bad.expected), "{what}: {bad:?}");
        }
    }
}

#[test]
fn changed_numbers_nulls_and_removed_rows_are_found() {
    let check = |sql: &str, kind: FlawKind, table: &str, seq: Option<u64>| {
        let (_folder, mut reader, run) = attacked();
        let changed = reader.conn.execute(sql, []).unwrap();
        assert!(changed > 0, "{sql}");
        let report = reader.verify_run(&run.run_id, false).unwrap();
        let bad = report.first_bad.unwrap_or_else(|| panic!("{sql}"));
        let found = (bad.kind, bad.table, bad.seq);
        assert_eq!(found, (kind, Some(table), seq), "{sql}: {bad:?}");
    };
    check("UPDATE runs SET head_seq = 9", Tampered, "runs", None);
    check("UPDATE runs SET head_seq = 11", Tampered, "runs", None);
    check("UPDATE runs SET head_seq = -7", Tampered, "runs", None);
    check("UPDATE runs SET kind = 'workflow'", Tampered, "runs", None);
    check("UPDATE runs SET kind = 'other'", Tampered, "runs", None);
    check("UPDATE runs SET class = NULL", Tampered, "runs", None);
    check("UPDATE runs SET code = NULL", Tampered, "runs", None);
    check(
        "UPDATE runs SET class = NULL, code = NULL",
        Tampered,
        "runs",
        None,
    );
    check(
        "UPDATE entries SET seq = 20 WHERE seq = 4",
        Tampered,
        "entries",
        Some(4),
    );
    check(
        "UPDATE entries SET seq = -1 WHERE seq = 4",
        Tampered,
        "entries",
        Some(0),
    );
    check(
        "UPDATE entries SET run = 2 WHERE seq = 4",
        Tampered,
        "entries",
        Some(4),
    );
    check(
        "DELETE FROM entries WHERE seq = 4",
        Tampered,
        "entries",
        Some(4),
    );
    for kept in 1..10 {
        let sql = format!("DELETE FROM entries WHERE seq > {kept}");
        check(&sql, Truncated, "entries", Some(kept + 1));
    }
    check(
        "INSERT INTO entries SELECT run, 11, state, event, action, hash FROM entries WHERE seq = 10",
        Extended,
        "entries",
        Some(11),
    );
    check("DELETE FROM blobs", MissingBlob, "run_blobs", None);
    check("DELETE FROM run_blobs", MissingBlob, "entries", Some(2));
    check(
        "UPDATE run_blobs SET run = 2",
        MissingBlob,
        "entries",
        Some(2),
    );
}

#[test]
fn two_runs_that_swap_rows_are_both_found() {
    let (_folder, mut reader, one) = attacked();
    let two = SampleRun::new("r-2");
    write(&open(&reader.path), &two, 2);
    reader
        .conn
        .execute_batch(
            "UPDATE entries SET run = run + 10 WHERE seq = 6; \
             UPDATE entries SET run = 13 - run WHERE run > 10;",
        )
        .unwrap();
    for run in [one, two] {
        let report = reader.verify_run(&run.run_id, false).unwrap();
        let bad = report.first_bad.unwrap();
        assert_eq!((bad.kind, bad.seq), (Tampered, Some(6)));
    }
}

/// A store with one run that is signed at its seal, and trust in its key.
fn signed() -> (TempDir, Attacked, SampleRun, Arc<Trust>) {
    let (folder, path) = folder();
    let run = SampleRun::new("r-1");
    write_signed(&open(&path), &run, 1);
    let trust = Trust {
        keys: vec![signer().public()],
        signature_required: true,
        ..Trust::default()
    };
    (folder, Attacked::at(path), run, Arc::new(trust))
}

#[test]
fn every_changed_byte_of_a_checkpoint_and_of_a_leaf_is_found_in_its_table() {
    let (_folder, mut reader, run, trust) = signed();
    for (table, column) in [("checkpoints", "note"), ("log_leaves", "leaf")] {
        let select = format!("SELECT CAST({column} AS BLOB) FROM {table}");
        let bytes: Vec<u8> = reader
            .conn
            .query_row(&select, [], |row| row.get(0))
            .unwrap();
        let update = format!("UPDATE {table} SET {column} = CAST(?1 AS TEXT)");
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            reader.conn.execute(&update, [flipped]).unwrap();
            let report = reader
                .verify_run_trusting(&run.run_id, false, &trust)
                .unwrap();
            let what = format!("{table}.{column} byte {at}: {report:?}");
            let bad = report.first_bad.as_ref().expect(&what);
            // Another name or id makes it somebody else's signature: then the one that was asked for is lacking.
            let unsigned = table == "checkpoints" && bad.kind == FlawKind::Unsigned;
            assert!(bad.table == Some(table) || unsigned, "{what}");
        }
        reader.conn.execute(&update, [bytes]).unwrap();
    }
    let report = reader
        .verify_run_trusting(&run.run_id, false, &trust)
        .unwrap();
    assert_eq!((report.level, report.first_bad), ("L1", None));
}

#[test]
fn numbers_and_rows_of_checkpoints_and_leaves_are_evidence() {
    let check = |sql: &str, kind: FlawKind| {
        let (_folder, mut reader, run, trust) = signed();
        assert!(reader.conn.execute(sql, []).unwrap() > 0, "{sql}");
        let report = reader
            .verify_run_trusting(&run.run_id, false, &trust)
            .unwrap();
        let bad = report.first_bad.unwrap_or_else(|| panic!("{sql}"));
        assert_eq!(bad.kind, kind, "{sql}: {bad:?}");
    };
    check("UPDATE checkpoints SET entries = 3", Tampered);
    check("UPDATE checkpoints SET entries = -1", Tampered);
    check("DELETE FROM checkpoints", FlawKind::Unsigned);
    check("DELETE FROM log_leaves", Tampered);
    check("UPDATE log_leaves SET run = 2", Tampered);
    let (_folder, reader, ..) = signed();
    reader
        .conn
        .execute("UPDATE log_leaves SET idx = 1", [])
        .unwrap();
    let report = reader.verify_log(&Trust::default()).unwrap();
    assert_eq!(report.first_bad.map(|bad| bad.kind), Some(Tampered));
}
