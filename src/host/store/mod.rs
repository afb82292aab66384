//! The store: where transcripts are kept, and the only module that knows SQL.
//!
//! Knows one SQLite file with runs, entries, blobs, tombstones, signed checkpoints and a log with a leaf for each sealed run; appends that are durable when they are acknowledged
//! and that a stale writer cannot make (compare-and-set on epoch, head sequence and head hash); readers on
//! connections of their own; and a stored run as the records that `transcript` verifies. It does not know
//! what an entry means, what time it is, or whether a chain is right: it keeps bytes.

mod disk_space;
mod error;
mod export;
mod found_file;
mod import_error;
mod links;
mod new_file;
mod private;
mod regular_file;
mod sqlite;
#[cfg(test)]
mod wait;

pub use disk_space::free_bytes;
pub use error::StoreError;
pub use export::ExportError;
pub use found_file::Foreign;
pub use import_error::ImportError;
pub use new_file::{NewFile, PRIVATE, replace_own};
pub use private::{Exposure, led_by_own_links, own_folder, private_folder, replaceable};
pub(crate) use private::{open_own, private_file};
pub(crate) use regular_file::open_regular_name;
pub use regular_file::{
    is_handed_in, judge_folder, judge_new_folder, judge_regular, open_given, open_regular,
};
#[cfg(test)]
pub use sqlite::Erased;
#[cfg(test)]
pub(crate) use sqlite::RunDriver;
pub use sqlite::{
    Answer, Change, DamagedRow, DelegatedRun, Durability, Elsewhere, EraseError, Erasure, HeldIn,
    ImportTerms, Imported, Invocation, Lineage, LogReport, MigrateError, Migration, NEWEST,
    OLDEST_STORE_FORMAT, ReadKept, Removal, RemoveError, RunFilter, RunLog, RunReader, RunRow,
    STORE_FORMAT, Store, StoreReader, Verified, erase, erase_kept, import, judge_store,
    judge_to_write, kept_content, migrate, named_blob, packed_entry_text, places_of, remove,
    remove_kept,
};
pub(crate) use sqlite::{
    Binding, CallerState, KeptFiles, NewBlob, NewCheckpoint, NewRun, RunHandle, RunLock,
};
#[cfg(test)]
pub(crate) use wait::wait;
