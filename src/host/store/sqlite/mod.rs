//! A store in one SQLite file, with the files that lie beside it. The only part that knows SQL.
//!
//! ```text
//! runs ─▶ append ─▶ bounded queue ─▶ writer thread: BEGIN IMMEDIATE · up to 512 requests · COMMIT ─▶ acknowledged
//! show, replay, verify ─▶ StoreReader: its own read-only connection
//! erase, migrate ─▶ a connection of their own, while no run of the store is driven; import ─▶ one transaction for each file
//! ```

mod answer;
mod append;
mod blob;
mod column;
mod connection;
mod delegated;
mod delete;
mod deletions;
mod earlier;
mod elsewhere;
mod entry_text;
mod erase;
#[cfg(test)]
mod format_0;
mod formats;
mod given_checkpoints;
mod group_commit;
mod import;
mod intake;
mod invocation;
mod kept_files;
mod lineage;
mod lock;
mod log_name;
mod merge;
mod migrate;
mod new_run;
mod open_reader;
mod open_writer;
mod reader;
mod run;
mod run_log;
mod run_reader;
mod run_row;
mod schema;
mod storable;
mod store_file;
#[cfg(test)]
mod tests;
mod verify;
mod verify_log;
mod vouched;
mod writer;

use super::{StoreError, disk_space, import_error, links, new_file, private, regular_file};

pub use answer::Answer;
pub(crate) use append::NewCheckpoint;
pub(crate) use blob::LARGE_BLOB_BYTES;
pub(crate) use blob::NewBlob;
pub use delegated::DelegatedRun;
pub use delete::{Removal, RemoveError, remove};
pub use elsewhere::{Elsewhere, HeldIn};
pub use entry_text::packed_entry_text;
#[cfg(test)]
pub use erase::Erased;
pub use erase::{EraseError, Erasure, erase, named_blob};
pub use formats::{OLDEST_STORE_FORMAT, STORE_FORMAT};
pub use import::{ImportTerms, Imported, import};
pub use invocation::Invocation;
pub(crate) use kept_files::KeptFiles;
pub use kept_files::{ReadKept, erase_kept, kept_content, remove_kept};
pub(crate) use lineage::CallerState;
pub use lineage::Lineage;
#[cfg(test)]
pub(crate) use lock::RunDriver;
pub(crate) use lock::RunLock;
pub use merge::Change;
pub use migrate::{MigrateError, Migration, Verified, migrate};
pub(crate) use new_run::{Binding, NewRun};
pub use open_writer::Durability;
pub use open_writer::judge_to_write;
pub use reader::NEWEST;
pub use reader::StoreReader;
pub use run::RunFilter;
pub(crate) use run::RunHandle;
pub use run_log::RunLog;
pub use run_reader::RunReader;
pub use run_row::DamagedRow;
pub use run_row::RunRow;
pub use store_file::{judge_store, places_of};
pub use verify_log::LogReport;
pub use writer::Store;
