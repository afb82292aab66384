//! The facts of a run: its row, and what its first and last entries show. For a run that waits for a person and that no process
//! drives, also if an answer is taken, which needs all of its entries.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::approval::ApprovalStatus;
use crate::error::ServiceError;
use crate::list::held::HeldEntries;
use crate::run_status::RunStatus;
use crate::service::Service;
use crate::source::Recorded;
use crate::waiting_call::WaitingCall;
use monolith_core::agent::{WorkflowAction, WorkflowEntryKind, WorkflowEvent, WorkflowEventKind};
use monolith_core::kernel::Counters;
use monolith_core::message::{CallSeq, Digest, RunId};
use monolith_core::transcript::{SealedMachineEntry, TranscriptKind};
use monolith_core::view::{Approvals, RunOutline};
use monolith_core::work::{WorkEvent, WorkEventKind};
use monolith_host::store::{
    DamagedRow, Lineage, RunFilter, RunReader, RunRow, StoreError, StoreReader,
};

/// Number of last entries that are read first. More of them are read for questions that these leave open.
const TAIL: u64 = 16;

/// A row and the known facts about its run.
pub struct Found {
    /// The defect of the entries that were read.
    pub flaw: Option<String>,
    /// Row of the run in the store.
    pub row: RunRow,
    /// Run that it came from.
    pub lineage: Option<Lineage>,
    /// `None` if nothing is recorded, or its entries cannot be read.
    pub outline: Option<RunOutline>,
    /// Status of a run without an end.
    pub status: Option<RunStatus>,
    /// True if it is a workflow or a work item that a process suspended when it left.
    pub left: bool,
    /// Status of its call that needs an approval; `None` also if no answer to it is taken any more, except for an imported run.
    pub approval: Option<ApprovalStatus>,
    /// The first run below it of which a call waits for a person, where no process drives it.
    pub awaited_below: Option<RunId>,
    /// The run to resume it with: itself, or the first one of its tree.
    pub goes_on_with: RunId,
}

impl Found {
    /// True if a process suspended the run when it left.
    pub fn is_suspended(&self) -> bool {
        let outline = self.outline.as_ref();
        self.left || outline.and_then(|outline| outline.suspended) == Some(true)
    }
}

/// Reads the facts of a run besides its row.
pub fn found(
    service: &Service,
    reader: &mut StoreReader,
    row: &RunRow,
) -> Result<Found, DamagedRow> {
    let run = row.run_id.as_str().to_owned();
    let mut look = || {
        let status = RunStatus::of(reader, row)?;
        let row = match status {
            Some(_) => row.clone(),
            // It may have ended since the row was read.
            None => reader.read_run(&row.run_id)?.row().clone(),
        };
        let lineage = reader.lineage(&row.run_id)?;
        let Outlined {
            outline,
            awaited,
            flaw,
            ..
        } = outline(reader, &row);
        // That an imported one waited is known, and no command answers it.
        let is_elsewhere = status == Some(RunStatus::Elsewhere);
        let awaited = awaited.filter(|_| is_elsewhere || takes(service, status, &row.run_id));
        let left = row.outcome.is_none()
            && match row.kind {
                TranscriptKind::Run => false,
                TranscriptKind::Workflow => is_left(reader, &row),
                TranscriptKind::Work => is_item_left(reader, &row),
            };
        let goes_on_with = match status {
            Some(_) => reader.goes_on_with(&row.run_id)?,
            None => row.run_id.clone(),
        };
        let awaited_below = match status {
            Some(RunStatus::Died) if awaited.is_none() => {
                awaited_below(service, reader, &row.run_id)?
            }
            _ => None,
        };
        Ok(Found {
            awaited_below,
            goes_on_with,
            approval: awaited.map(|call| ApprovalStatus::of(reader, &row.run_id, call)),
            flaw,
            left,
            row,
            lineage,
            outline,
            status,
        })
    };
    look().map_err(|fault| DamagedRow { run, fault })
}

/// True if a run with that status takes an answer to the call that its last entries leave waiting.
fn takes(service: &Service, status: Option<RunStatus>, run_id: &RunId) -> bool {
    match status {
        Some(RunStatus::Running { .. }) => true,
        // Its last entries are not enough to judge that.
        Some(RunStatus::Died) => takes_answers(service, run_id),
        Some(RunStatus::Elsewhere) | None => false,
    }
}

/// True if a run takes an answer to the call that it waits for, or if its entries cannot be read.
fn takes_answers(service: &Service, run_id: &RunId) -> bool {
    let takes = || {
        let call = match service.reader()? {
            Some(reader) => WaitingCall::of(run_id, reader)?,
            None => None,
        };
        let refusal = call.map(|call| call.refusal(service, run_id)).transpose()?;
        Ok(refusal.is_some_and(|refusal| refusal.is_none()))
    };
    let takes: Result<bool, ServiceError> = takes();
    takes.unwrap_or(true)
}

/// The first run below that one of which a call waits for a person and an answer to it is taken, as far as its entries can be read.
fn awaited_below(
    service: &Service,
    reader: &mut StoreReader,
    run_id: &RunId,
) -> Result<Option<RunId>, StoreError> {
    for run_id in reader.runs_below(run_id)? {
        let row = reader.read_run(&run_id)?.row().clone();
        if row.outcome.is_some() {
            continue;
        }
        if let Some(call) = outline(reader, &row).awaited
            && ApprovalStatus::of(reader, &run_id, call) == ApprovalStatus::Waits
            && takes_answers(service, &run_id)
        {
            return Ok(Some(run_id));
        }
    }
    Ok(None)
}

/// True if a process suspended a workflow when it left, as far as its entries can be read.
fn is_left(reader: &mut StoreReader, row: &RunRow) -> bool {
    let mut length = TAIL;
    loop {
        let Ok(run) = reader.read_run(&row.run_id) else {
            return false;
        };
        let mut run = run.starting_at(row.length.saturating_sub(length));
        let mut left = None;
        while let Some(Ok(entry)) = run.next_of_machine() {
            let Ok(action): Result<WorkflowAction, _> = entry.decode_action() else {
                continue;
            };
            left = match action.kind {
                // Nothing else is only noted.
                WorkflowEntryKind::Noted => Some(true),
                WorkflowEntryKind::Start => Some(false),
                // Nothing is begun between a suspension and the resume.
                _ if !action.begun.is_empty() => Some(false),
                _ => left,
            };
        }
        if left.is_some() || length >= row.length {
            return left.unwrap_or(false);
        }
        length = length.saturating_mul(4);
    }
}

/// True if the last entry of a work item says that its process left it.
fn is_item_left(reader: &mut StoreReader, row: &RunRow) -> bool {
    let Ok(run) = reader.read_run(&row.run_id) else {
        return false;
    };
    let mut run = run.starting_at(row.length.saturating_sub(1));
    let last = run.next_of_machine().and_then(event_of::<WorkEvent>);
    last.is_some_and(|last| matches!(last.event, WorkEventKind::RunSuspended))
}

/// Reads a workflow's name, its input, and how long it was driven, from its first and its last entry; `None` if they cannot be
/// read.
fn workflow_outline(mut run: RunReader<'_>) -> Option<RunOutline> {
    let id = run.definition().ok()?.id.to_string();
    let first = run.next_of_machine().and_then(event_of::<WorkflowEvent>);
    let input = match first.as_ref().map(|event| &event.event) {
        Some(WorkflowEventKind::Started(started)) => started.input.trim(),
        _ => "",
    };
    let task = match input {
        "" => id.clone(),
        input => format!("{id}: {input}"),
    };
    // The last entry of one that has ended is its seal, which has no event.
    let from = run.row().length.saturating_sub(2);
    let mut rest = run.starting_at(from);
    let mut last = None;
    while let Some(entry) = rest.next_of_machine() {
        last = event_of(entry).or(last);
    }
    Some(RunOutline {
        task: Some(task),
        contract_id: id,
        counters: Counters::default(),
        elapsed_ms: last.or(first).map_or(0, |event| event.at_ms),
        models: Vec::new(),
        suspended: None,
    })
}

/// Reads the same of a work item.
fn work_outline(mut run: RunReader<'_>) -> Option<RunOutline> {
    let first: WorkEvent = run.next_of_machine().and_then(event_of)?;
    let WorkEventKind::Started(started) = first.event else {
        return None;
    };
    let (id, description) = (started.item.id, started.item.description);
    let from = run.row().length.saturating_sub(1);
    let last: Option<WorkEvent> = run.starting_at(from).next_of_machine().and_then(event_of);
    Some(RunOutline {
        task: Some(format!("{id}: {}", description.trim())),
        contract_id: id,
        counters: Counters::default(),
        elapsed_ms: last.map_or(0, |event| event.at_ms),
        models: Vec::new(),
        suspended: None,
    })
}

fn event_of<T: Serialize + DeserializeOwned>(
    entry: Result<SealedMachineEntry, StoreError>,
) -> Option<T> {
    entry.ok()?.decode_event().ok().flatten()
}

/// The open runs of the store of which a call waits for a person whose answer is taken, newest first, and the rows that cannot be read.
pub fn waiting_runs(service: &Service) -> Result<(Vec<RunId>, Vec<DamagedRow>), ServiceError> {
    let (mut runs, mut damaged) = (Vec::new(), Vec::new());
    if let (Some(index), Some(mut reader)) = (service.reader()?, service.reader()?) {
        index.each_row(RunFilter::Open, |row| {
            match row {
                Ok(row) if waits(service, &mut reader, &row) => runs.push(row.run_id),
                Ok(_) => {}
                Err(row) => damaged.push(row),
            }
            true
        })?;
    }
    Ok((runs, damaged))
}

/// True if a call of that run waits for a person whose answer is taken, or if its entries cannot be read.
fn waits(service: &Service, reader: &mut StoreReader, row: &RunRow) -> bool {
    let mut look = || {
        let status = RunStatus::of(reader, row)?;
        let awaits = outline(reader, row).awaited.is_some();
        Ok(awaits && takes(service, status, &row.run_id))
    };
    let waits: Result<bool, StoreError> = look();
    waits.unwrap_or(true)
}

/// The facts that the first and the last entries show.
struct Outlined {
    outline: Option<RunOutline>,
    /// The call that they leave waiting for a person.
    awaited: Option<(CallSeq, Digest)>,
    /// True if more of the last entries would change nothing.
    settled: bool,
    /// The defect of those entries.
    flaw: Option<String>,
}

/// Reads the facts that the first and the last entries show.
fn outline(reader: &mut StoreReader, row: &RunRow) -> Outlined {
    let mut length = TAIL;
    loop {
        let found = outline_of(reader, row, length);
        if found.settled || row.outcome.is_some() || length >= row.length {
            return found;
        }
        length = length.saturating_mul(4);
    }
}

/// Like [`outline`], from the given number of last entries. Processes may have left and resumed the run any number of times
/// since a call began to wait, and calls may have ended since the run was suspended.
fn outline_of(reader: &mut StoreReader, row: &RunRow, length: u64) -> Outlined {
    let mut approvals = Approvals::default();
    let mut run = match reader.read_run(&row.run_id) {
        Ok(run) => run,
        Err(fault) => {
            return Outlined {
                outline: None,
                awaited: None,
                settled: true,
                flaw: Some(fault.to_string()),
            };
        }
    };
    // It may have continued since the row was read.
    let row = run.row().clone();
    let mut held = HeldEntries::of(&row);
    if row.kind != TranscriptKind::Run {
        // `show` has its steps; the list has each of them as a separate run.
        return Outlined {
            outline: match row.kind {
                TranscriptKind::Work => work_outline(run),
                _ => workflow_outline(run),
            },
            awaited: None,
            settled: true,
            flaw: None,
        };
    }
    let contract = run.contract();
    if let Err(fault) = &contract {
        held.mark(fault.to_string());
    }
    let contract = contract.ok();
    let calls = contract.as_ref().map(|c| c.max_tool_calls_per_turn);
    let from = row.length.saturating_sub(length);
    let first = match run.next() {
        Some(Ok(entry)) => {
            // Where the tail begins with it, it is taken there.
            if from > 0 {
                held.take(&entry);
            }
            Recorded::decode(&entry).ok()
        }
        Some(Err(fault)) => {
            held.mark(fault.to_string());
            None
        }
        None => None,
    };
    let mut outline = contract
        .zip(first)
        .and_then(|(contract, first)| RunOutline::begin(&contract, &first));
    let mut begins = None;
    for entry in run.starting_at(from) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(fault) => {
                held.mark(fault.to_string());
                continue;
            }
        };
        held.take(&entry);
        if let Ok(decoded) = Recorded::decode(&entry) {
            let entry = decoded.entry();
            begins.get_or_insert_with(|| Approvals::is_settled_by(entry.action, entry.event));
            approvals.take(entry.action, entry.event);
            if let Some(outline) = &mut outline {
                outline.take(entry);
            }
        }
    }
    let suspended = outline.as_ref().and_then(|outline| outline.suspended);
    let most = TAIL.saturating_add(calls.unwrap_or(0));
    let settled = begins == Some(true) && (suspended.is_some() || length > most);
    Outlined {
        outline,
        awaited: approvals.awaited(),
        settled,
        flaw: held.flaw(&row),
    }
}
