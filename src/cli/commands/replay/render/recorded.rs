//! What a replay came to, as text.

use std::fmt::Write as _;

use crate::cli::commands::verify;
use crate::cli::context::app::App;
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::counted;
use crate::cli::ui::screen::Style;
use crate::replay::{Difference, ReplayReport};

/// How many differences are written out for people.
const MOST: usize = 20;

/// The first of the differences, a line each.
pub(in crate::cli) fn list_differences(out: &mut String, differences: &[Difference]) {
    for difference in differences.iter().take(MOST) {
        let _ = writeln!(out, "  {}", line(&difference.to_string()));
    }
    if differences.len() > MOST {
        out.push_str("  … monolith replay --json lists them all\n");
    }
}

/// The report for people.
pub(in crate::cli) fn report_text(app: &App, report: &ReplayReport) -> String {
    if report.open {
        return open_text(app, report);
    }
    let entries = counted(report.entries, "entry");
    let mut out = if report.same {
        let same = app.screen.paint_out(Style::Good, "same");
        format!("{same}: {entries} decided again, byte for byte as recorded\n")
    } else {
        let other = app.screen.paint_out(Style::Bad, "not the same");
        let count = counted(report.differences.len(), "difference");
        format!("{other}: {count} in {entries}\n")
    };
    list_differences(&mut out, &report.differences);
    list_not_compared(&mut out, &report.not_compared);
    out
}

/// The report of a run in progress: all that there is was decided again.
pub(in crate::cli::commands::replay) fn open_text(app: &App, report: &ReplayReport) -> String {
    let so_far = app.screen.paint_out(Style::Good, "same so far");
    let entries = counted(report.entries, "entry");
    let mut out = format!("{so_far}: {entries}; the run has not ended yet\n");
    if !report.same {
        out.push_str(verify::HOW_TO_ACCEPT);
    }
    list_not_compared(&mut out, &report.not_compared);
    out
}

pub(in crate::cli::commands::replay) fn list_not_compared(out: &mut String, notes: &[String]) {
    for note in notes {
        let _ = writeln!(out, "not compared: {}", line(note));
    }
}
