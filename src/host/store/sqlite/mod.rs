//! A store in one SQLite file, with the files next to it. The only part that knows SQL.
//!
//! ```text
//! runs ─▶ append ─▶ bounded queue ─▶ writer thread: BEGIN IMMEDIATE · up to 512 requests · COMMIT ─▶ acknowledged
//! show, replay, verify ─▶ SqliteReader: its own read-only connection
//! erase, migrate ─▶ a separate connection, while no run of the store is driven; import ─▶ one transaction for each file
//! ```

mod answer_files;
mod append;
mod column;
mod delete;
mod deletions;
mod entry_text;
mod erase;
#[cfg(test)]
mod format_0;
mod formats;
mod given_checkpoints;
mod group_commit;
mod import;
mod intake;
mod kept_files;
mod lock;
mod merge;
mod migrate;
mod open_reader;
mod open_writer;
mod parents;
mod reader;
mod run_log;
mod run_rows;
mod schema;
mod store_file;
#[cfg(test)]
mod tests;
mod verify;
mod verify_log;
mod writer;

pub use entry_text::packed_entry_text;
pub use formats::{OLDEST_STORE_FORMAT, STORE_FORMAT};
pub use import::{ImportTerms, Imported, import};
pub(crate) use kept_files::KeptFiles;
pub use kept_files::{ReadKept, erase_kept, kept_content, remove_kept};
pub use merge::Change;
pub use migrate::{MigrateError, Migration, Verified, migrate};
pub use open_writer::{Durability, judge_to_write};
pub(super) use reader::SqliteReader;
pub use store_file::{judge_store, places_of};
pub(super) use writer::SqliteWriter;
