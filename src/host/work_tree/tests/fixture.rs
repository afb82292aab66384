//! A folder with a work tree and its state, and the picture of a tree that tests compare.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use monolith_core::work::PathChange;

use crate::work_tree::{
    Gate, Op, Recovered, Scan, ScanTerms, Scratch, TreePlaces, WorkTree, WorkTreeError,
};

/// A gate that fails at one operation, and at all from another one on. No test loses power, so nothing is synced.
#[derive(Debug)]
pub(super) struct Faults {
    pub count: AtomicU64,
    pub dead_from: u64,
    pub errno: i32,
    /// False for a file system that cannot exchange two names.
    pub exchanges: bool,
    pub fails_at: u64,
    /// The operation from which on the disk is full: renames and removals still succeed.
    pub full_from: u64,
}

impl Faults {
    pub(super) fn none() -> Self {
        Self {
            count: AtomicU64::new(0),
            dead_from: u64::MAX,
            errno: 5,
            exchanges: true,
            fails_at: u64::MAX,
            full_from: u64::MAX,
        }
    }

    /// True if an operation failed.
    pub(super) fn fired(&self) -> bool {
        self.count.load(Ordering::Relaxed) > self.fails_at.min(self.dead_from)
    }
}

impl Gate for Faults {
    fn exchanges(&self) -> bool {
        self.exchanges
    }

    fn pass(&self, op: Op) -> io::Result<()> {
        let at = self.count.fetch_add(1, Ordering::Relaxed);
        if at == self.fails_at || at >= self.dead_from {
            return Err(io::Error::from_raw_os_error(self.errno));
        }
        if at >= self.full_from && matches!(op, Op::Copy | Op::Create | Op::Write) {
            return Err(io::Error::from_raw_os_error(FULL));
        }
        Ok(())
    }

    fn syncs(&self) -> bool {
        false
    }
}

/// A scan that is never stopped.
pub(super) fn watch(_count: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// ENOSPC.
pub(super) const FULL: i32 = 28;
/// The most bytes of a scratch tree in tests.
pub(super) const MOST: u64 = 1 << 30;

/// A folder with the state, and trees.
pub(super) struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder }
    }

    /// A new empty tree.
    pub(super) fn tree(&self, name: &str) -> PathBuf {
        let tree = self.folder.path().join(name).join("tree");
        fs::create_dir_all(&tree).expect("a tree");
        tree.canonicalize().expect("a path")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(super) fn lock_with(
        &self,
        tree: &Path,
        gate: Arc<Faults>,
    ) -> Result<(WorkTree, Option<Recovered>), WorkTreeError> {
        let places = TreePlaces {
            state: &self.state(),
            tree,
            withheld: &[],
        };
        WorkTree::lock(places, gate)
    }

    pub(super) fn lock(&self, tree: &Path) -> WorkTree {
        let (locked, recovered) = self
            .lock_with(tree, Arc::new(Faults::none()))
            .expect("a lock");
        assert_eq!(recovered, None);
        locked
    }
}

pub(super) fn scan(tree: &WorkTree) -> Scan {
    tree.scan(ScanTerms::default(), &watch).expect("a scan")
}

/// Snapshots a tree, and makes a scratch tree.
pub(super) fn scratch(tree: &WorkTree) -> Scratch {
    let scan = scan(tree);
    tree.snapshot(&scan, &watch).expect("a snapshot");
    tree.make_scratch(&scan, ("item", MOST), &watch)
        .expect("a scratch tree")
}

/// The changes that some work in a scratch tree makes, their contents kept.
pub(super) fn changes_of(tree: &WorkTree, work: impl FnOnce(&Path)) -> Vec<PathChange> {
    let scratch = scratch(tree);
    work(scratch.path());
    let compared = tree
        .compare(&scratch, ScanTerms::default(), &watch)
        .expect("a difference");
    tree.keep_changes(&scratch, &compared.changes, &watch)
        .expect("contents");
    tree.remove_scratch("item").expect("no scratch tree");
    compared.changes
}

/// Writes a file and the folders above it.
pub(super) fn put(root: &Path, path: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
    let path = root.join(path.as_ref());
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    fs::write(path, content).expect("a file");
}

pub(super) fn set_mode(root: &Path, path: &str, mode: u32) {
    fs::set_permissions(root.join(path), Permissions::from_mode(mode)).expect("a mode");
}

/// Every path of a folder with kind, mode, owner of a file, and content: ignored files, too.
pub(super) fn picture(root: &Path) -> BTreeMap<Vec<u8>, String> {
    picture_without(root, None)
}

/// The same without the paths in one of its folders.
pub(super) fn picture_without(root: &Path, folder: Option<&str>) -> BTreeMap<Vec<u8>, String> {
    let folder = folder.map(|name| root.join(name));
    let mut picture = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(path) = left.pop() {
        let found = fs::symlink_metadata(&path).expect("a path");
        let mode = found.mode() & 0o7777;
        let text = if found.is_symlink() {
            format!(
                "link to {}",
                fs::read_link(&path).expect("a link").display()
            )
        } else if found.is_dir() {
            if folder.as_ref() != Some(&path) {
                let entries = fs::read_dir(&path).expect("a folder");
                left.extend(entries.map(|entry| entry.expect("an entry").path()));
            }
            format!("folder {mode:o}")
        } else {
            let content = fs::read(&path).expect("a file");
            let hash = monolith_core::message::Digest::of(&content).short(8);
            let owner = found.uid();
            format!("file {mode:o} of {owner}, {} bytes {hash}", content.len())
        };
        let below = path.strip_prefix(root).expect("a path below").to_owned();
        picture.insert(below.into_os_string().into_vec(), text);
    }
    picture
}

/// Fills a tree with every kind of path.
pub(super) fn every_kind(root: &Path) {
    put(root, ".gitignore", "ignored/\n*.tmp\n");
    put(root, "ignored/cache", "never published");
    put(root, "untouched/file", "stays");
    put(root, "edited.txt", "one\ntwo\n");
    put(root, "script.sh", "#!/bin/sh\n");
    put(root, "deleted.txt", "goes");
    put(root, "folder-gone/inner/x", "goes");
    put(root, "folder-gone/y", "goes");
    put(root, "folder-kept/x", "goes");
    put(root, "folder-kept/mine.tmp", "an ignored file stays");
    put(root, "file-to-link", "a file");
    put(root, "file-to-folder", "a file");
    put(root, "folder-to-file/x", "goes");
    put(root, "folder-to-link/x", "goes");
    put(root, "line\nbreak", "one");
    put(root, "closed/edited", "one");
    put(root, "closed-gone/x", "goes");
    put(root, "mode-folder/x", "stays");
    put(root, "hard-a", "shared");
    fs::hard_link(root.join("hard-a"), root.join("hard-b")).expect("a hard link");
    put(root, OsStr::from_bytes(b"caf\xe9"), "latin");
    fs::create_dir(root.join("empty-gone")).expect("a folder");
    symlink("edited.txt", root.join("link")).expect("a link");
    symlink("nowhere", root.join("link-gone")).expect("a link");
    symlink("edited.txt", root.join("link-to-file")).expect("a link");
    symlink("untouched", root.join("link-to-folder")).expect("a link");
    for (path, mode) in [
        ("closed", 0o555),
        ("closed-gone", 0o555),
        ("script.sh", 0o644),
    ] {
        set_mode(root, path, mode);
    }
}

/// Changes every kind of path, as an agent does in its scratch tree.
pub(super) fn change_every_kind(root: &Path) {
    let remove = |path: &str| fs::remove_file(root.join(path)).expect("a file");
    let relink = |path: &str, target: &str| {
        remove(path);
        symlink(target, root.join(path)).expect("a link");
    };
    put(root, "edited.txt", "one\n2\n");
    set_mode(root, "script.sh", 0o755);
    remove("deleted.txt");
    for folder in ["folder-gone", "folder-kept", "empty-gone"] {
        fs::remove_dir_all(root.join(folder)).expect("no folder");
    }
    relink("file-to-link", "untouched/file");
    relink("link", "untouched");
    remove("link-gone");
    remove("link-to-file");
    put(root, "link-to-file", "a file now");
    remove("file-to-folder");
    put(root, "file-to-folder/inner", "a folder now");
    fs::remove_dir_all(root.join("folder-to-file")).expect("no folder");
    put(root, "folder-to-file", "a file now");
    fs::remove_dir_all(root.join("folder-to-link")).expect("no folder");
    symlink("untouched", root.join("folder-to-link")).expect("a link");
    remove("link-to-folder");
    put(root, "link-to-folder/inner", "a folder now");
    put(root, "line\nbreak", "two");
    set_mode(root, "closed", 0o755);
    put(root, "closed/edited", "two");
    put(root, "closed/new", "new");
    set_mode(root, "closed", 0o555);
    set_mode(root, "closed-gone", 0o755);
    fs::remove_dir_all(root.join("closed-gone")).expect("no folder");
    set_mode(root, "mode-folder", 0o700);
    put(root, "hard-a", "not shared any more");
    put(root, OsStr::from_bytes(b"caf\xe9"), "changed");
    put(root, OsStr::from_bytes(b"new-\xff\xfe"), "new");
    put(root, "new/deep/file", "new");
    put(root, "new-closed/file", "new");
    set_mode(root, "new-closed", 0o555);
    fs::create_dir(root.join("new-empty")).expect("a folder");
    symlink("/outside", root.join("new-link")).expect("a link");
    let sparse = File::create(root.join("new-sparse")).expect("a file");
    sparse.set_len(1 << 20).expect("a sparse file");
    // Changes of ignored files are thrown away.
    put(root, "ignored/cache", "changed by the agent");
}
