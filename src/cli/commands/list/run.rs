use std::fmt::Write as _;

use serde::Serialize;

use super::args::ListArgs;
use super::filter::Wanted;
use crate::cli::context::app::App;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;
use crate::cli::context::run_status::RunStatus;
use crate::cli::context::source::Recorded;
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::{dollars, seconds};
use crate::cli::ui::screen::Style;
use crate::message::{Digest, RunId, utc};
use crate::store::{DamagedRow, Lineage, RunRow, StoreReader};
use crate::transcript::ParentFound;
use crate::view::{Approvals, RunOutline};

/// How many of the last entries are read first. What they leave open is looked for in more of them.
const TAIL: u64 = 16;
/// Characters of a task that a list shows.
const TASK_CHARS: usize = 72;

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

/// A row and what is known beside it.
struct Found {
    row: RunRow,
    lineage: Option<Lineage>,
    /// None where nothing is recorded, or its entries cannot be read.
    outline: Option<RunOutline>,
    status: Option<RunStatus>,
    /// Whether a call of it waits for a person.
    waits: bool,
}

#[derive(Serialize)]
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
    head: Digest,
    outcome: Option<ListedOutcome>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    waits_for_approval: bool,
    owner: String,
    imported: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<ListedParent>,
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
pub(in crate::cli) fn list(app: &App, args: &ListArgs) -> Result<Exit, CliError> {
    let wanted = Wanted::new(args);
    let (mut rows, mut damaged) = (Vec::new(), Vec::new());
    if let (Some(index), Some(mut reader)) = (app.reader()?, app.reader()?) {
        index.each_row(wanted.filter(), |row| {
            match row.map(|row| wanted.has_row(&row).then(|| found(&mut reader, &row))) {
                Ok(Some(Ok(found))) if wanted.has(&found.row, found.outline.as_ref()) => {
                    rows.push(found);
                }
                Ok(Some(Ok(_)) | None) => {}
                Ok(Some(Err(row))) | Err(row) => damaged.push(row),
            }
            args.limit == 0 || rows.len() + damaged.len() < args.limit
        })?;
    }
    let exit = name_damaged(app, &damaged);
    if args.json {
        let damaged = damaged.into_iter().map(|row| Damaged {
            run_id: row.run,
            reason: row.fault.to_string(),
        });
        app.screen.out_json(&Listing {
            runs: rows.into_iter().map(Listed::from).collect(),
            damaged: damaged.collect(),
        })?;
    } else if rows.is_empty() && damaged.is_empty() {
        let place = line(&app.store_path()?.display().to_string());
        app.screen.write_err(&if args.open {
            format!("no run without an end in {place}\n")
        } else if wanted.is_narrow() {
            format!("no such run in {place}\n")
        } else {
            let demo = app.hint("demo");
            let run = app.hint("run CONTRACT");
            format!("no runs yet in {place}; `{demo}` makes one, `{run}` drives yours\n")
        });
    } else {
        app.screen.out(&told(app, &rows))?;
    }
    Ok(exit)
}

/// Says which rows cannot be read, and what the command then ends with.
pub(in crate::cli) fn name_damaged(app: &App, damaged: &[DamagedRow]) -> Exit {
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

/// What is known of a run beside its row.
fn found(reader: &mut StoreReader, row: &RunRow) -> Result<Found, DamagedRow> {
    let run = row.run_id.as_str().to_owned();
    let mut look = || {
        let status = RunStatus::of(reader, row)?;
        let row = match status {
            Some(_) => row.clone(),
            // It may have ended since the row was read.
            None => reader.read_run(&row.run_id)?.row().clone(),
        };
        let lineage = reader.lineage(&row.run_id)?;
        let (outline, waits) = outline(reader, &row);
        Ok(Found {
            row,
            lineage,
            outline,
            waits: waits && status.is_some(),
            status,
        })
    };
    look().map_err(|fault| DamagedRow { run, fault })
}

/// What the first and the last entries show, and whether these leave a call waiting for a person. One that cannot be read is
/// `verify`'s to report.
fn outline(reader: &mut StoreReader, row: &RunRow) -> (Option<RunOutline>, bool) {
    let mut length = TAIL;
    loop {
        let (outline, waits, settled) = outline_of(reader, row, length);
        if settled || row.outcome.is_some() || length >= row.length {
            return (outline, waits);
        }
        length = length.saturating_mul(4);
    }
}

/// [`outline`] from so many of the last entries, and whether more of them would change nothing: processes may have left the run and
/// gone on with it any number of times since a call began to wait, and calls may have ended since the run was suspended.
fn outline_of(
    reader: &mut StoreReader,
    row: &RunRow,
    length: u64,
) -> (Option<RunOutline>, bool, bool) {
    let mut approvals = Approvals::default();
    let Ok(mut run) = reader.read_run(&row.run_id) else {
        return (None, false, true);
    };
    let contract = run.contract().ok();
    let calls = contract.as_ref().map(|c| c.max_tool_calls_per_turn);
    let first = run.next().and_then(Result::ok);
    let first = first.and_then(|entry| Recorded::decode(&entry).ok());
    let mut outline = contract
        .zip(first)
        .and_then(|(contract, first)| RunOutline::begin(&contract, &first));
    let tail = run.starting_at(row.length.saturating_sub(length));
    let mut begins = None;
    for entry in tail.filter_map(Result::ok) {
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
    (outline, approvals.awaited().is_some(), settled)
}

fn told(app: &App, rows: &[Found]) -> String {
    let widest = rows.iter().map(|found| found.row.run_id.as_str().len());
    let width = widest.max().unwrap_or_default().max(3);
    let mut out = format!(
        "{:<width$}  {:<19}  {:>9}  {:>8}  OUTCOME\n",
        "RUN", "BEGUN (UTC)", "TIME", "COST"
    );
    for Found {
        row,
        lineage,
        outline,
        status,
        waits,
    } in rows
    {
        let is_suspended = outline.as_ref().and_then(|outline| outline.suspended) == Some(true);
        let outcome = match (&row.outcome, status) {
            (Some((class, code)), _) => line(&format!("{class} ({code})")),
            (None, Some(RunStatus::Running { pid: Some(pid) })) => {
                format!("running (process {pid})")
            }
            (None, Some(RunStatus::Running { pid: None })) => "running".to_owned(),
            (None, Some(RunStatus::Interrupted)) => {
                let name = app.brief_name(row.run_id.as_str());
                let how = if is_suspended {
                    "suspended"
                } else {
                    "interrupted"
                };
                format!("{how} ({})", app.hint(&format!("resume {name}")))
            }
            (None, Some(RunStatus::Elsewhere)) if is_suspended => "suspended".to_owned(),
            (None, Some(RunStatus::Elsewhere) | None) => "unfinished".to_owned(),
        };
        let outcome = if *waits {
            format!("{outcome}, waits for an approval")
        } else {
            outcome
        };
        let forked = lineage
            .as_ref()
            .map(|lineage| format!(", {}", forked_from(lineage)));
        let unknown = || "-".to_owned();
        let time = outline
            .as_ref()
            .map_or_else(unknown, |outline| seconds(outline.elapsed_ms));
        let cost = outline
            .as_ref()
            .map(|outline| outline.counters.cost_micro_usd);
        let cost = cost.filter(|cost| *cost > 0).map_or_else(unknown, dollars);
        let _ = writeln!(
            out,
            "{:<width$}  {}  {time:>9}  {cost:>8}  {outcome}{}{}",
            row.run_id.as_str(),
            utc(row.created_unix_ms),
            if row.is_imported() { ", imported" } else { "" },
            forked.unwrap_or_default()
        );
        if let Some(outline) = outline {
            let model = outline.models.first().map_or("", String::as_str);
            let task = brief(outline.task.as_deref().unwrap_or_default());
            let what = line(&format!("{model}  {task}"));
            let what = app.screen.paint_out(Style::Dim, what.trim_end());
            let _ = writeln!(out, "{:width$}  {what}", "");
        }
    }
    out
}

/// The first line of a task, as much of it as fits beside a name.
fn brief(task: &str) -> String {
    let first = task.trim().lines().next().unwrap_or_default();
    let mut brief: String = first.chars().take(TASK_CHARS).collect();
    if brief.len() < task.trim().len() {
        brief.push('…');
    }
    brief
}

/// Where a run comes from, in words.
pub(in crate::cli) fn forked_from(lineage: &Lineage) -> String {
    let parent = &lineage.parent.run_id;
    match lineage.found {
        ParentFound::Entry(seq) => format!("forked from {parent} at entry {seq}"),
        ParentFound::NoSuchEntry => format!("forked from {parent}, which has no such entry"),
        ParentFound::NotHere => format!("forked from {parent}, which is not here"),
    }
}

impl From<Found> for Listed {
    fn from(found: Found) -> Self {
        let Found {
            row,
            lineage,
            outline,
            status,
            waits,
        } = found;
        let is_suspended = outline.as_ref().and_then(|outline| outline.suspended) == Some(true);
        let (state, pid) = match (&row.outcome, status) {
            (Some(_), _) => ("ended", None),
            (None, Some(RunStatus::Running { pid })) => ("running", pid),
            (None, Some(RunStatus::Interrupted | RunStatus::Elsewhere)) if is_suspended => {
                ("suspended", None)
            }
            (None, Some(RunStatus::Interrupted)) => ("interrupted", None),
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
            head: row.head,
            imported,
            state,
            pid,
            waits_for_approval: waits,
            owner: row.owner,
            outcome: row
                .outcome
                .map(|(class, code)| ListedOutcome { class, code }),
            forked_from,
        }
    }
}
