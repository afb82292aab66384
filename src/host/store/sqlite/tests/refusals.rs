//! The refusals of the store: stale writers, foreign files, full disks, names that are taken.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::{Connection, ffi};

use super::{bytes_of, create, folder, open, open_with, write};
use crate::store::sqlite::lock::lock_run;
use crate::store::sqlite::{SqliteReader, SqliteWriter};
use crate::store::{
    Durability, NewBlob, RunDriver, RunFilter, RunHandle, STORE_FORMAT, Store, StoreError,
    StoreReader, judge_to_write, wait,
};
use monolith_core::message::Digest;
use monolith_testkit::sample::SampleRun;

#[test]
fn a_stale_writer_is_fenced_and_leaves_nothing() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    let (first, second) = (open(&path), open(&path));
    let mut stale = create(&first, &run, 1);
    wait(first.append(&mut stale, run.entries[..2].to_vec(), Vec::new())).unwrap();
    let mut owner = wait(second.claim_run(&run.run_id)).unwrap();
    assert_eq!((owner.epoch(), owner.chain()), (2, stale.chain()));
    let late = vec![run.entries[2].clone()];
    let blob = vec![NewBlob::Bytes(b"late".to_vec())];
    let fenced = Err(StoreError::Fenced {
        run_id: run.run_id.clone(),
    });
    assert_eq!(wait(first.append(&mut stale, late.clone(), blob)), fenced);
    assert_eq!(first.reader().unwrap().blob(Digest::of(b"late")), Ok(None));
    let blobs = bytes_of(&run).into_iter().take(3).collect();
    assert_eq!(wait(second.append(&mut owner, late, blobs)), Ok(()));
    // The same epoch with an old head: the copy of a handle cannot write an entry twice.
    let mut copy = RunHandle {
        head: run.entries[1].hash,
        length: 2,
        ..wait(second.claim_run(&run.run_id)).unwrap()
    };
    let again = vec![run.entries[2].clone()];
    assert_eq!(wait(second.append(&mut copy, again, Vec::new())), fenced);
    let report = first
        .reader()
        .unwrap()
        .verify_run(&run.run_id, true)
        .unwrap();
    assert_eq!((report.first_bad, report.entries), (None, 3));
}

/// An epoch that no store has counted to.
#[test]
fn a_run_after_whose_epoch_none_comes_is_refused_as_changed_and_its_neighbour_is_not() {
    let (_folder, path) = folder();
    let store = open(&path);
    let (run, other) = (SampleRun::new("r-1"), SampleRun::new("r-2"));
    create(&store, &run, 1);
    create(&store, &other, 1);
    let change = "UPDATE runs SET epoch = 9223372036854775807 WHERE run_id = 'r-1'";
    let by_hand = Connection::open(&path).unwrap();
    assert_eq!(by_hand.execute(change, []), Ok(1));
    let refused = wait(store.claim_run(&run.run_id)).map(drop);
    let reason = "run r-1: epoch: expected at most 9223372036854775806, got 9223372036854775807";
    assert_eq!(
        refused,
        Err(StoreError::Corrupt {
            path: store.path().to_owned(),
            reason: reason.to_owned(),
        })
    );
    assert_eq!(wait(store.claim_run(&other.run_id)).unwrap().epoch(), 2);
}

#[test]
fn a_reader_sees_who_drives_a_run() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    let store = open(&path);
    create(&store, &run, 1);
    let reader = store.reader().unwrap();
    assert_eq!(reader.driver_of(&run.run_id), Ok(None), "never locked");
    let lock = store.lock_run(&run.run_id).unwrap();
    let pid = Some(std::process::id());
    let driver = Some(RunDriver { pid });
    assert_eq!(reader.driver_of(&run.run_id), Ok(driver));
    drop(lock);
    assert_eq!(reader.driver_of(&run.run_id), Ok(None), "let go");
    store.lock_run(&run.run_id).unwrap().discard();
    assert_eq!(reader.driver_of(&run.run_id), Ok(None), "ended");
}

#[test]
fn whoever_looks_at_a_lock_keeps_it_from_nobody() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    let store = open(&path);
    create(&store, &run, 1);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let reader = StoreReader::open(&path).unwrap();
            while !done.load(Ordering::Relaxed) {
                reader.driver_of(&run.run_id).unwrap();
            }
        });
        let refused = (0..500)
            .map(|_| store.lock_run(&run.run_id))
            .find_map(Result::err);
        done.store(true, Ordering::Relaxed);
        assert_eq!(refused, None);
    });
}

/// A child that is being started has every open file of this process, until its program begins.
#[cfg(unix)]
#[test]
fn a_lock_that_was_given_up_is_not_held_by_children() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    let store = open(&path);
    create(&store, &run, 1);
    let lock = lock_run(&path, &run.run_id).unwrap();
    let inherited = lock.inherited();
    drop(lock);
    assert!(store.lock_run(&run.run_id).is_ok());
    drop(inherited);
}

#[test]
fn a_damaged_row_hides_no_other() {
    let (_folder, path) = folder();
    let store = open(&path);
    for (at, name) in ["r-1", "r-2", "r-3"].into_iter().enumerate() {
        create(&store, &SampleRun::new(name), at as u64 + 1);
    }
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "UPDATE runs SET created_unix_ms = -5 WHERE run_id = 'r-2'; \
         UPDATE runs SET run_id = 'R 3' WHERE run_id = 'r-3'",
    )
    .unwrap();
    let reader = store.reader().unwrap();
    let rows = reader.list_rows(9, RunFilter::All).unwrap();
    let told = rows.into_iter().map(|row| match row {
        Ok(row) => format!("{}", row.run_id),
        Err(damaged) => {
            assert!(matches!(damaged.fault, StoreError::Corrupt { .. }));
            format!("damaged: {}", damaged.run)
        }
    });
    let told: Vec<String> = told.collect();
    assert_eq!(told, ["damaged: R 3", "r-1", "damaged: r-2"]);
    let runs = reader.list_runs(9, RunFilter::All).unwrap();
    assert_eq!(runs.len(), 1, "the rest can be gone on with: {runs:?}");
    let last = reader.resolve("last");
    assert!(
        matches!(last, Err(StoreError::Corrupt { .. })),
        "no other run is the newest: {last:?}"
    );
}

#[test]
fn a_batch_that_does_not_continue_the_run_is_refused() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    let store = open(&path);
    let mut handle = create(&store, &run, 1);
    let check = |handle: &mut RunHandle, batch: &[usize], expected, got| {
        let batch = batch.iter().map(|at| run.entries[*at].clone()).collect();
        let run_id = run.run_id.clone();
        let refused = Err(StoreError::OutOfOrder {
            run_id,
            expected,
            got,
        });
        assert_eq!(wait(store.append(handle, batch, Vec::new())), refused);
    };
    check(&mut handle, &[1], 0, 1);
    check(&mut handle, &[0, 2], 1, 2);
    check(&mut handle, &[0, 0], 1, 0);
    let mut ended = RunHandle {
        length: 9,
        ..create(&store, &SampleRun::new("r-2"), 1)
    };
    let unsealed = vec![run.entries[9].clone()];
    let refused = wait(store.append(&mut ended, unsealed, Vec::new()));
    assert!(
        matches!(refused, Err(StoreError::BadEntry { seq: 9, .. })),
        "{refused:?}"
    );
    // The table itself holds one entry of a number.
    wait(store.append(&mut handle, run.entries[..1].to_vec(), Vec::new())).unwrap();
    let other = Connection::open(&path).unwrap();
    let twice = other.execute("INSERT INTO entries SELECT * FROM entries", []);
    let code = twice.unwrap_err().sqlite_error_code();
    assert_eq!(code, Some(rusqlite::ErrorCode::ConstraintViolation));
}

#[test]
fn a_name_is_given_once() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    let store = open(&path);
    let _handle = create(&store, &run, 1);
    let again = wait(store.create_run(&run.run_id, &run.contract, 2)).map(|_| ());
    assert_eq!(again, Err(StoreError::RunExists { run_id: run.run_id }));
}

#[test]
fn files_that_are_no_store_of_this_build_are_refused_by_name() {
    let (folder, path) = folder();
    let kind = |path: &Path| Store::open(path, Durability::Full).err().unwrap();
    let missing = folder.path().join("nowhere/runs.db");
    assert!(
        matches!(kind(&missing), StoreError::CannotOpen { .. }),
        "{}",
        kind(&missing)
    );
    let within = folder.path().join("a-folder");
    std::fs::create_dir(&within).unwrap();
    let is_folder = StoreError::Folder {
        path: within.clone(),
    };
    assert_eq!(kind(&within), is_folder);
    assert_eq!(StoreReader::open(&within).unwrap_err(), is_folder);
    let text = folder.path().join("text.db");
    std::fs::write(
        &text,
        "not a database, but long enough to have a header of sixteen bytes",
    )
    .unwrap();
    assert_eq!(kind(&text), StoreError::NotADatabase { path: text.clone() });
    let empty = folder.path().join("empty.db");
    std::fs::write(&empty, "").unwrap();
    let read = StoreReader::open(&empty).unwrap_err();
    assert_eq!(read, StoreError::Empty { path: empty });
    let other = folder.path().join("other.db");
    Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE t(x)")
        .unwrap();
    assert_eq!(
        kind(&other),
        StoreError::Foreign {
            path: other.clone(),
            found: 0
        }
    );
    assert!(matches!(
        StoreReader::open(&path),
        Err(StoreError::CannotOpen { .. })
    ));
    drop(open(&path));
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", STORE_FORMAT + 1)
        .unwrap();
    let newer = StoreError::NewerFormat {
        path: path.clone(),
        found: STORE_FORMAT + 1,
        supported: STORE_FORMAT,
    };
    assert_eq!(kind(&path), newer);
    assert_eq!(StoreReader::open(&path).err(), Some(newer));
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", -1)
        .unwrap();
    let unknown = StoreError::UnknownFormat {
        path: path.clone(),
        found: -1,
    };
    assert_eq!(kind(&path), unknown);
    assert_eq!(StoreReader::open(&path).err(), Some(unknown));
}

#[test]
fn a_file_that_may_not_be_written_is_refused() {
    let (_folder, path) = folder();
    drop(open(&path));
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    let bound = std::fs::OpenOptions::new().write(true).open(&path).is_err();
    let opened = Store::open(&path, Durability::Full).err();
    // Permission bits do not bind the superuser; then the file may be written, and is.
    let expect = bound.then(|| StoreError::ReadOnly { path: path.clone() });
    assert_eq!(opened, expect);
    let reader = SqliteReader::open(&path).unwrap();
    let refused = reader.conn.execute("DELETE FROM runs", []).unwrap_err();
    assert_eq!(
        StoreError::from_sql(&path, &refused),
        StoreError::ReadOnly { path }
    );
}

#[test]
fn a_lock_that_is_not_given_up_is_named_and_nothing_is_lost() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    let commit = |conn: &Connection| conn.execute_batch("COMMIT");
    let store = open_with(&path, Durability::Full, Duration::ZERO, commit);
    let mut handle = create(&store, &run, 1);
    let lock = Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let batch = run.entries[..2].to_vec();
    let locked = Err(StoreError::Locked { path: path.clone() });
    assert_eq!(
        wait(store.append(&mut handle, batch.clone(), Vec::new())),
        locked
    );
    lock.execute_batch("ROLLBACK").unwrap();
    assert_eq!(wait(store.append(&mut handle, batch, Vec::new())), Ok(()));
}

#[test]
fn a_full_disk_is_named_and_leaves_no_half_batch() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    let writer = Arc::new(SqliteWriter::open(&path, Durability::Normal).unwrap());
    let store = Store::over(Arc::<SqliteWriter>::clone(&writer));
    let mut handle = create(&store, &run, 1);
    let set = |most: i64| {
        let limit = move |conn: &Connection| {
            let pages = format!("PRAGMA max_page_count = {most}");
            Ok(conn
                .query_row(&pages, [], |row| row.get::<_, i64>(0))
                .unwrap())
        };
        wait(writer.submit(false, limit)).unwrap()
    };
    let now = set(1);
    let mut batch = run.entries[..2].to_vec();
    batch[1].event = format!("\"{}\"", "x".repeat(100_000));
    let full = Err(StoreError::DiskFull { path: path.clone() });
    assert_eq!(wait(store.append(&mut handle, batch, Vec::new())), full);
    assert!(set(now + 1000) > now);
    assert_eq!(handle.chain().length(), 0);
    assert_eq!(
        wait(store.append(&mut handle, run.entries[..2].to_vec(), Vec::new())),
        Ok(())
    );
}

#[test]
fn a_failed_sync_stops_the_store_for_good() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    let failing = AtomicBool::new(false);
    let failing = Arc::new(failing);
    let switch = Arc::clone(&failing);
    let busy = Duration::from_secs(5);
    let store = open_with(&path, Durability::Full, busy, move |conn| {
        if switch.load(Ordering::SeqCst) {
            let fault = ffi::Error::new(ffi::SQLITE_IOERR_FSYNC);
            return Err(rusqlite::Error::SqliteFailure(fault, None));
        }
        conn.execute_batch("COMMIT")
    });
    let mut handle = create(&store, &run, 1);
    let set = |on| failing.store(on, Ordering::SeqCst);
    set(true);
    let batch = run.entries[..1].to_vec();
    let failed = wait(store.append(&mut handle, batch.clone(), Vec::new()));
    assert!(matches!(failed, Err(StoreError::Io { .. })), "{failed:?}");
    set(false);
    let refused = wait(store.append(&mut handle, batch, Vec::new()));
    assert!(
        matches!(refused, Err(StoreError::Poisoned { .. })),
        "{refused:?}"
    );
    let refused = wait(store.put_blob(Vec::new()));
    assert!(
        matches!(refused, Err(StoreError::Poisoned { .. })),
        "{refused:?}"
    );
    assert_eq!(
        store
            .reader()
            .unwrap()
            .list_runs(1, RunFilter::All)
            .unwrap()[0]
            .length,
        0
    );
}

/// SQLite keeps the latest writes in a separate file, and without it a copy is an empty database.
#[test]
fn a_copy_without_its_log_of_writes_is_named_as_such() {
    let (folder, path) = folder();
    let store = open(&path);
    write(&store, &SampleRun::new("r-1"), 1);
    let copy = folder.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    let log = folder.path().join("copy.db-wal");
    let expect = StoreError::WithoutLog {
        path: copy.clone(),
        log: log.clone(),
    };
    // Looking makes no log, so the second look says the same.
    for _ in 0..2 {
        assert_eq!(StoreReader::open(&copy).unwrap_err(), expect);
    }
    // A run that began there would hide those that the copy was made for.
    assert_eq!(judge_to_write(&copy).unwrap_err(), expect);
    let refused = Store::open(&copy, Durability::Full).unwrap_err();
    assert_eq!(refused, expect);
    assert!(!log.exists());
    std::fs::copy(folder.path().join("runs.db-wal"), &log).unwrap();
    let whole = StoreReader::open(&copy).unwrap();
    assert_eq!(whole.list_runs(9, RunFilter::All).unwrap().len(), 1);
    drop(store);
    // Once the log was taken in, the file alone is the store.
    std::fs::copy(&path, folder.path().join("later.db")).unwrap();
    let later = StoreReader::open(&folder.path().join("later.db")).unwrap();
    assert_eq!(later.list_runs(9, RunFilter::All).unwrap().len(), 1);
}
