//! `monolith list`: reads the rows of the store, and prints them as text or as a document.

use serde::Serialize;

use super::args::ListArgs;
use super::filter::Wanted;
use super::render::listed;
use super::tree::{ListedRun, trees};
use crate::commands::values::is_outcome;
use crate::context::app::App;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::ParentFound;
use monolith_host::store::DamagedRow;
use monolith_service::approval::ApprovalStatus;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::list::found::{Found, found};
use monolith_service::run_status::RunStatus;
use monolith_service::text::escape::{brief, line};

#[derive(Serialize)]
struct Listing {
    runs: Vec<Listed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Damaged>,
}

/// A row of the store that cannot be listed.
#[derive(Serialize)]
struct Damaged {
    run_id: String,
    reason: String,
}

#[derive(Serialize)]
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
    /// What does not hold of the entries that the list reads; absent where they hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    flaw: Option<String>,
    head: Digest,
    outcome: Option<ListedOutcome>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    waits_for_approval: bool,
    /// The answer that a person left, and that the run has not taken yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval_answer: Option<&'static str>,
    owner: String,
    imported: bool,
    /// Whether it is a workflow; absent of a run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    workflow: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<ListedParent>,
    /// In a tree, how it comes from the run above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
    /// In a tree, whether it is there only for a run below it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    only_above: bool,
    /// In a tree, the runs below it.
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
#[derive(Serialize)]
struct ListedParent {
    run_id: RunId,
    head: Digest,
    /// The number of the entry; absent where the run is not in this store.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<u64>,
}

#[derive(Serialize)]
struct ListedOutcome {
    class: String,
    code: String,
}

/// `monolith list`.
pub(crate) fn list(app: &App, args: &ListArgs) -> Result<Exit, ServiceError> {
    let wanted = Wanted::new(args);
    let (mut rows, mut damaged) = (Vec::new(), Vec::new());
    if args.tree {
        if let Some(mut reader) = app.reader()? {
            rows = trees(app, &mut reader, args, &wanted, &mut damaged)?;
        }
    } else if let (Some(index), Some(mut reader)) = (app.reader()?, app.reader()?) {
        index.each_row(wanted.filter(), |row| {
            match row.map(|row| wanted.has_row(&row).then(|| found(app, &mut reader, &row))) {
                Ok(Some(Ok(found))) if wanted.has(&found.row, found.outline.as_ref()) => {
                    rows.push(ListedRun { found, place: None });
                }
                Ok(Some(Ok(_)) | None) => {}
                Ok(Some(Err(row))) | Err(row) => damaged.push(row),
            }
            args.limit == 0 || rows.len() + damaged.len() < args.limit
        })?;
    }
    let exit = if rows.iter().any(|row| row.found.flaw.is_some()) {
        name_damaged(app, &damaged);
        Exit::EVIDENCE
    } else {
        name_damaged(app, &damaged)
    };
    if args.json {
        let damaged = damaged.into_iter().map(|row| Damaged {
            run_id: row.run,
            reason: row.fault.to_string(),
        });
        app.screen.out_json(&Listing {
            runs: nested(rows),
            damaged: damaged.collect(),
        })?;
    } else if rows.is_empty() && damaged.is_empty() {
        let place = line(&app.store_path()?.display().to_string());
        app.screen.write_err(&if args.open {
            format!("no run without an end in {place}\n")
        } else if wanted.is_narrow() {
            none_found(app, args, wanted.is_by_text_alone(), &place)
        } else {
            let demo = app.hint("demo");
            let run = app.hint("run CONTRACT");
            format!("no runs yet in {place}; `{demo}` makes one, `{run}` drives yours\n")
        });
    } else {
        app.screen.out(&listed(app, &rows))?;
        let first = |row: &&ListedRun| row.place.as_ref().is_none_or(|at| at.branch.depth == 0);
        let counted = rows.iter().filter(first).count();
        if args.limit > 0 && counted + damaged.len() >= args.limit {
            let words = if args.tree {
                "list --tree --limit 0"
            } else {
                "list --limit 0"
            };
            let all = app.hint(words);
            app.screen
                .note(&format!("the newest {}; {all} lists all", args.limit));
        }
    }
    Ok(exit)
}

/// That no run is as it was asked for, and what may have been meant.
fn none_found(app: &App, args: &ListArgs, by_text_alone: bool, place: &str) -> String {
    let text = args.text.as_deref();
    let none = match text.filter(|_| by_text_alone) {
        Some(text) => format!("no run has \"{}\" in its task or name", brief(text, 60)),
        None => format!("no such run in {place}"),
    };
    let meant = text.filter(|text| is_outcome(text)).map(|text| {
        let so = app.hint(&format!("list --outcome {text}"));
        format!("; {so} lists the runs that ended so")
    });
    format!("{none}{}\n", meant.unwrap_or_default())
}

/// Says which rows cannot be read, and what the command then ends with.
pub(crate) fn name_damaged(app: &App, damaged: &[DamagedRow]) -> Exit {
    for DamagedRow { run, fault } in damaged {
        let (run, fault) = (line(run), line(&fault.to_string()));
        let text = format!("warning: the row of run {run} is damaged and not listed: {fault}\n");
        app.screen.write_err(&text);
    }
    if damaged.is_empty() {
        Exit::OK
    } else {
        Exit::EVIDENCE
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
        let imported = row.is_imported();
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
            workflow: row.workflow,
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
