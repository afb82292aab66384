//! The removal of kept contents and trees that nothing needs any more. Does not know who needs them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use monolith_core::message::Digest;

use super::blobs::{Blobs, NEW};
use super::error::WorkTreeError;
use super::locked_tree::WorkTree;
use super::state::StateUse;

/// The contents that stay.
#[derive(Clone, Debug, Default)]
pub struct Needed {
    /// Contents, by their BLAKE3.
    pub contents: BTreeSet<Digest>,
    /// Trees, each with all of its contents, by their hashes.
    pub trees: BTreeSet<Digest>,
}

/// Number of removed files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Contents.
    pub contents: u64,
    /// Trees.
    pub trees: u64,
}

impl WorkTree {
    /// Removes the kept contents that nothing needs, if there is a tree that nothing needs and no other process works on a tree of this
    /// state folder. `needed` is asked while none does.
    ///
    /// # Errors
    /// An error of the system or of `needed`, or a needed tree that is damaged. Contents that are needed stay in any case.
    pub fn collect(&self, needed: impl FnOnce() -> io::Result<Needed>) -> io::Result<Collected> {
        let collected = self.in_use.alone(|| {
            let needed = needed()?;
            let trees = self.blobs.trees()?;
            if trees.iter().all(|(tree, _)| needed.trees.contains(tree)) {
                return Ok(Collected::default());
            }
            self.blobs.collect(&needed)
        });
        Ok(collected?.unwrap_or_default())
    }
}

/// Removes the kept contents of a state folder that nothing needs, unless a process works on one of its trees. `needed` is asked while none
/// does.
///
/// # Errors
/// As [`WorkTree::collect`].
pub fn collect_contents(
    state: &Path,
    needed: impl FnOnce() -> io::Result<Needed>,
) -> Result<Collected, WorkTreeError> {
    let refuse = |fault| super::folder::place_error(state, fault);
    if !state.try_exists().map_err(refuse)? {
        return Ok(Collected::default());
    }
    let collected = StateUse::take(state)?.alone(|| Blobs::new(state).collect(&needed()?));
    Ok(collected.map_err(refuse)?.unwrap_or_default())
}

impl Blobs {
    /// The kept trees with their files.
    fn trees(&self) -> io::Result<Vec<(Digest, PathBuf)>> {
        let files = entries(&self.folder().join(Self::MANIFESTS))?;
        let tree = |path: PathBuf| Some((path.file_name()?.to_str()?.parse().ok()?, path));
        Ok(files.into_iter().filter_map(tree).collect())
    }

    fn collect(&self, needed: &Needed) -> io::Result<Collected> {
        let mut contents = needed.contents.clone();
        let mut old_trees = Vec::new();
        for (hash, file) in self.trees()? {
            if !needed.trees.contains(&hash) {
                // It states that all contents are there.
                match fs::remove_file(self.snapshot_path(hash)) {
                    Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
                    _ => old_trees.push(file),
                }
                continue;
            }
            let damaged = || io::Error::other(format!("{} is damaged", file.display()));
            let tree = self.manifest(hash)?.ok_or_else(damaged)?;
            contents.extend(tree.iter().filter_map(|(_, node)| node.content()));
        }
        let mut collected = Collected::default();
        for folder in entries(&self.folder().join(Self::CONTENTS))? {
            for file in entries(&folder)? {
                if is_needed(&folder, &file, &contents) {
                    continue;
                }
                fs::remove_file(&file)?;
                collected.contents += 1;
            }
        }
        // They go last: a process that is killed leaves one, so that the next collection begins.
        for file in old_trees {
            fs::remove_file(&file)?;
            collected.trees += 1;
        }
        Ok(collected)
    }
}

/// True for a file that stays: a needed content, or something that is no content.
fn is_needed(folder: &Path, file: &Path, contents: &BTreeSet<Digest>) -> bool {
    let name = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
    let Some((first, rest)) = name(folder).zip(name(file)) else {
        return true;
    };
    // The beginning of a content whose process was killed.
    if rest.ends_with(NEW) {
        return false;
    }
    let digest: Option<Digest> = format!("{first}{rest}").parse().ok();
    digest.is_none_or(|digest| contents.contains(&digest))
}

/// The paths in a folder; none if there is no folder.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let listed = match fs::read_dir(folder) {
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed?,
    };
    listed.map(|entry| Ok(entry?.path())).collect()
}
