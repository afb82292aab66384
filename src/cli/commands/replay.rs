use std::fmt::Write as _;

use crate::cli::args::ReplayArgs;
use crate::cli::error::CliError;
use crate::cli::escape::line;
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::numbers::{counted, grouped};
use crate::cli::recorded::Source;
use crate::cli::screen::Style;
use crate::replay::{ReplayReport, Replayer};

/// How many differences are written out for people.
const MOST: usize = 20;

/// `monolith replay`.
pub(in crate::cli) fn replay(home: &Home, args: &ReplayArgs) -> Result<Exit, CliError> {
    let report = report_of(home.source(&args.run)?)?;
    if args.json {
        home.screen.out_json(&report)?;
    } else {
        home.screen.out(&told(home, &report))?;
    }
    Ok(Exit::of_replay(&report))
}

/// Replays a whole transcript.
pub(super) fn report_of(source: Source) -> Result<ReplayReport, CliError> {
    let recorded = source.load()?;
    let mut replayer = Replayer::new(recorded.contract.clone(), &recorded.run_id);
    for entry in &recorded.entries {
        replayer.take(entry, &recorded);
    }
    Ok(replayer.finish(false))
}

/// The report for people.
pub(super) fn told(home: &Home, report: &ReplayReport) -> String {
    let entries = grouped(report.entries);
    let mut out = if report.same {
        let same = home.screen.paint_out(Style::Good, "same");
        format!("{same}: {entries} entries decided again, byte for byte as recorded\n")
    } else {
        let other = home.screen.paint_out(Style::Bad, "not the same");
        let count = counted(report.differences.len(), "difference");
        format!("{other}: {count} in {entries} entries\n")
    };
    for difference in report.differences.iter().take(MOST) {
        let _ = writeln!(out, "  {}", line(&difference.to_string()));
    }
    if report.differences.len() > MOST {
        out.push_str("  … monolith replay --json lists them all\n");
    }
    for note in &report.not_compared {
        let _ = writeln!(out, "not compared: {}", line(note));
    }
    out
}
