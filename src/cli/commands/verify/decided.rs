//! Whether the machine decides what a stored run, or a workflow, recorded: what holds by itself is decided again. Compares no two runs.

use std::sync::Arc;

use crate::agent::{WorkflowEntry, WorkflowFold};
use crate::cli::context::error::CliError;
use crate::cli::context::source::Source;
use crate::message::RunId;
use crate::replay::{Attribution, Difference};
use crate::store::StoreReader;
use crate::transcript::{FirstBad, FlawKind, NOT_DECIDED, VerifyCheck, VerifyReport};

/// Where an entry has what a response was read as.
const RESULT: &str = "/event/event/value/result";

/// Adds to the report whether it is so. What another build may write otherwise, such as a request, is named among what was not checked.
pub(super) fn decide_again(
    reader: &StoreReader,
    run_id: &RunId,
    open: bool,
    report: &mut VerifyReport,
) -> Result<(), CliError> {
    let mut reader = reader.again()?;
    let found = if reader.is_workflow(run_id)? {
        of_workflow(&mut reader, run_id)?
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
                seq: Some(found.seq),
                line: None,
                table: Some("entries"),
                field: found.pointer.trim_start_matches('/').replace('/', "."),
                expected: found.actual,
                actual: found.expected,
                kind,
            })
        })
    };
    report.not_checked.retain(|note| note != NOT_DECIDED);
    let detail = match found.as_ref().and_then(|found| found.seq) {
        None => "its machine decides the same again".to_owned(),
        Some(seq) => format!("entry {seq} is not what its machine decides"),
    };
    report.checks.push(VerifyCheck {
        name: "decisions",
        ok: found.is_none(),
        detail,
    });
    if found.is_some() {
        report.level = "none";
        report.first_bad = found;
    }
    Ok(())
}

/// What is wrong with a run that has that difference; none where another build may write it otherwise. A response that is kept is read by the
/// edition that its contract names, and means what it meant; one of an edition that is not known here could say anything.
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

fn of_workflow(reader: &mut StoreReader, run_id: &RunId) -> Result<Option<FirstBad>, CliError> {
    let mut workflow = reader.read_run(run_id)?;
    let mut fold = WorkflowFold::new(Arc::new(workflow.definition()?));
    while let Some(entry) = workflow.next_of_workflow() {
        let Ok(entry) = WorkflowEntry::decode(&entry?) else {
            break;
        };
        if let Err(fault) = fold.take(&entry.action, entry.event.as_ref()) {
            return Ok(Some(FirstBad {
                seq: Some(fault.seq),
                line: None,
                table: Some("entries"),
                field: format!("action.{}", fault.field),
                expected: fault.expected,
                actual: fault.actual,
                kind: FlawKind::Tampered,
            }));
        }
    }
    Ok(None)
}
