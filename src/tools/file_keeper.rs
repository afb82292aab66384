//! The trait that keeps what a file held before it is changed. Does not know the store.

use std::fmt;
use std::io;
use std::path::Path;

/// Where a run keeps what files of its workspace held before it changed them.
pub(crate) trait FileKeeper: fmt::Debug + Send + Sync {
    /// Keeps that content of a file of the workspace, durably; false where it is more than is kept. Without a content it is noted that files of
    /// that workspace are changed.
    ///
    /// # Errors
    /// What the system says.
    fn keep(&self, workspace: &Path, content: Option<&[u8]>) -> io::Result<bool>;
}
