//! What asking again came to, as text: the verdict, then each difference.

use std::fmt::Write as _;

use super::recorded::list_differences;
use crate::commands::verify::HOW_TO_ACCEPT;
use crate::ui::screen::{Screen, Style};
use monolith_core::replay::LiveReport;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

pub(in crate::commands::replay) fn live_text(screen: Screen, report: &LiveReport) -> String {
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
