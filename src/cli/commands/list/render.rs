//! The list as a table of text.

use std::fmt::Write as _;

use crate::context::app::App;
use crate::ui::screen::Style;
use crate::ui::wrap::{cells, shortened};
use monolith_core::message::{RunId, utc};
use monolith_core::transcript::{ParentFound, TranscriptKind};
use monolith_host::store::Lineage;
use monolith_service::approval::ApprovalStatus;
use monolith_service::list::found::Found;
use monolith_service::list::runs::ListedRun;
use monolith_service::run_status::RunStatus;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::{dollars, seconds};

/// A table; where its lines do not fit the terminal, two lines for each run.
pub(super) fn listed(app: &App, rows: &[ListedRun]) -> String {
    let rows: Vec<Cells> = rows.iter().map(|row| Cells::of(app, row)).collect();
    let width = rows.iter().map(|row| cells(&row.run)).max();
    let width = width.unwrap_or_default().max(3);
    let lines: Vec<String> = rows.iter().map(|row| row.line(width)).collect();
    if lines
        .iter()
        .any(|line| cells(line) > app.screen.width_out())
    {
        return pairs(app, &rows);
    }
    let mut out = format!(
        "{:<width$}  {:<19}  {:>9}  {:>8}  OUTCOME\n",
        "RUN", "BEGUN (UTC)", "TIME", "COST"
    );
    for (row, line) in rows.iter().zip(lines) {
        let _ = writeln!(out, "{line}");
        if let Some(what) = row.what(app) {
            let _ = writeln!(out, "{}  {what}", filled(&row.further, width));
        }
    }
    out
}

/// The text, and spaces up to that many cells.
fn filled(text: &str, width: usize) -> String {
    let free = width.saturating_sub(cells(text));
    format!("{text}{:free$}", "")
}

fn pairs(app: &App, rows: &[Cells]) -> String {
    let mut out = String::new();
    for row in rows {
        let Cells {
            begun,
            cost,
            outcome,
            further,
            run,
            time,
            what,
        } = row;
        let cost = if cost == UNKNOWN {
            String::new()
        } else {
            format!(", {cost}")
        };
        let further = if further.is_empty() { "  " } else { further };
        let when = format!("{further}{begun} UTC, {time}{cost}  ");
        // `show` prints what does not fit on the line.
        let free = app.screen.width_out().saturating_sub(cells(&when));
        let what = what.as_deref().unwrap_or_default();
        let (when, free) = if free < LEAST_CELLS {
            let width = app.screen.width_out().saturating_sub(cells(further));
            (format!("{}\n{further}", when.trim_end()), width)
        } else {
            (when, free)
        };
        let what = app.screen.paint_out(Style::Dim, &shortened(what, free));
        let _ = writeln!(out, "{run}  {outcome}");
        let _ = writeln!(out, "{}", format!("{when}{what}").trim_end());
    }
    out
}

/// Minimum number of cells in which model and task are worth reading; with fewer they get a separate line.
const LEAST_CELLS: usize = 24;

/// Marks an unknown or empty value.
const UNKNOWN: &str = "-";

/// A run as it is listed.
struct Cells {
    begun: String,
    cost: String,
    /// The text before its further lines in a tree; empty elsewhere.
    further: String,
    outcome: String,
    /// Its name, in a tree behind the lines of that.
    run: String,
    time: String,
    /// The model and its task.
    what: Option<String>,
}

impl Cells {
    fn what(&self, app: &App) -> Option<String> {
        let what = self.what.as_deref();
        what.map(|what| app.screen.paint_out(Style::Dim, what))
    }

    fn line(&self, width: usize) -> String {
        let Self {
            begun,
            cost,
            outcome,
            run,
            time,
            ..
        } = self;
        let run = filled(run, width);
        format!("{run}  {begun}  {time:>9}  {cost:>8}  {outcome}")
    }

    fn of(app: &App, listed: &ListedRun) -> Self {
        let ListedRun { found, place } = listed;
        let Found {
            flaw,
            left: _,
            row,
            lineage,
            outline,
            status,
            approval,
            awaited_below,
            goes_on_with,
        } = found;
        let is_suspended = found.is_suspended();
        let outcome = match (&row.outcome, status) {
            // The code of an item is the state in which it ended: for people, its class is the end.
            (Some((class, _)), _) if row.kind == TranscriptKind::Work => line(class),
            (Some((class, code)), _) => line(&format!("{class} ({code})")),
            (None, Some(RunStatus::Running { pid: Some(pid) })) => {
                format!("running (process {pid})")
            }
            (None, Some(RunStatus::Running { pid: None })) => "running".to_owned(),
            (None, Some(RunStatus::Died)) => {
                let how = if is_suspended {
                    "suspended"
                } else {
                    "process died"
                };
                let approve = |run: &RunId| format!("approve {}", app.brief_name(run.as_str()));
                let next = match (approval, awaited_below) {
                    (Some(ApprovalStatus::Waits), _) => approve(&row.run_id),
                    (None, Some(below)) => approve(below),
                    _ => app.resume_words(goes_on_with),
                };
                format!("{how} ({})", app.hint(&next))
            }
            (None, Some(RunStatus::Elsewhere)) if is_suspended => "suspended".to_owned(),
            (None, Some(RunStatus::Elsewhere) | None) => "unfinished".to_owned(),
        };
        let outcome = match approval.map(ApprovalStatus::answer) {
            Some(Some(answer)) => format!("{outcome}, call {answer}"),
            Some(None) => format!("{outcome}, waits for an approval"),
            None => match awaited_below {
                Some(below) => format!("{outcome}, {below} waits for an approval"),
                None => outcome,
            },
        };
        let link = place.as_ref().filter(|place| place.branch.depth > 0);
        let link = link.and_then(|place| place.link.clone());
        let forked = link.or_else(|| lineage.as_ref().map(forked_from));
        let forked = forked.map(|forked| format!(", {forked}"));
        let flaw = flaw.as_ref().map(|flaw| {
            let flaw = format!("NOT VERIFIED: {}", line(flaw));
            format!("  {}", app.screen.paint_out(Style::Bad, &flaw))
        });
        let unknown = || UNKNOWN.to_owned();
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
        let imported = if row.is_imported() { ", imported" } else { "" };
        let what = outline.as_ref().map(|outline| {
            let model = outline.models.first().map_or("", String::as_str);
            let task = brief(outline.task.as_deref().unwrap_or_default());
            line(&format!("{model}  {task}")).trim().to_owned()
        });
        Self {
            begun: utc(row.created_unix_ms),
            cost,
            outcome: format!(
                "{outcome}{imported}{}{}",
                forked.unwrap_or_default(),
                flaw.unwrap_or_default()
            ),
            further: place
                .as_ref()
                .map(|place| place.branch.further(place.has_more))
                .unwrap_or_default(),
            run: match place {
                Some(place) => format!("{}{}", place.branch.mark(), row.run_id),
                None => row.run_id.as_str().to_owned(),
            },
            time,
            what,
        }
    }
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

/// Describes a run's origin.
pub(crate) fn forked_from(lineage: &Lineage) -> String {
    let link = if lineage.is_step() {
        format!("a step of {}", lineage.parent.run_id)
    } else if lineage.is_continued {
        return format!("continues {}", lineage.parent.run_id);
    } else {
        lineage.parent.link()
    };
    match lineage.found {
        ParentFound::Entry(seq) => format!("{link} at entry {seq}"),
        ParentFound::NoSuchEntry => format!("{link}, which has no such entry"),
        ParentFound::NotHere => format!("{link}, which is not here"),
    }
}

/// Characters of a task that a list shows.
const TASK_CHARS: usize = 72;
