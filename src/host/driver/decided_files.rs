//! The files that decide what a process starts, as it found them first. It does not know who trusts them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::tools::{FileKind, FoundName, NamedFile, PathState, is_in};

/// Names of files and links with their first state. A later state of a name is never taken over.
#[derive(Debug, Default)]
pub(super) struct DecidedFiles {
    /// Names that unconfined servers use, and files of contracts: a person named or trusted all of them.
    accepted: BTreeSet<PathBuf>,
    /// Files of configuration that may be missing.
    configuration: BTreeSet<PathBuf>,
    names: BTreeMap<PathBuf, FoundName>,
}

/// A name as it is noted for later runs.
#[derive(Clone, Debug)]
pub(super) struct NotedName {
    /// True if its state replaces an earlier note.
    pub is_accepted: bool,
    pub path: PathBuf,
    pub state: PathState,
}

impl DecidedFiles {
    /// Accepts paths as they are now.
    pub(super) fn accept(&mut self, paths: &BTreeSet<PathBuf>) {
        for path in paths {
            let names = self.decide(path).names.into_iter();
            self.accepted.extend(names.map(|name| name.path));
        }
    }

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

    /// The files that no program changes, except those of `own` in which a server may keep settings. Settings that an unconfined server names
    /// are never excepted.
    pub(super) fn guarded(&self, own: &[NamedFile]) -> Vec<PathBuf> {
        let own: BTreeSet<&Path> = own.iter().flat_map(paths).collect();
        let names = self.names.values().filter(|name| match name.state {
            PathState::File(_) => {
                name.kind == FileKind::Program
                    || name.kind == FileKind::Settings
                        && (self.accepted.contains(&name.path) || !own.contains(&*name.path))
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

    /// The missing files that no file tool makes.
    pub(super) fn missing(&self) -> Vec<PathBuf> {
        let missing = self.names.values().filter(|name| is_missing(name));
        missing.map(|name| name.path.clone()).collect()
    }

    /// The names that a program which may write those folders can change all the same: links, files with a second name, missing files of
    /// configuration, and missing files that an unconfined server names. An accepted file that the sandbox holds ends an earlier note.
    pub(super) fn unheld(&self, folders: &[PathBuf]) -> Vec<NotedName> {
        let names = self.names.values().filter_map(|name| {
            let is_accepted = self.accepted.contains(&name.path);
            let state = match name.state {
                PathState::Absent if is_accepted && is_missing(name) => PathState::Absent,
                PathState::Absent => return None,
                PathState::File(_) if name.kind == FileKind::Data => return None,
                PathState::File(None) if has_second_name(&name.path) => PathState::of(&name.path),
                PathState::File(_) if !has_second_name(&name.path) => PathState::File(None),
                PathState::File(_) | PathState::Link(_) => name.state.clone(),
            };
            let path = name.path.clone();
            Some(NotedName {
                is_accepted,
                path,
                state,
            })
        });
        let missing = self.configuration.iter().filter(|path| !path.exists());
        let missing = missing.map(|path| NotedName {
            is_accepted: true,
            path: path.clone(),
            state: PathState::Absent,
        });
        let all = names.chain(missing);
        all.filter(|name| is_in(&name.path, folders)).collect()
    }

    /// The settings that servers made while they started. They are as wanted.
    pub(super) fn made(&self) -> Vec<NotedName> {
        let made = self.names.values().filter(|name| name.starts.made());
        let made = made.map(|name| NotedName {
            is_accepted: true,
            path: name.path.clone(),
            state: PathState::File(None),
        });
        made.collect()
    }
}

fn is_missing(name: &FoundName) -> bool {
    let is_named = name.state == PathState::Absent && name.kind != FileKind::Data;
    is_named && !name.path.is_dir()
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
