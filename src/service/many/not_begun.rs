//! The lines that were taken from a list, and which of them have not begun a run because the process was asked to end, or ends. Does not know what
//! follows them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::result::Rest;
use crate::drive::follower::Follower;

/// The taken lines that must be begun again.
#[derive(Default)]
pub(super) struct NotBegun(Mutex<Lines>);

#[derive(Default)]
struct Lines {
    /// Their places in words and as `--from` names them, in the order in which they were taken.
    not_begun: BTreeMap<u64, (String, String)>,
    /// The last that has begun a run to which the list gives no name.
    last_unnamed: Option<u64>,
    /// The lines that have not ended yet.
    open: BTreeMap<u64, OpenLine>,
    /// Number of inputs that were taken.
    taken: u64,
}

/// The status of the run of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Became {
    Begun,
    /// It was not begun because the process was asked to end.
    Cancelled,
    /// It is not to be begun again.
    Refused,
}

/// A line whose run may have begun, and has come to no end.
pub(super) struct OpenLine {
    /// Its place in words and as `--from` names it.
    pub(super) at: (String, String),
    /// True if the list gives its run no name.
    pub(super) is_unnamed: bool,
    /// Follows its run.
    pub(super) live: Follower,
}

impl NotBegun {
    /// A line was taken that is to begin a run. Returns its number.
    pub(super) fn opened(&self, line: OpenLine) -> u64 {
        let mut lines = self.lines();
        lines.taken = lines.taken.saturating_add(1);
        let taken = lines.taken;
        lines.open.insert(taken, line);
        taken
    }

    /// The line has come to an end.
    pub(super) fn closed(&self, taken: u64, became: Became) {
        let mut lines = self.lines();
        let Some(line) = lines.open.remove(&taken) else {
            return;
        };
        match became {
            Became::Begun if line.is_unnamed => {
                lines.last_unnamed = lines.last_unnamed.max(Some(taken));
            }
            Became::Cancelled => {
                lines.not_begun.insert(taken, line.at);
            }
            Became::Begun | Became::Refused => {}
        }
    }

    /// The rest of the list from the first of them on. A line that is still open counts as what it is now.
    pub(super) fn rest(&self) -> Option<Rest> {
        let lines = self.lines();
        let begun = |line: &OpenLine| line.live.has_begun();
        let open = lines.open.iter().find(|(_, line)| !begun(line));
        let open = open.map(|(taken, line)| (taken, &line.at));
        let first = lines.not_begun.first_key_value().into_iter().chain(open);
        let (taken, at) = first.min_by_key(|(taken, _)| **taken)?;
        let unnamed = lines.open.iter().rev();
        let unnamed = unnamed.filter(|(_, line)| line.is_unnamed && begun(line));
        let unnamed = unnamed.map(|(taken, _)| *taken).next();
        let last_unnamed = lines.last_unnamed.max(unnamed);
        Some(Rest::of_list(at.clone(), last_unnamed > Some(*taken)))
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
