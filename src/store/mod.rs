//! The store: where transcripts are kept, and the only room that speaks SQL.
//!
//! Knows one SQLite file with runs, entries, blobs, tombstones, signed checkpoints and a log with a leaf for each sealed run; appends that are durable when they are acknowledged
//! and that a stale writer cannot make (compare-and-set on epoch, head sequence and head hash); readers on
//! connections of their own; and a stored run as the records that `transcript` verifies. It does not know
//! what an entry means, what time it is, or whether a chain is right: it keeps bytes.
//!
//! ```text
//! runs ─▶ append ─▶ bounded queue ─▶ writer thread: BEGIN IMMEDIATE · up to 512 requests · COMMIT ─▶ acknowledged
//! show, replay, verify ─▶ StoreReader: its own read-only connection
//! erase, migrate ─▶ a connection of their own, while no run of the store is driven; import ─▶ one transaction for each file
//! ```

mod append;
mod blob;
mod column;
mod erase;
mod error;
mod export;
mod group_commit;
mod import;
mod intake;
mod invocation;
mod lineage;
mod lock;
mod merge;
mod migrate;
mod new_run;
mod open_reader;
mod reader;
mod run;
mod run_log;
mod run_reader;
mod schema;
#[cfg(test)]
mod tests;
mod verify;
mod wait;
mod writer;

pub use append::NewCheckpoint;
pub use blob::{LARGE_BLOB_BYTES, NewBlob};
pub use erase::{EraseError, Erased, Erasure, erase};
pub use error::StoreError;
pub use export::ExportError;
pub use import::{Change, ImportError, Imported, import};
pub use invocation::Invocation;
pub use lineage::Lineage;
pub use lock::{RunDriver, RunLock};
pub use migrate::{MigrateError, Migration, Verified, migrate};
pub use new_run::NewRun;
pub use reader::StoreReader;
pub use run::{DamagedRow, RunFilter, RunHandle, RunRow};
pub use run_log::{LogReport, RunLog};
pub use run_reader::RunReader;
pub use schema::{APPLICATION_ID, Durability, OLDEST_STORE_FORMAT, STORE_FORMAT};
pub use wait::wait;
pub use writer::Store;
