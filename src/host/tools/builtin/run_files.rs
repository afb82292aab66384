//! The run's record of its workspace files, and the keeper of their old content. Reads no file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, io};

use monolith_core::message::Digest;

use super::beneath::stamp::Stamp;

/// The run's record of its workspace files, and the keeper of their old content.
#[derive(Debug)]
pub(crate) struct RunFiles {
    pub(super) keeper: Arc<dyn FileKeeper>,
    /// Commands that run now.
    pub(super) running: AtomicUsize,
    seen: Mutex<Files>,
    /// Set if a command was abandoned and its changes are not known yet.
    pub(super) unaccounted: AtomicBool,
}

/// The files that were seen.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) all: BTreeMap<PathBuf, Seen>,
    /// True if files that existed are missing here.
    pub(super) lacks_files: bool,
}

/// The state of a file when it was last read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// `None` if it was not read: it is too large, or cannot be read.
    pub(super) hash: Option<Digest>,
    /// `None` if it was changed so shortly before that the next change may leave it as it is.
    pub(super) stamp: Option<Stamp>,
}

impl RunFiles {
    pub(crate) fn new(keeper: Arc<dyn FileKeeper>) -> Self {
        Self {
            keeper,
            running: AtomicUsize::new(0),
            seen: Mutex::default(),
            unaccounted: AtomicBool::new(false),
        }
    }

    /// Keeps what a file of that workspace holds, durably, before it is changed.
    pub(super) fn keep(
        &self,
        workspace: &Path,
        content: Option<KeptContent<'_>>,
    ) -> io::Result<()> {
        self.keeper.keep(workspace, content)?;
        self.keeper.settle()
    }

    /// A tool other than a command has changed a file.
    pub(super) fn written(&self, path: &Path, hash: Option<Digest>) {
        let mut files = self.files();
        match hash {
            Some(_) => {
                let seen = Seen { hash, stamp: None };
                files.all.insert(path.to_owned(), seen);
            }
            None => drop(files.all.remove(path)),
        }
    }

    pub(super) fn files(&self) -> MutexGuard<'_, Files> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The content of a workspace file before a change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptContent<'c> {
    pub(crate) bytes: &'c [u8],
    /// The permissions of the file, on a system that has them.
    pub(crate) mode: Option<u16>,
}

/// The store for the old content of workspace files that a run changes.
pub(crate) trait FileKeeper: fmt::Debug + Send + Sync {
    /// Keeps that content of a file of the workspace; false where it is more than is kept. Without a content it is noted that files of that
    /// workspace are changed. Of files with one content, the permissions that all of them have are kept. It is durable once
    /// [`Self::settle`] has returned.
    ///
    /// # Errors
    /// What the system says.
    fn keep(&self, workspace: &Path, content: Option<KeptContent<'_>>) -> io::Result<bool>;

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
