//! The files of folders, remembered for as long as a folder is the one that was listed. Does not know what they are looked up for.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most files of one folder that are looked at for their identity: they are withheld under other names, too. Where there are more, no file
/// is read, because it may be one of them.
pub(super) const MOST_FILES: usize = 16_384;

/// Minimum time for which a folder must keep the same times before its list is kept. A change within one tick of the file
/// system's clock leaves the times as they are; a later change does not. A tick is at most 10 ms where times have fractions of
/// a second, and 2 s elsewhere.
const SETTLED: Duration = Duration::from_millis(100);
const SETTLED_COARSE: Duration = Duration::from_secs(5);

/// Device and inode.
pub(super) type FileId = (u64, u64);

pub(super) fn id_of(found: &Metadata) -> FileId {
    (found.dev(), found.ino())
}

/// The regular files of a folder.
#[derive(Debug, Default)]
pub(super) struct FolderFiles {
    pub(super) ids: HashSet<FileId>,
    /// Entries that are links: where they lead changes without the folder.
    pub(super) links: Vec<PathBuf>,
    /// True if a file of it may be missing here: there are more than [`MOST_FILES`], or not all of them could be read.
    pub(super) lacks_files: bool,
}

/// The folders that were listed.
#[derive(Debug, Default)]
pub(super) struct KnownFolders(Mutex<BTreeMap<PathBuf, Known>>);

#[derive(Debug)]
struct Known {
    files: Arc<FolderFiles>,
    /// When these times of the folder were first seen.
    first_seen: Instant,
    /// True if the list was begun so late that any entry it lacks has since changed the times.
    is_settled: bool,
    times: Times,
}

/// The values that change with a folder's entries: it is another folder, or has other times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    changed: (i64, i64),
    folder: FileId,
    modified: (i64, i64),
}

impl KnownFolders {
    /// The files of a folder that was looked at just now, not before `before`.
    pub(super) fn files(&self, path: &Path, found: &Metadata, before: Instant) -> Arc<FolderFiles> {
        let times = Times::of(found);
        let known = self.known();
        let same = known.get(path).filter(|known| known.times == times);
        let first_seen = match same {
            Some(known) if known.is_settled => return Arc::clone(&known.files),
            Some(known) => known.first_seen,
            None => Instant::now(),
        };
        // Other runs do not wait for the list of this one.
        drop(known);
        let files = Arc::new(list(path));
        // What could not be looked at now may be looked at the next time.
        let is_settled = !files.lacks_files
            && before.saturating_duration_since(first_seen) >= times.settle_within();
        let listed = Known {
            files: Arc::clone(&files),
            first_seen,
            is_settled,
            times,
        };
        self.known().insert(path.to_owned(), listed);
        files
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Times {
    fn of(found: &Metadata) -> Self {
        Self {
            changed: (found.ctime(), found.ctime_nsec()),
            folder: id_of(found),
            modified: (found.mtime(), found.mtime_nsec()),
        }
    }

    fn settle_within(&self) -> Duration {
        if self.changed.1 == 0 || self.modified.1 == 0 {
            SETTLED_COARSE
        } else {
            SETTLED
        }
    }
}

fn list(folder: &Path) -> FolderFiles {
    let mut files = FolderFiles::default();
    let read = look(folder, &mut files);
    files.lacks_files |= read.is_err_and(|fault| !is_gone(&fault));
    files
}

fn look(folder: &Path, files: &mut FolderFiles) -> io::Result<()> {
    for (count, entry) in fs::read_dir(folder)?.enumerate() {
        if count == MOST_FILES {
            files.lacks_files = true;
            return Ok(());
        }
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_symlink() {
            files.links.push(path);
            continue;
        }
        match fs::metadata(path) {
            Ok(found) if found.is_file() => {
                files.ids.insert(id_of(&found));
            }
            Ok(_) => {}
            Err(fault) if is_gone(&fault) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}

/// True if the file no longer exists, and is not merely out of reach.
fn is_gone(fault: &io::Error) -> bool {
    fault.kind() == io::ErrorKind::NotFound
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(known: &KnownFolders, folder: &Path) -> Arc<FolderFiles> {
        let before = Instant::now();
        known.files(folder, &fs::metadata(folder).unwrap(), before)
    }

    fn id(path: &Path) -> FileId {
        id_of(&fs::metadata(path).unwrap())
    }

    /// As if those times of the folder had been seen for that long.
    fn age(known: &KnownFolders, by: Duration) {
        for known in known.0.lock().unwrap().values_mut() {
            known.first_seen = known.first_seen.checked_sub(by).unwrap();
        }
    }

    #[test]
    fn a_folder_is_listed_again_until_its_times_have_settled_and_then_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::write(path.join("a"), "a").unwrap();
        let known = KnownFolders::default();
        let first = look(&known, path);
        assert!(first.ids.contains(&id(&path.join("a"))));
        assert!(!Arc::ptr_eq(&first, &look(&known, path)));
        age(&known, SETTLED_COARSE);
        let settled = look(&known, path);
        assert!(!Arc::ptr_eq(&first, &settled));
        assert!(Arc::ptr_eq(&settled, &look(&known, path)));
    }

    #[test]
    fn a_folder_that_cannot_be_listed_lacks_files_and_is_listed_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        fs::write(&path, "no folder").unwrap();
        let known = KnownFolders::default();
        for _ in 0..2 {
            assert!(look(&known, &path).lacks_files);
            age(&known, SETTLED_COARSE);
        }
        let [one, other] = [look(&known, &path), look(&known, &path)];
        assert!(!Arc::ptr_eq(&one, &other));
    }

    #[test]
    fn what_comes_into_a_settled_folder_is_seen_at_the_next_look() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        fs::create_dir(&path).unwrap();
        fs::write(folder.path().join("elsewhere"), "a key").unwrap();
        let known = KnownFolders::default();
        let settle = || {
            look(&known, &path);
            age(&known, SETTLED_COARSE);
            look(&known, &path)
        };
        settle();
        fs::write(path.join("made"), "a").unwrap();
        assert!(look(&known, &path).ids.contains(&id(&path.join("made"))));
        settle();
        fs::rename(folder.path().join("elsewhere"), path.join("moved")).unwrap();
        assert!(look(&known, &path).ids.contains(&id(&path.join("moved"))));
        settle();
        // Another folder takes the name of this one.
        fs::rename(&path, folder.path().join("before")).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(look(&known, &path).ids.is_empty());
    }

    #[test]
    fn a_link_is_no_file_of_the_list() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        fs::create_dir(&path).unwrap();
        std::os::unix::fs::symlink("../mounted", path.join("link")).unwrap();
        let files = look(&KnownFolders::default(), &path);
        assert_eq!(
            (files.ids.len(), &files.links),
            (0, &vec![path.join("link")])
        );
    }
}
