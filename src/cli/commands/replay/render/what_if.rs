//! How a run would have been decided under another contract, as text.

use std::fmt::Write as _;

use crate::ui::screen::{Screen, Style};
use monolith_core::kernel::Outcome;
use monolith_core::replay::WhatIfReport;
use monolith_service::text::escape::{brief, line};
use monolith_service::text::numbers::{counted, grouped};

/// How many differing fields of the contracts are written out for people.
const MOST: usize = 20;

pub(in crate::commands::replay) fn what_if_text(
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
    for differs in terms.iter().take(MOST) {
        let (recorded, other) = (brief(&differs.recorded, 200), brief(&differs.other, 200));
        let _ = writeln!(
            out,
            "  {}: recorded {recorded}, other {other}",
            line(&differs.pointer)
        );
    }
    if terms.len() > MOST {
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
