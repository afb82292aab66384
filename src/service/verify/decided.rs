//! The check that the machine decides what a stored run, workflow or work item recorded: a record that holds by itself is decided again.
//! Compares no two runs.

use std::sync::Arc;

use crate::error::ServiceError;
use crate::source::Source;
use crate::work_entries::WorkSource;
use monolith_core::agent::{FoldFault, Workflow, WorkflowAction, WorkflowEntry, WorkflowFold};
use monolith_core::message::RunId;
use monolith_core::replay::{Attribution, Difference};
use monolith_core::transcript::{FirstBad, FlawKind, NOT_DECIDED, TranscriptKind, VerifyReport};
use monolith_host::store::StoreReader;

/// The place of a parsed response in an entry.
const RESULT: &str = "/event/event/value/result";

/// Adds to the report whether it is so. What another build may write otherwise, such as a request, is named among what was not checked.
pub(super) fn decide_again(
    reader: &StoreReader,
    run_id: &RunId,
    open: bool,
    report: &mut VerifyReport,
) -> Result<(), ServiceError> {
    let mut reader = reader.again()?;
    let kind = reader.kind_of(run_id)?.unwrap_or_default();
    let found = if kind == TranscriptKind::Workflow {
        of_workflow(&mut reader, run_id)?
    } else if kind == TranscriptKind::Work {
        of_item(reader, run_id)?
    } else {
        let replayed = Source::Run(run_id.clone(), reader).replayed(open)?;
        let (found, others): (Vec<_>, Vec<_>) = replayed
            .differences
            .into_iter()
            .partition(|found| kind_of(found).is_some());
        // One of them says what this build writes otherwise.
        let other = others.first();
        report
            .not_checked
            .extend(other.map(|other| format!("decisions: {other}")));
        found.into_iter().next().and_then(|found| {
            let kind = kind_of(&found)?;
            Some(FirstBad {
                seq: (!found.is_outside).then_some(found.seq),
                line: None,
                table: (!found.is_outside).then_some("entries"),
                field: found.pointer.trim_start_matches('/').replace('/', "."),
                expected: found.actual,
                actual: found.expected,
                kind,
            })
        })
    };
    report.not_checked.retain(|note| note != NOT_DECIDED);
    report.add("decisions", detail(found.as_ref()), found);
    Ok(())
}

/// Describes the result of the check.
fn detail(found: Option<&FirstBad>) -> String {
    match found.map(|found| found.seq) {
        None => "its machine decides the same again".to_owned(),
        Some(None) => "what its machine decides by does not hold, or is not known here".to_owned(),
        Some(Some(seq)) => format!("entry {seq} is not what its machine decides"),
    }
}

/// Returns the kind of flaw that such a difference shows; `None` if another build may write it otherwise. The edition that the
/// contract names reads a kept response, so it means what it meant; one of an unknown edition could say anything.
fn kind_of(found: &Difference) -> Option<FlawKind> {
    match found.attribution {
        Attribution::Kernel | Attribution::Tampered | Attribution::Contract => {
            Some(FlawKind::Tampered)
        }
        Attribution::Adapter => found
            .pointer
            .starts_with(RESULT)
            .then_some(FlawKind::Tampered),
        Attribution::UnknownVersion => Some(FlawKind::UnknownVersion),
        Attribution::Model | Attribution::Tool | Attribution::Truncated | Attribution::Extended => {
            None
        }
    }
}

fn of_workflow(reader: &mut StoreReader, run_id: &RunId) -> Result<Option<FirstBad>, ServiceError> {
    let fault = decided(reader, run_id, |_, _| true)?;
    Ok(fault.map(|fault| FirstBad {
        seq: Some(fault.seq),
        line: None,
        table: Some("entries"),
        field: format!("action.{}", fault.field),
        expected: fault.expected,
        actual: fault.actual,
        kind: FlawKind::Tampered,
    }))
}

fn of_item(reader: StoreReader, run_id: &RunId) -> Result<Option<FirstBad>, ServiceError> {
    let Ok(mut item) = WorkSource::of(Source::Run(run_id.clone(), reader))? else {
        return Ok(None);
    };
    Ok(item.recorded()?.departure.map(|error| FirstBad {
        seq: Some(error.seq),
        line: None,
        table: Some("entries"),
        field: "action".to_owned(),
        expected: error.expected,
        actual: error.actual,
        kind: FlawKind::Tampered,
    }))
}

/// Decides a workflow again, entry by entry, as long as `goes_on` says so of the machine after an entry; the first thing that is recorded
/// otherwise.
pub(super) fn decided(
    reader: &mut StoreReader,
    workflow: &RunId,
    mut goes_on: impl FnMut(&Workflow, &WorkflowAction) -> bool,
) -> Result<Option<FoldFault>, ServiceError> {
    let mut recorded = reader.read_run(workflow)?;
    let mut fold = WorkflowFold::new(Arc::new(recorded.definition()?));
    while let Some(entry) = recorded.next_of_machine() {
        // What does not read is for the verification, which comes first.
        let Ok(entry) = WorkflowEntry::decode(&entry?) else {
            break;
        };
        if let Err(fault) = fold.take(&entry.action, entry.event.as_ref()) {
            return Ok(Some(fault));
        }
        if !fold
            .workflow()
            .is_some_and(|machine| goes_on(machine, &entry.action))
        {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_another_build_writes_otherwise_accuses_no_run_and_a_response_that_is_read_otherwise_does()
     {
        for (pointer, attribution, expected) in [
            (
                "/event/event/value/request_hash",
                Attribution::Adapter,
                None,
            ),
            (
                "/event/event/value/result/canonical_message/content",
                Attribution::Adapter,
                Some(FlawKind::Tampered),
            ),
            (
                "/action/counters/turns",
                Attribution::Kernel,
                Some(FlawKind::Tampered),
            ),
            (
                "/event/event/value/result/adapter_version",
                Attribution::UnknownVersion,
                Some(FlawKind::UnknownVersion),
            ),
        ] {
            let found = Difference {
                seq: 2,
                is_outside: false,
                state: None,
                step_id: None,
                pointer: pointer.to_owned(),
                expected: "one".to_owned(),
                actual: "other".to_owned(),
                attribution,
            };
            assert_eq!(kind_of(&found), expected, "{found}");
        }
    }

    #[test]
    fn a_flaw_that_is_in_no_entry_is_not_taken_for_none() {
        let flaw = |seq| FirstBad {
            seq,
            line: None,
            table: None,
            field: "contract.semantics_version".to_owned(),
            expected: "one".to_owned(),
            actual: "other".to_owned(),
            kind: FlawKind::UnknownVersion,
        };
        let check = |found: Option<&FirstBad>, expect: &str| {
            assert!(detail(found).contains(expect), "{found:?}");
        };
        check(None, "decides the same again");
        check(Some(&flaw(None)), "does not hold, or is not known here");
        check(Some(&flaw(Some(2))), "entry 2 is not what");
    }
}
