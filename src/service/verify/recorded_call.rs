//! The parent run's record of an agent's call: its input and its result, compared with the child run. Verifies no transcript.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::error::ServiceError;
use crate::source::Recorded;
use crate::verify::difference::{Difference, texts_differ};
use monolith_core::contract::{ExecutionContract, InputSpec, Label, task_of};
use monolith_core::kernel::{EventKind, Inherited};
use monolith_core::message::{CallSeq, EnvelopeStatus, Role, RunId, ToolOutcome, char_prefix};
use monolith_core::session::is_scrubbed_form;
use monolith_core::transcript::{FirstBad, FlawKind, SealedEntry, VerifyReport};
use monolith_core::view::RunView;
use monolith_host::driver;
use monolith_host::store::{RunReader, StoreReader};
use monolith_host::tools::Delegated;

/// Returns the arguments of each agent call, as far as the run's messages hold them.
pub(super) fn arguments_of(
    contract: &Arc<ExecutionContract>,
    stored: RunReader<'_>,
) -> Result<BTreeMap<CallSeq, String>, ServiceError> {
    let mut view = RunView::new(Arc::clone(contract));
    for entry in stored {
        let entry = Recorded::decode(&entry?)?;
        view.take(entry.entry());
    }
    let calls = view.calls().iter();
    let calls = calls.filter(|(_, call)| call.delegated && !call.arguments.is_empty());
    Ok(calls
        .map(|(call, known)| (*call, known.arguments.clone()))
        .collect())
}

/// Finds a run that did not begin with exactly the labels of what it was given.
pub(super) fn labels_differ(given: &BTreeSet<Label>, first: Option<&SealedEntry>) -> Difference {
    let event = first?.decode_event().ok().flatten()?;
    let EventKind::RunStarted(started) = event.event else {
        return None;
    };
    let whole = u64::try_from(started.messages.len()).unwrap_or(u64::MAX);
    let expected = Inherited {
        labels: given.clone(),
        messages: whole,
    };
    let shown = |inherited: Option<&Inherited>| {
        let text = inherited.and_then(|text| serde_json::to_string(text).ok());
        text.unwrap_or_default()
    };
    let found = started.inherited.as_ref();
    (found != Some(&expected)).then(|| {
        let field = "event.inherited".to_owned();
        (field, shown(Some(&expected)), shown(found))
    })
}

/// Compares the labels that a continuation or fork began with with those that its parent had seen, if the store has the parent.
pub(super) fn continued_from(
    reader: &mut StoreReader,
    run_id: &RunId,
    report: &mut VerifyReport,
) -> Result<(), ServiceError> {
    let link = reader.lineage(run_id)?;
    let Some(link) = link.filter(|link| link.parent.call.is_none() && !link.is_step()) else {
        return Ok(());
    };
    let parent = &link.parent.run_id;
    let Some(seen) = driver::labels_at(reader, &link.parent)? else {
        let note = format!("labels: {parent} is not in this store");
        report.not_checked.push(note);
        return Ok(());
    };
    let first = reader.read_run(run_id)?.next().transpose()?;
    let event = first.and_then(|first| first.decode_event().ok().flatten());
    let recorded = match event.map(|event| event.event) {
        Some(EventKind::RunStarted(started)) => started.inherited,
        _ => None,
    };
    let recorded = recorded.map(|text| text.labels).unwrap_or_default();
    let is_whole = recorded.is_superset(&seen);
    let detail = if is_whole {
        format!("it began with every label that {parent} had seen")
    } else {
        format!("it began without labels that {parent} had seen")
    };
    let flaw = (!is_whole).then(|| FirstBad {
        seq: Some(0),
        line: None,
        table: Some("entries"),
        field: "event.inherited.labels".to_owned(),
        expected: label_words(Some(&seen)),
        actual: label_words(Some(&recorded)),
        kind: FlawKind::Tampered,
    });
    report.add("labels", detail, flaw);
    Ok(())
}

/// The labels of a record, in words.
pub(super) fn label_words(recorded: Option<&BTreeSet<Label>>) -> String {
    let words = recorded.map(|labels| labels.iter().map(|label| label.word()).collect::<Vec<_>>());
    words.map_or_else(|| "unknown".to_owned(), |words| words.join(" and "))
}

/// Returns the difference if a run was begun with another task than the call wants.
pub(super) fn task_differs(arguments: &str, first: Option<&SealedEntry>) -> Difference {
    let event = first?.decode_event().ok().flatten()?;
    let EventKind::RunStarted(started) = event.event else {
        return None;
    };
    let (task, before) = started.messages.split_last()?;
    // Its own prompt is not the run's above.
    if let Some(more) = before.iter().find(|message| message.role != Role::System) {
        let (expected, actual) = ("the task alone".to_owned(), more.content.clone());
        return Some(("event.messages".to_owned(), expected, actual));
    }
    let json = InputSpec::default();
    // Which of the two it is, the agent's file says.
    let wanted = [None, Some(&json)].map(|input| task_of(arguments, input));
    if wanted
        .iter()
        .any(|wanted| is_scrubbed_form(&task.content, wanted))
    {
        return None;
    }
    let [wanted, _] = wanted;
    Some(texts_differ("event.messages", &wanted, &task.content))
}

/// Returns the difference if a call returned another result than its run has: scrubbed and cut like a recorded result.
pub(super) fn result_differs(
    reader: &StoreReader,
    above: &ExecutionContract,
    (tool, recorded): (&str, &ToolOutcome),
    made: &Delegated,
) -> Result<Difference, ServiceError> {
    let differs = |key: &str, recorded: &str, made: &str| {
        Ok(Some(texts_differ(&format!("result.{key}"), recorded, made)))
    };
    let ToolOutcome::Returned(envelope) = recorded else {
        return differs("kind", "no result", "a result");
    };
    if envelope.tool != tool {
        return differs("tool", &envelope.tool, tool);
    }
    let word = |failed: bool| if failed { "error" } else { "ok" };
    let status = word(envelope.status == EnvelopeStatus::Error);
    let made_status = word(made.failed.is_some());
    if status != made_status {
        return differs("status", status, made_status);
    }
    let code = envelope.error.as_ref().map_or("", |error| &error.code);
    let made_code = made.failed.as_deref().unwrap_or_default();
    if !is_scrubbed_form(code, made_code) {
        return differs("error.code", code, made_code);
    }
    let shown = envelope.text();
    let whole = match envelope.full {
        None => Some(shown.clone()),
        Some(blob) => reader
            .blob(blob)?
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    };
    // An erased result cannot be compared.
    let Some(whole) = whole else {
        return Ok(None);
    };
    if !is_scrubbed_form(&whole, &made.text) {
        return differs("content", &whole, &made.text);
    }
    let most = above.tool_output_budget.max_bytes_per_call;
    let cut = char_prefix(&whole, usize::try_from(most).unwrap_or(usize::MAX));
    if shown != cut {
        return differs("content", &shown, cut);
    }
    let length = u64::try_from(whole.len()).unwrap_or(u64::MAX);
    if envelope.bytes_out != length {
        return differs(
            "bytes_out",
            &envelope.bytes_out.to_string(),
            &length.to_string(),
        );
    }
    let message = envelope.error.as_ref().map_or("", |error| &error.message);
    if !whole.starts_with(message) {
        return differs("error.message", message, &whole);
    }
    Ok(None)
}
