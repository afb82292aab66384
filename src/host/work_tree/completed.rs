//! The complete publications whose ends the caller has not noted yet. Publishes nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use super::error::WorkTreeError;
use super::folder::place_error;
use super::journal::{FORWARD, done_name};
use super::locked_tree::WorkTree;
use super::state::TREES;

/// True if a publication of that id has begun in some work tree, and its end has not been noted. Takes no lock.
///
/// # Errors
/// An error of the system.
pub fn has_journal(state: &Path, id: &str) -> io::Result<bool> {
    let done = done_name(id);
    for tree in entries(&state.join(TREES))? {
        if !tree.is_dir() {
            continue;
        }
        for path in entries(&tree)? {
            let name = path.file_name().unwrap_or_default();
            if name == done {
                return Ok(true);
            }
            // The names of journals begin alike.
            if name.as_encoded_bytes().starts_with(FORWARD.as_bytes()) && path.is_file() {
                match fs::read(&path) {
                    Ok(text) if String::from_utf8_lossy(&text).contains(id) => return Ok(true),
                    Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
                    Ok(_) | Err(_) => {}
                }
            }
        }
    }
    Ok(false)
}

/// The paths in a folder; none if it is missing.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(found) => found.map(|entry| Ok(entry?.path())).collect(),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(fault) => Err(fault),
    }
}

impl WorkTree {
    /// The ids of the publications that are complete, whichever process completed them, until [`Self::acknowledge`]: a process that was
    /// killed may not have noted that.
    ///
    /// # Errors
    /// [`WorkTreeError::Record`] for a record of one that is damaged, or is no record.
    pub fn completed(&self) -> Result<Vec<String>, WorkTreeError> {
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.completed()
    }

    /// Takes note that the caller knows the end of a publication.
    ///
    /// # Errors
    /// An error of the system.
    pub fn acknowledge(&self, id: &str) -> Result<(), WorkTreeError> {
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let forgotten = journal.forget(id, self.ops());
        forgotten.map_err(|fault| place_error(journal.place(), fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_found_at_every_stage_of_its_publication() {
        let state = tempfile::tempdir().expect("a folder");
        let has = |id| has_journal(state.path(), id).expect("folders");
        assert!(!has("mine"));
        let tree = state.path().join(TREES).join("1f");
        fs::create_dir_all(&tree).expect("a folder");
        fs::write(tree.join("place"), "mine").expect("a file");
        for name in ["journal", "journal.back", "journal.new", "mine.done"] {
            assert!(!has("mine"), "{name}");
            let path = tree.join(name);
            fs::write(&path, r#"{"format":1,"id":"mine"}"#).expect("a file");
            assert!(has("mine") && !has("other"), "{name}");
            fs::remove_file(path).expect("removed");
        }
    }
}
