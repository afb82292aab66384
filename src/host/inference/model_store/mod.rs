//! The store of models: GGUF files by their BLAKE3, each under a name, and where they come from.
//!
//! Knows names, hashes, space on the disk, and how a file is fetched from a hub so that a fetch that was cut off goes on. It
//! deliberately knows nothing of people: who asks for a licence's acceptance and shows progress is `cli`.
//!
//! ```text
//! hf:owner/repo/file ─▶ Hub::describe ─▶ HubFile (bytes, sha256, licence)
//!                            Hub::fetch ─▶ Partial (locked, resumable) ─▶ ModelStore::take
//! ```

mod disk_space;
mod error;
mod hub;
mod hub_file;
mod hub_reference;
mod known;
mod partial;
mod pull_lock;
mod store;
mod sums;

pub use disk_space::check_space;
pub use error::{ModelStoreError, PullError};
pub use hub::{Hub, USUAL_HUB};
pub use hub_file::HubFile;
pub use hub_reference::HubReference;
pub use known::{KNOWN_MODELS, KnownModel};
pub use partial::Partial;
pub use pull_lock::PullLock;
pub use store::{ModelStore, NewModel, StoredModel};

#[cfg(test)]
mod hub_tests;
