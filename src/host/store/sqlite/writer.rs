//! The connection that writes: every method becomes a request to the writer thread.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::{mpsc, oneshot};

use super::append::{Append, LARGE_BLOB_BYTES, insert_blob};
use super::column::Columns;
use super::group_commit::{Job, Request, Writer};
use super::intake::insert_run;
use super::lock::SharedStoreLock;
use super::open_reader::BUSY;
use super::open_writer::{Durability, open_writer};
use super::reader::SqliteReader;
use super::store_file::StoreFile;
use super::{answer_files, delete, erase};
use crate::store::StoreError;
use crate::store::answer::Answer;
use crate::store::database::{Database, DatabaseReader, Pending, RunLock};
use crate::store::erasure::{EraseError, Erased, Erasure, Removal, RemoveError, Removed};
use crate::store::new_run::NewRun;
use crate::store::run::{IMPORTED, RunHandle, this_process};
use crate::store::storable::{Batch, NewBlob};
use monolith_core::kernel::Approval;
use monolith_core::message::{Digest, RunId};

/// Maximum number of requests that wait for the writer; more block their callers.
const QUEUE: usize = 1024;

/// A store in a SQLite file, opened for writing. Its one writer thread ends when it is dropped.
#[derive(Debug)]
pub(in crate::store) struct SqliteWriter {
    commits: Arc<AtomicU64>,
    pub(super) lock: SharedStoreLock,
    pub(super) path: PathBuf,
    poison: Arc<OnceLock<String>>,
    queue: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl SqliteWriter {
    /// Opens the store at `path`, and makes it where there is none. The folder must exist.
    pub(in crate::store) fn open(path: &Path, durability: Durability) -> Result<Self, StoreError> {
        Self::open_with(path, durability, BUSY, |conn| conn.execute_batch("COMMIT"))
    }

    /// [`Self::open`] with the wait for locks and the commit itself in the caller's hands.
    pub(super) fn open_with(
        path: &Path,
        durability: Durability,
        busy: Duration,
        commit: impl Fn(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<Self, StoreError> {
        let file = StoreFile::of(path)?;
        let conn = open_writer(&file, durability, busy)?;
        let path = file.path();
        let (queue, requests) = mpsc::channel(QUEUE);
        let commits = Arc::<AtomicU64>::default();
        let poison = Arc::<OnceLock<String>>::default();
        let mut writer = Writer {
            commit,
            commits: Arc::clone(&commits),
            conn,
            path: path.to_path_buf(),
            poison: Arc::clone(&poison),
            requests,
        };
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || writer.run())
            .map_err(|fault| StoreError::Io {
                path: path.to_path_buf(),
                reason: format!("starting the writer thread: {fault}"),
            })?;
        Ok(Self {
            commits,
            lock: SharedStoreLock::default(),
            path: path.to_path_buf(),
            poison,
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    async fn append_batch(&self, run: &RunHandle, batch: Batch) -> Result<(), StoreError> {
        let (mut links, mut small) = (Vec::with_capacity(batch.blobs.len()), Vec::new());
        for blob in batch.blobs {
            match blob {
                NewBlob::Bytes(bytes) if bytes.len() > LARGE_BLOB_BYTES => {
                    links.push(self.put(bytes).await?);
                }
                NewBlob::Bytes(bytes) => {
                    let hash = Digest::of(&bytes);
                    small.push((hash, bytes));
                    links.push(hash);
                }
                NewBlob::Stored(hash) => links.push(hash),
            }
        }
        let batch = Batch {
            blobs: Vec::new(),
            ..batch
        };
        let Some(mut append) = Append::of(run, batch, self.path.clone()) else {
            return Ok(());
        };
        (append.links, append.small) = (links, small);
        self.submit(false, move |conn| append.perform(conn)).await
    }

    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, StoreError> {
        let path = self.path.clone();
        let hash = Digest::of(&bytes);
        self.submit(bytes.len() > LARGE_BLOB_BYTES, move |conn| {
            insert_blob(conn, hash, &bytes).map_err(|fault| StoreError::from_sql(&path, &fault))?;
            Ok(hash)
        })
        .await
    }

    /// Puts a request into the queue, and waits for its commit.
    pub(super) async fn submit<T: Send + 'static>(
        &self,
        alone: bool,
        perform: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let work = Box::new(Request {
            answer: None,
            perform: Some(perform),
            reply,
        });
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        let sent = queue.send(Job { alone, work }).await;
        sent.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

impl Database for SqliteWriter {
    fn path(&self) -> &Path {
        &self.path
    }

    fn reader(&self) -> Result<Box<dyn DatabaseReader>, StoreError> {
        Ok(Box::new(SqliteReader::open(&self.path)?))
    }

    fn begin_run(&self, new: NewRun, first: Batch) -> Pending<'_, RunHandle> {
        let path = self.path.clone();
        Box::pin(self.submit(false, move |conn| {
            let run = insert_run(new, conn, &path)?;
            if let Some(append) = Append::of(&run, first, path) {
                append.perform(conn)?;
            }
            Ok(run)
        }))
    }

    fn claim_run(&self, run_id: RunId) -> Pending<'_, RunHandle> {
        let path = self.path.clone();
        Box::pin(self.submit(false, move |conn| claim(conn, run_id, &path)))
    }

    fn append<'a>(&'a self, run: &'a RunHandle, batch: Batch) -> Pending<'a, ()> {
        Box::pin(self.append_batch(run, batch))
    }

    fn put_blob(&self, bytes: Vec<u8>) -> Pending<'_, Digest> {
        Box::pin(self.put(bytes))
    }

    fn checkpoints<'a>(&'a self, run: &'a RunHandle) -> Pending<'a, Vec<String>> {
        let path = self.path.clone();
        let (key, of) = (run.key, format!("run {}", run.run_id));
        Box::pin(self.submit(false, move |conn| {
            let sql = |fault: rusqlite::Error| StoreError::from_sql(&path, &fault);
            let mut select = conn
                .prepare_cached("SELECT note FROM checkpoints WHERE run = ?1 ORDER BY entries")
                .map_err(sql)?;
            let mut rows = select.query([key]).map_err(sql)?;
            let mut notes = Vec::new();
            while let Some(row) = rows.next().map_err(sql)? {
                let columns = Columns {
                    path: &path,
                    row,
                    table: "checkpoints",
                    of: &of,
                };
                notes.push(columns.text(0, "note")?);
            }
            Ok(notes)
        }))
    }

    fn lock_run(&self, run_id: &RunId) -> Result<RunLock, StoreError> {
        self.lock.lock_run(&self.path, run_id)
    }

    fn left_answer(&self, run_id: &RunId) -> Result<Option<Answer>, StoreError> {
        answer_files::left(&self.path, run_id)
    }

    fn drop_answer(&self, run_id: &RunId, approval: &Approval) -> Result<(), StoreError> {
        answer_files::drop_answer(&self.path, run_id, approval)
    }

    fn drop_any_answer(&self, run_id: &RunId) -> Result<(), StoreError> {
        answer_files::drop_any(&self.path, run_id)
    }

    fn remove(&self, asked: &Removal<'_>) -> Result<Removed, RemoveError> {
        delete::remove(&self.path, asked)
    }

    fn erase(&self, hash: Digest, asked: &Erasure<'_>) -> Result<Erased, EraseError> {
        erase::erase(&self.path, hash, asked)
    }

    fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    fn poison(&self) -> Option<&str> {
        self.poison.get().map(String::as_str)
    }
}

impl Drop for SqliteWriter {
    fn drop(&mut self) {
        // Without a queue the writer ends once it has answered what it holds.
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Takes the next epoch of a run.
fn claim(conn: &Connection, run_id: RunId, path: &Path) -> Result<RunHandle, StoreError> {
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    judge_drivable(conn, &run_id, path)?;
    let row = conn
        .prepare_cached(
            "UPDATE runs SET epoch = epoch + 1, owner = ?2 WHERE run_id = ?1 \
             RETURNING id, epoch, head_seq, head_hash, contract_hash",
        )
        .map_err(sql)?
        .query_row(params![run_id.as_str(), this_process()], |row| {
            let digests: ([u8; 32], [u8; 32]) = (row.get(3)?, row.get(4)?);
            Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?, digests))
        })
        .optional()
        .map_err(sql)?;
    let Some((key, epoch, head_seq, (head, contract_hash))) = row else {
        return Err(StoreError::NoSuchRun {
            asked: run_id.into(),
        });
    };
    Ok(RunHandle {
        contract_hash: Digest::from_bytes(contract_hash),
        epoch,
        head: Digest::from_bytes(head),
        key,
        length: u64::try_from(head_seq.saturating_add(1)).unwrap_or(0),
        run_id,
    })
}

/// Refuses to drive what is here to be read alone.
fn judge_drivable(conn: &Connection, run_id: &RunId, path: &Path) -> Result<(), StoreError> {
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let (imported, erased, epoch): (bool, i64, i64) = conn
        .prepare_cached(
            "SELECT owner = ?2, (SELECT count(*) FROM tombstones WHERE run = id), epoch FROM runs WHERE run_id = ?1",
        )
        .map_err(sql)?
        .query_row([run_id.as_str(), IMPORTED], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()
        .map_err(sql)?
        .unwrap_or_default();
    // No store counts that far, and the next writer would have no epoch.
    if epoch == i64::MAX {
        return Err(StoreError::Corrupt {
            path: path.to_owned(),
            reason: format!(
                "run {run_id}: epoch: expected at most {}, got {epoch}",
                i64::MAX - 1
            ),
        });
    }
    if imported {
        return Err(StoreError::Imported {
            run_id: run_id.clone(),
        });
    }
    match u64::try_from(erased).unwrap_or(0) {
        0 => Ok(()),
        blobs => Err(StoreError::Erased {
            run_id: run_id.clone(),
            blobs,
        }),
    }
}
