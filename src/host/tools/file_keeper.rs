//! The trait that keeps what a file held before it is changed. Does not know the store.

use std::fmt;
use std::io;
use std::path::Path;

use monolith_core::message::Digest;

/// Where a run keeps what files of its workspace held before it changed them.
pub(crate) trait FileKeeper: fmt::Debug + Send + Sync {
    /// Keeps that content of a file of the workspace; false where it is more than is kept. Without a content it is noted that files of that
    /// workspace are changed. It is durable once [`Self::settle`] has returned.
    ///
    /// # Errors
    /// What the system says.
    fn keep(&self, workspace: &Path, content: Option<&[u8]>) -> io::Result<bool>;

    /// Makes durable what was kept.
    ///
    /// # Errors
    /// What the system says.
    fn settle(&self) -> io::Result<()>;

    /// The content of that hash; `None` if it is not kept.
    ///
    /// # Errors
    /// What the system says.
    fn content(&self, hash: Digest) -> io::Result<Option<Vec<u8>>>;
}
