//! The files that decide what the runs of an environment start. The registry is shared by all copies of an environment.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

use super::Environment;
use crate::driver::bring_up::replaced;
use crate::driver::decided_files::{DecidedFiles, NotedName};
use crate::tools::NamedFile;

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

    /// The files, links and missing files that no file tool changes or makes.
    pub(in crate::driver) fn guarded_names(&self) -> Vec<PathBuf> {
        let files = self.files();
        [files.guarded(&[]), files.links(), files.missing()].concat()
    }

    /// The names among them that a program which may write those folders can change all the same.
    pub(in crate::driver) fn unheld(&self, folders: &[PathBuf]) -> Vec<NotedName> {
        self.files().unheld(folders)
    }

    /// The settings that servers made while they started.
    pub(in crate::driver) fn made(&self) -> Vec<NotedName> {
        self.files().made()
    }

    /// Takes the present state of these paths as the one that a person wants: unconfined servers may use them.
    pub fn accept(&self, paths: &BTreeSet<PathBuf>) {
        self.files().accept(paths);
    }

    /// The first of these paths that changed since a run in which a confined program could replace it.
    pub fn replaced<'p>(&self, paths: impl IntoIterator<Item = &'p PathBuf>) -> Option<PathBuf> {
        replaced(self.state(), paths)
    }

    fn files(&self) -> MutexGuard<'_, DecidedFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
