//! The reasons why the store refused or failed, in words. Next steps for a person are up to `cli`.

use std::path::PathBuf;

use super::sqlite::STORE_FORMAT;
use monolith_core::message::RunId;
use monolith_core::transcript::TranscriptKind;

/// The reason why the store refused or failed, by who has to act on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The operator: the file cannot be opened or made, for instance because its folder does not exist.
    #[error("open {}: {reason}", path.display())]
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// The caller: a folder stands where the file is to be.
    #[error("open {}: it is a folder; a store is a file", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// The operator: the file or its folder may not be written.
    #[error("write {}: it is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The operator: others can write the file or its folder, so its content may be theirs.
    #[error("write {}: others can write it: {reason}", path.display())]
    Exposed {
        /// The file or folder.
        path: PathBuf,
        /// The exposure.
        reason: String,
    },
    /// The operator: the file has more than one name, and each would have separate locks and a separate log of writes.
    #[error("write {}: the file has {names} names (hard links), and writes under one name are lost under another", path.display())]
    Linked {
        /// The file.
        path: PathBuf,
        /// Number of its names.
        names: u64,
    },
    /// The operator: another process kept the write lock for longer than the store waits.
    #[error("write {}: another process holds its write lock", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The operator: there is no room left.
    #[error("write {}: the disk is full", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// The operator: a program that a run confines could make files there that count as the store's own.
    #[error("use {}: {key} lets a confined program write to {}, and a file or link created there could replace the store", path.display(), folder.display())]
    InReach {
        /// The file.
        path: PathBuf,
        /// The folder that the program may write, resolved.
        folder: PathBuf,
        /// The key of the contract file, or the variable, that grants it.
        key: String,
    },
    /// The operator: a rollback journal lies beside the file. SQLite would play it back, and a store never makes one.
    #[error("open {}: {} is a rollback journal that monolith did not write; playing it back could replace the store", path.display(), journal.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// The journal of the store.
        journal: PathBuf,
    },
    /// The operator: a write was cut off, and may not be rolled back from here.
    #[error("read {}: a write was interrupted, and its rest in {} must be recovered first", path.display(), left.display())]
    CutOff {
        /// The file.
        path: PathBuf,
        /// The adjacent file that holds the rest.
        left: PathBuf,
    },
    /// The operator: the file was copied without the log that holds its writes.
    #[error("read {}: it holds no table, and its log of writes {} is missing: the store was copied without it, or its first write failed", path.display(), log.display())]
    WithoutLog {
        /// The file.
        path: PathBuf,
        /// The missing file.
        log: PathBuf,
    },
    /// The operator: the file is not an SQLite database.
    #[error("open {}: it is not a database", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The operator: the database belongs to another program.
    #[error("open {}: it is another program's database (application id {found:#x})", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its application id.
        found: i32,
    },
    /// The operator: the file holds nothing, not even an empty store.
    #[error("open {}: the file is empty, so it holds no run", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The operator: a newer build wrote the file.
    #[error("open {}: its format is {found}, and this build reads up to {supported}", path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: i32,
        /// The newest format this build reads.
        supported: i32,
    },
    /// The operator: an older build wrote the file, and this one writes only what it has migrated.
    #[error("write {}: its format is {found}, and this build writes {current}", path.display())]
    OlderFormat {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: i32,
        /// The format that this build writes.
        current: i32,
    },
    /// A change of the file: no build ever wrote that format.
    #[error("open {}: its format {found} is unknown to every build", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: i32,
    },
    /// The operator: a run of the store is being driven, or another process rewrites the store.
    #[error("use {}: {user}", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
        /// Who uses it.
        user: String,
    },
    /// The caller: a run, a workflow and a work item are read in different ways.
    #[error("read {run_id} as a {asked}: it is a {kind}")]
    OtherKind {
        /// The machine that was asked for.
        asked: TranscriptKind,
        /// The machine that it is of.
        kind: TranscriptKind,
        /// Its name.
        run_id: RunId,
    },
    /// The caller: a work item ends with a receipt.
    #[error("seal work item {run_id}: {reason}")]
    NoReceipt {
        /// The item.
        run_id: RunId,
        /// The obstacle.
        reason: String,
    },
    /// monolith: another item has ended since the last receipt was read.
    #[error("seal work item {run_id}: another receipt has become the last one")]
    ReceiptBehind {
        /// The item.
        run_id: RunId,
    },
    /// The operator: the run came from elsewhere, and is read here only.
    #[error("resume run {run_id}: it was imported, so its process is on another machine")]
    Imported {
        /// The run.
        run_id: RunId,
    },
    /// The operator: without the erased bytes the run can be read, not driven.
    #[error("resume run {run_id}: {blobs} of its blobs were erased")]
    Erased {
        /// The run.
        run_id: RunId,
        /// Their number.
        blobs: u64,
    },
    /// The operator: another build wrote the file, or somebody took a part of it away.
    #[error("use {}: a store of format {STORE_FORMAT} has {what}, and this one does not: another build of monolith wrote it, or somebody changed it", path.display())]
    Lacking {
        /// The file.
        path: PathBuf,
        /// The table, the column or its type.
        what: String,
    },
    /// A change of the file: it no longer holds what was written.
    #[error("read {}: {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The broken rule.
        reason: String,
    },
    /// The system: reading, writing or syncing failed. After this on a commit the store refuses everything.
    #[error("use {}: {reason}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// The process: an earlier commit may or may not be durable, so nothing may be built on it.
    #[error("write to the store: it stopped after an earlier error ({cause})")]
    Poisoned {
        /// The fault.
        cause: String,
    },
    /// The process: the writer has ended.
    #[error("write to the store: it is closed")]
    Closed,
    /// Another writer took the run over; this one must stop.
    #[error("append to run {run_id}: another writer has taken it over")]
    Fenced {
        /// The run.
        run_id: RunId,
    },
    /// The operator: another process drives the run.
    #[error("drive run {run_id}: {} is already driving it", holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}")))]
    RunLocked {
        /// The run.
        run_id: RunId,
        /// The process that holds the lock, where it has said so.
        holder: Option<u32>,
    },
    /// The operator: the file that keeps a second process from driving a run cannot be made or locked.
    #[error("lock {}: {reason}", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// monolith: a batch does not continue the run.
    #[error("append to run {run_id}: expected entry {expected}, got {got}")]
    OutOfOrder {
        /// The run.
        run_id: RunId,
        /// The number that comes next.
        expected: u64,
        /// The number that came.
        got: u64,
    },
    /// monolith: an entry that ends the run does not read back as what was sealed.
    #[error("append to run {run_id}: entry {seq}: {reason}")]
    BadEntry {
        /// The run.
        run_id: RunId,
        /// The entry.
        seq: u64,
        /// The error in it.
        reason: String,
    },
    /// The caller: the name is taken.
    #[error("create run {run_id}: that run already exists")]
    RunExists {
        /// The name.
        run_id: RunId,
    },
    /// The caller: no run has that name or prefix.
    #[error("find run {asked:?}: no such run")]
    NoSuchRun {
        /// The requested run.
        asked: String,
    },
    /// The caller: the prefix is that of more than one run.
    #[error(
        "find run {asked:?}: the name is ambiguous; it could be {}",
        names(candidates)
    )]
    Ambiguous {
        /// The requested run.
        asked: String,
        /// The first ten runs it could be.
        candidates: Vec<RunId>,
    },
    /// monolith: a statement that the database does not accept.
    #[error("use {}: {reason}", path.display())]
    Statement {
        /// The file.
        path: PathBuf,
        /// The database's error.
        reason: String,
    },
}

fn names(candidates: &[RunId]) -> String {
    let names: Vec<&str> = candidates.iter().map(RunId::as_str).collect();
    names.join(", ")
}
