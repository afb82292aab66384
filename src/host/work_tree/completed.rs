//! The complete publications whose ends the caller has not noted yet. Publishes nothing.

use std::sync::PoisonError;

use super::error::WorkTreeError;
use super::folder::place_error;
use super::locked_tree::WorkTree;

impl WorkTree {
    /// The ids of the publications that are complete, whichever process completed them, until [`Self::acknowledge`]: a process that was
    /// killed may not have noted that.
    ///
    /// # Errors
    /// What the system says.
    pub fn completed(&self) -> Result<Vec<String>, WorkTreeError> {
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let completed = journal.completed();
        completed.map_err(|fault| place_error(journal.place(), fault))
    }

    /// Takes note that the caller knows the end of a publication.
    ///
    /// # Errors
    /// What the system says.
    pub fn acknowledge(&self, id: &str) -> Result<(), WorkTreeError> {
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let forgotten = journal.forget(id, self.ops());
        forgotten.map_err(|fault| place_error(journal.place(), fault))
    }
}
