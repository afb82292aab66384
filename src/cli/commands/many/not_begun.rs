//! The lines that were taken from a list, and whose runs have not begun because the process was asked to end. Does not know what follows them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is to be begun again of the lines that were taken.
#[derive(Debug, Default)]
pub(super) struct NotBegun(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    /// Their places in words and as `--from` names them, in the order in which they were taken.
    not_begun: BTreeMap<u64, (String, String)>,
    /// The last that has begun a run to which the list gives no name.
    last_unnamed: Option<u64>,
}

impl NotBegun {
    /// The line that was taken as that one has begun a run to which the list gives no name.
    pub(super) fn began_unnamed(&self, taken: u64) {
        let mut lines = self.lines();
        lines.last_unnamed = lines.last_unnamed.max(Some(taken));
    }

    /// The run of a line has not begun.
    pub(super) fn add(&self, taken: u64, at: (String, String)) {
        self.lines().not_begun.insert(taken, at);
    }

    /// The place of the first, and whether a list from there on would begin another run of a line twice.
    pub(super) fn first(&self) -> Option<((String, String), bool)> {
        let lines = self.lines();
        let (taken, at) = lines.not_begun.first_key_value()?;
        Some((at.clone(), lines.last_unnamed > Some(*taken)))
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
