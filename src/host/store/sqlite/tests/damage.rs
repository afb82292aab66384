//! The answers of a store whose rows hold values that no build wrote: the table, the row and the rule, and never another run's
//! refusal.

use std::path::Path;

use rusqlite::Connection;

use super::{folder, open, write};
use crate::store::{RunFilter, StoreError, StoreReader};
use monolith_core::message::RunId;
use monolith_core::transcript::{Trust, WithheldBlobs};
use monolith_testkit::sample::SampleRun;

/// Everything that a command may ask a store about one run; the first refusal.
fn ask(path: &Path, run_id: &RunId) -> Result<(), StoreError> {
    let mut reader = StoreReader::open(path)?;
    reader.resolve(run_id.as_str())?;
    reader.lineage(run_id)?;
    reader.invocation(run_id)?;
    reader.log_leaf(run_id)?;
    let run = reader.read_run(run_id)?;
    run.contract()?;
    run.checkpoints()?;
    run.tombstones()?;
    for hash in run.blob_hashes()? {
        run.blob(hash)?;
    }
    { run }.try_for_each(|entry| entry.map(drop))
}

/// Two runs, of which the first is then damaged by `sql`, past the constraints of the tables.
fn damaged(sql: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let (folder, path) = folder();
    let store = open(&path);
    write(&store, &SampleRun::new("bad"), 1);
    write(&store, &SampleRun::short("good"), 2);
    drop(store);
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "PRAGMA ignore_check_constraints = ON; PRAGMA writable_schema = ON; \
         UPDATE sqlite_schema SET sql = replace(replace(sql, ' STRICT', ''), ' NOT NULL', '') WHERE sql LIKE '%STRICT'; \
         UPDATE sqlite_schema SET sql = replace(replace(replace(sql, ' INTEGER', ' BLOB'), ' TEXT', ' BLOB'), 'id BLOB PRIMARY', 'id INTEGER PRIMARY') \
         WHERE type = 'table' AND name IN ('runs', 'entries', 'checkpoints', 'log_leaves', 'invocations', 'tombstones'); \
         UPDATE sqlite_schema SET sql = replace(replace(sql, 'idx BLOB PRIMARY', 'idx INTEGER PRIMARY'), 'run BLOB PRIMARY', 'run INTEGER PRIMARY');",
    )
    .unwrap();
    drop(conn);
    let conn = Connection::open(&path).unwrap();
    conn.pragma_update(None, "foreign_keys", false).unwrap();
    conn.execute_batch(sql)
        .unwrap_or_else(|fault| panic!("{sql}: {fault}"));
    drop(conn);
    (folder, path)
}

#[test]
fn absurd_values_are_named_by_table_row_and_rule_and_cost_no_other_run() {
    let (bad, good) = (
        SampleRun::new("bad").run_id,
        SampleRun::short("good").run_id,
    );
    let check = |sql: &str, expect: &str| {
        let (_folder, path) = damaged(sql);
        match ask(&path, &bad) {
            Err(StoreError::Corrupt { reason, .. }) => assert_eq!(reason, expect, "{sql}"),
            other => panic!("{sql}: {other:?}"),
        }
        assert_eq!(ask(&path, &good), Ok(()), "{sql}");
        let mut reader = StoreReader::open(&path).unwrap();
        let rows = reader.list_rows(10, RunFilter::All).unwrap();
        assert_eq!(rows.len(), 2, "{sql}");
        let read: Vec<_> = rows.iter().flatten().map(|row| &row.run_id).collect();
        assert!(read.contains(&&good), "{sql}");
        let newest = match &rows[0] {
            Ok(row) => Ok(row.run_id.clone()),
            Err(row) => Err(row.fault.clone()),
        };
        assert_eq!(reader.resolve("last"), newest, "{sql}");
        let report = reader.verify_run(&good, false).unwrap();
        assert_eq!(report.first_bad, None, "{sql}");
        // What verification has to say it says in a report, and no export of the run holds.
        let flawed = reader.verify_run(&bad, false);
        let mut out = Vec::new();
        if let Ok(run) = reader.read_run(&bad) {
            let refused = run.export(&mut out, WithheldBlobs::Needed).is_err();
            assert!(refused || flawed.is_ok(), "{sql}");
        }
        reader.verify_log(&Trust::default()).unwrap();
    };
    let runs = |set: &str, expect: &str| {
        check(
            &format!("UPDATE runs SET {set} WHERE run_id = 'bad'"),
            &format!("runs, run \"bad\": {expect}"),
        );
    };
    runs(
        "created_unix_ms = -5",
        "created_unix_ms: expected 0 or more, got -5",
    );
    runs(
        "created_unix_ms = NULL",
        "created_unix_ms: expected an integer, got Null",
    );
    runs(
        "created_unix_ms = 'soon'",
        "created_unix_ms: expected an integer, got Text",
    );
    runs(
        "created_unix_ms = 9223372036854775807",
        "created_unix_ms: expected at most 9007199254740991, got 9223372036854775807",
    );
    runs(
        "created_unix_ms = 9223372036854775808",
        "created_unix_ms: expected an integer, got Real",
    );
    runs("epoch = 'x'", "epoch: expected an integer, got Text");
    runs("owner = NULL", "owner: expected a text, got Null");
    runs(
        "owner = CAST(x'ff' AS TEXT)",
        "owner: expected UTF-8 throughout, got invalid utf-8 sequence of 1 bytes from index 0",
    );
    runs("head_seq = -9", "head_seq: expected -1 or more, got -9");
    runs(
        "head_seq = x'00'",
        "head_seq: expected an integer, got Blob",
    );
    runs(
        "head_hash = x'00'",
        "head_hash: expected the 32 bytes of a hash, got 1 byte",
    );
    runs(
        "contract_hash = 5",
        "contract_hash: expected the 32 bytes of a hash, got Integer",
    );
    runs(
        "class = NULL",
        "class: expected a class beside the code, got null",
    );
    runs(
        "code = NULL",
        "code: expected a code beside the class, got null",
    );
    check(
        "UPDATE contracts SET document = x'00' WHERE run = 1",
        "contracts, run bad: document: expected a text, got Blob",
    );
    check(
        "UPDATE runs SET head_seq = 20 WHERE run_id = 'bad'",
        "entries, run bad: entry 11 is not there, and runs.head_seq states 21 entries",
    );
    let entries = |sql: &str, expect: &str| {
        check(
            &format!("{sql} run = 1 AND seq = 4"),
            &format!("entries, run bad{expect}"),
        );
    };
    entries(
        "DELETE FROM entries WHERE",
        ": entry 4 is not there, entry 5 is",
    );
    entries(
        "UPDATE entries SET seq = -4 WHERE",
        ": entry 4 is not there, entry 5 is",
    );
    entries(
        "UPDATE entries SET state = 'NOWHERE' WHERE",
        ", entry 4: state: expected a state, got \"NOWHERE\"",
    );
    entries(
        "UPDATE entries SET event = NULL WHERE",
        ", entry 4: event: expected a text, got Null",
    );
    entries(
        "UPDATE entries SET action = x'0102' WHERE",
        ", entry 4: action: expected a text or a packed text, got 2 bytes",
    );
    entries(
        "UPDATE entries SET action = 7 WHERE",
        ", entry 4: action: expected a text, got Integer",
    );
    entries(
        "UPDATE entries SET hash = x'0102' WHERE",
        ", entry 4: hash: expected the 32 bytes of a hash, got 2 bytes",
    );
    check(
        "UPDATE run_blobs SET hash = x'01' WHERE (run, hash) IN (SELECT run, hash FROM run_blobs WHERE run = 1 LIMIT 1)",
        "run_blobs, run bad: hash: expected the 32 bytes of a hash, got 1 byte",
    );
    check(
        "UPDATE log_leaves SET leaf = NULL WHERE run = 1",
        "log_leaves, run bad: leaf: expected a text, got Null",
    );
    check(
        "INSERT INTO invocations VALUES(1, '/', 'c.yaml', NULL, '{}', NULL)",
        "invocations, run bad: sets: expected a list of texts, got invalid type: map, expected a sequence at line 1 column 0",
    );
    check(
        "INSERT INTO invocations VALUES(1, '/', 'c.yaml', NULL, '[]', '{}')",
        "invocations, run bad: files: expected a list of trusted files, got invalid type: map, expected a sequence at line 1 column 0",
    );
    check(
        "INSERT INTO checkpoints VALUES(1, 3, x'00')",
        "checkpoints, run bad: note: expected a text, got Blob",
    );
    check(
        "INSERT INTO tombstones VALUES(1, x'00', 9)",
        "tombstones, run bad: note: expected a text, got Integer",
    );
}
