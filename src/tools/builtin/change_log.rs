//! What one call does to files of the workspace: each is kept as it was, then noted with what it holds. Does not change files.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::message::{Digest, FileChange, FileChanges};
use crate::tools::FileKeeper;

/// The most files of one call that are listed.
const MOST_FILES: usize = 500;

/// What a file held before it was changed.
#[derive(Debug)]
pub(super) enum Held {
    Content(Vec<u8>),
    /// More than is kept.
    Large(Digest),
    /// It was not there.
    Nothing,
}

/// What one call does to files of the workspace.
#[derive(Clone, Debug, Default)]
pub(in crate::tools) struct ChangeLog(Arc<Log>);

#[derive(Debug, Default)]
struct Log {
    changes: Mutex<FileChanges>,
    keeper: Option<Arc<dyn FileKeeper>>,
}

impl ChangeLog {
    /// A log whose files are kept as they were, where there is such a place.
    pub(in crate::tools) fn new(keeper: Option<Arc<dyn FileKeeper>>) -> Self {
        Self(Arc::new(Log {
            changes: Mutex::default(),
            keeper,
        }))
    }

    /// Keeps what a file holds, before it is changed.
    pub(super) fn keep(&self, workspace: &Path, held: &Held) -> io::Result<()> {
        let content = match held {
            Held::Content(content) => Some(content.as_slice()),
            Held::Large(_) | Held::Nothing => None,
        };
        if let Some(keeper) = &self.0.keeper {
            keeper.keep(workspace, content)?;
        }
        Ok(())
    }

    /// Notes what a file held and holds.
    pub(super) fn note(&self, path: &str, before: &Held, after: Option<&[u8]>) {
        let change = match before {
            Held::Content(content) => FileChange::of(path, Some(content), after),
            Held::Nothing => FileChange::of(path, None, after),
            Held::Large(hash) => Some(FileChange {
                after: after.map(Digest::of),
                before: Some(*hash),
                lines_added: 0,
                lines_removed: 0,
                path: path.to_owned(),
            }),
        };
        if let Some(change) = change {
            self.add(change);
        }
    }

    fn add(&self, change: FileChange) {
        let mut changes = self
            .0
            .changes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if changes.files.len() < MOST_FILES {
            changes.files.push(change);
        } else {
            changes.incomplete = true;
        }
    }

    /// What was noted.
    pub(in crate::tools) fn take(&self) -> FileChanges {
        let mut changes = self
            .0
            .changes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut changes)
    }
}
