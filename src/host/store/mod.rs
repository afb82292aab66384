//! The store: where transcripts are kept, and the only module that knows SQL.
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

mod answer;
mod append;
mod blob;
mod column;
mod connection;
mod delegated;
mod delete;
mod deletions;
mod disk_space;
mod earlier;
mod elsewhere;
mod entry_text;
mod erase;
mod error;
mod export;
#[cfg(test)]
mod format_0;
mod formats;
mod found_file;
mod given_checkpoints;
mod group_commit;
mod import;
mod import_error;
mod intake;
mod invocation;
mod kept_files;
mod lineage;
mod links;
mod lock;
mod log_name;
mod merge;
mod migrate;
mod new_file;
mod new_run;
mod open_reader;
mod open_writer;
mod private;
mod reader;
mod regular_file;
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
#[cfg(test)]
mod wait;
mod writer;

pub use answer::Answer;
pub(crate) use append::NewCheckpoint;
pub(crate) use blob::{LARGE_BLOB_BYTES, NewBlob};
pub use delegated::DelegatedRun;
pub use delete::{Removal, RemoveError, remove};
pub use disk_space::free_bytes;
pub use elsewhere::{Elsewhere, HeldIn};
pub use entry_text::packed_entry_text;
pub use erase::{EraseError, Erasure, erase, named_blob};
pub use error::StoreError;
pub use export::ExportError;
pub use formats::{OLDEST_STORE_FORMAT, STORE_FORMAT};
pub use found_file::Foreign;
pub use import::{ImportTerms, Imported, import};
pub use import_error::ImportError;
pub use invocation::Invocation;
pub(crate) use kept_files::KeptFiles;
pub use kept_files::{ReadKept, erase_kept, kept_content, remove_kept};
pub(crate) use lineage::CallerState;
pub use lineage::Lineage;
pub(crate) use lock::RunLock;
pub use merge::Change;
pub use migrate::{MigrateError, Migration, Verified, migrate};
pub use new_file::{NewFile, PRIVATE, replace_own};
pub(crate) use new_run::{Binding, NewRun};
pub use open_writer::Durability;
pub use open_writer::judge_to_write;
pub use private::{Exposure, led_by_own_links, own_folder, private_folder, replaceable};
pub(crate) use private::{open_own, private_file};
pub use reader::NEWEST;
pub use reader::StoreReader;
pub(crate) use regular_file::open_regular_name;
pub use regular_file::{
    is_handed_in, judge_folder, judge_new_folder, judge_regular, open_given, open_regular,
};
pub use run::RunFilter;
pub(crate) use run::RunHandle;
pub use run_log::RunLog;
pub use run_reader::RunReader;
pub use run_row::DamagedRow;
pub use run_row::RunRow;
pub use store_file::{judge_store, places_of};
pub use verify_log::LogReport;
pub use writer::Store;

#[cfg(test)]
pub use self::erase::Erased;
#[cfg(test)]
pub(crate) use self::lock::RunDriver;
#[cfg(test)]
pub(crate) use self::wait::wait;
