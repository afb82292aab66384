//! The files that decide what a process starts, as it found them first. It does not know who trusts them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::tools::{FileKind, FoundName, NamedFile, PathState, is_in};

/// Names of files and links with their first state. A later state of a name is never taken over.
#[derive(Debug, Default)]
pub(super) struct DecidedFiles {
    /// Files of configuration that may be missing.
    configuration: BTreeSet<PathBuf>,
    names: BTreeMap<PathBuf, FoundName>,
}

impl DecidedFiles {
    /// Adds files of configuration, which need not be there.
    pub(super) fn configure(&mut self, files: impl IntoIterator<Item = PathBuf>) {
        self.configuration.extend(files);
    }

    /// Adds a file of configuration that is there, and the links on the way to it.
    pub(super) fn add_configuration(&mut self, path: &Path) {
        for name in self.decide(path).names {
            let known = self.names.entry(name.path.clone()).or_insert(name);
            known.kind = FileKind::Program;
        }
    }

    /// Returns a path with the state in which this process first found each name of it.
    pub(super) fn decide(&mut self, path: &Path) -> NamedFile {
        let mut file = NamedFile::of(path);
        for name in &mut file.names {
            let known = self.names.entry(name.path.clone());
            *name = known.or_insert_with(|| name.clone()).clone();
        }
        file
    }

    /// The files that no program changes, except those of `own` in which a server may keep settings.
    pub(super) fn guarded(&self, own: &[NamedFile]) -> Vec<PathBuf> {
        let own: BTreeSet<&Path> = own.iter().flat_map(paths).collect();
        let names = self.names.values().filter(|name| match name.state {
            PathState::File(_) => {
                name.kind == FileKind::Program
                    || name.kind == FileKind::Settings && !own.contains(name.path.as_path())
            }
            PathState::Absent | PathState::Link(_) => false,
        });
        let names = names.map(|name| name.path.clone());
        let all: BTreeSet<PathBuf> = names.chain(self.configuration.iter().cloned()).collect();
        all.into_iter().collect()
    }

    /// The links on the way to those files. The sandbox cannot keep a link from being replaced.
    pub(super) fn links(&self) -> Vec<PathBuf> {
        let names = self.names.values();
        let links = names.filter(|name| matches!(name.state, PathState::Link(_)));
        links.map(|name| name.path.clone()).collect()
    }

    /// The names that a program which may write those folders can change all the same: links, files with a second name, and missing files of
    /// configuration.
    pub(super) fn unheld(&self, folders: &[PathBuf]) -> Vec<(PathBuf, PathState)> {
        let names = self.names.values().filter(|name| match name.state {
            PathState::Absent => false,
            PathState::File(_) => name.kind != FileKind::Data && has_second_name(&name.path),
            PathState::Link(_) => true,
        });
        let names = names.map(|name| {
            let state = match name.state {
                PathState::File(None) => PathState::of(&name.path),
                _ => name.state.clone(),
            };
            (name.path.clone(), state)
        });
        let missing = self.configuration.iter().filter(|path| !path.exists());
        let missing = missing.map(|path| (path.clone(), PathState::Absent));
        let all = names.chain(missing);
        all.filter(|(path, _)| is_in(path, folders)).collect()
    }
}

fn paths(file: &NamedFile) -> impl Iterator<Item = &Path> {
    file.names.iter().map(|name| name.path.as_path())
}

#[cfg(unix)]
fn has_second_name(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).is_ok_and(|found| found.nlink() > 1)
}

#[cfg(not(unix))]
fn has_second_name(_: &Path) -> bool {
    false
}
