//! The store: where transcripts are kept, and the only module that knows SQL.
//!
//! Knows runs (workflows and work items are kept as runs are), entries, blobs, tombstones, signed checkpoints and a log with a leaf for each sealed run. An append is durable
//! when it is acknowledged, and a stale writer cannot make one (compare-and-set on epoch, head sequence and head hash). Readers
//! use separate connections. A stored run is read as the records that `transcript` verifies. The store does not know what an
//! entry means, what time it is, or whether a chain is right: it keeps bytes.
//!
//! ```text
//! driver ─▶ Store ─▶ dyn Database ─┐
//! show, replay, verify ─▶ StoreReader ─▶ dyn DatabaseReader ─┼─▶ sqlite
//!                         RunReader ─▶ dyn RunRows ─┘
//! ```

mod answer;
#[cfg(test)]
mod conformance;
mod database;
mod delegated;
mod elsewhere;
mod erasure;
mod error;
mod export;
mod found_file;
mod import_error;
mod lineage;
mod log_report;
mod machine_record;
mod network;
mod new_file;
mod new_run;
mod private;
mod reader;
mod regular_file;
mod run;
mod run_reader;
mod sqlite;
mod storable;
mod work_record;
mod writer;

pub use answer::Answer;
#[cfg(test)]
pub(crate) use conformance::wait;
#[cfg(test)]
pub(crate) use database::RunDriver;
pub(crate) use database::RunLock;
pub use delegated::DelegatedRun;
pub use elsewhere::{Elsewhere, HeldIn};
#[cfg(test)]
pub use erasure::Erased;
pub use erasure::{EraseError, Erasure, Removal, RemoveError};
pub use error::StoreError;
pub use export::ExportError;
pub use found_file::Foreign;
pub use import_error::ImportError;
pub(crate) use lineage::CallerState;
pub use lineage::Lineage;
pub use log_report::{LogReport, RunLog};
pub(crate) use machine_record::MachineRecord;
pub use network::network_system;
pub use new_file::{NewFile, PRIVATE, free_bytes, replace_own};
pub use new_run::Invocation;
pub(crate) use new_run::{Binding, NewRun};
pub use private::{Exposure, led_by_own_links, own_folder, private_folder, replaceable};
pub(crate) use private::{open_own, private_file};
pub use reader::{NEWEST, StoreReader};
pub(crate) use regular_file::open_regular_name;
pub use regular_file::{
    is_handed_in, judge_folder, judge_new_folder, judge_regular, open_given, open_regular,
};
pub(crate) use run::RunHandle;
pub use run::{DamagedRow, RunFilter, RunRow};
pub use run_reader::RunReader;
pub(crate) use sqlite::KeptFiles;
pub use sqlite::{
    Change, Durability, ImportTerms, Imported, MigrateError, Migration, OLDEST_STORE_FORMAT,
    ReadKept, STORE_FORMAT, Verified, erase_kept, import, judge_store, judge_to_write,
    kept_content, migrate, packed_entry_text, places_of, remove_kept,
};
pub(crate) use storable::{NewBlob, NewCheckpoint};
pub use work_record::WorkRecord;
pub use writer::Store;
