//! The store as those who write see it: every method becomes a request to the writer thread.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::{mpsc, oneshot};

use super::append::{Append, EntryRow, NewCheckpoint};
use super::blob::insert_blob;
use super::connection::BUSY;
use super::group_commit::{Job, Request, Writer};
use super::lock::SharedStoreLock;
use super::new_run::{Binding, NewRun};
use super::open_writer::{Durability, open_writer};
use super::run::{IMPORTED, this_process};
use super::storable::{Storable, sealed_outcome};
use super::store_file::StoreFile;
use super::{LARGE_BLOB_BYTES, NewBlob, RunHandle, StoreError, StoreReader};
use monolith_core::contract::ExecutionContract;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{SealedEntry, SecretKey};

/// How many requests may wait for the writer; more make their callers wait.
const QUEUE: usize = 1024;

/// The store, opened for writing. Its one writer thread ends when it is dropped.
///
/// ```
/// use monolith::{Durability, RunFilter, Store, StoreReader};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("runs.db");
/// let store = Store::open(&path, Durability::Full)?;
/// assert!(store.reader()?.list_runs(10, RunFilter::All)?.is_empty());
/// drop(store);
/// assert!(StoreReader::open(&path).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    commits: Arc<AtomicU64>,
    pub(super) lock: Arc<SharedStoreLock>,
    path: PathBuf,
    poison: Arc<OnceLock<String>>,
    queue: Option<mpsc::Sender<Job>>,
    signer: Option<Arc<SecretKey>>,
    /// Of all clones.
    #[expect(
        dead_code,
        reason = "it is held, and joined when the last one drops it"
    )]
    thread: Arc<WriterThread>,
}

/// The thread that writes, waited for where the last clone of its store is dropped.
#[derive(Debug)]
struct WriterThread(Option<JoinHandle<()>>);

impl Drop for WriterThread {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            drop(thread.join());
        }
    }
}

impl Store {
    /// Opens the store at `path`, and makes it where there is none. The folder must exist.
    pub fn open(path: &Path, durability: Durability) -> Result<Self, StoreError> {
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
            lock: Arc::default(),
            path: path.to_path_buf(),
            poison,
            queue: Some(queue),
            signer: None,
            thread: Arc::new(WriterThread(Some(thread))),
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many transactions were committed since it was opened.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// The fault after which it writes nothing any more; `None` while it writes.
    pub fn poison(&self) -> Option<&str> {
        self.poison.get().map(String::as_str)
    }

    /// The key that signs the checkpoints of runs that are written here; `None` if they are not signed.
    #[must_use]
    pub fn signer(&self) -> Option<&SecretKey> {
        self.signer.as_deref()
    }

    /// Sets the key that signs the checkpoints of runs that are written here.
    #[must_use]
    pub fn signed_by(mut self, signer: SecretKey) -> Self {
        self.signer = Some(Arc::new(signer));
        self
    }

    /// A reader on a connection of its own; it sees what is committed.
    pub fn reader(&self) -> Result<StoreReader, StoreError> {
        StoreReader::open(&self.path)
    }

    /// Creates a run with its first entries, and claims it: all of it is durable when this returns, or there is no such
    /// run. The first entries name no blobs.
    ///
    /// # Errors
    /// [`StoreError::RunExists`] where the name is taken, and those of [`Self::append`].
    pub(crate) async fn begin_run<T: Storable>(
        &self,
        new: NewRun,
        entries: Vec<T>,
        checkpoint: Option<NewCheckpoint>,
    ) -> Result<RunHandle, StoreError> {
        let path = self.path.clone();
        let outcome = sealed_outcome(&new.run_id, &entries)?;
        let last = entries.last().map(Storable::hash);
        let entries: Vec<EntryRow> = entries.into_iter().map(Storable::row).collect();
        self.submit(false, move |conn| {
            let mut run = new.insert(conn, &path)?;
            let Some(head) = last else {
                return Ok(run);
            };
            let length = u64::try_from(entries.len()).unwrap_or(u64::MAX);
            let append = Append {
                checkpoint,
                entries,
                epoch: run.epoch,
                head,
                key: run.key,
                last: run.head,
                leaf: run.leaf(outcome, length, head),
                links: Vec::new(),
                outcome,
                path,
                run_id: run.run_id.clone(),
                seq: run.length,
                small: Vec::new(),
            };
            append.perform(conn)?;
            run.head = head;
            run.length = length;
            Ok(run)
        })
        .await
    }

    /// Creates a run without entries, and claims it.
    ///
    /// # Errors
    /// [`StoreError::RunExists`] where the name is taken.
    pub async fn create_run(
        &self,
        run_id: &RunId,
        contract: &ExecutionContract,
        created_unix_ms: u64,
    ) -> Result<RunHandle, StoreError> {
        let new = NewRun {
            binding: Binding::Contract(Arc::new(contract.clone())),
            created_unix_ms,
            invocation: None,
            run_id: run_id.clone(),
        };
        self.begin_run(new, Vec::<SealedEntry>::new(), None).await
    }

    /// Takes a run over: the handle that held it before is fenced from now on.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`] where there is none of that name, [`StoreError::Imported`] and [`StoreError::Erased`] where it
    /// can be read, not driven.
    pub async fn claim_run(&self, run_id: &RunId) -> Result<RunHandle, StoreError> {
        let path = self.path.clone();
        let run_id = run_id.clone();
        self.submit(false, move |conn| {
            let sql = |fault: rusqlite::Error| StoreError::from_sql(&path, &fault);
            judge_drivable(conn, &run_id, &path)?;
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
        })
        .await
    }

    /// Appends entries to the run's head, with the blobs they name, as one batch: all of it is durable when this
    /// returns, or none of it. A batch that ends with the seal also records the outcome in the row of the run.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] where somebody else has claimed the run, [`StoreError::OutOfOrder`] where the entries do
    /// not continue it, and the faults of the file.
    pub async fn append(
        &self,
        run: &mut RunHandle,
        entries: Vec<SealedEntry>,
        blobs: Vec<NewBlob>,
    ) -> Result<(), StoreError> {
        self.append_signed(run, entries, blobs, None).await
    }

    /// [`Self::append`] with a checkpoint of the entries so far, durable with them.
    pub(crate) async fn append_signed<T: Storable>(
        &self,
        run: &mut RunHandle,
        entries: Vec<T>,
        blobs: Vec<NewBlob>,
        checkpoint: Option<NewCheckpoint>,
    ) -> Result<(), StoreError> {
        let mut length = run.length;
        for entry in &entries {
            if entry.seq() != length {
                return Err(StoreError::OutOfOrder {
                    run_id: run.run_id.clone(),
                    expected: length,
                    got: entry.seq(),
                });
            }
            length = length.saturating_add(1);
        }
        let Some(head) = entries.last().map(Storable::hash) else {
            return Ok(());
        };
        let outcome = sealed_outcome(&run.run_id, &entries)?;
        let mut links = Vec::with_capacity(blobs.len());
        let mut small = Vec::new();
        for blob in blobs {
            match blob {
                NewBlob::Bytes(bytes) if bytes.len() > LARGE_BLOB_BYTES => {
                    links.push(self.put_blob(bytes).await?);
                }
                NewBlob::Bytes(bytes) => {
                    let hash = Digest::of(&bytes);
                    small.push((hash, bytes));
                    links.push(hash);
                }
                NewBlob::Stored(hash) => links.push(hash),
            }
        }
        let append = Append {
            checkpoint,
            entries: entries.into_iter().map(Storable::row).collect(),
            epoch: run.epoch,
            head,
            key: run.key,
            last: run.head,
            leaf: run.leaf(outcome, length, head),
            links,
            outcome,
            path: self.path.clone(),
            run_id: run.run_id.clone(),
            seq: run.length,
            small,
        };
        self.submit(false, move |conn| append.perform(conn)).await?;
        run.head = head;
        run.length = length;
        Ok(())
    }

    /// Makes bytes durable under their hash. No entry names them yet.
    pub async fn put_blob(&self, bytes: Vec<u8>) -> Result<Digest, StoreError> {
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

impl Drop for Store {
    fn drop(&mut self) {
        // Without a queue the writer ends once it has answered what it holds. The last clone waits for that.
        self.queue = None;
    }
}
