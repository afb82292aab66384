//! A store that lost a part of its tables: nothing is written to it, and no verification passes over what is missing; and one that several
//! make at once.

use rusqlite::Connection;

use super::{folder, open, write};
use crate::store::{Durability, Store, StoreError, StoreReader};
use monolith_core::transcript::{FlawKind, Trust};
use monolith_testkit::sample::SampleRun;

/// Returns the findings about a store that was changed by `sql`: on opening it to write, and the table and kind of the flaws
/// that two verifications find.
fn changed(sql: &str) -> (String, [Option<(&'static str, FlawKind)>; 2]) {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    write(&open(&path), &run, 1);
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    conn.execute_batch(sql).unwrap();
    drop(conn);
    let refused = match Store::open(&path, Durability::Normal) {
        Ok(_) => String::new(),
        Err(StoreError::Lacking { what, .. }) => what,
        Err(StoreError::Corrupt { reason, .. }) => reason,
        Err(other) => panic!("{sql}: {other}"),
    };
    let mut reader = StoreReader::open(&path).unwrap();
    let log = reader.verify_log(&Trust::default()).unwrap().first_bad;
    let report = reader.verify_run(&run.run_id, false).unwrap().first_bad;
    let found = [log, report].map(|bad| bad.map(|bad| (bad.table.unwrap(), bad.kind)));
    (refused, found)
}

#[test]
fn a_missing_table_is_named_and_nothing_is_written_or_verified() {
    for table in [
        "checkpoints",
        "contracts",
        "deletions",
        "log_leaves",
        "log_name",
        "invocations",
        "tombstones",
    ] {
        let (refused, found) = changed(&format!("DROP TABLE {table}"));
        assert_eq!(refused, format!("the table {table}"));
        assert_eq!(found, [Some((table, FlawKind::Truncated)); 2]);
    }
}

#[test]
fn a_missing_column_is_named_before_anything_is_written() {
    let (refused, found) = changed("ALTER TABLE invocations DROP COLUMN sets");
    let rule = "the column sets of table invocations";
    assert_eq!((refused.as_str(), found), (rule, [None, None]));
}

/// As builds before workflows wrote it: its runs are read, and nothing is written to it.
#[test]
fn a_store_without_kinds_of_runs_is_read() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    write(&open(&path), &run, 1);
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("ALTER TABLE runs DROP COLUMN kind")
        .unwrap();
    drop(conn);
    let mut reader = StoreReader::open(&path).unwrap();
    assert_eq!(reader.resolve("last").unwrap(), run.run_id);
    assert!(reader.verify_run(&run.run_id, false).unwrap().holds());
    let refused = Store::open(&path, Durability::Normal).err();
    assert!(
        matches!(&refused, Some(StoreError::Lacking { what, .. }) if what == "the column kind of table runs"),
        "{refused:?}"
    );
}

/// As builds before the packing of texts wrote it: there a packed text has no place.
#[test]
fn a_column_of_another_type_is_named_before_anything_is_written() {
    let (refused, found) = changed(
        "PRAGMA writable_schema = ON; \
         UPDATE sqlite_schema SET sql = replace(sql, 'event ANY', 'event TEXT') WHERE name = 'entries'",
    );
    let rule = "the type ANY of column event of table entries";
    assert_eq!((refused.as_str(), found), (rule, [None, None]));
}

#[test]
fn a_log_whose_name_is_none_is_refused() {
    let check = |sql: &str, kind: FlawKind| {
        let (refused, found) = changed(sql);
        assert!(refused.contains("in table log_name"), "{sql}: {refused}");
        assert_eq!(found, [Some(("log_name", kind)); 2], "{sql}");
    };
    check("DELETE FROM log_name", FlawKind::Truncated);
    for name in [
        "''",
        "'a' || char(10) || '9'",
        "'0123456789ABCDEF'",
        "x'ff'",
    ] {
        let sql = format!(
            "PRAGMA ignore_check_constraints = ON; UPDATE log_name SET name = CAST({name} AS TEXT)"
        );
        check(&sql, FlawKind::Tampered);
    }
}

#[test]
fn a_run_in_the_log_that_lost_its_leaf_is_found() {
    let (refused, found) = changed("DELETE FROM log_leaves");
    assert_eq!(refused, "");
    let expect = [
        ("runs", FlawKind::Truncated),
        ("log_leaves", FlawKind::Tampered),
    ];
    assert_eq!(found, expect.map(Some));
}

#[test]
fn a_store_that_several_open_at_once_is_made_once() {
    const AT_ONCE: usize = 4;
    for _ in 0..50 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let all_are_here = std::sync::Barrier::new(AT_ONCE);
        let open = || {
            all_are_here.wait();
            Store::open(&path, Durability::Normal).map(drop)
        };
        std::thread::scope(|scope| {
            let opened: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(open)).collect();
            for opened in opened {
                opened.join().unwrap().unwrap();
            }
        });
    }
}
