//! A scratch tree, in which one item works: a copy of the work tree, and its difference afterwards. Knows no item.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use monolith_core::message::Digest;
use monolith_core::work::{Manifest, PathChange, WorkPath};
use serde::{Deserialize, Serialize};

use super::blobs::Blobs;
use super::copier::entries_below;
use super::error::WorkTreeError;
use super::folder::{open_root, place_error};
use super::found::{FileId, Found, Kind};
use super::scan::Scan;
use super::watch::Watch;
use crate::store::{open_own, private_file, replace_own};

/// The version of a record.
const FORMAT: u32 = 1;

/// A scratch tree.
#[derive(Debug)]
pub struct Scratch {
    folder: OwnedFd,
    id: String,
    ignored: BTreeMap<WorkPath, Found>,
    manifest: Manifest,
    path: PathBuf,
}

/// The difference of a scratch tree and its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The tree as the item left it.
    pub after: Manifest,
    /// Every path of the tree that differs.
    pub changes: Vec<PathChange>,
    /// Changed paths that are no part of the tree: ignored, excluded or in a repository. They are thrown away.
    pub discarded: Vec<WorkPath>,
}

/// The facts about a scratch tree that another process needs to compare it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    format: u32,
    ignored: BTreeMap<WorkPath, Found>,
    manifest: Digest,
}

impl Scratch {
    /// Records a new scratch tree.
    pub(super) fn new(
        (id, path): (&str, PathBuf),
        manifest: Manifest,
        ignored: BTreeMap<WorkPath, Found>,
        (record, blobs): (&Path, &Blobs),
    ) -> Result<Self, WorkTreeError> {
        let refuse = |fault: io::Error| place_error(record, fault);
        let hash = blobs.keep_manifest(&manifest).map_err(refuse)?;
        let facts = Record {
            format: FORMAT,
            ignored,
            manifest: hash,
        };
        let text = serde_json::to_vec(&facts).map_err(|fault| refuse(fault.into()))?;
        replace_own(record, &text).map_err(refuse)?;
        let folder = open_root(&path).map_err(|fault| place_error(&path, fault))?;
        Ok(Self {
            folder,
            id: id.to_owned(),
            ignored: facts.ignored,
            manifest,
            path,
        })
    }

    /// Opens a scratch tree that a process made; `None` if there is none, or it was not complete.
    pub(super) fn open(
        (id, path): (&str, PathBuf),
        (record, blobs): (&Path, &Blobs),
    ) -> Result<Option<Self>, WorkTreeError> {
        let refuse = |fault: io::Error| place_error(record, fault);
        let file = match open_own(private_file().read(true), record) {
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(refuse)?,
        };
        let text = io::read_to_string(file).map_err(refuse)?;
        let damaged = |reason: String| WorkTreeError::Record {
            path: record.to_owned(),
            reason,
        };
        let facts: Record = serde_json::from_str(&text)
            .map_err(|fault| damaged(format!("not a record of a scratch tree: {fault}")))?;
        if facts.format != FORMAT {
            let version = facts.format;
            let reason = format!("its format is {version}, and this build reads {FORMAT}");
            return Err(damaged(reason));
        }
        let manifest = blobs.manifest(facts.manifest).map_err(refuse)?;
        let manifest = manifest.ok_or_else(|| damaged("its snapshot is missing".to_owned()))?;
        let folder = match open_root(&path) {
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            opened => opened.map_err(|fault| place_error(&path, fault))?,
        };
        Ok(Some(Self {
            folder,
            id: id.to_owned(),
            ignored: facts.ignored,
            manifest,
            path,
        }))
    }

    /// The id that the caller gave it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its folder: the workspace of the agent's tools.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The tree that it began as.
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub(super) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Compares a scan of it with its beginning.
    pub(super) fn compared(
        &self,
        scan: Scan,
        withheld: &[FileId],
        watch: Watch<'_>,
    ) -> Result<Compared, WorkTreeError> {
        let mut discarded: BTreeSet<WorkPath> = scan.left_out.into_iter().collect();
        let now = entries_below(self.folder(), &scan.ignored, withheld, watch)?;
        let now: BTreeMap<_, _> = now
            .into_iter()
            .filter(|(_, found)| matches!(found.kind, Kind::File | Kind::Link))
            .collect();
        for (path, found) in &now {
            let before = self.ignored.get(path);
            if before.is_none_or(|before| !found.is_untouched_since(before)) {
                discarded.insert(path.clone());
            }
        }
        let is_gone =
            |path: &&WorkPath| !now.contains_key(*path) && scan.manifest.get(path).is_none();
        discarded.extend(self.ignored.keys().filter(is_gone).cloned());
        Ok(Compared {
            changes: self.manifest.changes_to(&scan.manifest),
            after: scan.manifest,
            discarded: discarded.into_iter().collect(),
        })
    }
}

/// Removes the record of a scratch tree.
pub(super) fn remove_record(record: &Path) -> Result<(), WorkTreeError> {
    match fs::remove_file(record) {
        Err(fault) if fault.kind() != io::ErrorKind::NotFound => Err(place_error(record, fault)),
        _ => Ok(()),
    }
}
