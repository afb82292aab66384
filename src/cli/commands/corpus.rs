use std::fmt::Write as _;

use serde::Serialize;

use super::adapters;
use crate::cli::args::{CorpusCommand, CorpusRunArgs};
use crate::cli::error::CliError;
use crate::cli::escape::line;
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::numbers::counted;
use crate::cli::screen::{Screen, Style};
use crate::conformance::{CaseRow, CorpusReport, CorpusTotals, run_corpus};

#[derive(Serialize)]
struct Document<'r> {
    records: Vec<Record<'r>>,
    table: &'r [CaseRow],
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
pub(in crate::cli) fn corpus(home: &Home, command: &CorpusCommand) -> Result<Exit, CliError> {
    match command {
        CorpusCommand::Run(args) => run(home, args),
        CorpusCommand::Adapters(args) => adapters::adapters(home, args),
    }
}

fn run(home: &Home, args: &CorpusRunArgs) -> Result<Exit, CliError> {
    let report = run_corpus(args.filter.as_deref());
    if report.rows.is_empty() {
        return Err(CliError::NoSuchCase {
            filter: args.filter.clone().unwrap_or_default(),
        });
    }
    if args.json {
        home.screen.out_json(&document(&report))?;
    } else {
        home.screen.out(&told(home.screen, &report))?;
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
    let CorpusTotals {
        cases,
        passed,
        failed,
    } = report.totals;
    let cases = counted(cases, "case");
    let _ = writeln!(out, "{cases}: {passed} as expected, {failed} otherwise");
    out
}
