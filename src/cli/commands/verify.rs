use std::fmt::Write as _;

use crate::cli::args::VerifyArgs;
use crate::cli::error::CliError;
use crate::cli::escape::line;
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::recorded::{Source, each_line};
use crate::cli::screen::{Screen, Style};
use crate::transcript::{FirstBad, LineVerifier, VerifyOptions, VerifyReport};

/// `monolith verify`.
pub(in crate::cli) fn verify(home: &Home, args: &VerifyArgs) -> Result<Exit, CliError> {
    let report = report_of(home.source(&args.run)?, args.open)?;
    if args.json {
        home.screen.out_json(&report)?;
    } else {
        home.screen.out(&told(home.screen, &report))?;
    }
    Ok(Exit::of_verify(&report))
}

/// Verifies a whole transcript; `open` accepts a run in progress.
pub(super) fn report_of(source: Source, open: bool) -> Result<VerifyReport, CliError> {
    Ok(match source {
        Source::Run(run_id, mut reader) => reader.verify_run(&run_id, open)?,
        Source::File(path) => {
            let mut verifier = LineVerifier::new(VerifyOptions {
                open,
                ..VerifyOptions::default()
            });
            each_line(&path, |line| Ok(verifier.line(line)))?;
            verifier.finish()
        }
    })
}

/// The report for people.
pub(super) fn told(screen: Screen, report: &VerifyReport) -> String {
    let mut out = String::new();
    for check in &report.checks {
        let verdict = if check.ok {
            screen.paint_out(Style::Good, "ok    ")
        } else {
            screen.paint_out(Style::Bad, "FAILED")
        };
        let _ = writeln!(out, "{verdict}  {:<9} {}", check.name, line(&check.detail));
    }
    for note in &report.not_checked {
        let _ = writeln!(out, "        not checked: {}", line(note));
    }
    let verdict = match &report.first_bad {
        None => {
            let holds = screen.paint_out(Style::Good, "verified");
            let head = report.head.map(|head| format!(", head {head}"));
            format!(
                "{holds} at level {}: {} entries{}\n",
                report.level,
                report.entries,
                head.unwrap_or_default()
            )
        }
        Some(bad) => {
            let broken = screen.paint_out(Style::Bad, "not verified");
            format!("{broken}: {}\n", place(bad))
        }
    };
    out.push_str(&verdict);
    out
}

/// Where the first flaw is, and what it is.
pub(super) fn place(bad: &FirstBad) -> String {
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
