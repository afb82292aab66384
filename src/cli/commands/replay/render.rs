//! The report of each kind of replay, as text for people.

use std::fmt::Write as _;

use crate::commands::verify::HOW_TO_ACCEPT;
use crate::context::app::App;
use crate::ui::screen::{Screen, Style};
use monolith_core::kernel::Outcome;
use monolith_core::replay::{Difference, LiveReport, ReplayReport, WhatIfReport};
use monolith_service::text::escape::{brief, line};
use monolith_service::text::numbers::{counted, grouped};

/// Maximum number of differences that are written out for people.
const MOST: usize = 20;

/// The first of the differences, a line each.
fn list_differences(out: &mut String, differences: &[Difference]) {
    for difference in differences.iter().take(MOST) {
        let _ = writeln!(out, "  {}", line(&difference.to_string()));
    }
    if differences.len() > MOST {
        out.push_str("  … monolith replay --json lists them all\n");
    }
}

/// Lists the differences of the first entry that differs, a line each. Later ones follow from it and are only counted.
fn list_first(out: &mut String, differences: &[Difference]) {
    let first = differences.first().map(|first| first.seq);
    let at_first = differences.iter();
    let at_first = at_first.take_while(|difference| Some(difference.seq) == first);
    let at_first = at_first.take(MOST).count();
    let (named, others) = differences.split_at(at_first);
    list_differences(out, named);
    if !others.is_empty() {
        let others = grouped(others.len().try_into().unwrap_or(u64::MAX));
        let _ = writeln!(
            out,
            "  and {others} more, which may follow from it; --json lists them all"
        );
    }
}

/// Counts the differences, those outside of entries separately.
fn differences(all: &[Difference]) -> String {
    let outside = all.iter().filter(|one| one.is_outside).count();
    if outside == 0 {
        return counted(all.len(), "difference");
    }
    let within = grouped((all.len() - outside).try_into().unwrap_or(u64::MAX));
    format!(
        "{} outside the entries, {within}",
        counted(outside, "difference")
    )
}

/// The report for people.
pub(crate) fn report_text(app: &App, report: &ReplayReport) -> String {
    if report.open {
        return open_text(app, report);
    }
    let entries = counted(report.entries, "entry");
    let mut out = if report.same {
        let same = app.screen.paint_out(Style::Good, "same");
        format!("{same}: {entries} decided again, byte for byte as recorded\n")
    } else {
        let other = app.screen.paint_out(Style::Bad, "not the same");
        let count = differences(&report.differences);
        format!("{other}: {count} in {entries}\n")
    };
    list_first(&mut out, &report.differences);
    list_not_compared(&mut out, &report.not_compared);
    out
}

/// The report of a run in progress: all that there is was decided again.
fn open_text(app: &App, report: &ReplayReport) -> String {
    let so_far = app.screen.paint_out(Style::Good, "same so far");
    let entries = counted(report.entries, "entry");
    let mut out = format!("{so_far}: {entries}; the run has not ended yet\n");
    if !report.same {
        out.push_str(HOW_TO_ACCEPT);
    }
    list_not_compared(&mut out, &report.not_compared);
    out
}

fn list_not_compared(out: &mut String, notes: &[String]) {
    for note in notes {
        let _ = writeln!(out, "not compared: {}", line(note));
    }
}

/// Reports a live replay: the verdict, then each difference.
pub(super) fn live_text(screen: Screen, report: &LiveReport) -> String {
    let asked = format!(
        "{} sent again, {} made again",
        counted(report.inferences, "request"),
        counted(report.calls, "call")
    );
    let mut out = if report.open {
        let so_far = screen.paint_out(Style::Good, "same so far");
        format!("{so_far}: {asked}; the run has not ended yet\n")
    } else if report.same {
        let same = screen.paint_out(Style::Good, "same");
        format!("{same}: {asked}\n")
    } else {
        let other = screen.paint_out(Style::Bad, "not the same");
        format!("{other}: {asked}\n")
    };
    if !report.open {
        list_differences(&mut out, &report.differences);
    } else if !report.same {
        out.push_str(HOW_TO_ACCEPT);
    }
    for note in &report.notes {
        let _ = writeln!(out, "note: {}", line(note));
    }
    for note in &report.not_compared {
        let _ = writeln!(out, "not compared: {}", line(note));
    }
    out
}

/// Maximum number of differing contract fields that are written out for people.
const MOST_FIELDS: usize = 20;

/// Reports the decisions of the run under another contract.
pub(super) fn what_if_text(
    screen: Screen,
    report: &WhatIfReport,
    recorded_values: &[String],
) -> String {
    let mut out = String::new();
    let terms = &report.contract_differences;
    let count = match terms.len() {
        0 => "The contracts are the same".to_owned(),
        count => format!("The contracts differ in {}", counted(count, "field")),
    };
    let _ = writeln!(out, "{count}.");
    for differs in terms.iter().take(MOST_FIELDS) {
        let (recorded, other) = (brief(&differs.recorded, 200), brief(&differs.other, 200));
        let _ = writeln!(
            out,
            "  {}: recorded {recorded}, other {other}",
            line(&differs.pointer)
        );
    }
    if terms.len() > MOST_FIELDS {
        out.push_str("  … monolith replay --json lists them all\n");
    }
    if let Some(why) = &report.refused {
        let why = line(why);
        let _ = writeln!(
            out,
            "The other contract is refused before the first request: {why}."
        );
        for value in recorded_values {
            let _ = writeln!(out, "  {value}");
        }
    }
    let same = grouped(report.same_decisions);
    let all = counted(report.entries, "entry");
    let verb = if report.entries == 1 {
        "decides"
    } else {
        "decide"
    };
    let _ = writeln!(out, "{same} of {all} {verb} the same.");
    if let Some(first) = &report.first_other_decision {
        let _ = writeln!(
            out,
            "The first that decides otherwise is entry {}:",
            first.seq
        );
        let _ = writeln!(out, "  recorded  {}", line(&first.recorded));
        let _ = writeln!(out, "  other     {}", line(&first.other));
    }
    if let Some(end) = &report.no_longer_fits {
        let _ = writeln!(
            out,
            "From entry {} on the recording no longer fits: {}.",
            end.seq,
            line(&end.why)
        );
        let _ = writeln!(out, "  recorded  {}", line(&end.recorded));
        let _ = writeln!(out, "  other     {}", line(&end.other));
    }
    for note in &report.not_compared {
        let _ = writeln!(out, "not compared: {}", line(note));
    }
    let end = |outcome: Option<Outcome>, none: &str| {
        outcome.map_or_else(|| none.to_owned(), |outcome| outcome.to_string())
    };
    let recorded = end(report.recorded_outcome, "no end");
    let so_far = report.recorded_outcome.is_none() && report.same_decisions == report.entries;
    let verdict = if so_far {
        let same = screen.paint_out(Style::Good, "same so far");
        format!("{same}: the recorded run has no end yet\n")
    } else if report.same_outcome {
        let same = screen.paint_out(Style::Good, "same end");
        format!("{same}: {recorded}\n")
    } else {
        let other = screen.paint_out(Style::Bad, "not the same end");
        let would = end(report.outcome, "unknown, for the recording does not say");
        format!("{other}: recorded {recorded}, other {would}\n")
    };
    out.push_str(&verdict);
    out
}
