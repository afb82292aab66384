//! `monolith replay` as recorded: verifies a transcript, then decides it again.

use super::args::ReplayArgs;
use super::render::report_text;
use crate::commands::verify;
use crate::context::app::App;
use monolith_core::replay::ReplayReport;
use monolith_core::transcript::FirstBad;
use monolith_host::store::judge_store;
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::error::contract::ContractFault;
use monolith_service::exit::Exit;
use monolith_service::source::Source;

/// `monolith replay` without another mode: as it is recorded.
pub(crate) fn replay(app: &App, args: &ReplayArgs) -> Result<Exit, ServiceError> {
    let report = verified_report(app, &args.run, args.open)?;
    print(app, &report, args.json)
}

/// Shows a report.
pub(crate) fn print(app: &App, report: &ReplayReport, json: bool) -> Result<Exit, ServiceError> {
    if json {
        app.screen.out_json(report)?;
    } else {
        app.screen.out(&report_text(app, report))?;
    }
    Ok(Exit::of_replay(report))
}

/// Verifies a transcript, then decides it again. A flaw of the evidence is the first difference; what can still be read is
/// decided all the same.
fn verified_report(app: &App, asked: &str, open: bool) -> Result<ReplayReport, ServiceError> {
    let flaw = evidence_flaw(app, asked)?;
    let report = app.source(asked)?.replayed(open);
    match (flaw, report) {
        (None, report) => report,
        (Some(flaw), Ok(report)) => Ok(report.with_flaw(&flaw)),
        (Some(flaw), Err(_)) => Ok(ReplayReport::default().with_flaw(&flaw)),
    }
}

/// The first flaw of a transcript, which may be of a run in progress.
pub(crate) fn evidence_flaw(app: &App, asked: &str) -> Result<Option<FirstBad>, ServiceError> {
    let trust = app.trust(&[], &[], &[])?;
    let (verified, _) = verify::report_of(app.source(asked)?, true, &trust)?;
    Ok(verified.first_bad)
}

/// The contract file of a replay: the one that is named, else the one that the run was begun with. With `changed_then`, what was
/// changed of its values then is changed now too, before what is asked now.
pub(crate) fn contract_file(
    app: &App,
    args: &ReplayArgs,
    source: &Source,
    changed_then: bool,
) -> Result<ContractFile, ServiceError> {
    let mut begun = match source {
        Source::Run(run_id, reader) => {
            // The chain does not cover it, and it decides which file starts commands and gets keys: only this user's counts.
            judge_store(&app.store_path()?)?;
            reader.invocation(run_id)?
        }
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
