//! The store of models: GGUF files by their BLAKE3, each under a name, and where they come from.
//!
//! Knows names, hashes, disk space, and the way to fetch a file from a hub so that an interrupted fetch resumes. It
//! deliberately knows nothing of people: `cli` asks for a licence's acceptance and shows progress.
//!
//! ```text
//! hf:owner/repo/file ─▶ Hub::describe ─▶ HubFile (bytes, sha256, licence)
//!                            Hub::fetch ─▶ Partial (locked, resumable) ─▶ ModelStore::take
//! ```

mod error;
mod hub;
mod hub_reference;
mod partial;
mod store;
mod sums;

pub use error::{ModelStoreError, PullError};
pub use hub::{Hub, USUAL_HUB};
pub use hub_reference::{HubFile, HubReference, KNOWN_MODELS, KnownModel};
pub use partial::{Partial, PullLock, check_space};
pub use store::{ModelStore, NewModel, StoredModel};

#[cfg(test)]
mod hub_tests;
