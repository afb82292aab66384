//! What the log of runs and a proof from it come to, as text: the checks, then the verdict.

use std::fmt::Write as _;

use crate::commands::verify::{checks, place};
use crate::ui::screen::{Screen, Style};
use monolith_core::transcript::ProofReport;
use monolith_host::store::LogReport;
use monolith_service::text::numbers::counted;

pub(super) fn log_text(screen: Screen, report: &LogReport) -> String {
    let mut out = checks(screen, &report.checks, &report.not_checked);
    let _ = match &report.first_bad {
        None => {
            let holds = screen.paint_out(Style::Good, "verified");
            let runs = counted(report.size, "run");
            writeln!(out, "{holds}: log {} with {runs}", report.log)
        }
        Some(bad) => {
            let broken = screen.paint_out(Style::Bad, "not verified");
            writeln!(out, "{broken}: {}", place(bad))
        }
    };
    out
}

pub(super) fn proof_text(screen: Screen, report: &ProofReport) -> String {
    let mut out = checks(screen, &report.checks, &report.not_checked);
    match report.kind {
        None => out.push_str(&screen.paint_out(Style::Good, "proven")),
        Some(kind) => {
            out.push_str(&screen.paint_out(Style::Bad, "not proven"));
            let _ = write!(out, ": {kind}");
        }
    }
    out.push('\n');
    out
}
