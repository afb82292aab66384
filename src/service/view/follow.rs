//! A run that another process drives, entry by entry as they become durable. Holds no lock and no transaction between two looks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::entry_row::EntryRow;
use super::stored::StoredEntry;
use crate::error::ServiceError;
use crate::exit::Exit;
use crate::run_status::is_driven;
use crate::service::Service;
use crate::source::{Recorded, Source};
use crate::verify::report::own_report;
use monolith_core::message::RunId;
use monolith_core::transcript::{SealedEntry, VerifyReport};
use monolith_core::view::{Divergence, RunView};
use monolith_host::store::StoreReader;

/// Time between two looks at the store.
const PAUSE: Duration = Duration::from_millis(150);
/// Most entries that one look reads.
const PAGE: usize = 64;

/// Begins to follow a run, or reads a transcript file.
///
/// # Errors
///
/// The run cannot be read.
pub fn follow(service: &Service, asked: &str) -> Result<Follower, ServiceError> {
    let asked = asked.to_owned();
    match service.source(&asked)? {
        source @ Source::File(_) => {
            let (mut ready, mut view) = (VecDeque::new(), None);
            let read = source.each_entry(|contract, _, entry| {
                let view = view.get_or_insert_with(|| RunView::new(Arc::new(contract.clone())));
                ready.push_back(FollowedEntry::take(view, entry.clone())?);
                Ok(())
            });
            let (view, fault) = match read {
                Ok(contract) => {
                    let view = view.unwrap_or_else(|| RunView::new(Arc::new(contract)));
                    (Some(view), None)
                }
                Err(fault) => (None, Some(fault)),
            };
            Ok(Follower {
                asked,
                fault,
                has_ended: true,
                left: Left::Never,
                ready,
                run: None,
                view,
            })
        }
        Source::Run(run_id, mut reader) => {
            let contract = reader.read_run(&run_id)?.contract()?;
            Ok(Follower {
                asked,
                fault: None,
                has_ended: false,
                left: Left::Never,
                ready: VecDeque::new(),
                run: Some((run_id, reader)),
                view: Some(RunView::new(Arc::new(contract))),
            })
        }
    }
}

/// A run that is followed.
pub struct Follower {
    asked: String,
    /// The error behind the entries that are ready.
    fault: Option<ServiceError>,
    /// True if the last entry was read.
    has_ended: bool,
    left: Left,
    ready: VecDeque<FollowedEntry>,
    /// The run in the store; `None` for a file, which is read at once.
    run: Option<(RunId, StoreReader)>,
    /// `None` only after an error in a file.
    view: Option<RunView>,
}

/// The end of a run that no process drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Such a run is followed until a process resumes and ends it.
    Never,
    /// No look has found such a run.
    NotYet,
    /// The last look found such a run: its driver may have written the end before it let the run go.
    Once,
    /// The run is followed no longer.
    Over,
}

/// An entry that became durable.
#[derive(Clone, Debug)]
pub struct FollowedEntry {
    /// First place where the entries read so far depart from the machine.
    pub departure: Option<Divergence>,
    /// The entry.
    pub row: EntryRow,
    /// The entry as it is stored.
    sealed: SealedEntry,
}

impl FollowedEntry {
    /// Takes an entry into the view.
    fn take(view: &mut RunView, sealed: SealedEntry) -> Result<Self, ServiceError> {
        let entry = Recorded::decode(&sealed)?;
        let step = view.take(entry.entry());
        Ok(Self {
            departure: view.departure().cloned(),
            row: EntryRow::of(view, entry.entry(), step),
            sealed,
        })
    }

    /// Returns the entry with everything that is stored of it, for programs.
    ///
    /// # Errors
    ///
    /// The entry is no JSON.
    pub fn stored(&self) -> Result<StoredEntry<'_>, ServiceError> {
        StoredEntry::of(&self.sealed)
    }
}

/// A run that was followed to its end.
#[derive(Debug)]
pub struct Followed {
    /// True if the run has no end, and no process drives it.
    pub is_left: bool,
    /// Report of its verification.
    pub report: VerifyReport,
    /// The run after its last entry.
    pub view: RunView,
}

impl Followed {
    /// Returns the exit code of the run, or of its evidence.
    #[must_use]
    pub fn exit(&self) -> Exit {
        if self.report.first_bad.is_some() {
            return Exit::EVIDENCE;
        }
        match (self.view.departure(), self.view.outcome()) {
            (Some(_), _) => Exit::DIVERGED,
            (None, None) if self.is_left => Exit::SUSPENDED,
            (None, Some(outcome)) => Exit(outcome.exit_code()),
            (None, None) => Exit::FAILED,
        }
    }
}

impl Follower {
    /// Follows a run that no process drives no further than its last entry: a program does not wait for a person who resumes it.
    #[must_use]
    pub fn until_left(self) -> Self {
        Self {
            left: Left::NotYet,
            ..self
        }
    }

    /// Waits for the next entry; `None` after the last.
    ///
    /// # Errors
    ///
    /// An entry cannot be read. The entries before it were returned.
    pub async fn next(&mut self) -> Result<Option<FollowedEntry>, ServiceError> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Ok(Some(entry));
            }
            if let Some(fault) = self.fault.take() {
                return Err(fault);
            }
            if self.has_ended {
                return Ok(None);
            }
            let before = self.view.as_ref().map(RunView::entries);
            if let Err(fault) = self.look() {
                self.fault = Some(fault);
            } else if before == self.view.as_ref().map(RunView::entries) {
                self.left = self.left_now()?;
                if self.left == Left::Over {
                    self.has_ended = true;
                } else {
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Returns the run after its last entry, verified.
    ///
    /// # Errors
    ///
    /// The run cannot be read again.
    pub fn finish(self, service: &Service) -> Result<Option<Followed>, ServiceError> {
        let Some(mut view) = self.view else {
            return Ok(None);
        };
        view.pause();
        let report = own_report(service, &self.asked)?;
        Ok(Some(Followed {
            is_left: self.left == Left::Over,
            report,
            view,
        }))
    }

    /// Looks whether a process drives the run, after a look that found no entry.
    fn left_now(&self) -> Result<Left, ServiceError> {
        let (Some((run_id, reader)), false) = (&self.run, self.left == Left::Never) else {
            return Ok(self.left);
        };
        Ok(match (is_driven(reader, run_id)?, self.left) {
            (true, _) => Left::NotYet,
            (false, Left::NotYet) => Left::Once,
            (false, _) => Left::Over,
        })
    }

    /// Reads a page of the entries that have come since.
    fn look(&mut self) -> Result<(), ServiceError> {
        let (Some((run_id, reader)), Some(view)) = (&mut self.run, &mut self.view) else {
            self.has_ended = true;
            return Ok(());
        };
        let from = view.entries();
        for entry in reader.read_run(run_id)?.starting_at(from).take(PAGE) {
            let entry = FollowedEntry::take(view, entry?)?;
            self.has_ended = entry.row.is_seal();
            self.ready.push_back(entry);
            if self.has_ended {
                break;
            }
        }
        Ok(())
    }
}
