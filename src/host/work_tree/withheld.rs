//! The files and folders of the host that no item changes, and the paths that are unfit as a work tree. Makes nothing.

use std::fs;
use std::io::ErrorKind;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{self, Path, PathBuf};

use monolith_core::work::WorkPath;

use super::error::WorkTreeError;
use super::folder::{io_error, look, place_error};
use super::found::FileId;
use super::scratch_folder::is_left_out;

/// Files and folders of the host that are never part of a tree.
#[derive(Debug, Default)]
pub(super) struct Withheld {
    /// The ones that exist.
    pub ids: Vec<FileId>,
    /// The ones below the root of the tree, even if they do not exist yet.
    paths: Vec<WorkPath>,
}

impl Withheld {
    pub(super) fn new(root: &Path, places: &[PathBuf]) -> Self {
        let below = |place: &PathBuf| {
            let place = resolved(place);
            let below = place.strip_prefix(root).ok()?;
            WorkPath::from_bytes(below.as_os_str().as_bytes()).ok()
        };
        Self {
            ids: places.iter().filter_map(|place| id_of(place)).collect(),
            paths: places.iter().filter_map(below).collect(),
        }
    }

    /// True if a path of the tree is one of them, or lies in one.
    pub(super) fn holds(
        &self,
        root: BorrowedFd<'_>,
        path: &WorkPath,
    ) -> Result<bool, WorkTreeError> {
        if self.paths.is_empty() {
            return Ok(false);
        }
        if self.paths.iter().any(|withheld| path.is_within(withheld)) {
            return Ok(true);
        }
        // A file system without case has other names for them.
        let mut next = Some(path.clone());
        while let Some(path) = next {
            let found = look(root, &path).map_err(|fault| io_error(&path, fault))?;
            if found.is_some_and(|found| self.ids.contains(&found.id)) {
                return Ok(true);
            }
            next = path.parent();
        }
        Ok(false)
    }
}

/// The resolved path of a work tree.
///
/// # Errors
/// [`WorkTreeError::Unfit`] for a path that items must not change.
pub(super) fn fit_root(tree: &Path, withheld: &[PathBuf]) -> Result<PathBuf, WorkTreeError> {
    let unfit = |reason: &str| WorkTreeError::Unfit {
        path: tree.to_owned(),
        reason: reason.to_owned(),
    };
    if tree.as_os_str().is_empty() {
        return Err(unfit(
            "its name is empty; name a folder, or `.` for this one",
        ));
    }
    let path = match tree.canonicalize() {
        Err(fault) if fault.kind() == ErrorKind::NotFound => {
            return Err(unfit("there is no such folder; make it first"));
        }
        Err(fault) if fault.kind() == ErrorKind::NotADirectory => {
            return Err(unfit("a file is on the way to it; name a folder"));
        }
        path => path.map_err(|fault| place_error(tree, fault))?,
    };
    let found = fs::metadata(&path).map_err(|fault| place_error(&path, fault))?;
    if !found.is_dir() {
        return Err(unfit(
            "it is no folder; name the folder that the items change",
        ));
    }
    if path.parent().is_none() {
        return Err(unfit(
            "it is the root of the file system; name a folder below it",
        ));
    }
    let mut names = path.components();
    if let Some(name) = names.find(|name| is_left_out(name.as_os_str())) {
        let name = name.as_os_str().display();
        return Err(unfit(&format!(
            "it lies in a folder {name}, whose files items do not change; name a folder outside of it"
        )));
    }
    let mut places = withheld.iter().map(|place| resolved(place));
    if let Some(place) = places.find(|place| path.starts_with(place)) {
        return Err(unfit(&format!(
            "it lies in the state folder {}; name a folder outside of it",
            place.display()
        )));
    }
    Ok(path)
}

/// Device and inode of the file or folder at a path.
pub(super) fn id_of(path: &Path) -> Option<FileId> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// A path without links, of which the last names may be missing.
pub(super) fn resolved(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    match parent.zip(path.file_name()) {
        Some((parent, name)) => resolved(parent).join(name),
        None => path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}
