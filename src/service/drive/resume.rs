//! A run of the store without an end, resumed under the contract file that it was begun with.

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

use super::ended::{Broken, Ended};
use super::run::{Conduct, drive};
use super::unanswered::waits_unanswered;
use crate::contract_file::ContractFile;
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::error::transcript::TranscriptFault;
use crate::service::Service;
use crate::source::Source;
use crate::verify::report::{own_report, place};
use monolith_core::message::RunId;
use monolith_core::transcript::Pin;
use monolith_host::driver::{self, DriverError, Reopened, RunRequest};
use monolith_host::store::{Durability, Store, StoreError};

/// A run to resume.
#[derive(Clone, Debug)]
pub struct Resume {
    /// The contract file, where it is not the one that the run was begun with.
    pub contract: Option<PathBuf>,
    /// Durability of the run's entries.
    pub durability: Durability,
    /// Files of pins that the run must match.
    pub pins: Vec<PathBuf>,
    /// Name of the run, or a unique prefix.
    pub run: String,
    /// Changes of the file's values, after those that the run was begun with.
    pub sets: Vec<String>,
}

/// A run that was found.
pub enum Found {
    /// It had ended: its recorded result.
    Ended(Box<Ended>),
    /// It has no end and is locked for this process.
    Open(Box<OpenRun>),
}

/// A run without an end that is locked for this process.
pub struct OpenRun {
    first: Option<RunId>,
    reopened: Reopened,
    store: Store,
    under: Under,
}

enum Under {
    /// The run that called it has ended, so it is ended, too.
    Ended,
    File {
        file: Box<ContractFile>,
        request: Box<RunRequest>,
        /// Changes of the file's values that the caller makes now.
        sets: Vec<String>,
    },
}

/// Finds a run and locks it, or returns its recorded result.
pub fn open(service: &Service, resume: Resume) -> Result<Found, ServiceError> {
    // Found first by a reader: neither a store nor a key is made for a run that is not there.
    let Source::Run(run_id, mut reader) = service.run(&resume.run)? else {
        let asked = resume.run;
        return Err(StoreError::NoSuchRun { asked }.into());
    };
    let first = service.first_of(&run_id)?;
    if reader.read_run(&run_id)?.row().outcome.is_some() {
        // The result counts only if it is the one that was recorded.
        if let Some(bad) = &own_report(service, &resume.run)?.first_bad {
            let (asked, place) = (resume.run, place(bad));
            return Err(TranscriptFault::NotVerified { asked, place }.into());
        }
        judge_pins(service, &run_id, &resume.pins)?;
        let (run, view) = Source::Run(run_id, reader).fold(first)?;
        return Ok(Found::Ended(Box::new(Ended::of(&run, view))));
    }
    drop(reader);
    let store = service.open_store(resume.durability)?;
    let reopened = driver::reopen(&store, &run_id, &service.environment)?;
    judge_pins(service, &run_id, &resume.pins)?;
    if reopened.is_orphan() {
        return Ok(Found::Open(Box::new(OpenRun::orphan(
            service, &store, reopened,
        )?)));
    }
    let begun = reopened.invocation().cloned();
    let sets = resume.sets.clone();
    let file = ContractFile::of_run(service, begun, resume.contract, resume.sets);
    let file = file.ok_or(ContractFault::NoContractFile { run_id })?;
    let request = file.request(service, file.read(service)?, service.redaction_key()?);
    Ok(Found::Open(Box::new(OpenRun {
        first,
        reopened,
        store,
        under: Under::File {
            file: Box::new(file),
            request: Box::new(request),
            sets,
        },
    })))
}

impl OpenRun {
    /// A child run whose parent has ended.
    fn orphan(service: &Service, store: &Store, reopened: Reopened) -> Result<Self, ServiceError> {
        Ok(Self {
            first: service.first_of(reopened.run_id())?,
            reopened,
            store: store.clone(),
            under: Under::Ended,
        })
    }

    /// Locks a child run whose parent has ended; `None` if another process has ended it meanwhile.
    pub fn child_of_ended(
        service: &Service,
        store: &Store,
        child: &RunId,
    ) -> Result<Option<Self>, ServiceError> {
        match driver::reopen(store, child, &service.environment) {
            Err(DriverError::RunEnded { .. }) => Ok(None),
            reopened => Self::orphan(service, store, reopened?).map(Some),
        }
    }

    /// Returns the run and its parent, where it is only ended because its parent has ended.
    #[must_use]
    pub fn ended_with(&self) -> Option<(&RunId, &RunId)> {
        let parent = self.reopened.parent()?;
        matches!(self.under, Under::Ended).then_some((self.reopened.run_id(), &parent.run_id))
    }

    /// Drives the run to its end, or until it is left. A run that would only wait for a person is left at once, where the conduct says
    /// so.
    pub async fn drive(self, service: &Service, conduct: Conduct<'_>) -> Result<Ended, Broken> {
        let Self {
            first,
            reopened,
            store,
            under,
        } = self;
        let follower = conduct.follower;
        let run_id = reopened.run_id().clone();
        if let Some(first) = first {
            follower.originating_from(first);
        }
        let cancel = CancellationToken::new();
        let (file, request, sets) = match under {
            Under::Ended => {
                follower.recall(reopened.contract(), reopened.entries())?;
                let key = service.redaction_key()?;
                let prepared = driver::prepare_end(reopened, &service.environment, &key);
                return drive(async { Ok(prepared) }, &store, &cancel, conduct).await;
            }
            Under::File {
                file,
                request,
                sets,
            } => (file, request, sets),
        };
        follower.keeps_snapshots(service, request.spec.sessions_dir.as_deref())?;
        follower.recall(reopened.contract(), reopened.entries())?;
        if conduct.leaves_waiting && waits_unanswered(service, follower, &run_id, &reopened) {
            let left = follower.take_view().map(Ended::left);
            return left.ok_or_else(|| ServiceError::from(DriverError::Cancelled).into());
        }
        let request = follower.preparing(*request);
        let preparing = driver::prepare_resume(reopened, request, &cancel);
        let driven = drive(preparing, &store, &cancel, conduct).await;
        driven.map_err(|broken| {
            let name = service.brief_name(run_id.as_str());
            let again = |typed: &str| service.hint(&format!("continue {name} \"…\"{typed}"));
            broken.located_as_resumed(&file, &sets, again)
        })
    }
}

/// Holds a run that is locked for this process against what was noted of it: one that was cut would do again what it had done.
pub fn judge_pins(service: &Service, run_id: &RunId, pins: &[PathBuf]) -> Result<(), ServiceError> {
    if pins.is_empty() {
        return Ok(());
    }
    let trust = service.trust(&[], pins, &[])?;
    let of_run = |pin: &Pin| matches!(pin, Pin::Run { run_id: noted, .. } if noted == run_id);
    let run_id = run_id.clone();
    if !trust.pins.iter().any(of_run) {
        return Err(TranscriptFault::NotPinned { run_id }.into());
    }
    let Source::Run(_, mut reader) = service.run(run_id.as_str())? else {
        return Ok(());
    };
    let report = reader.verify_run_trusting(&run_id, true, &trust)?;
    match &report.first_bad {
        None => Ok(()),
        Some(bad) => {
            let place = place(bad);
            Err(TranscriptFault::NotAsPinned { run_id, place }.into())
        }
    }
}
