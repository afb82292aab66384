//! The list of runs as a document for programs.

use serde::Serialize;

use super::found::Found;
use super::runs::{ListedRun, RunList};
use crate::approval::ApprovalStatus;
use crate::run_status::RunStatus;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{ParentFound, TranscriptKind};

/// A list of runs, the children of a tree inside their parents.
#[derive(Debug, Serialize)]
pub struct ListDocument {
    runs: Vec<Listed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Damaged>,
}

/// A row of the store that cannot be listed.
#[derive(Debug, Serialize)]
struct Damaged {
    run_id: String,
    reason: String,
}

#[derive(Debug, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a member of the document"
)]
struct Listed {
    run_id: RunId,
    created_unix_ms: u64,
    contract_hash: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    models: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_micro_usd: Option<u64>,
    entries: u64,
    /// First flaw of the entries that the list reads; absent if they hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    flaw: Option<String>,
    head: Digest,
    outcome: Option<ListedOutcome>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    waits_for_approval: bool,
    /// Answer of a person that the run has not taken yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval_answer: Option<&'static str>,
    owner: String,
    imported: bool,
    /// True for a work item; absent for a run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    work: bool,
    /// True for a workflow; absent for a run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    workflow: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<ListedParent>,
    /// In a tree, the origin from its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    /// In a tree, true if it is listed only as a parent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    only_above: bool,
    /// In a tree, its children.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    below: Vec<Listed>,
}

/// The runs, those of a tree within each other.
fn nested(rows: Vec<ListedRun>) -> Vec<Listed> {
    let mut runs: Vec<Listed> = Vec::new();
    // The runs from a first one down to the last that was taken.
    let mut open: Vec<Listed> = Vec::new();
    let close = |open: &mut Vec<Listed>, runs: &mut Vec<Listed>, depth: usize| {
        while open.len() > depth {
            let Some(last) = open.pop() else { break };
            match open.last_mut() {
                Some(above) => above.below.push(last),
                None => runs.push(last),
            }
        }
    };
    for row in rows {
        let depth = row.place.as_ref().map_or(0, |place| place.branch.depth);
        close(&mut open, &mut runs, depth);
        let mut listed = Listed::from(row.found);
        if let Some(place) = row.place {
            listed.link = place.link;
            listed.only_above = !place.fits;
        }
        open.push(listed);
    }
    close(&mut open, &mut runs, 0);
    runs
}

/// The run that one was forked from.
#[derive(Debug, Serialize)]
struct ListedParent {
    run_id: RunId,
    head: Digest,
    /// The number of the entry; absent where the run is not in this store.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<u64>,
}

#[derive(Debug, Serialize)]
struct ListedOutcome {
    class: String,
    code: String,
}

impl From<RunList> for ListDocument {
    fn from(list: RunList) -> Self {
        let damaged = list.damaged.into_iter().map(|row| Damaged {
            run_id: row.run,
            reason: row.fault.to_string(),
        });
        Self {
            runs: nested(list.runs),
            damaged: damaged.collect(),
        }
    }
}

impl From<Found> for Listed {
    fn from(found: Found) -> Self {
        let is_suspended = found.is_suspended();
        let Found {
            flaw,
            left: _,
            row,
            lineage,
            outline,
            status,
            approval,
            awaited_below: _,
            goes_on_with: _,
        } = found;
        let (state, pid) = match (&row.outcome, status) {
            (Some(_), _) => ("ended", None),
            (None, Some(RunStatus::Running { pid })) => ("running", pid),
            (None, Some(RunStatus::Died | RunStatus::Elsewhere)) if is_suspended => {
                ("suspended", None)
            }
            (None, Some(RunStatus::Died)) => ("died", None),
            (None, Some(RunStatus::Elsewhere) | None) => ("unfinished", None),
        };
        let forked_from = lineage.map(|lineage| ListedParent {
            run_id: lineage.parent.run_id,
            head: lineage.parent.head,
            entry: match lineage.found {
                ParentFound::Entry(seq) => Some(seq),
                ParentFound::NoSuchEntry | ParentFound::NotHere => None,
            },
        });
        let (imported, is_workflow) = (row.is_imported(), row.is_workflow());
        Self {
            run_id: row.run_id,
            created_unix_ms: row.created_unix_ms,
            contract_hash: row.contract_hash,
            elapsed_ms: outline.as_ref().map(|outline| outline.elapsed_ms),
            cost_micro_usd: outline
                .as_ref()
                .map(|outline| outline.counters.cost_micro_usd),
            models: outline
                .as_ref()
                .map(|outline| outline.models.clone())
                .unwrap_or_default(),
            task: outline.and_then(|outline| outline.task),
            entries: row.length,
            flaw,
            head: row.head,
            imported,
            work: row.kind == TranscriptKind::Work,
            workflow: is_workflow,
            state,
            pid,
            waits_for_approval: approval == Some(ApprovalStatus::Waits),
            approval_answer: approval.and_then(ApprovalStatus::answer),
            owner: row.owner,
            outcome: row
                .outcome
                .map(|(class, code)| ListedOutcome { class, code }),
            forked_from,
            link: None,
            only_above: false,
            below: Vec::new(),
        }
    }
}
