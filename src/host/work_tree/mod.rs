//! The file layer of work items: a change to a folder happens completely or not at all, whenever the process is killed.
//!
//! Knows trees of files, their hashes, scratch copies, the journal and its recovery. It does not know items, agents or admission, and
//! decides nothing: `work` does. Paths are opened step by step below an open folder, and never through a link.
//!
//! ```text
//! WorkTree::lock ─▶ recovery ─▶ scan ─▶ snapshot ─▶ make_scratch ─▶ (the agent works) ─▶ compare ─▶ keep_changes
//!                                  blobs, manifests                                                  │
//!                       thaw ◀─ publish: plan ─▶ stage ─▶ journal ─▶ renames ─▶ done  ◀─ make_test_copy
//! ```

#[cfg(unix)]
mod aside;
#[cfg(unix)]
mod blobs;
#[cfg(unix)]
mod by_rules;
#[cfg(unix)]
mod collection;
#[cfg(unix)]
mod completed;
#[cfg(unix)]
mod copier;
#[cfg(unix)]
mod copy;
mod error;
#[cfg(unix)]
mod folder;
#[cfg(unix)]
mod found;
mod gate;
#[cfg(unix)]
mod ground;
#[cfg(unix)]
mod hash_cache;
#[cfg(unix)]
mod journal;
#[cfg(unix)]
mod kept;
#[cfg(unix)]
mod locked_tree;
#[cfg(unix)]
mod ops;
#[cfg(unix)]
mod owner;
#[cfg(unix)]
mod parallel;
#[cfg(unix)]
mod plan;
#[cfg(unix)]
mod publisher;
#[cfg(unix)]
mod recovery;
#[cfg(unix)]
mod removal;
#[cfg(unix)]
mod rules;
#[cfg(unix)]
mod scan;
#[cfg(unix)]
mod scratch;
#[cfg(unix)]
mod scratch_folder;
#[cfg(unix)]
mod stage;
#[cfg(unix)]
mod state;
#[cfg(unix)]
mod step;
#[cfg(test)]
#[cfg(unix)]
mod tests;
#[cfg(unix)]
mod thaw;
#[cfg(unix)]
mod watch;
#[cfg(unix)]
mod withheld;

#[cfg(unix)]
pub use aside::ASIDE;
#[cfg(unix)]
pub use collection::{Collected, Needed, collect_contents};
#[cfg(unix)]
pub use completed::has_journal;
pub use error::WorkTreeError;
pub use gate::{Gate, Op, OpenGate};
#[cfg(unix)]
pub use journal::Purpose;
#[cfg(unix)]
pub use kept::kept_content;
#[cfg(unix)]
pub use locked_tree::{TreePlaces, WorkTree};
#[cfg(unix)]
pub use publisher::Published;
#[cfg(unix)]
pub use recovery::Recovered;
#[cfg(unix)]
pub use rules::{ScanTerms, pattern_fault};
#[cfg(unix)]
pub use scan::Scan;
#[cfg(unix)]
pub use scratch::{Compared, Scratch};
#[cfg(unix)]
pub use thaw::Thawed;
#[cfg(unix)]
pub use watch::Watch;
