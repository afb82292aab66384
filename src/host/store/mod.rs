//! The store: where transcripts are kept, and the only module that knows SQL.
//!
//! Knows runs, entries, blobs, tombstones, signed checkpoints and a log with a leaf for each sealed run; appends that are durable when they are acknowledged
//! and that a stale writer cannot make (compare-and-set on epoch, head sequence and head hash); readers on
//! connections of their own; and a stored run as the records that `transcript` verifies. It does not know
//! what an entry means, what time it is, or whether a chain is right: it keeps bytes.
//!
//! ```text
//! driver ─▶ Store ─▶ dyn Database ─┐
//! show, replay, verify ─▶ StoreReader ─▶ dyn DatabaseReader ─┼─▶ sqlite
//!                         RunReader ─▶ dyn RunRows ─┘
//! ```

mod answer;
mod batch;
#[cfg(test)]
mod conformance;
mod database;
mod delegated;
mod disk_space;
mod elsewhere;
mod erasure;
mod error;
mod export;
mod found_file;
mod import_error;
mod invocation;
mod lineage;
mod links;
mod lock;
mod log_report;
mod new_file;
mod new_run;
mod private;
mod reader;
mod regular_file;
mod removal;
mod run;
mod run_log;
mod run_reader;
mod run_row;
mod sqlite;
mod storable;
#[cfg(test)]
mod wait;
mod writer;

pub use answer::Answer;
pub(crate) use batch::{NewBlob, NewCheckpoint};
pub use delegated::DelegatedRun;
pub use disk_space::free_bytes;
pub use elsewhere::{Elsewhere, HeldIn};
#[cfg(test)]
pub use erasure::Erased;
pub use erasure::{EraseError, Erasure};
pub use error::StoreError;
pub use export::ExportError;
pub use found_file::Foreign;
pub use import_error::ImportError;
pub use invocation::Invocation;
pub(crate) use lineage::CallerState;
pub use lineage::Lineage;
#[cfg(test)]
pub(crate) use lock::RunDriver;
pub(crate) use lock::RunLock;
pub use log_report::LogReport;
pub use new_file::{NewFile, PRIVATE, replace_own};
pub(crate) use new_run::{Binding, NewRun};
pub use private::{Exposure, led_by_own_links, own_folder, private_folder, replaceable};
pub(crate) use private::{open_own, private_file};
pub use reader::{NEWEST, StoreReader};
pub(crate) use regular_file::open_regular_name;
pub use regular_file::{
    is_handed_in, judge_folder, judge_new_folder, judge_regular, open_given, open_regular,
};
pub use removal::{Removal, RemoveError};
pub use run::RunFilter;
pub(crate) use run::RunHandle;
pub use run_log::RunLog;
pub use run_reader::RunReader;
pub use run_row::{DamagedRow, RunRow};
pub(crate) use sqlite::KeptFiles;
pub use sqlite::{
    Change, Durability, ImportTerms, Imported, MigrateError, Migration, OLDEST_STORE_FORMAT,
    ReadKept, STORE_FORMAT, Verified, erase_kept, import, judge_store, judge_to_write,
    kept_content, migrate, packed_entry_text, places_of, remove_kept,
};
#[cfg(test)]
pub(crate) use wait::wait;
pub use writer::Store;
