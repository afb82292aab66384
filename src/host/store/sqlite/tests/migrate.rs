//! Migrating: all of it or none of it, wherever it is cut off.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use super::{folder, older, open, signer};
use crate::store::sqlite::migrate::migrate_watched;
use crate::store::sqlite::{SqliteReader, formats, schema};
use crate::store::{
    Binding, Durability, Invocation, MigrateError, NewRun, RunFilter, STORE_FORMAT, Store,
    StoreError, StoreReader, migrate, wait,
};
use monolith_core::contract::FileTrust;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{Trust, WithheldBlobs};
use monolith_testkit::sample::SampleRun;

fn run_id(name: &str) -> RunId {
    RunId::try_from(name.to_owned()).unwrap()
}

/// Every run as a file, in the order of their names.
pub(super) fn exported(path: &Path) -> Vec<String> {
    let mut reader = StoreReader::open(path).unwrap();
    let mut rows = reader.list_runs(100, RunFilter::All).unwrap();
    rows.sort_by(|a, b| a.run_id.as_str().cmp(b.run_id.as_str()));
    let files = rows.iter().map(|row| {
        let mut out = Vec::new();
        let run = reader.read_run(&row.run_id).unwrap();
        run.export(&mut out, WithheldBlobs::Needed).unwrap();
        String::from_utf8(out).unwrap()
    });
    files.collect()
}

/// The tables and indices, by their names.
fn tables(path: &Path) -> Vec<(String, Option<String>)> {
    let conn = Connection::open(path).unwrap();
    let mut select = conn
        .prepare("SELECT name, sql FROM sqlite_schema ORDER BY name")
        .unwrap();
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_store_of_an_older_format_is_read_and_not_written() {
    let (_folder, path) = older();
    let before = std::fs::read(&path).unwrap();
    let mut reader = StoreReader::open(&path).unwrap();
    let rows = reader.list_runs(10, RunFilter::All).unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        let report = reader.verify_run(&row.run_id, true).unwrap();
        assert_eq!(report.first_bad, None, "{}", row.run_id);
    }
    assert_eq!(exported(&path).len(), 4);
    let refused = Store::open(&path, Durability::Full).err();
    let older = StoreError::OlderFormat {
        path: path.clone(),
        found: 0,
        current: STORE_FORMAT,
    };
    assert_eq!(refused, Some(older));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_migrated_store_holds_what_it_held_and_has_the_tables_of_a_new_one() {
    let (_new, new) = folder();
    drop(open(&new));
    let (_folder, path) = older();
    assert_ne!(tables(&path), tables(&new));
    let (held, bytes) = (exported(&path), std::fs::read(&path).unwrap());
    let planned = migrate(&path, None, true).unwrap();
    assert_eq!(
        (planned.from, planned.to, &planned.copy),
        (0, STORE_FORMAT, &None)
    );
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "a dry run");
    let done = migrate(&path, None, false).unwrap();
    assert_eq!((done.verified.runs, &done.verified.bad), (4, &Vec::new()));
    assert_eq!((&done.steps, done.steps.len()), (&planned.steps, 2));
    assert_eq!(tables(&path), tables(&new));
    assert_eq!(exported(&path), held);
    let copy = done.copy.unwrap();
    assert_eq!(exported(&copy), held, "the copy");
    assert!(Store::open(&copy, Durability::Full).is_err());
    let store = open(&path);
    let mut reader = store.reader().unwrap();
    let log = reader.verify_log(&Trust::default()).unwrap();
    assert_eq!((log.size, log.first_bad), (3, None));
    let trust = Trust {
        keys: vec![signer().public()],
        signature_required: true,
        ..Trust::default()
    };
    let report = reader
        .verify_run_trusting(&run_id("chat-1"), false, &trust.into())
        .unwrap();
    assert_eq!(report.first_bad, None);
    let again = migrate(&path, None, false).unwrap();
    let now = (again.from, again.to, again.copy);
    assert_eq!(now, (STORE_FORMAT, STORE_FORMAT, None));
}

#[test]
fn a_migration_heals_nothing_and_hides_nothing() {
    let (_folder, path) = older();
    let conn = Connection::open(&path).unwrap();
    conn.execute(
        "UPDATE entries SET event = replace(event, 'overloaded', 'well') WHERE run = 3",
        [],
    )
    .unwrap();
    drop(conn);
    let done = migrate(&path, None, false).unwrap();
    let bad: Vec<&str> = done.verified.bad.iter().map(|(run, _)| &**run).collect();
    assert_eq!((done.verified.runs, bad), (4, vec!["chat-1"]));
    let report = StoreReader::open(&path).unwrap();
    let report = { report }.verify_run(&run_id("chat-1"), false).unwrap();
    assert_eq!(report.first_bad.as_ref(), Some(&done.verified.bad[0].1));
}

/// Format 1 has the files of an invocation among its changes of values.
#[test]
fn trusted_files_are_read_from_an_older_store_and_migrated_into_their_column() {
    let (_folder, path) = folder();
    let store = open(&path);
    let begun = |name: &str, files: Option<&[&str]>| {
        let run = SampleRun::new(name);
        let trusted = |path: &&str| FileTrust {
            blake3: Digest::of(path.as_bytes()),
            folder: None,
            path: path.into(),
        };
        let asked = Invocation {
            base_dir: "/base".into(),
            config: None,
            contract_file: "/base/c.yaml".into(),
            files: files.map(|files| files.iter().map(trusted).collect()),
            sets: vec!["task=say \"é\"".to_owned(), "max_turns=3".to_owned()],
        };
        let new = NewRun {
            binding: Binding::Contract(Arc::new(run.contract)),
            created_unix_ms: 1,
            invocation: Some(asked.clone()),
            run_id: run.run_id.clone(),
        };
        wait(store.begin_run(new, run.entries[..1].to_vec(), None)).unwrap();
        (run.run_id, asked)
    };
    let begun = [
        begun("none", None),
        begun("no-files", Some(&[])),
        begun("two", Some(&["/base/.ai-agent.json", "/base/\"x\".ai"])),
    ];
    drop(store);
    let check = |when: &str| {
        let reader = StoreReader::open(&path).unwrap();
        for (run_id, asked) in &begun {
            let found = reader.invocation(run_id).unwrap();
            assert_eq!(found.as_ref(), Some(asked), "{when}");
        }
    };
    check("format 2");
    let conn = Connection::open(&path).unwrap();
    formats::take_back(&conn).unwrap();
    let kept = "SELECT count(*) FROM invocations WHERE sets LIKE '%,\"trust.files=[%'";
    let kept = conn.query_row(kept, [], |row| row.get::<_, i64>(0));
    assert_eq!(kept, Ok(2));
    check("format 1");
    assert_eq!(migrate(&path, None, false).unwrap().from, 1);
    check("migrated");
    let kept = "SELECT count(files) FROM invocations WHERE sets NOT LIKE '%trust%'";
    let kept = conn.query_row(kept, [], |row| row.get::<_, i64>(0));
    assert_eq!(kept, Ok(2));
}

/// Whatever step is cut off: the old store stands, and the next migration goes through.
#[test]
fn a_migration_that_is_cut_off_leaves_the_old_store() {
    let (_folder, path) = older();
    let held = exported(&path);
    // As a kill leaves it: a half-written copy, and a transaction that was never committed.
    std::fs::write(path.with_extension("db.format-0.partial"), "half").unwrap();
    let mut conn = Connection::open(&path).unwrap();
    let tx = conn.transaction().unwrap();
    tx.execute_batch("DROP TABLE entries; PRAGMA user_version = 1")
        .unwrap();
    drop(tx);
    drop(conn);
    assert_eq!(exported(&path), held);
    let first = migrate(&path, None, false).unwrap().copy.unwrap();
    assert_eq!(exported(&path), held);
    // An existing copy is not replaced.
    std::fs::remove_file(&path).unwrap();
    std::fs::copy(&first, &path).unwrap();
    let second = migrate(&path, None, false).unwrap().copy.unwrap();
    assert_ne!(first, second);
    assert_eq!((exported(&first), exported(&second)), (held.clone(), held));
}

/// The files of a folder, as a process that is killed leaves them: what was written, whether it was synced or not.
fn as_it_stands(folder: &Path, into: &Path) {
    std::fs::create_dir(into).unwrap();
    for found in std::fs::read_dir(folder).unwrap() {
        let found = found.unwrap();
        if found.file_type().unwrap().is_file() {
            std::fs::copy(found.path(), into.join(found.file_name())).unwrap();
        }
    }
}

/// A killed migration leaves one whole store, the old one or the new one. Repeating the migration migrates it.
#[test]
fn a_migration_that_is_killed_after_any_step_leaves_one_whole_store() {
    let (folder, path) = older();
    let (held, kept) = (exported(&path), tempfile::tempdir().unwrap());
    let mut steps: Vec<&str> = Vec::new();
    migrate_watched(&path, None, false, |step| {
        as_it_stands(folder.path(), &kept.path().join(step));
        steps.push(step);
    })
    .unwrap();
    let all = [
        "the copy is begun",
        "the copy is written",
        "the copy has its name",
        "the log of writes is beside the file",
        "the tables are changed",
        "its pages are written",
        "it is committed",
        "the file is closed",
    ];
    assert_eq!(steps, all);
    for (at, step) in steps.iter().enumerate() {
        let left = kept.path().join(step).join("runs.db");
        assert_eq!(exported(&left), held, "{step}: read as it was left");
        let format = SqliteReader::open(&left).unwrap();
        let format = schema::format_of(&format.conn, &left).unwrap();
        let expect = if at >= 6 { STORE_FORMAT } else { 0 };
        assert_eq!(format, Some(expect), "{step}");
        let done = migrate(&left, None, false).unwrap();
        let now = (done.to, &done.verified.bad);
        assert_eq!(now, (STORE_FORMAT, &Vec::new()), "{step}");
        assert_eq!(exported(&left), held, "{step}: migrated");
        let log = StoreReader::open(&left).unwrap();
        let log = log.verify_log(&Trust::default()).unwrap();
        assert_eq!((log.size, log.first_bad), (3, None), "{step}");
    }
}

/// A program that keeps no write-ahead log leaves a rollback journal. The first reader would play it back, so nobody reads.
#[test]
fn a_rollback_journal_is_refused_by_whoever_opens_the_store() {
    let (folder, path) = older();
    let held = exported(&path);
    let conn = Connection::open(&path).unwrap();
    conn.pragma_update(None, "journal_mode", "DELETE").unwrap();
    conn.pragma_update(None, "cache_size", 1).unwrap();
    conn.execute_batch("BEGIN IMMEDIATE; UPDATE entries SET event = event || ' '")
        .unwrap();
    conn.cache_flush().unwrap();
    let left = folder.path().join("left");
    as_it_stands(folder.path(), &left);
    drop(conn);
    let left = left.join("runs.db");
    let journal = left.with_extension("db-journal");
    let before = std::fs::read(&journal).unwrap();
    assert!(!before.is_empty());
    let expect = StoreError::Journal {
        path: left.clone(),
        journal: journal.clone(),
    };
    for dry_run in [true, false] {
        let refused = migrate(&left, None, dry_run).map(drop);
        let refused = refused.map_err(|fault| fault.to_string());
        assert_eq!(refused, Err(expect.to_string()));
    }
    assert_eq!(StoreReader::open(&left).map(drop), Err(expect.clone()));
    let writer = Store::open(&left, Durability::Normal).map(drop);
    assert_eq!(writer, Err(expect));
    assert_eq!(std::fs::read(&journal).unwrap(), before);
    // The program itself takes it in.
    drop(
        Connection::open(&left)
            .unwrap()
            .execute_batch("SELECT * FROM runs"),
    );
    assert_eq!(exported(&left), held);
}

#[test]
fn other_formats_are_refused_by_name() {
    let (_folder, path) = older();
    let check = |to, dry, expect: &str| {
        let refused = migrate(&path, to, dry).map_err(|fault| fault.to_string());
        let expect = expect.replace("PATH", &path.display().to_string());
        assert_eq!(refused.map(|_| ()), Err(expect));
    };
    check(
        Some(3),
        false,
        "migrate PATH to format 3: this build knows up to 2",
    );
    let set = |version: i32| {
        let conn = Connection::open(&path).unwrap();
        conn.pragma_update(None, "user_version", version).unwrap();
    };
    set(7);
    check(
        None,
        true,
        "open PATH: its format is 7, and this build reads up to 2",
    );
    set(1);
    check(
        Some(0),
        false,
        "migrate PATH from format 1 to 0: nothing is migrated to an older format",
    );
    set(-1);
    check(
        None,
        false,
        "open PATH: its format -1 is unknown to every build",
    );
    std::fs::remove_file(&path).unwrap();
    Connection::open(&path)
        .unwrap()
        .execute_batch("VACUUM")
        .unwrap();
    assert!(matches!(
        migrate(&path, None, false),
        Err(MigrateError::Empty { .. })
    ));
}

#[test]
fn a_store_whose_run_is_being_driven_is_not_migrated() {
    let (_driven, other) = folder();
    let (_folder, path) = older();
    let held = exported(&path);
    let store = open(&other);
    let lock = store.lock_run(&run_id("x")).unwrap();
    let locks = path.with_extension("db.locks");
    std::fs::rename(other.with_extension("db.locks"), &locks).unwrap();
    let refused = migrate(&path, None, false).map_err(|fault| fault.to_string());
    let expect = "a run of it is being driven";
    assert!(
        refused.as_ref().is_err_and(|said| said.contains(expect)),
        "{refused:?}"
    );
    assert_eq!(exported(&path), held);
    assert_eq!(
        schema::format_of(&Connection::open(&path).unwrap(), &path),
        Ok(Some(0))
    );
    drop(lock);
    assert_eq!(migrate(&path, None, false).unwrap().to, STORE_FORMAT);
}
