//! A store in a temporary folder, and the data that the tests write to it.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;

use crate::store::sqlite::{SqliteWriter, format_0, formats};
use crate::store::{
    Durability, ImportTerms, NewBlob, NewCheckpoint, RunHandle, Store, StoreReader, wait,
};
use monolith_core::transcript::{Chain, Checkpoint, SecretKey};
use monolith_testkit::sample::SampleRun;

/// When the tests import.
pub(super) const NOW: u64 = 1_800_000_000_000;

/// An import now, of a run in progress where `open` is set.
pub(super) const fn terms(open: bool) -> ImportTerms {
    ImportTerms {
        deleted: false,
        now_unix_ms: NOW,
        open,
    }
}

pub(super) fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    (folder, path)
}

pub(super) fn open(path: &Path) -> Store {
    Store::open(path, Durability::Normal).unwrap()
}

/// A store whose writer waits so long for locks, and commits so.
pub(super) fn open_with(
    path: &Path,
    durability: Durability,
    busy: Duration,
    commit: impl Fn(&Connection) -> rusqlite::Result<()> + Send + 'static,
) -> Store {
    let writer = SqliteWriter::open_with(path, durability, busy, commit);
    Store::over(Arc::new(writer.unwrap()))
}

/// A store that is read, and changed by a connection that nothing holds back.
pub(super) struct Attacked {
    pub(super) conn: Connection,
    pub(super) path: PathBuf,
    reader: StoreReader,
}

impl Attacked {
    pub(super) fn at(path: PathBuf) -> Self {
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF")
            .unwrap();
        let reader = StoreReader::open(&path).unwrap();
        Self { conn, path, reader }
    }
}

impl Deref for Attacked {
    type Target = StoreReader;

    fn deref(&self) -> &StoreReader {
        &self.reader
    }
}

impl DerefMut for Attacked {
    fn deref_mut(&mut self) -> &mut StoreReader {
        &mut self.reader
    }
}

pub(super) fn create(store: &Store, run: &SampleRun, at: u64) -> RunHandle {
    wait(store.create_run(&run.run_id, &run.contract, at)).unwrap()
}

pub(super) fn bytes_of(run: &SampleRun) -> Vec<NewBlob> {
    run.blobs.iter().cloned().map(NewBlob::Bytes).collect()
}

/// Appends a whole run: all but the last two entries one by one, the end as one batch.
pub(super) fn write(store: &Store, run: &SampleRun, at: u64) {
    let mut handle = create(store, run, at);
    let (steps, end) = run.entries.split_at(run.entries.len() - 2);
    for entry in steps {
        wait(store.append(&mut handle, vec![entry.clone()], Vec::new())).unwrap();
    }
    wait(store.append(&mut handle, end.to_vec(), bytes_of(run))).unwrap();
    assert_eq!(handle.chain().head(), run.entries.last().unwrap().hash);
}

/// Who signs in these tests.
pub(super) fn signer() -> SecretKey {
    SecretKey::from_seed("local", &[3; 32]).unwrap()
}

/// Appends a whole run as one batch, with a checkpoint at its end.
pub(super) fn write_signed(store: &Store, run: &SampleRun, at: u64) {
    let mut handle = create(store, run, at);
    let last = run.entries.last().unwrap();
    let outcome = last.decode_action().unwrap().outcome;
    let chain = Chain::resumed(run.contract.contract_hash(), last.hash, last.seq + 1);
    let checkpoint = NewCheckpoint {
        entries: last.seq + 1,
        note: Checkpoint::of(&chain, &run.run_id, outcome)
            .sign(&signer())
            .to_string(),
    };
    let entries = run.entries.clone();
    let appended = store.append_signed(&mut handle, entries, bytes_of(run), Some(checkpoint));
    wait(appended).unwrap();
}

/// A store whose writer waits at `BEGIN`, because another connection holds the write lock.
pub(super) fn held(path: &Path, commits: std::sync::mpsc::Sender<()>) -> (Store, Connection) {
    let long = Duration::from_secs(60);
    let store = open_with(path, Durability::Normal, long, move |conn| {
        commits.send(()).unwrap();
        conn.execute_batch("COMMIT")
    });
    let lock = Connection::open(path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    (store, lock)
}

/// Makes a store of the older format that tests have, in a separate folder: three sealed runs, one of them signed, and one that
/// is open.
pub(super) fn older() -> (TempDir, PathBuf) {
    let (folder, path) = folder();
    let store = open(&path);
    write(&store, &SampleRun::new("tools-1"), 1);
    write(&store, &SampleRun::new("unsigned-1"), 2);
    write_signed(&store, &SampleRun::short("chat-1"), 3);
    let begun = SampleRun::new("open-1");
    let mut handle = create(&store, &begun, 4);
    let entries = begun.entries[..2].to_vec();
    wait(store.append(&mut handle, entries, Vec::new())).unwrap();
    drop(store);
    let conn = Connection::open(&path).unwrap();
    formats::take_back(&conn).unwrap();
    format_0::take_back(&conn).unwrap();
    (folder, path)
}
