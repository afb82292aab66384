//! The accounting of the runs that a command drives: one file, however many they are. Does not compute a line.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use monolith_core::message::RunId;
use monolith_host::telemetry::{AccountingLine, BillingFault, BillingFile, RecordedLines};

/// The accounting file of a command. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Accounts(Arc<Mutex<Open>>);

#[derive(Debug)]
struct Open {
    file: BillingFile,
    /// True if the runs let the command decide when lines become durable: then it does so for many of them at once.
    in_groups: bool,
    /// The file's lines of the runs that are to be resumed, as far as they were read.
    recorded: Option<RecordedLines>,
}

impl Accounts {
    /// Of one run.
    pub fn new(file: BillingFile) -> Self {
        Self::opened(file, false, None)
    }

    /// Of runs that begin: [`Self::sync_all`] is the command's to call.
    pub fn in_groups(file: BillingFile) -> Self {
        Self::opened(file, true, None)
    }

    /// Opens the accounts of resumed runs.
    pub fn resuming(file: BillingFile, runs: impl IntoIterator<Item = RunId>) -> Self {
        Self::opened(file, true, Some(RecordedLines::of(runs)))
    }

    fn opened(file: BillingFile, in_groups: bool, recorded: Option<RecordedLines>) -> Self {
        Self(Arc::new(Mutex::new(Open {
            file,
            in_groups,
            recorded,
        })))
    }

    /// Appends lines to the file.
    pub fn append(&self, lines: &[AccountingLine]) -> Result<(), BillingFault> {
        self.open().file.append(lines)
    }

    /// The entries of that run that the file has already.
    pub fn entries_of(&self, run_id: &RunId) -> Result<BTreeSet<u64>, BillingFault> {
        let mut open = self.open();
        let Open { file, recorded, .. } = &mut *open;
        if let Some(recorded) = recorded {
            // Another process may have driven the run since the last look, until this one had its lock.
            file.read_on(recorded)?;
            // That holds once: the run appends from now on.
            if let Some(found) = recorded.take(run_id) {
                return Ok(found);
            }
        }
        file.entries_of(run_id)
    }

    /// A run has ended: its lines survive the loss of power, unless the command sees to it.
    pub fn sync(&self) -> Result<(), BillingFault> {
        let mut open = self.open();
        if open.in_groups {
            return Ok(());
        }
        open.file.sync()
    }

    /// The lines of all runs survive the loss of power.
    pub fn sync_all(&self) -> Result<(), BillingFault> {
        let unsynced = self.open().file.unsynced();
        let Some(unsynced) = unsynced else {
            return Ok(());
        };
        // Other runs append while this one waits for the disk.
        let synced = unsynced.sync();
        synced.inspect_err(|_| self.open().file.keep_unsynced())
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
        let accounts = Accounts::resuming(file, runs.clone());
        let found = |run: &RunId| accounts.entries_of(run).unwrap();
        assert_eq!(found(&runs[0]), BTreeSet::from([0, 1]));
        // Another process continues the other run meanwhile; the last line is not whole yet.
        let other = |index: u64| format!("{{\"index\":{index},\"txnId\":\"r-2\"}}\n");
        let (three, four) = (other(3), other(4));
        let text = line(0) + &line(1) + &line(2) + &three + &four[..8];
        fs::write(&path, &text).unwrap();
        assert_eq!(found(&runs[1]), BTreeSet::from([3]));
        assert_eq!(found(&runs[0]), BTreeSet::from([0, 1, 2]));
        fs::write(&path, text + &four[8..]).unwrap();
        assert_eq!(found(&runs[1]), BTreeSet::from([3, 4]));
    }
}
