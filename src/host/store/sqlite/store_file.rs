//! The file that a store is in: what its path leads to, judged before it is opened. Does not open it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::store::StoreError;
use crate::store::private::Exposure;
use crate::store::regular_file::{Links, judge_regular, judge_regular_at};

/// Suffix of SQLite's rollback journal. A store keeps a write-ahead log instead, so it never has one.
const JOURNAL: &str = "-journal";
/// Suffixes of the files that SQLite keeps with a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", JOURNAL];

/// Suffix of the folder of locks.
const LOCKS: &str = ".locks";
/// Suffix of the folder of answers.
const ANSWERS: &str = ".answers";
/// Suffix of the folder of file contents from before runs changed them.
const KEPT: &str = ".files";

/// The file of a store, resolved once. The file judged is the file opened, and its adjacent files lie next to it, not next to a
/// link.
#[derive(Clone, Debug)]
pub(super) struct StoreFile {
    /// The path without a link in it.
    path: PathBuf,
    /// The folders on the way to it: who can write one can lead elsewhere.
    folders: Vec<PathBuf>,
}

impl StoreFile {
    /// Follows a path to its end; there need not be a file yet.
    ///
    /// # Errors
    /// [`StoreError::CannotOpen`] where a link leads nowhere, or to what is neither a file nor a folder, which SQLite refuses.
    pub(super) fn of(path: &Path) -> Result<Self, StoreError> {
        let refuse = |reason: String| StoreError::CannotOpen {
            path: path.to_owned(),
            reason,
        };
        let unusable = |fault: io::Error| refuse(fault.to_string());
        let mut end = path.to_owned();
        let (mut folders, mut links) = (Vec::new(), Links::new());
        while let Some(target) = links.target(&end).map_err(unusable)? {
            folders.push(folder_of(&end));
            end = target;
        }
        let found = fs::metadata(&end);
        if !folders.is_empty() && found.is_err() {
            return Err(refuse("it is a link that leads nowhere".to_owned()));
        }
        if found.is_ok_and(|found| !found.is_dir()) {
            // SQLite would wait for what a pipe, or the kernel, has to say.
            judge_regular_at(&end).map_err(unusable)?;
        }
        // Where the folder is not there, SQLite says so.
        if cfg!(unix)
            && let (Ok(folder), Some(name)) = (folder_of(&end).canonicalize(), end.file_name())
        {
            end = folder.join(name);
        }
        folders.push(folder_of(&end));
        Ok(Self { path: end, folders })
    }

    /// The path without a link in it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The files that belong to the store beside its own, and the folders of its locks and answers.
    pub(super) fn beside(&self) -> impl Iterator<Item = PathBuf> {
        let endings = BESIDE.into_iter().chain([LOCKS, ANSWERS]);
        endings.map(|ending| self.named(ending))
    }

    /// Refuses a store that others can write, or whose folder they can write: an entry, or an adjacent file, may be theirs.
    /// Refuses one with a second name, too.
    pub(super) fn judge(&self) -> Result<(), StoreError> {
        // A folder is no store, and SQLite says so.
        if self.path.is_dir() {
            return Ok(());
        }
        self.judge_names()?;
        for place in self.folders.iter().chain([&self.path]) {
            if let Some(exposure) = Exposure::to_write(place) {
                return Err(exposed(place.clone(), exposure));
            }
        }
        self.judge_beside()
    }

    /// Refuses a file that SQLite would play back into the store and that somebody else made: a rollback journal, a link, a file of a
    /// user who may not write the store, or a file that more users may write than the store.
    ///
    /// Holds for readers, too: SQLite takes a log of writes in before it reads.
    pub(super) fn judge_beside(&self) -> Result<(), StoreError> {
        if self.path.is_dir() {
            return Ok(());
        }
        let store = fs::metadata(&self.path).ok();
        for ending in BESIDE {
            let path = self.named(ending);
            let cannot_open = |fault: io::Error| StoreError::CannotOpen {
                path: path.clone(),
                reason: fault.to_string(),
            };
            let found = match fs::symlink_metadata(&path) {
                Ok(found) => found,
                Err(fault) if fault.kind() == io::ErrorKind::NotFound => continue,
                Err(fault) => return Err(cannot_open(fault)),
            };
            judge_regular(found.file_type()).map_err(cannot_open)?;
            if let Some(exposure) = Exposure::beyond(&found, store.as_ref()) {
                return Err(exposed(path, exposure));
            }
            if ending == JOURNAL && found.len() > 0 {
                let journal = path;
                let path = self.path.clone();
                return Err(StoreError::Journal { path, journal });
            }
        }
        Ok(())
    }

    /// Refuses a file with a second name: writers under each name would have separate locks and a separate log of writes, and
    /// lose what the others write.
    #[cfg(unix)]
    fn judge_names(&self) -> Result<(), StoreError> {
        use std::os::unix::fs::MetadataExt as _;

        match fs::metadata(&self.path).map_or(1, |found| found.nlink()) {
            0 | 1 => Ok(()),
            names => Err(StoreError::Linked {
                path: self.path.clone(),
                names,
            }),
        }
    }

    #[cfg(not(unix))]
    fn judge_names(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn named(&self, ending: &str) -> PathBuf {
        named(&self.path, ending)
    }
}

fn named(store: &Path, ending: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn exposed(path: PathBuf, exposure: Exposure) -> StoreError {
    let reason = exposure.to_string();
    StoreError::Exposed { path, reason }
}

/// Refuses a store that others can write, or whose folder they can, or that has a second name, without opening it.
///
/// # Errors
/// [`StoreError::Exposed`] with the place; [`StoreError::Linked`]; [`StoreError::CannotOpen`] where its path leads nowhere.
pub fn judge_store(path: &Path) -> Result<(), StoreError> {
    StoreFile::of(path)?.judge()
}

/// The places where a store keeps its data, or would keep it.
#[derive(Debug)]
pub struct StorePlaces {
    /// The file of the store, resolved. Every other name that the store uses begins with this one.
    pub file: PathBuf,
    /// Its files, and the folder of its answers.
    pub files: Vec<PathBuf>,
    /// The folders of its locks and of what files held before; empty if the path leads nowhere. They may hold a file for each run, so none of
    /// these is looked at by itself.
    pub folders: Vec<PathBuf>,
}

/// The places of the store at a path.
pub fn places_of(path: &Path) -> StorePlaces {
    let Ok(file) = StoreFile::of(path) else {
        return StorePlaces {
            file: path.to_owned(),
            files: vec![path.to_owned()],
            folders: Vec::new(),
        };
    };
    let locks = file.named(LOCKS);
    let files = [file.path.clone()].into_iter().chain(file.beside());
    StorePlaces {
        file: file.path.clone(),
        files: files.filter(|path| *path != locks).collect(),
        folders: vec![locks, file.named(KEPT)],
    }
}

/// The folder of what files held before runs of the store at that path changed them.
pub(super) fn kept_folder(path: &Path) -> PathBuf {
    let named = |file: StoreFile| file.named(KEPT);
    StoreFile::of(path).map_or_else(|_| path.with_extension("files"), named)
}

/// The folder of the locks of the store in that file.
pub(super) fn locks_folder(store: &Path) -> PathBuf {
    named(store, LOCKS)
}

/// The folder of the answers to calls of the store in that file.
pub(super) fn answers_folder(store: &Path) -> PathBuf {
    named(store, ANSWERS)
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
