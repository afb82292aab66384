use std::fmt::Write as _;

use super::args::ReplayArgs;
use crate::cli::commands::verify;
use crate::cli::context::app::App;
use crate::cli::context::contract_file::ContractFile;
use crate::cli::context::error::{CliError, ContractFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::source::Source;
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::counted;
use crate::cli::ui::screen::Style;
use crate::inference::BuiltInTokenizers;
use crate::replay::{Difference, ReplayReport, Replayer};
use crate::transcript::FirstBad;

/// How many differences are written out for people.
const MOST: usize = 20;

/// `monolith replay` without another mode: as it is recorded.
pub(in crate::cli) fn replay(app: &App, args: &ReplayArgs) -> Result<Exit, CliError> {
    let report = verified_report(app, &args.run, args.open)?;
    tell(app, &report, args.json)
}

/// Shows a report.
pub(in crate::cli) fn tell(app: &App, report: &ReplayReport, json: bool) -> Result<Exit, CliError> {
    if json {
        app.screen.out_json(report)?;
    } else {
        app.screen.out(&told(app, report))?;
    }
    Ok(Exit::of_replay(report))
}

/// Verifies a transcript, then decides it again. A flaw of the evidence is the first difference; what can still be read is
/// decided all the same.
fn verified_report(app: &App, asked: &str, open: bool) -> Result<ReplayReport, CliError> {
    let flaw = evidence_flaw(app, asked)?;
    let report = report_of(app.source(asked)?, open);
    match (flaw, report) {
        (None, report) => report,
        (Some(flaw), Ok(report)) => Ok(report.with_flaw(&flaw)),
        (Some(flaw), Err(_)) => Ok(ReplayReport::default().with_flaw(&flaw)),
    }
}

/// The first flaw of a transcript, which may be of a run in progress.
pub(in crate::cli) fn evidence_flaw(app: &App, asked: &str) -> Result<Option<FirstBad>, CliError> {
    let trust = app.trust(&[], &[], &[])?;
    let (verified, _) = verify::report_of(app.source(asked)?, true, &trust)?;
    Ok(verified.first_bad)
}

/// The contract file of a replay: the one that is named, else the one that the run was begun with. With `changed_then`, what was
/// changed of its values then is changed now too, before what is asked now.
pub(in crate::cli) fn contract_file(
    app: &App,
    args: &ReplayArgs,
    source: &Source,
    changed_then: bool,
) -> Result<ContractFile, CliError> {
    let mut begun = match source {
        Source::Run(run_id, reader) => reader.invocation(run_id)?,
        Source::File(_) => None,
    };
    if let Some(begun) = begun.as_mut().filter(|_| !changed_then) {
        begun.sets.clear();
    }
    let file = ContractFile::of_run(app, begun, args.contract.clone(), args.sets.clone());
    let none = || ContractFault::NoFileOfRun {
        asked: args.run.clone(),
    };
    Ok(file.ok_or_else(none)?)
}

/// Replays a whole transcript. `open` accepts one that has no seal yet.
pub(in crate::cli) fn report_of(source: Source, open: bool) -> Result<ReplayReport, CliError> {
    let replayer = source.each_entry_with_blobs(
        |contract, run_id| Replayer::new(contract, &run_id).counting_with(&BuiltInTokenizers),
        |replayer, entry, blobs| replayer.take(entry, blobs),
    )?;
    Ok(replayer.finish(open))
}

/// The report for people.
pub(in crate::cli) fn told(app: &App, report: &ReplayReport) -> String {
    if report.open {
        return told_open(app, report);
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
    tell_not_compared(&mut out, &report.not_compared);
    out
}

/// The report of a run in progress: all that there is was decided again.
fn told_open(app: &App, report: &ReplayReport) -> String {
    let so_far = app.screen.paint_out(Style::Good, "same so far");
    let entries = counted(report.entries, "entry");
    let mut out = format!("{so_far}: {entries}; the run has no seal yet\n");
    if !report.same {
        out.push_str(verify::HOW_TO_ACCEPT);
    }
    tell_not_compared(&mut out, &report.not_compared);
    out
}

fn tell_not_compared(out: &mut String, notes: &[String]) {
    for note in notes {
        let _ = writeln!(out, "not compared: {}", line(note));
    }
}

/// The first of the differences, a line each.
pub(in crate::cli) fn list_differences(out: &mut String, differences: &[Difference]) {
    for difference in differences.iter().take(MOST) {
        let _ = writeln!(out, "  {}", line(&difference.to_string()));
    }
    if differences.len() > MOST {
        out.push_str("  … monolith replay --json lists them all\n");
    }
}
