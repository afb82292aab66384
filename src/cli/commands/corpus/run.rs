use std::fmt::Write as _;

use serde::Serialize;

use super::args::{CorpusCommand, CorpusRunArgs};
use super::metrics::told_metrics;
use super::{adapters, coverage, live};
use crate::cli::context::app::App;
use crate::cli::context::error::{CliError, CorpusFault};
use crate::cli::context::exit::Exit;
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::counted;
use crate::cli::ui::screen::{Screen, Style};
use crate::conformance::{CaseRow, CorpusReport, CorpusTotals, Metrics, ProfileRow, run_corpus};
use crate::contract::ModelProfile;

#[derive(Serialize)]
struct Document<'r> {
    records: Vec<Record<'r>>,
    table: &'r [CaseRow],
    profiles: &'r [ProfileRow],
    metrics: &'r Metrics,
    totals: CorpusTotals,
}

#[derive(Serialize)]
struct Record<'r> {
    id: &'r str,
    status: &'static str,
    /// What differs first; null where nothing does.
    failure_code: Option<&'r str>,
    /// Cases are whole runs: their calls stand in their transcripts.
    calls: [(); 0],
}

/// `monolith corpus`.
pub(in crate::cli) fn corpus(app: &App, command: &CorpusCommand) -> Result<Exit, CliError> {
    match command {
        CorpusCommand::Run(args) => run(app, args),
        CorpusCommand::Coverage(args) => coverage::coverage(app, args),
        CorpusCommand::Adapters(args) => adapters::adapters(app, args),
    }
}

fn run(app: &App, args: &CorpusRunArgs) -> Result<Exit, CliError> {
    if let Some(url) = &args.live {
        return live::live(app, url, args);
    }
    if let Some(profile) = &args.profile
        && ModelProfile::by_id(profile).is_none()
    {
        let known = ModelProfile::all().iter().map(|p| p.id.as_str());
        return Err(CorpusFault::NoSuchProfile {
            got: profile.clone(),
            known: known.collect::<Vec<_>>().join(", "),
        }
        .into());
    }
    let report = run_corpus(args.filter.as_deref(), args.profile.as_deref());
    if report.rows.is_empty() {
        return Err(CorpusFault::NoSuchCase {
            filter: args.filter.clone().unwrap_or_default(),
        }
        .into());
    }
    if args.json {
        app.screen.out_json(&document(&report))?;
    } else {
        app.screen.out(&told(app.screen, &report))?;
    }
    Ok(if report.totals.failed == 0 {
        Exit::OK
    } else {
        Exit::FAILED
    })
}

fn document(report: &CorpusReport) -> Document<'_> {
    let records = report.rows.iter().map(|row| Record {
        id: &row.id,
        status: if row.ok { "passed" } else { "failed" },
        failure_code: (!row.ok).then_some(row.got.as_str()),
        calls: [],
    });
    Document {
        records: records.collect(),
        table: &report.rows,
        profiles: &report.profiles,
        metrics: &report.metrics,
        totals: report.totals,
    }
}

fn told(screen: Screen, report: &CorpusReport) -> String {
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
    out.push_str(&told_profiles(screen, &report.profiles));
    out.push_str(&told_metrics(&report.metrics));
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
fn told_profiles(screen: Screen, profiles: &[ProfileRow]) -> String {
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
