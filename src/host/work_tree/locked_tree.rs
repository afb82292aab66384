//! A work tree that this process has locked, and all that can be done with it. Decides nothing about an item.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use monolith_core::message::Digest;
use monolith_core::work::{Manifest, PathChange, TreeNode, WorkPath};

use super::blobs::Blobs;
use super::copier::{Copied, Copier};
use super::error::WorkTreeError;
use super::folder::{
    io_error, link_target, open_error, open_file, open_folder, open_root, parent_of, place_error,
};
use super::found::{FileId, Found};
use super::gate::Gate;
use super::hash_cache::HashCache;
use super::journal::{JournalFile, Purpose};
use super::ops::Ops;
use super::owner::Owner;
use super::parallel::on_each;
use super::publisher::{Published, Publisher};
use super::recovery::{Recovered, Root, recover};
use super::removal::remove_tree;
use super::rules::{Baseline, ScanRules, ScanTerms};
use super::scan::{Scan, Scanner};
use super::scratch::{Compared, Scratch, remove_record};
use super::scratch_folder::{ScratchFolder, judge_id};
use super::state::{StateUse, TreeLock, TreeState};
use super::watch::{StopCheck, Watch};
use super::withheld::{Withheld, fit_root, id_of};

/// The ending of the name of a copy for tests.
const TEST: &str = ".test";

/// The places that a work tree is locked with.
#[derive(Clone, Copy, Debug)]
pub struct TreePlaces<'p> {
    /// The folder of the file layer's state, made if it is missing.
    pub state: &'p Path,
    /// The root of the tree.
    pub tree: &'p Path,
    /// Files and folders of the host that are never part of a tree, wherever they are.
    pub withheld: &'p [PathBuf],
}

/// A work tree that this process has locked.
#[derive(Debug)]
pub struct WorkTree {
    pub(super) blobs: Blobs,
    pub(super) found: Found,
    gate: Arc<dyn Gate>,
    pub(super) in_use: StateUse,
    /// True for a tree whose state goes with this value.
    is_temporary: AtomicBool,
    pub(super) journal: Mutex<JournalFile>,
    /// Against the processes of this state folder, and those of others.
    _locks: (TreeLock, Option<TreeLock>),
    root: Root,
    path: PathBuf,
    scratch: ScratchFolder,
    state: TreeState,
    withheld: Withheld,
}

impl WorkTree {
    /// Locks a work tree, and completes or takes back what a killed process left half done.
    ///
    /// # Errors
    /// [`WorkTreeError::Unfit`] for a path that items must not change, [`WorkTreeError::Busy`] where another process has the lock,
    /// [`WorkTreeError::Unfinished`] where one of another state folder left work, [`WorkTreeError::RollBackFailed`] where a half-done
    /// publication can neither be completed nor taken back.
    pub fn lock(
        places: TreePlaces<'_>,
        gate: Arc<dyn Gate>,
    ) -> Result<(Self, Option<Recovered>), WorkTreeError> {
        let refuse = |fault: io::Error| place_error(places.tree, fault);
        let mut withheld = places.withheld.to_vec();
        withheld.push(places.state.to_owned());
        let path = fit_root(places.tree, &withheld)?;
        let root = open_root(&path).map_err(|fault| refuse(fault.into()))?;
        let root = Root::new(root).map_err(refuse)?;
        let found = root.found;
        let state = TreeState::open(places.state, (found.id, &path), gate.syncs())?;
        let lock = TreeLock::take(&state, &path)?;
        let owner = Owner::new(&root, places.state.canonicalize().map_err(refuse)?);
        let journal = JournalFile::open(&state.folder)?;
        let locks = (lock, owner.lock((&root, &path), (&journal, gate.syncs()))?);
        let in_use = StateUse::take(&state.shared)?;
        let removed = journal.remove_others(root.born_unix_nanos, Ops(gate.as_ref()));
        removed.map_err(|fault| place_error(&state.folder, fault))?;
        let blobs = Blobs::new(places.state);
        let recovered = recover((&root, &path), &journal, &blobs, gate.as_ref())?;
        for scratch in &ScratchFolder::existing(&path, &found)? {
            scratch.remove_stages(Ops(gate.as_ref()))?;
        }
        let scratch = ScratchFolder::make(&path, &found)?;
        owner.record(&scratch, gate.syncs())?;
        let tree = Self {
            blobs,
            found,
            gate,
            in_use,
            is_temporary: AtomicBool::new(false),
            journal: Mutex::new(journal),
            _locks: locks,
            root,
            scratch,
            withheld: Withheld::new(&path, &withheld),
            path,
            state,
        };
        Ok((tree, recovered))
    }

    /// The resolved path of the root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn root(&self) -> BorrowedFd<'_> {
        self.root.at()
    }

    pub(super) fn ops(&self) -> Ops<'_> {
        Ops(self.gate.as_ref())
    }

    /// Scans the tree. Files that are unchanged since the last scan are not read.
    ///
    /// # Errors
    /// [`WorkTreeError::Refused`] with a path that is no file, folder or link, or another tree with a half-done publication;
    /// [`WorkTreeError::Moved`] with one that something keeps
    /// writing.
    pub fn scan(&self, terms: ScanTerms<'_>, watch: Watch<'_>) -> Result<Scan, WorkTreeError> {
        let rules = ScanRules::new(terms, None);
        self.scan_below((self.root(), self.found.id), &rules, watch)
    }

    pub(super) fn scan_below(
        &self,
        (root, id): (BorrowedFd<'_>, FileId),
        rules: &ScanRules<'_>,
        watch: Watch<'_>,
    ) -> Result<Scan, WorkTreeError> {
        let file = self.state.hashes(id);
        let cache = HashCache::load(&file);
        let scanner = Scanner {
            cache: &cache,
            is_work_tree: id == self.found.id,
            root,
            rules,
            watch,
            withheld: &self.withheld.ids,
        };
        let scan = scanner.scan()?;
        if scan.read > 0 {
            scan.hashes().save(&file);
        }
        Ok(scan)
    }

    /// Keeps every content of a scanned tree, durably. Returns the tree hash.
    ///
    /// # Errors
    /// [`WorkTreeError::Moved`] where a file changed since the scan.
    pub fn snapshot(&self, scan: &Scan, watch: Watch<'_>) -> Result<Digest, WorkTreeError> {
        let hash = scan.manifest.hash();
        if self.blobs.has_snapshot(hash) {
            return Ok(hash);
        }
        let nodes: Vec<_> = scan.manifest.iter().collect();
        self.keep(self.root(), &nodes, watch)?;
        let kept = self.blobs.keep_snapshot(&scan.manifest);
        kept.map_err(|fault| place_error(&self.state.shared, fault))
    }

    /// Keeps the new contents of a scratch tree's changes, durably.
    ///
    /// # Errors
    /// [`WorkTreeError::Moved`] where a file changed since it was compared.
    pub fn keep_changes(
        &self,
        scratch: &Scratch,
        changes: &[PathChange],
        watch: Watch<'_>,
    ) -> Result<(), WorkTreeError> {
        let nodes = changes.iter();
        let nodes = nodes.filter_map(|change| Some((&change.path, change.after.as_ref()?)));
        let nodes: Vec<_> = nodes.collect();
        self.keep(scratch.folder(), &nodes, watch)
    }

    fn keep(
        &self,
        root: BorrowedFd<'_>,
        nodes: &[(&WorkPath, &TreeNode)],
        watch: Watch<'_>,
    ) -> Result<(), WorkTreeError> {
        on_each(nodes, watch, |(path, node), check| {
            self.keep_node(root, path, node, check)
        })?;
        if !self.gate.syncs() {
            return Ok(());
        }
        let synced = self.blobs.sync();
        synced.map_err(|fault| place_error(&self.state.shared, fault))
    }

    fn keep_node(
        &self,
        root: BorrowedFd<'_>,
        path: &WorkPath,
        node: &TreeNode,
        check: StopCheck<'_>,
    ) -> Result<(), WorkTreeError> {
        let refuse = |fault: io::Error| io_error(path, fault);
        let moved = |fault| open_error(path, fault);
        let open = || parent_of(root, path).map_err(moved);
        let is_kept = match node {
            TreeNode::Folder { .. } => true,
            TreeNode::File { content, size, .. } if self.blobs.has(*content, *size) => true,
            TreeNode::Link { target } => {
                let (folder, name) = open()?;
                let found = link_target(&folder, name).map_err(moved)?;
                self.blobs.keep_bytes(found.as_bytes()).map_err(refuse)? == *target
            }
            TreeNode::File { content, size, .. } => {
                let (folder, name) = open()?;
                let file = open_file(&folder, name).map_err(moved)?;
                let kept = self.blobs.keep_file(&file, (*content, *size), check);
                kept.map_err(refuse)?
            }
        };
        if is_kept {
            return Ok(());
        }
        Err(WorkTreeError::Moved { path: path.clone() })
    }

    /// Opens a kept content; `None` if it is not there.
    ///
    /// # Errors
    /// An error of the system.
    pub fn content(&self, digest: Digest) -> io::Result<Option<File>> {
        self.blobs.open(digest)
    }

    /// Reads a kept tree; `None` if it is not there.
    ///
    /// # Errors
    /// An error of the system.
    pub fn manifest(&self, hash: Digest) -> io::Result<Option<Manifest>> {
        self.blobs.manifest(hash)
    }

    /// Makes a scratch tree: a copy of a scanned tree with its ignored files, of at most `most` bytes.
    ///
    /// # Errors
    /// [`WorkTreeError::TooLarge`]; [`WorkTreeError::Moved`] where a file changed since the scan.
    pub fn make_scratch(
        &self,
        scan: &Scan,
        (id, most): (&str, u64),
        watch: Watch<'_>,
    ) -> Result<Scratch, WorkTreeError> {
        judge_id(id)?;
        self.remove_scratch(id)?;
        let path = self.scratch.path.join(id);
        let made = self.copy(OsStr::new(id), scan, most, watch);
        made.and_then(|(copied, folder)| {
            let found = Found::of_open(&folder).map_err(|fault| place_error(&path, fault))?;
            copied.hashes.save(&self.state.hashes(found.id));
            let record = self.state.scratch(id);
            let record = (record.as_path(), &self.blobs);
            Scratch::new((id, path), scan.manifest.clone(), copied.ignored, record)
        })
        .inspect_err(|_| {
            let _left = self.remove_scratch(id);
        })
    }

    /// Opens the scratch tree of an item that was suspended; `None` if there is none.
    ///
    /// # Errors
    /// [`WorkTreeError::Record`] where its record is damaged.
    pub fn open_scratch(&self, id: &str) -> Result<Option<Scratch>, WorkTreeError> {
        judge_id(id)?;
        let path = self.scratch.path.join(id);
        Scratch::open((id, path), (&self.state.scratch(id), &self.blobs))
    }

    /// The ids of the scratch trees that exist.
    ///
    /// # Errors
    /// An error of the system.
    pub fn scratches(&self) -> Result<Vec<String>, WorkTreeError> {
        let names = self.scratch.names()?.into_iter();
        let mut ids: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
        ids.retain(|name| judge_id(name).is_ok());
        ids.sort();
        Ok(ids)
    }

    /// Compares a scratch tree with its beginning, by the ignore rules that counted then.
    ///
    /// # Errors
    /// The errors of [`Self::scan`].
    pub fn compare(
        &self,
        scratch: &Scratch,
        terms: ScanTerms<'_>,
        watch: Watch<'_>,
    ) -> Result<Compared, WorkTreeError> {
        let baseline = Baseline {
            blobs: &self.blobs,
            manifest: scratch.manifest(),
        };
        let rules = ScanRules::new(terms, Some(baseline));
        let folder = scratch.folder();
        let id = Found::of_open(folder)
            .map_err(|fault| place_error(scratch.path(), fault))?
            .id;
        let scan = self.scan_below((folder, id), &rules, watch)?;
        scratch.compared(scan, &self.withheld.ids, watch)
    }

    /// Makes a copy of a scanned tree with changes that are kept already: what the item's tests run on. Returns its folder.
    ///
    /// # Errors
    /// [`WorkTreeError::Conflict`] where the tree is not as the changes begin, and those of [`Self::make_scratch`].
    pub fn make_test_copy(
        &self,
        scan: &Scan,
        (id, most): (&str, u64),
        changes: &[PathChange],
        watch: Watch<'_>,
    ) -> Result<PathBuf, WorkTreeError> {
        judge_id(id)?;
        let name = OsString::from(format!("{id}{TEST}"));
        let refuse = |fault| place_error(&self.scratch.path, fault);
        remove_tree(self.ops(), self.scratch.at(), &name).map_err(refuse)?;
        let (_, copy) = self.copy(&name, scan, most, watch)?;
        let publisher = self.publisher(copy.as_fd());
        publisher.apply(&format!("{id}{TEST}"), changes)?;
        Ok(self.scratch.path.join(&name))
    }

    /// Removes an item's scratch tree and its copy for tests.
    ///
    /// # Errors
    /// An error of the system.
    pub fn remove_scratch(&self, id: &str) -> Result<(), WorkTreeError> {
        judge_id(id)?;
        let record = self.state.scratch(id);
        remove_record(&record)?;
        if let Some(folder) = id_of(&self.scratch.path.join(id)) {
            remove_record(&self.state.hashes(folder))?;
        }
        // The one that `scratches` lists goes last.
        for name in [format!("{id}{TEST}"), id.to_owned()] {
            let removed = remove_tree(self.ops(), self.scratch.at(), OsStr::new(&name));
            removed.map_err(|fault| place_error(&self.scratch.path.join(&name), fault))?;
        }
        Ok(())
    }

    /// Publishes changes whose contents are kept: all of them, or none. The id names the publication if the process is killed.
    ///
    /// # Errors
    /// [`WorkTreeError::Conflict`], [`WorkTreeError::Refused`] and [`WorkTreeError::RolledBack`] with the tree as it was;
    /// [`WorkTreeError::RollBackFailed`] if it could not be restored.
    pub fn publish(&self, id: &str, changes: &[PathChange]) -> Result<Published, WorkTreeError> {
        self.publish_as((id, Purpose::Publish), changes)
    }

    pub(super) fn publish_as(
        &self,
        (id, purpose): (&str, Purpose),
        changes: &[PathChange],
    ) -> Result<Published, WorkTreeError> {
        judge_id(id)?;
        let mut changes = changes.to_vec();
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        // A journal that could not be removed is followed to its end first.
        let place = (&self.root, self.path.as_path());
        recover(place, &journal, &self.blobs, self.gate.as_ref())?;
        let publisher = self.publisher(self.root());
        publisher.publish((id, purpose), &changes, &journal)
    }

    fn publisher<'p>(&'p self, root: BorrowedFd<'p>) -> Publisher<'p> {
        Publisher {
            blobs: &self.blobs,
            born_unix_nanos: self.root.born_unix_nanos,
            gate: self.gate.as_ref(),
            root,
            scratch: &self.scratch,
            withheld: &self.withheld,
        }
    }

    /// Makes changes whose contents are kept in a folder that nothing else uses, without a journal. The state of the tree goes with this
    /// value.
    ///
    /// # Errors
    /// The errors of [`Self::publish`]. The folder is half filled then.
    pub fn fill(&self, id: &str, changes: &[PathChange]) -> Result<(), WorkTreeError> {
        judge_id(id)?;
        self.is_temporary.store(true, Ordering::Relaxed);
        let mut changes = changes.to_vec();
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.publisher(self.root()).apply(id, &changes)
    }

    /// Copies a scanned tree into a new folder of the scratch folder.
    fn copy(
        &self,
        name: &OsStr,
        scan: &Scan,
        most: u64,
        watch: Watch<'_>,
    ) -> Result<(Copied, OwnedFd), WorkTreeError> {
        let path = self.scratch.path.join(name);
        let refuse = |fault: io::Error| place_error(&path, fault);
        let ops = self.ops();
        ops.create_folder(self.scratch.at(), name).map_err(refuse)?;
        let folder = open_folder(self.scratch.at(), name).map_err(|fault| refuse(fault.into()))?;
        let copier = Copier {
            from: self.root(),
            ops,
            to: folder.as_fd(),
            watch,
            withheld: &self.withheld.ids,
        };
        let copy = copier.copy(scan, most)?;
        ops.set_owner(&folder, &self.found).map_err(refuse)?;
        let marked = ops.set_open_mode(&folder, self.found.mode);
        marked.map_err(refuse)?;
        Ok((copy, folder))
    }
}

impl Drop for WorkTree {
    fn drop(&mut self) {
        self.scratch.remove_if_empty();
        if self.is_temporary.load(Ordering::Relaxed) {
            let _left = fs::remove_dir_all(&self.state.folder);
        }
    }
}
