//! The reasons why a key file cannot be used or made. Knows paths and modes; never quotes a key.

use std::path::PathBuf;

use monolith_core::transcript::{BlockError, KeyError};

/// The reason why a key is unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFileError {
    /// The operator: a file or the folder cannot be read or written.
    #[error("use the key file {}: {reason}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// The operator: the new key is published, and the file of the old one cannot be replaced.
    #[error(
        "replace the key file {}: {reason}; the new key is published, and its secret is in {}: move that file to the name of the first",
        path.display(),
        secret.display()
    )]
    NotReplaced {
        /// The file of the old key.
        path: PathBuf,
        /// The system's error.
        reason: String,
        /// The file of the new one.
        secret: PathBuf,
    },
    /// The operator: the secret is kept elsewhere, where this program writes nothing over.
    #[error(
        "replace the key file {}: it is a link, and the old secret would stay where it leads to; put the file itself there, or replace the key where it is kept",
        path.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// The operator: others may read or write the secret.
    #[error("use the key file {}: its mode is {mode:04o}, and only its owner may read and write it (0600)", path.display())]
    Permissions {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The operator: others can put keys of theirs into the folder.
    #[error("use the key folder {}: its mode is {mode:04o}, and only its owner may write it (0700)", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The operator: it belongs to another user, who can put anything there.
    #[error("use {}: it belongs to user {uid}; only you and root may own it", path.display())]
    Owner {
        /// The file or folder.
        path: PathBuf,
        /// The user.
        uid: u32,
    },
    /// The operator: others can write a file of public keys, and so add a key that is trusted.
    #[error("use the key file {}: its mode is {mode:04o}, and only its owner may write it", path.display())]
    Public {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file holds no key: it was changed.
    #[error("use the key file {}: {fault}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The rule that it breaks.
        fault: KeyError,
    },
    /// The file holds no public keys and rotations: it was changed.
    #[error("use the key file {}: {fault}", path.display())]
    BrokenRing {
        /// The file.
        path: PathBuf,
        /// The line, and the rule that it breaks.
        fault: BlockError,
    },
    /// The caller: the name is taken.
    #[error("create key {name}: it already exists")]
    Exists {
        /// The name.
        name: String,
    },
    /// The caller: there is none of that name.
    #[error("find key {name}: no such key")]
    None {
        /// The name.
        name: String,
    },
    /// The caller: the name is none for a file.
    #[error(
        "name a key {name:?}: a name is 1 to 64 characters of a-z 0-9 - _ . and begins with a letter or digit; `redaction` is taken"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The operator: the system gave no randomness.
    #[error("make a key: the system gave no randomness: {0}")]
    Randomness(String),
}
