//! The files that decide what the runs of an environment start. The registry is shared by all copies of an environment.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

use super::Environment;
use crate::driver::bring_up::replaced;
use crate::driver::decided_files::DecidedFiles;
use crate::tools::{NamedFile, PathState};

impl Environment {
    /// Keeps tools of runs that are brought up from now on from changing those files of configuration, which need not be there.
    pub fn guard(&self, files: impl IntoIterator<Item = PathBuf>) {
        self.files().configure(files);
    }

    /// The same of a file that is there, wherever the links on the way to it lead.
    pub fn guard_file(&self, path: &Path) {
        self.files().add_configuration(path);
    }

    /// Returns each path in the state in which this process first found it.
    pub(in crate::driver) fn decide(&self, paths: &BTreeSet<PathBuf>) -> Vec<NamedFile> {
        let mut files = self.files();
        paths.iter().map(|path| files.decide(path)).collect()
    }

    /// The files that no program changes, except settings among `own`: those of the server that names them.
    pub(crate) fn guarded(&self, own: &[NamedFile]) -> Vec<PathBuf> {
        self.files().guarded(own)
    }

    /// The files and links that no file tool changes.
    pub(in crate::driver) fn guarded_names(&self) -> Vec<PathBuf> {
        let files = self.files();
        [files.guarded(&[]), files.links()].concat()
    }

    /// The names among them that a program which may write those folders can change all the same.
    pub(in crate::driver) fn unheld(&self, folders: &[PathBuf]) -> Vec<(PathBuf, PathState)> {
        self.files().unheld(folders)
    }

    /// The first of these paths that changed since a run in which a confined program could replace it.
    pub fn replaced<'p>(&self, paths: impl IntoIterator<Item = &'p PathBuf>) -> Option<PathBuf> {
        replaced(self.state(), paths)
    }

    fn files(&self) -> MutexGuard<'_, DecidedFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
