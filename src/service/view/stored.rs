//! The entries of a run as they are stored, and its result document.

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::departure::agreeing;
use crate::error::ServiceError;
use crate::error::transcript::TranscriptFault;
use crate::origin::step_path_of;
use crate::service::Service;
use crate::source::{Recorded, Source};
use monolith_core::kernel::State;
use monolith_core::message::Digest;
use monolith_core::transcript::SealedEntry;
use monolith_host::telemetry::AgentResult;

/// An entry with everything that is stored of it.
#[derive(Debug, Serialize)]
pub struct StoredEntry<'e> {
    seq: u64,
    state: State,
    hash: Digest,
    action: &'e RawValue,
    event: &'e RawValue,
}

impl<'e> StoredEntry<'e> {
    pub(super) fn of(entry: &'e SealedEntry) -> Result<Self, ServiceError> {
        // An entry that does not read back is refused with its place.
        Recorded::decode(entry)?;
        Ok(Self {
            seq: entry.seq,
            state: entry.state,
            hash: entry.hash,
            action: serde_json::from_str(&entry.action).map_err(io::Error::from)?,
            event: serde_json::from_str(&entry.event).map_err(io::Error::from)?,
        })
    }

    /// Returns the entry as one document.
    ///
    /// # Errors
    ///
    /// The entry is no JSON.
    pub fn document(&self) -> Result<Value, ServiceError> {
        let text = serde_json::to_string(self).map_err(io::Error::from)?;
        Ok(serde_json::from_str(&text).map_err(io::Error::from)?)
    }
}

/// Hands on each entry of a run or a file in order, or only the one with that number.
///
/// # Errors
///
/// [`TranscriptFault::NoSuchEntry`], an entry cannot be read, or `take` fails.
pub fn each_stored_entry(
    service: &Service,
    asked: &str,
    only: Option<u64>,
    mut take: impl FnMut(&StoredEntry<'_>) -> Result<(), ServiceError>,
) -> Result<(), ServiceError> {
    let (mut last, mut found) = (0, only.is_none());
    service.source(asked)?.each_entry(|_, _, entry| {
        last = entry.seq;
        if only.is_none_or(|only| only == last) {
            found = true;
            take(&StoredEntry::of(entry)?)?;
        }
        Ok(())
    })?;
    match only {
        Some(only) if !found => Err(TranscriptFault::NoSuchEntry {
            asked: only,
            last,
            run: asked.to_owned(),
        }
        .into()),
        _ => Ok(()),
    }
}

/// Returns the result of a run or a file, as the run itself printed it.
///
/// # Errors
///
/// The run cannot be read, or departs from the machine.
pub fn result_of(service: &Service, asked: &str) -> Result<AgentResult, ServiceError> {
    let source = service.source(asked)?;
    let (first, step_path) = match &source {
        Source::Run(run_id, _) => (
            service.first_of(run_id)?,
            match service.reader()? {
                Some(mut reader) => step_path_of(&mut reader, run_id)?,
                None => None,
            },
        ),
        Source::File(_) => (None, None),
    };
    let (run, mut view) = source.fold(first)?;
    if let Some(path) = step_path {
        view.below_step(path);
    }
    agreeing(asked, &view)?;
    Ok(if view.is_suspended() && view.outcome().is_none() {
        AgentResult::suspended(Some(&run), &view)
    } else {
        AgentResult::of_run(&run, &view)
    })
}
