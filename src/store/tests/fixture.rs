//! A store in a folder of its own, and what the tests write to it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;

use crate::store::{Durability, NewBlob, RunHandle, Store, wait};
use crate::transcript::sample::SampleRun;

pub(super) fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    (folder, path)
}

pub(super) fn open(path: &Path) -> Store {
    Store::open(path, Durability::Normal).unwrap()
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

/// A store whose writer waits at `BEGIN`, because another connection holds the write lock.
pub(super) fn held(path: &Path, commits: std::sync::mpsc::Sender<()>) -> (Store, Connection) {
    let long = Duration::from_secs(60);
    let store = Store::open_with(path, Durability::Normal, long, move |conn| {
        commits.send(()).unwrap();
        conn.execute_batch("COMMIT")
    });
    let lock = Connection::open(path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    (store.unwrap(), lock)
}

/// A store of an earlier format, as a build of its time wrote it, in a folder of its own.
pub(super) fn kept(name: &str) -> (TempDir, PathBuf) {
    let (folder, path) = folder();
    let file = format!(
        "{}/tests/fixtures/stores/{name}.db.gz",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut packed = flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap());
    let mut out = std::fs::File::create(&path).unwrap();
    std::io::copy(&mut packed, &mut out).unwrap();
    (folder, path)
}
