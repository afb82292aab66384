//! The reasons for the end of a run: the rule that decided, its figures, and the entries that led there.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::render::{budgets, end};
use crate::ui::entry_row::numbered_line;
use crate::ui::screen::Screen;
use monolith_core::view::RunView;
use monolith_service::text::escape::{brief, line};
use monolith_service::text::numbers::{counted, seconds};
use monolith_service::view::entry_row::EntryRow;
use monolith_service::view::figures::figures;
use monolith_service::view::shown_run::ShownRun;

/// Maximum number of named entries of each kind.
const MOST_ENTRIES: usize = 6;

/// Explains why the run ended as it did.
pub(super) fn why(screen: Screen, run: &ShownRun) -> String {
    let view = &run.view;
    let mut out = end(screen, view, run.status);
    if let Some(decided) = view.decision().filter(|_| view.outcome().is_some()) {
        let _ = writeln!(out, "{}", decided.predicate);
    }
    if let (Some(decided), Some(outcome)) = (view.decision(), view.outcome()) {
        let _ = writeln!(
            out,
            "\nDecided in entry {}, {} → {}, {} into the run.",
            decided.seq,
            decided.from,
            decided.to,
            seconds(decided.at_ms)
        );
        out.push_str(match decided.predicate.item {
            0 => "PRECHECK performs all its checks; the first that failed gave the code.\n",
            1 => "Predicates are the machine's rules. It asks them in order, and this is the very first.\n",
            _ => "Predicates are the machine's rules. It asks them in order, and this is the first that held.\n",
        });
        let checks = &view.preflight().checks;
        for check in checks.iter().filter(|_| decided.predicate.item == 0) {
            let verdict = if check.ok { "ok    " } else { "FAILED" };
            let detail = brief(&check.detail, 400);
            let row = format!("  {verdict}  {:?}  {detail}", check.name);
            let _ = writeln!(out, "{}", row.trim_end());
        }
        for figure in figures(view, outcome.code) {
            let _ = writeln!(out, "  {}", line(&figure));
        }
    }
    let rows = || run.rows.iter().filter(|row| !row.is_seal());
    out.push_str(&flows(screen, view, &rows().collect::<Vec<_>>()));
    let failed: Vec<&EntryRow> = rows().filter(|row| row.failed).collect();
    out.push_str(&listed(screen, "What failed", &failed));
    let warned: Vec<&EntryRow> = rows().filter(|row| row.warned).collect();
    out.push_str(&listed(screen, "Warnings", &warned));
    // Rows that are listed above are not listed again.
    let named = |row: &EntryRow| row.failed || row.warned;
    let others: Vec<&EntryRow> = rows().filter(|row| !named(row)).collect();
    let title = if failed.is_empty() && warned.is_empty() {
        "The last entries"
    } else {
        "Other recent entries"
    };
    out.push_str(&listed(screen, title, &others));
    out.push_str("\nUsed:\n");
    out.push_str(&budgets(view));
    out
}

/// The last calls that rules of `flow` decided about, and the entries that show what tainted them.
fn flows(screen: Screen, view: &RunView, rows: &[&EntryRow]) -> String {
    let before = view.flows().len().saturating_sub(MOST_ENTRIES);
    let flows = view.flows().get(before..).unwrap_or_default();
    if flows.is_empty() {
        return String::new();
    }
    let mut out = "\nInformation flow:\n".to_owned();
    for (entry, flow) in flows {
        let _ = writeln!(out, "  entry {entry}: {}", line(&flow.sentence()));
    }
    let tainting: BTreeSet<u64> = flows
        .iter()
        .flat_map(|(_, flow)| flow.seen.iter().map(|source| source.entry))
        .collect();
    let rows = rows.iter().copied();
    let rows: Vec<&EntryRow> = rows.filter(|row| tainting.contains(&row.seq)).collect();
    out.push_str(&listed(
        screen,
        "The results that the model had seen",
        &rows,
    ));
    out
}

/// The last of these entries below a title.
fn listed(screen: Screen, title: &str, rows: &[&EntryRow]) -> String {
    let Some(before) = rows.len().checked_sub(1) else {
        return String::new();
    };
    let skipped = (before + 1).saturating_sub(MOST_ENTRIES);
    let more = match skipped {
        0 => String::new(),
        skipped => format!(" ({} before them)", counted(skipped, "entry")),
    };
    let mut out = format!("\n{title}{more}:\n");
    for row in rows.iter().skip(skipped) {
        out.push_str(&numbered_line(screen, row));
    }
    out
}
