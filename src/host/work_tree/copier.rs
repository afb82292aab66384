//! Copies a scanned tree into an empty folder, with its ignored files. Reads the tree through no link, and writes the copy only.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::time::SystemTime;

use monolith_core::message::Digest;
use monolith_core::work::{TreeNode, WorkPath};
use rustix::io::Errno;

use super::copy::{copy_attributes, copy_content};
use super::error::WorkTreeError;
use super::folder::{
    hash_of, io_error, link_target, names, open_error, open_file, open_folder, parent_of,
};
use super::found::{FileId, Found, Kind};
use super::hash_cache::HashCache;
use super::ops::Ops;
use super::parallel::on_each;
use super::rules::join;
use super::scan::Scan;
use super::scratch_folder::is_left_out;
use super::watch::{StopCheck, Watch};

/// A copy of a tree.
pub(super) struct Copier<'c> {
    pub from: BorrowedFd<'c>,
    pub ops: Ops<'c>,
    pub to: BorrowedFd<'c>,
    pub watch: Watch<'c>,
    pub withheld: &'c [FileId],
}

/// The result of a copy.
#[derive(Debug, Default)]
pub(super) struct Copied {
    /// The hashes of the copies, which have not to be read again.
    pub hashes: HashCache,
    /// The copies of ignored files and links.
    pub ignored: BTreeMap<WorkPath, Found>,
}

/// A path to copy.
struct Entry<'e> {
    found: Found,
    /// The digest of a file of the tree; none for an ignored one.
    content: Option<Digest>,
    path: &'e WorkPath,
}

impl Copier<'_> {
    /// Copies the tree and its ignored files.
    pub(super) fn copy(&self, scan: &Scan, most: u64) -> Result<Copied, WorkTreeError> {
        let ignored = entries_below(self.from, &scan.ignored, self.withheld, self.watch)?;
        let of_tree = scan.manifest.iter().zip(&scan.found);
        let of_tree = of_tree.map(|((path, node), found)| {
            let content = match node {
                TreeNode::File { content, .. } => Some(*content),
                TreeNode::Folder { .. } | TreeNode::Link { .. } => None,
            };
            (path, found, content)
        });
        let of_ignored = ignored.iter().map(|(path, found)| (path, found, None));
        let (mut entries, mut folders) = (Vec::new(), Vec::new());
        let mut bytes = 0_u64;
        for (path, found, content) in of_tree.chain(of_ignored) {
            let entry = Entry {
                found: *found,
                content,
                path,
            };
            match found.kind {
                Kind::Folder => folders.push(entry),
                // A pipe or a socket that is ignored serves a process, which the copy has not.
                Kind::Other => {}
                Kind::File | Kind::Link => {
                    bytes = bytes.saturating_add(found.bytes.min(found.allocated));
                    entries.push(entry);
                }
            }
        }
        if bytes > most {
            let limit = most;
            return Err(WorkTreeError::TooLarge { bytes, limit });
        }
        folders.sort_by(|a, b| a.path.cmp(b.path));
        for folder in &folders {
            let (parent, name) = self.target(folder.path)?;
            let made = self.ops.create_folder(&parent, name);
            made.map_err(|fault| io_error(folder.path, fault))?;
        }
        let results = on_each(&entries, self.watch, |entry, check| {
            self.entry(entry, check)
        })?;
        let now = SystemTime::now();
        let mut copied = Copied::default();
        for (path, found, content) in results {
            let Some(content) = content else {
                if scan.manifest.get(&path).is_none() {
                    copied.ignored.insert(path, found);
                }
                continue;
            };
            // The next scan reads a younger one: a write from now on may leave its times.
            if found.is_settled(now) {
                copied.hashes.insert(&found, content);
            }
        }
        for folder in folders.iter().rev() {
            self.finish_folder(folder)?;
        }
        Ok(copied)
    }

    fn target<'p>(&self, path: &'p WorkPath) -> Result<(OwnedFd, &'p OsStr), WorkTreeError> {
        parent_of(self.to, path).map_err(|fault| io_error(path, fault))
    }

    /// Copies a file or a link. Returns the copy, and its hash if it is a file of the tree.
    fn entry(
        &self,
        entry: &Entry<'_>,
        check: StopCheck<'_>,
    ) -> Result<(WorkPath, Found, Option<Digest>), WorkTreeError> {
        let path = entry.path;
        let refuse = |fault: io::Error| io_error(path, fault);
        let parent = parent_of(self.from, path);
        let (from, name) = parent.map_err(|fault| open_error(path, fault))?;
        let (to, _) = self.target(path)?;
        if entry.found.kind == Kind::Link {
            let target = link_target(&from, name).map_err(|fault| open_error(path, fault))?;
            self.ops.create_link(&to, name, &target).map_err(refuse)?;
            let owned = self.ops.set_link_owner(&to, name, &entry.found);
            owned.map_err(refuse)?;
        } else {
            self.file((from.as_fd(), to.as_fd()), name, entry, check)?;
        }
        let copy = Found::at(to.as_fd(), name).map_err(|fault| refuse(fault.into()))?;
        let copy = copy.ok_or_else(|| refuse(io::Error::from(io::ErrorKind::NotFound)))?;
        Ok((path.clone(), copy, entry.content))
    }

    fn file(
        &self,
        (from, to): (BorrowedFd<'_>, BorrowedFd<'_>),
        name: &OsStr,
        entry: &Entry<'_>,
        check: StopCheck<'_>,
    ) -> Result<(), WorkTreeError> {
        let path = entry.path;
        let refuse = |fault: io::Error| io_error(path, fault);
        let moved = || WorkTreeError::Moved { path: path.clone() };
        let source = open_file(from, name).map_err(|fault| open_error(path, fault))?;
        let mut copy = self.ops.create(to, name).map_err(refuse)?;
        copy_content(&source, &copy, check).map_err(refuse)?;
        let now = Found::of_open(&source).map_err(|fault| refuse(fault.into()))?;
        if let Some(content) = entry.content
            && !now.is_untouched_since(&entry.found)
        {
            copy.rewind().map_err(refuse)?;
            let copied = hash_of(&copy, check).map_err(refuse)?;
            if copied != content || now.mode != entry.found.mode {
                return Err(moved());
            }
        }
        self.mark(&source, &copy, entry)
    }

    /// Gives a copy owner, extended attributes, mode and time of its source.
    fn mark(&self, source: &File, copy: &File, entry: &Entry<'_>) -> Result<(), WorkTreeError> {
        let (path, found) = (entry.path, &entry.found);
        let refuse = |fault: io::Error| io_error(path, fault);
        self.ops.set_owner(copy, found).map_err(refuse)?;
        copy_attributes(source, copy).map_err(|error| WorkTreeError::Refused {
            path: path.clone(),
            reason: format!(
                "its extended attribute {:?} cannot be copied: {}; remove it, or exclude the path",
                error.name, error.fault
            ),
        })?;
        self.ops.set_open_mode(copy, found.mode).map_err(refuse)?;
        self.ops.set_modified(copy, found).map_err(refuse)
    }

    /// Marks a folder, once all in it is copied.
    fn finish_folder(&self, folder: &Entry<'_>) -> Result<(), WorkTreeError> {
        let path = folder.path;
        let open = |root: BorrowedFd<'_>| -> rustix::io::Result<File> {
            let (parent, name) = parent_of(root, path)?;
            Ok(File::from(open_folder(parent, name)?))
        };
        let source = open(self.from).map_err(|fault| open_error(path, fault))?;
        let copy = open(self.to).map_err(|fault| io_error(path, fault))?;
        self.mark(&source, &copy, folder)
    }
}

/// Every path at and below some paths of a tree, in no order, repositories and what is withheld left out.
pub(super) fn entries_below(
    root: BorrowedFd<'_>,
    paths: &[WorkPath],
    withheld: &[FileId],
    watch: Watch<'_>,
) -> Result<Vec<(WorkPath, Found)>, WorkTreeError> {
    let mut entries = Vec::new();
    let mut left: Vec<WorkPath> = paths.to_vec();
    while let Some(path) = left.pop() {
        if watch(u64::try_from(entries.len()).unwrap_or(u64::MAX)).is_break() {
            return Err(WorkTreeError::Stopped);
        }
        let refuse = |fault: Errno| io_error(&path, fault);
        let (parent, name) = match parent_of(root, &path) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            parent => parent.map_err(refuse)?,
        };
        let Some(found) = Found::at(parent.as_fd(), name).map_err(refuse)? else {
            continue;
        };
        if withheld.contains(&found.id) {
            continue;
        }
        if found.kind == Kind::Folder {
            let folder = open_folder(&parent, name).map_err(refuse)?;
            let names: Vec<OsString> = names(&folder).map_err(refuse)?;
            for name in names.iter().filter(|name| !is_left_out(name)) {
                let child = join(path.as_bytes(), name.as_bytes());
                let child = WorkPath::from_bytes(&child);
                left.push(child.map_err(|fault| {
                    io_error(
                        &path,
                        io::Error::other(format!("{fault}: {}", name.display())),
                    )
                })?);
            }
        }
        entries.push((path, found));
    }
    Ok(entries)
}
