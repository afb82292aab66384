//! The reasons why the model store or a download failed. Knows no exit codes.

use std::io;
use std::path::{Path, PathBuf};

use crate::inference::HeaderFault;
use monolith_core::message::Digest;

/// The reason why the store refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum ModelStoreError {
    /// A name that is no file's name.
    #[error(
        "{0:?} is no model's name: letters, digits, `.`, `_` and `-`, at most 64, not beginning with a dot"
    )]
    Name(String),
    /// No model of that name is stored.
    #[error("no model `{0}` is stored here")]
    Unknown(String),
    /// Another file has that name.
    #[error("the name `{name}` is taken: it is the file with blake3 {stored}")]
    NameTaken {
        /// The name.
        name: String,
        /// The digest of its file.
        stored: Digest,
    },
    /// The file is no model.
    #[error("{}: {fault}", path.display())]
    NoModel {
        /// The file.
        path: PathBuf,
        /// The error in it.
        fault: HeaderFault,
    },
    /// The file is another one.
    #[error("the hash of {what} is {got}, expected {expected}")]
    Hash {
        /// The file.
        what: String,
        /// The actual hash.
        got: Digest,
        /// The expected hash.
        expected: Digest,
    },
    /// The caller cancelled it.
    #[error("{}: its reading was ended, and nothing was changed", path.display())]
    Stopped {
        /// The file that was read.
        path: PathBuf,
    },
    /// The system.
    #[error("{}: {fault}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Its error.
        fault: io::Error,
    },
}

impl ModelStoreError {
    pub(super) fn io(path: &Path, fault: io::Error) -> Self {
        let path = path.to_owned();
        Self::Io { path, fault }
    }
}

/// The reason why a file was not fetched from a hub.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The caller: the text names no file of a hub.
    #[error("{got:?} names no file of a hub: {rule}")]
    Reference {
        /// The given text.
        got: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The caller: no address of a hub.
    #[error("{got:?} is no address of a hub: {rule}")]
    Address {
        /// The given text.
        got: String,
        /// The rule that it breaks.
        rule: String,
    },
    /// The hub has no such repository, file or revision.
    #[error("{what}: there is no such file, or no such revision (HTTP 404)")]
    NotFound {
        /// The requested file.
        what: String,
    },
    /// The hub gives it only to those who accepted its terms.
    #[error("{what}: it is given only to those who accepted its terms (HTTP {status})")]
    Gated {
        /// True if a token was sent.
        had_token: bool,
        /// The hub's HTTP status.
        status: u16,
        /// The requested file.
        what: String,
    },
    /// The hub answered with something else.
    #[error("{what}: the hub answered with HTTP {status}")]
    Status {
        /// The hub's HTTP status.
        status: u16,
        /// The requested file.
        what: String,
    },
    /// The hub cannot be reached.
    #[error("{location}: {detail}")]
    Unreachable {
        /// The error.
        detail: String,
        /// The address, without a query.
        location: String,
    },
    /// A redirect that is not followed.
    #[error("{what}: a redirect is not followed: {rule}")]
    Redirect {
        /// The rule that it breaks.
        rule: &'static str,
        /// The requested file.
        what: String,
    },
    /// The hub does not say how long the file is.
    #[error("{what}: the hub does not say how many bytes it has")]
    NoLength {
        /// The requested file.
        what: String,
    },
    /// The bytes end too early. What came is kept.
    #[error("{what}: it was cut off at byte {got} of {expected}{detail}")]
    CutOff {
        /// The error, after a colon; empty if the connection only ended.
        detail: String,
        /// Bytes of the file.
        expected: u64,
        /// Bytes that are here.
        got: u64,
        /// The requested file.
        what: String,
    },
    /// The answer has another length than the file. Nothing of it is kept.
    #[error("{what}: {got} bytes came, expected {expected}")]
    Length {
        /// Bytes of the file.
        expected: u64,
        /// Bytes of the answer.
        got: u64,
        /// The requested file.
        what: String,
    },
    /// The file differs from the one that the hub describes. Nothing of it is kept.
    #[error("{what}: its sha256 is {got}, expected {expected}; it was removed")]
    Sha256 {
        /// The hub's value.
        expected: String,
        /// The actual value.
        got: String,
        /// The requested file.
        what: String,
    },
    /// The disk is too small.
    #[error("{}: {needed} bytes are needed there, {free} are free", path.display())]
    NoRoom {
        /// Bytes that are free.
        free: u64,
        /// Bytes that are needed.
        needed: u64,
        /// The folder.
        path: PathBuf,
    },
    /// Another process fetches the same file.
    #[error("{what}: another process is fetching it")]
    Busy {
        /// The requested file.
        what: String,
    },
    /// The store.
    #[error(transparent)]
    Store(#[from] ModelStoreError),
}
