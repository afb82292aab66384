//! The accounting of the runs that a command drives: one file, however many they are. Does not compute a line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::message::RunId;
use crate::telemetry::{AccountingLine, BillingFault, BillingFile};

/// The accounting file of a command. Clones are the same one.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Accounts(Arc<Mutex<Open>>);

#[derive(Debug)]
struct Open {
    file: BillingFile,
    /// Whether the runs leave it to the command when lines survive the loss of power: then that is so for many of them at once.
    in_groups: bool,
    /// What stood there of each run that is resumed, where that was read beforehand.
    recorded: Option<BTreeMap<RunId, BTreeSet<u64>>>,
}

impl Accounts {
    /// Of one run.
    pub(in crate::cli) fn new(file: BillingFile) -> Self {
        Self::opened(file, false, None)
    }

    /// Of runs that begin: [`Self::sync_all`] is the command's to call.
    pub(in crate::cli) fn in_groups(file: BillingFile) -> Self {
        Self::opened(file, true, None)
    }

    /// Of runs that are gone on with.
    ///
    /// # Errors
    /// [`BillingFault`] where the file cannot be read.
    pub(in crate::cli) fn resuming(
        file: BillingFile,
        runs: &[RunId],
    ) -> Result<Self, BillingFault> {
        let recorded = file.entries_of_all(runs)?;
        Ok(Self::opened(file, true, Some(recorded)))
    }

    fn opened(
        file: BillingFile,
        in_groups: bool,
        recorded: Option<BTreeMap<RunId, BTreeSet<u64>>>,
    ) -> Self {
        Self(Arc::new(Mutex::new(Open {
            file,
            in_groups,
            recorded,
        })))
    }

    pub(super) fn append(&self, lines: &[AccountingLine]) -> Result<(), BillingFault> {
        self.open().file.append(lines)
    }

    /// What stands there of that run already.
    pub(super) fn entries_of(&self, run_id: &RunId) -> Result<BTreeSet<u64>, BillingFault> {
        let mut open = self.open();
        match &mut open.recorded {
            // What was read beforehand holds once: the run has appended since.
            Some(recorded) if recorded.contains_key(run_id) => {
                Ok(recorded.remove(run_id).unwrap_or_default())
            }
            Some(_) | None => open.file.entries_of(run_id),
        }
    }

    /// A run has ended: its lines survive the loss of power, unless the command sees to it.
    pub(super) fn sync(&self) -> Result<(), BillingFault> {
        let mut open = self.open();
        if open.in_groups {
            return Ok(());
        }
        open.file.sync()
    }

    /// The lines of all runs survive the loss of power.
    pub(in crate::cli) fn sync_all(&self) -> Result<(), BillingFault> {
        self.open().file.sync()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A fault of the accounting makes a run look again which of its lines stand there: those from before are among them.
    #[test]
    fn what_stands_there_of_a_resumed_run_is_found_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounting.jsonl");
        let file = BillingFile::open(&path, false).unwrap();
        let line = |index: u64| format!("{{\"index\":{index},\"txnId\":\"r-1\"}}\n");
        fs::write(&path, line(0) + &line(1)).unwrap();
        let runs = ["r-1", "r-2"].map(|run| RunId::try_from(run.to_owned()).unwrap());
        let accounts = Accounts::resuming(file, &runs).unwrap();
        let found = |run: &RunId| accounts.entries_of(run).unwrap();
        assert_eq!(found(&runs[0]), BTreeSet::from([0, 1]));
        assert_eq!(found(&runs[1]), BTreeSet::new());
        fs::write(&path, line(0) + &line(1) + &line(2)).unwrap();
        assert_eq!(found(&runs[0]), BTreeSet::from([0, 1, 2]));
    }
}
