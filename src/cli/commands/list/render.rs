//! The list as a table of text.

use std::fmt::Write as _;

use super::found::Found;
use crate::cli::context::app::App;
use crate::cli::context::run_status::RunStatus;
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::{dollars, seconds};
use crate::cli::ui::screen::Style;
use crate::message::utc;
use crate::store::Lineage;
use crate::transcript::ParentFound;

pub(super) fn table(app: &App, rows: &[Found]) -> String {
    let widest = rows.iter().map(|found| found.row.run_id.as_str().len());
    let width = widest.max().unwrap_or_default().max(3);
    let mut out = format!(
        "{:<width$}  {:<19}  {:>9}  {:>8}  OUTCOME\n",
        "RUN", "BEGUN (UTC)", "TIME", "COST"
    );
    for Found {
        flaw,
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
        let flaw = flaw.as_ref().map(|flaw| {
            let flaw = format!("NOT VERIFIED: {}", line(flaw));
            format!("  {}", app.screen.paint_out(Style::Bad, &flaw))
        });
        let unknown = || "-".to_owned();
        let time = outline
            .as_ref()
            .map_or_else(unknown, |outline| seconds(outline.elapsed_ms));
        // What passed since its last entry is not recorded yet.
        let is_running = matches!(status, Some(RunStatus::Running { .. }));
        let time = if is_running { format!("{time}+") } else { time };
        let cost = outline
            .as_ref()
            .map(|outline| outline.counters.cost_micro_usd);
        let cost = cost.filter(|cost| *cost > 0).map_or_else(unknown, dollars);
        let _ = writeln!(
            out,
            "{:<width$}  {}  {time:>9}  {cost:>8}  {outcome}{}{}{}",
            row.run_id.as_str(),
            utc(row.created_unix_ms),
            if row.is_imported() { ", imported" } else { "" },
            forked.unwrap_or_default(),
            flaw.unwrap_or_default()
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
pub(super) fn brief(task: &str) -> String {
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

/// Characters of a task that a list shows.
const TASK_CHARS: usize = 72;
