//! `Beneath` by path, for systems where a folder cannot be held open. Does not know tools.

pub(super) mod stamp;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::entry::{Entry, EntryKind};
use crate::tools::withheld::Withheld;

/// A folder and what lies beneath it, where folders cannot be held open. What a path resolves to is checked before and after it is
/// opened; a process that swaps a file for a link and back between the two gets around it.
#[derive(Debug)]
pub(super) struct Beneath {
    root: PathBuf,
    withheld: Withheld,
}

/// An error from opening a path.
#[derive(Debug)]
pub(super) enum OpenError {
    Io(io::Error),
    NotAFile,
    Outside,
}

impl From<io::Error> for OpenError {
    fn from(fault: io::Error) -> Self {
        Self::Io(fault)
    }
}

impl Beneath {
    /// Takes a folder; `root` is its resolved path.
    pub(super) fn open(root: PathBuf, withheld: Withheld) -> io::Result<Self> {
        fs::metadata(&root)?;
        Ok(Self { root, withheld })
    }

    /// The resolved path of the folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Opens the regular file at that path.
    pub(super) fn file(&self, path: &Path) -> Result<File, OpenError> {
        let resolved = self.resolved(path)?;
        if !fs::metadata(&resolved)?.is_file() {
            return Err(OpenError::NotAFile);
        }
        let file = File::open(&resolved)?;
        self.resolved(path)?;
        Ok(file)
    }

    /// The entries of the directory at that path.
    pub(super) fn entries(
        &self,
        path: &Path,
    ) -> Result<impl Iterator<Item = io::Result<Entry>> + use<>, OpenError> {
        let entries = fs::read_dir(self.resolved(path)?)?;
        Ok(entries.map(|entry| {
            let entry = entry?;
            let kind = match entry.file_type() {
                Ok(kind) if kind.is_dir() => EntryKind::Folder,
                Ok(kind) if kind.is_file() => EntryKind::File,
                _ => EntryKind::Other,
            };
            Ok(Entry {
                kind,
                name: entry.file_name(),
            })
        }))
    }

    /// Puts a file at that path. Not on this system: a folder that cannot be held open can be replaced by a link meanwhile.
    pub(super) fn put(&self, _: &Path, _: &[u8], _: Option<&Path>) -> Result<bool, OpenError> {
        let words = "files cannot be written on this system";
        Err(io::Error::new(io::ErrorKind::Unsupported, words).into())
    }

    /// Like [`Self::put`].
    pub(super) fn put_again(&self, path: &Path, text: &[u8], _: u16) -> Result<bool, OpenError> {
        self.put(path, text, None)
    }

    /// Always fails: no file may be written on this system.
    pub(super) fn stands(&self, path: &Path) -> Result<bool, OpenError> {
        self.put(path, &[], None)
    }

    /// Always fails: no file may be written on this system.
    pub(super) fn is_writable(&self, path: &Path) -> Result<bool, OpenError> {
        self.put(path, &[], None)
    }

    /// Always fails: no file may be removed on this system.
    pub(super) fn is_removable(&self, path: &Path) -> Result<bool, OpenError> {
        self.put(path, &[], None)
    }

    /// Takes the file at that path away. Not on this system, for the same reason.
    pub(super) fn remove(&self, path: &Path) -> Result<(), OpenError> {
        self.put(path, &[], None).map(drop)
    }

    fn resolved(&self, path: &Path) -> Result<PathBuf, OpenError> {
        let resolved = fs::canonicalize(self.root.join(path))?;
        let is_in = |folder: &PathBuf| {
            fs::canonicalize(folder).is_ok_and(|folder| resolved.starts_with(folder))
        };
        let mut withheld = self.withheld.paths.iter().chain(&self.withheld.folders);
        let withheld = withheld.any(is_in);
        if !resolved.starts_with(&self.root) || withheld && !self.withheld.open.iter().any(is_in) {
            return Err(OpenError::Outside);
        }
        Ok(resolved)
    }
}
