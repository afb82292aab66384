//! A run that another process drives, entry by entry as they become durable. Holds no lock and no transaction between two looks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::entry_row::EntryRow;
use crate::error::ServiceError;
use crate::exit::Exit;
use crate::service::Service;
use crate::source::{Recorded, Source};
use crate::verify::report::own_report;
use monolith_core::message::RunId;
use monolith_core::transcript::VerifyReport;
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
            let mut ready = VecDeque::new();
            let read = source.each_step(|view, entry, step| {
                ready.push_back(FollowedEntry {
                    departure: view.departure().cloned(),
                    row: EntryRow::of(view, entry.entry(), step),
                });
                Ok(())
            });
            let (view, fault) = match read {
                Ok(view) => (Some(view), None),
                Err(fault) => (None, Some(fault)),
            };
            Ok(Follower {
                asked,
                fault,
                has_ended: true,
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
    ready: VecDeque<FollowedEntry>,
    /// The run in the store; `None` for a file, which is read at once.
    run: Option<(RunId, StoreReader)>,
    /// `None` only after an error in a file.
    view: Option<RunView>,
}

/// An entry that became durable.
#[derive(Clone, Debug)]
pub struct FollowedEntry {
    /// First place where the entries read so far depart from the machine.
    pub departure: Option<Divergence>,
    /// The entry.
    pub row: EntryRow,
}

/// A run that was followed to its end.
#[derive(Debug)]
pub struct Followed {
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
            (None, Some(outcome)) => Exit(outcome.exit_code()),
            (None, None) => Exit::FAILED,
        }
    }
}

impl Follower {
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
                tokio::time::sleep(PAUSE).await;
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
        Ok(Some(Followed { report, view }))
    }

    /// Reads a page of the entries that have come since.
    fn look(&mut self) -> Result<(), ServiceError> {
        let (Some((run_id, reader)), Some(view)) = (&mut self.run, &mut self.view) else {
            self.has_ended = true;
            return Ok(());
        };
        let from = view.entries();
        for entry in reader.read_run(run_id)?.starting_at(from).take(PAGE) {
            let entry = Recorded::decode(&entry?)?;
            let step = view.take(entry.entry());
            let row = EntryRow::of(view, entry.entry(), step);
            self.has_ended = row.is_seal();
            let departure = view.departure().cloned();
            self.ready.push_back(FollowedEntry { departure, row });
            if self.has_ended {
                break;
            }
        }
        Ok(())
    }
}
