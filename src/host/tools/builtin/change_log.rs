//! The changes of one call to workspace files: the log keeps each file's old content, then notes the new content. Does not
//! change files.

use std::fs::File;
use std::io;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use monolith_core::message::{Digest, FileChange, FileChanges};

use super::beneath::{Beneath, OpenError};
use super::run_files::{KeptContent, RunFiles};

/// The most files of one call that are listed.
const MOST_FILES: usize = 500;

/// The changes of one call to files of the workspace.
#[derive(Clone, Debug, Default)]
pub(in crate::tools) struct ChangeLog(Arc<Log>);

#[derive(Debug, Default)]
struct Log {
    changes: Mutex<FileChanges>,
    files: Option<Arc<RunFiles>>,
}

impl ChangeLog {
    /// A log whose files are kept as they were, where there is such a place.
    pub(in crate::tools) fn new(files: Option<Arc<RunFiles>>) -> Self {
        Self(Arc::new(Log {
            changes: Mutex::default(),
            files,
        }))
    }

    /// Returns the run's record of its files; `None` if nothing is kept.
    pub(super) fn files(&self) -> Option<&Arc<RunFiles>> {
        self.0.files.as_ref()
    }

    /// Keeps what a file holds, before it is changed.
    pub(super) fn keep(&self, workspace: &Path, held: &Held) -> io::Result<()> {
        if let Some(files) = &self.0.files {
            files.keep(workspace, held.to_keep())?;
        }
        Ok(())
    }

    /// Notes what a file held and holds.
    pub(super) fn note(&self, path: &str, before: &Held, after: Option<&[u8]>) {
        let change = match before {
            Held::Content { bytes, .. } => FileChange::of(path, Some(bytes), after),
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
            if let Some(files) = &self.0.files {
                files.written(Path::new(path), change.after);
            }
            self.add(change);
        }
    }

    /// Notes what was found to be changed.
    pub(super) fn note_all(&self, found: FileChanges) {
        for change in found.files {
            self.add(change);
        }
        if found.incomplete {
            self.lock().incomplete = true;
        }
    }

    fn add(&self, change: FileChange) {
        let mut changes = self.lock();
        if changes.files.len() < MOST_FILES {
            changes.files.push(change);
        } else {
            changes.incomplete = true;
        }
    }

    /// Takes the changes.
    pub(in crate::tools) fn take(&self) -> FileChanges {
        let mut changes = self.lock();
        std::mem::take(&mut changes)
    }

    fn lock(&self) -> MutexGuard<'_, FileChanges> {
        let changes = self.0.changes.lock();
        changes.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bits of a mode that are permissions.
#[cfg(unix)]
const PERMISSIONS: u32 = 0o777;
/// Most bytes of a file that is written, or kept.
pub(super) const FILE_BYTES: usize = 16 * 1024 * 1024;

/// The content of a file before a change.
#[derive(Debug)]
pub(super) enum Held {
    Content {
        bytes: Vec<u8>,
        /// The permissions of the file, on a system that has them.
        mode: Option<u16>,
    },
    /// More than is kept.
    Large(Digest),
    /// It was not there.
    Nothing,
}

impl Held {
    /// Reads the current content of a file; only the hash if the file is too large to keep.
    pub(super) fn of(beneath: &Beneath, path: &Path) -> Result<Self, OpenError> {
        let mut file = match beneath.file(path) {
            Err(OpenError::Io(fault)) if fault.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::Nothing);
            }
            opened => opened?,
        };
        let mode = mode_of(&file)?;
        let most = u64::try_from(FILE_BYTES).unwrap_or(u64::MAX);
        let mut content = Vec::new();
        file.by_ref().take(most).read_to_end(&mut content)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&content);
        let before = hasher.count();
        hasher.update_reader(file)?;
        if hasher.count() == before {
            let bytes = content;
            return Ok(Self::Content { bytes, mode });
        }
        let hash = Digest::from_bytes(*hasher.finalize().as_bytes());
        Ok(Self::Large(hash))
    }

    /// The content to keep; `None` if there is none, or more than is kept.
    pub(super) fn to_keep(&self) -> Option<KeptContent<'_>> {
        match self {
            Self::Content { bytes, mode } => Some(KeptContent { bytes, mode: *mode }),
            Self::Large(_) | Self::Nothing => None,
        }
    }

    /// Its hash; `None` if it was not there.
    pub(super) fn hash(&self) -> Option<Digest> {
        match self {
            Self::Content { bytes, .. } => Some(Digest::of(bytes)),
            Self::Large(hash) => Some(*hash),
            Self::Nothing => None,
        }
    }
}

/// The permissions of a file.
#[cfg(unix)]
fn mode_of(file: &File) -> io::Result<Option<u16>> {
    use std::os::unix::fs::MetadataExt as _;
    let mode = file.metadata()?.mode() & PERMISSIONS;
    Ok(u16::try_from(mode).ok())
}

#[cfg(not(unix))]
fn mode_of(_: &File) -> io::Result<Option<u16>> {
    Ok(None)
}
