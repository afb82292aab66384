//! What a replay came to, as text.

use std::fmt::Write as _;

use crate::commands::verify;
use crate::context::app::App;
use crate::ui::screen::Style;
use monolith_core::replay::{Difference, ReplayReport};
use monolith_service::text::escape::line;
use monolith_service::text::numbers::{counted, grouped};

/// How many differences are written out for people.
const MOST: usize = 20;

/// The first of the differences, a line each.
pub(crate) fn list_differences(out: &mut String, differences: &[Difference]) {
    for difference in differences.iter().take(MOST) {
        let _ = writeln!(out, "  {}", line(&difference.to_string()));
    }
    if differences.len() > MOST {
        out.push_str("  … monolith replay --json lists them all\n");
    }
}

/// What differs at the first entry that differs, a line each. What follows from it is counted: it says nothing new.
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

/// How many there are, those that are in no entry by themselves.
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
pub(in crate::commands::replay) fn open_text(app: &App, report: &ReplayReport) -> String {
    let so_far = app.screen.paint_out(Style::Good, "same so far");
    let entries = counted(report.entries, "entry");
    let mut out = format!("{so_far}: {entries}; the run has not ended yet\n");
    if !report.same {
        out.push_str(verify::HOW_TO_ACCEPT);
    }
    list_not_compared(&mut out, &report.not_compared);
    out
}

pub(in crate::commands::replay) fn list_not_compared(out: &mut String, notes: &[String]) {
    for note in notes {
        let _ = writeln!(out, "not compared: {}", line(note));
    }
}
