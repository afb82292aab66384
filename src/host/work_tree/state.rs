//! The file layer's part of the state folder: snapshots, and for each work tree its lock, journal, hashes and scratch records.
//!
//! ```text
//! <state>/blobs/ab/…            contents by BLAKE3
//! <state>/manifests/<hash>      trees; <hash>.snapshot if all contents are there
//! <state>/use                   locked by every process that works on a tree
//! <state>/trees/<device>-<inode>/lock, place, journal, <id>.done, hashes-<inode>, <id>.scratch
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::error::WorkTreeError;
use super::folder::place_error;
use super::found::FileId;
use crate::store::{open_own, own_folder, private_file, private_folder};

/// The most bytes of a lock file that are read: a process id.
const PID_BYTES: u64 = 20;

/// The folder of the states of all trees.
pub(super) const TREES: &str = "trees";
/// The file that holds the path of the work tree.
const PLACE: &str = "place";

/// The folder of one work tree in the state folder.
#[derive(Clone, Debug)]
pub(super) struct TreeState {
    /// The folder that all work trees share.
    pub shared: PathBuf,
    /// The folder of this work tree.
    pub folder: PathBuf,
}

impl TreeState {
    /// Makes the folders that are missing. The device of a tree may have another number once the system has started again: then its state is
    /// found by its path.
    pub(super) fn open(
        shared: &Path,
        ((device, inode), root): (FileId, &Path),
        syncs: bool,
    ) -> Result<Self, WorkTreeError> {
        let trees = shared.join(TREES);
        let folder = trees.join(format!("{device:x}-{inode:x}"));
        let earlier = if folder.exists() {
            None
        } else {
            earlier(&trees, inode, root)
        };
        let made = match earlier {
            Some(earlier) => fs::rename(earlier, &folder),
            None => private_folder(&folder),
        };
        let made = made.and_then(|()| own_folder(&folder));
        made.map_err(|fault| place_error(&folder, fault))?;
        // Only a change of the device needs it: a full disk does not keep the lock away.
        let _unknown = keep_place(&folder, root, syncs);
        Ok(Self {
            shared: shared.to_owned(),
            folder,
        })
    }

    /// The file of the hashes of a tree: the work tree itself, or a scratch tree.
    pub(super) fn hashes(&self, root: FileId) -> PathBuf {
        self.folder.join(format!("hashes-{:x}", root.1))
    }

    /// The record of a scratch tree.
    pub(super) fn scratch(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.scratch"))
    }
}

/// The state of a tree at this path, whatever the number of its device.
fn earlier(trees: &Path, inode: u64, root: &Path) -> Option<PathBuf> {
    let ending = format!("-{inode:x}");
    let folders = fs::read_dir(trees).ok()?;
    let mut folders = folders.filter_map(|folder| Some(folder.ok()?.path()));
    folders.find(|folder| {
        let name = folder.as_os_str().as_bytes();
        let place = || fs::read(folder.join(PLACE));
        name.ends_with(ending.as_bytes()) && place().is_ok_and(|place| is_place(&place, root))
    })
}

fn is_place(place: &[u8], root: &Path) -> bool {
    place == root.as_os_str().as_bytes()
}

/// Records the path of a tree in its state.
fn keep_place(folder: &Path, root: &Path, syncs: bool) -> io::Result<()> {
    let path = folder.join(PLACE);
    if fs::read(&path).is_ok_and(|place| is_place(&place, root)) {
        return Ok(());
    }
    let mut options = private_file();
    options.create(true).truncate(true).write(true);
    let mut file = open_own(&mut options, &path)?;
    file.write_all(root.as_os_str().as_bytes())?;
    if syncs {
        file.sync_all()?;
    }
    Ok(())
}

/// The share of a process in the state folder. It keeps others from removing contents that no receipt names yet.
#[derive(Debug)]
pub(super) struct StateUse(File);

impl Drop for StateUse {
    fn drop(&mut self) {
        // By name and not by closing: a child that is being started has the open file, too.
        drop(self.0.unlock());
    }
}

impl StateUse {
    /// Takes a share. Waits while a process removes contents.
    pub(super) fn take(shared: &Path) -> Result<Self, WorkTreeError> {
        let path = shared.join("use");
        let refuse = |fault| place_error(&path, fault);
        let mut options = private_file();
        options.create(true).read(true).truncate(false).write(true);
        let file = open_own(&mut options, &path).map_err(refuse)?;
        file.lock_shared().map_err(refuse)?;
        Ok(Self(file))
    }

    /// Does some work while no other process has a share; `None` if one has.
    pub(super) fn alone<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<Option<T>> {
        let done = match self.0.try_lock() {
            Ok(()) => Some(work()),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Error(fault)) => Some(Err(fault)),
        };
        // A lock that another one replaces is lost, even if that fails.
        self.0.lock_shared()?;
        done.transpose()
    }
}

/// The right of this process to change a work tree. The system drops it with the process, however that ends.
#[derive(Debug)]
pub(super) struct TreeLock(File);

impl Drop for TreeLock {
    fn drop(&mut self) {
        // By name and not by closing: a child that is being started has the open file, too.
        drop(self.0.unlock());
    }
}

impl TreeLock {
    /// Locks the root of a tree against the processes of other state folders; `None` if its file system locks no folders.
    pub(super) fn of_root(root: &OwnedFd) -> io::Result<Option<Self>> {
        let file = File::from(root.try_clone()?);
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(_)) => Ok(None),
        }
    }

    /// Locks a work tree for this process alone.
    pub(super) fn take(state: &TreeState, root: &Path) -> Result<Self, WorkTreeError> {
        let path = state.folder.join("lock");
        let refuse = |fault| place_error(&path, fault);
        let mut options = private_file();
        options.create(true).read(true).truncate(false).write(true);
        let mut file = open_own(&mut options, &path).map_err(refuse)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let read = file.take(PID_BYTES).read_to_string(&mut text);
                return Err(WorkTreeError::Busy {
                    holder: read.ok().and_then(|_| text.parse().ok()),
                    path: root.to_owned(),
                });
            }
            Err(TryLockError::Error(fault)) => return Err(refuse(fault)),
        }
        // The name of the holder is for people: a full disk does not keep the lock away.
        let _unnamed = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Self(file))
    }
}
