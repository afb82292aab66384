//! A report of a verification as text.

use std::fmt::Write as _;

use crate::ui::screen::{Screen, Style};
use monolith_core::transcript::{FirstBad, FlawKind, VerifyCheck, VerifyReport};
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

/// The advice about a run in progress if the caller did not accept one.
pub(crate) const HOW_TO_ACCEPT: &str =
    "  --open accepts a run in progress; else what is missing may have been cut off\n";

/// Checks and what was not checked, for people.
pub(crate) fn checks(screen: Screen, checks: &[VerifyCheck], not_checked: &[String]) -> String {
    let mut out = String::new();
    for check in checks {
        let verdict = if check.ok {
            screen.paint_out(Style::Good, "ok    ")
        } else {
            screen.paint_out(Style::Bad, "FAILED")
        };
        let _ = writeln!(out, "{verdict}  {:<11} {}", check.name, line(&check.detail));
    }
    for note in not_checked {
        let _ = writeln!(out, "        not checked: {}", line(note));
    }
    out
}

/// The report for people.
pub(crate) fn report_text(screen: Screen, report: &VerifyReport) -> String {
    let mut out = checks(screen, &report.checks, &report.not_checked);
    let verdict = match &report.first_bad {
        None => {
            let met = report.checks.iter().all(|check| check.ok);
            let holds = if met {
                screen.paint_out(Style::Good, "verified")
            } else {
                let failed = screen.paint_out(Style::Bad, "FAILED");
                format!("{failed}: not the required level; verified")
            };
            let head = report.head.map(|head| format!(", head {head}"));
            format!(
                "{holds} at level {}: {}{}\n",
                report.level,
                counted(report.entries, "entry"),
                head.unwrap_or_default()
            )
        }
        Some(bad) => {
            let broken = screen.paint_out(Style::Bad, "not verified");
            let help = if bad.kind == FlawKind::Incomplete {
                HOW_TO_ACCEPT
            } else {
                ""
            };
            format!("{broken}: {}\n{help}", place(bad))
        }
    };
    out.push_str(&verdict);
    out
}

/// Where the first flaw is, and what it is.
pub(crate) fn place(bad: &FirstBad) -> String {
    let mut at = Vec::new();
    at.extend(bad.seq.map(|seq| format!("entry {seq}")));
    at.extend(bad.line.map(|line| format!("line {line}")));
    at.extend(bad.table.map(|table| format!("table {table}")));
    format!(
        "{} at {}, {}: expected {}, got {}",
        bad.kind,
        at.join(", "),
        line(&bad.field),
        line(&bad.expected),
        line(&bad.actual)
    )
}
