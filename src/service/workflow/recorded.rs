//! A recorded workflow: its result, and its replay, which a work item has, too. Writes nothing.

use serde::Serialize;

use super::ended::{WorkflowResult, use_of_steps};
use super::waiting::AwaitedCall;
use crate::error::ServiceError;
use crate::error::transcript::TranscriptFault;
use crate::exit::Exit;
use crate::service::Service;
use crate::verify::report::{own_report, place};
use crate::work_entries::WorkSource;
use crate::workflow_entries::WorkflowSource;
use monolith_core::agent::{Workflow, WorkflowFold};
use monolith_core::message::RunId;
use monolith_host::store::StoreError;

/// Returns the result of a stored workflow that has ended; `None` if it has not.
pub fn recorded_result(
    service: &Service,
    run_id: &RunId,
) -> Result<Option<WorkflowResult>, ServiceError> {
    let Ok(mut source) = WorkflowSource::of(service.run(run_id.as_str())?)? else {
        let asked = run_id.to_string();
        return Err(StoreError::NoSuchRun { asked }.into());
    };
    let result = result_of(service, &mut source, run_id.as_str())?;
    Ok(result.is_ended().then_some(result))
}

/// Returns the result of a workflow so far, after verifying its evidence.
pub fn result_of(
    service: &Service,
    source: &mut WorkflowSource,
    asked: &str,
) -> Result<WorkflowResult, ServiceError> {
    if let Some(bad) = own_report(service, asked)?.first_bad {
        let (asked, place) = (asked.to_owned(), place(&bad));
        return Err(TranscriptFault::NotVerified { asked, place }.into());
    }
    let mut fold = WorkflowFold::new(source.definition()?);
    source.each_entry(|_, action, event| {
        // A difference is what a replay is for.
        drop(fold.take(action, event));
        Ok(())
    })?;
    let (mut view, head) = source.view()?;
    use_of_steps(&mut view, source.reader())?;
    let output = fold.workflow().filter(|_| view.outcome.is_some());
    let output = output.map(Workflow::output).unwrap_or_default();
    let run_id = source.run_id.clone();
    let waits_for = match source.reader() {
        Some(reader) if reader.is_open(&run_id)? => AwaitedCall::answerable(service, &run_id)?,
        _ => Vec::new(),
    };
    Ok(WorkflowResult::of(run_id, head, output, view).waiting_for(waits_for))
}

/// The report of the replay of a workflow or a work item.
#[derive(Debug, Serialize)]
pub struct WorkflowReplay {
    /// True if the machine decides what is recorded.
    pub same: bool,
    /// Number of entries that are the same.
    pub entries: u64,
    /// The first entry and member that differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<WorkflowDifference>,
}

/// A difference between the machine and the record.
#[derive(Debug, Serialize)]
pub struct WorkflowDifference {
    /// Number of the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Name of the member.
    pub field: String,
    /// The machine's value.
    pub expected: String,
    /// The recorded value.
    pub actual: String,
    /// `evidence` if the transcript does not verify, `workflow` or `work` if the machine decides otherwise.
    pub attribution: &'static str,
}

impl WorkflowReplay {
    /// Sends the recorded events through a fresh machine.
    pub fn of(
        service: &Service,
        source: &mut WorkflowSource,
        asked: &str,
    ) -> Result<Self, ServiceError> {
        if let Some(difference) = evidence_difference(service, asked)? {
            return Ok(Self::after(0, Some(difference)));
        }
        let (mut entries, mut difference) = (0_u64, None);
        let mut fold = WorkflowFold::new(source.definition()?);
        source.each_entry(|_, action, event| {
            if difference.is_some() {
                return Ok(());
            }
            match fold.take(action, event) {
                Ok(()) => entries = entries.saturating_add(1),
                Err(fault) => {
                    difference = Some(WorkflowDifference {
                        seq: Some(fault.seq),
                        field: fault.field,
                        expected: fault.expected,
                        actual: fault.actual,
                        attribution: "workflow",
                    });
                }
            }
            Ok(())
        })?;
        Ok(Self::after(entries, difference))
    }

    /// [`Self::of`] for a work item, with its receipt.
    pub fn of_item(
        service: &Service,
        source: &mut WorkSource,
        asked: &str,
    ) -> Result<Self, ServiceError> {
        if let Some(difference) = evidence_difference(service, asked)? {
            return Ok(Self::after(0, Some(difference)));
        }
        let recorded = source.recorded()?;
        let difference = recorded.departure.map(|error| WorkflowDifference {
            seq: Some(error.seq),
            field: "action".to_owned(),
            expected: error.expected,
            actual: error.actual,
            attribution: "work",
        });
        Ok(Self::after(recorded.entries, difference))
    }

    fn after(entries: u64, first_difference: Option<WorkflowDifference>) -> Self {
        Self {
            same: first_difference.is_none(),
            entries,
            first_difference,
        }
    }

    /// Exit code of the replay.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match &self.first_difference {
            None => Exit::OK,
            Some(difference) if difference.attribution == "evidence" => Exit::EVIDENCE,
            Some(_) => Exit::DIVERGED,
        }
    }
}

/// The first flaw of the evidence; none if the transcript verifies.
fn evidence_difference(
    service: &Service,
    asked: &str,
) -> Result<Option<WorkflowDifference>, ServiceError> {
    let bad = own_report(service, asked)?.first_bad;
    Ok(bad.map(|bad| WorkflowDifference {
        seq: bad.seq,
        field: bad.field,
        expected: bad.expected,
        actual: bad.actual,
        attribution: "evidence",
    }))
}
