//! The results of the cases, as text.

use std::fmt::Write as _;

use super::metrics::metrics_text;
use crate::ui::screen::{Screen, Style};
use monolith_conformance::{CorpusReport, CorpusTotals, ProfileRow};
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

pub(in crate::commands::corpus) fn cases_text(screen: Screen, report: &CorpusReport) -> String {
    let mut out = String::new();
    let width = report.rows.iter().map(|row| row.id.len()).max();
    for row in &report.rows {
        let width = width.unwrap_or_default();
        let verdict = if row.ok {
            screen.paint_out(Style::Good, "ok    ")
        } else {
            screen.paint_out(Style::Bad, "FAILED")
        };
        let (id, got) = (line(&row.id), line(&row.got));
        let _ = writeln!(out, "{verdict}  {id:<width$}  {got}");
        if !row.ok {
            let _ = writeln!(out, "        expected {}", line(&row.expected));
            for detail in &row.detail {
                let _ = writeln!(out, "        {}", line(detail));
            }
        }
    }
    out.push_str(&profiles_text(screen, &report.profiles));
    out.push_str(&metrics_text(&report.metrics));
    let CorpusTotals {
        cases,
        passed,
        failed,
    } = report.totals;
    let cases = counted(cases, "case");
    let _ = writeln!(out, "{cases}: {passed} as expected, {failed} otherwise");
    out
}

/// The table profile × case.
fn profiles_text(screen: Screen, profiles: &[ProfileRow]) -> String {
    let mut out = String::new();
    let Some(first) = profiles.first() else {
        return out;
    };
    let profile = profiles.iter().map(|row| row.profile.len()).max();
    let proto = profiles.iter().map(|row| row.proto.len()).max();
    let (profile, proto) = (
        profile.unwrap_or(0),
        proto.unwrap_or(0).max("protocol".len()),
    );
    let mut head = format!("{:profile$}  {:proto$}", "profile", "protocol");
    for case in &first.cases {
        let _ = write!(head, "  {}", case.case);
    }
    let _ = writeln!(out, "\n{}", screen.paint_out(Style::Bold, &head));
    for row in profiles {
        let _ = write!(out, "{:profile$}  {:proto$}", line(&row.profile), row.proto);
        for case in &row.cases {
            let width = case.case.len();
            let cell = if case.played == 0 {
                format!("{:width$}", "-")
            } else if case.refused == case.played {
                format!("{:width$}", "no")
            } else if case.passed == case.played {
                screen.paint_out(Style::Good, &format!("{:width$}", "ok"))
            } else {
                let cell = format!("{}/{}", case.passed, case.played);
                screen.paint_out(Style::Bad, &format!("{cell:width$}"))
            };
            let _ = write!(out, "  {cell}");
        }
        out.push('\n');
    }
    out.push('\n');
    out
}
