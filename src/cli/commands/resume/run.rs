//! `monolith resume`: goes on with a recorded run under the contract file that it was begun with.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::args::ResumeArgs;
use super::below::{EndTerms, end_all_below, end_orphan};
use crate::commands::drive::{Broken, Ended, Live, drive_to_the_end, report, waits_unanswered};
use crate::commands::many::{Fleet, RecordedRuns, Terms};
use crate::commands::verify::{self, place};
use crate::commands::workflow::{WorkflowJob, resume_workflow};
use crate::context::app::App;
use monolith_core::message::RunId;
use monolith_core::transcript::Pin;
use monolith_host::driver::{self, DriverError};
use monolith_host::store::{RunFilter, StoreError};
use monolith_service::contract_file::ContractFile;
use monolith_service::drive::accounts::Accounts;
use monolith_service::drive::overwritten::overwritten;
use monolith_service::error::ServiceError;
use monolith_service::error::contract::ContractFault;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::source::Source;
use monolith_service::workflow::options::{as_written, refuse_options};
use monolith_service::workflow_entries::WorkflowSource;

/// `monolith resume`.
pub(crate) fn resume(app: &App, mut args: ResumeArgs) -> Result<Exit, ServiceError> {
    let Some(run) = args.run.take() else {
        return resume_all(app, args);
    };
    args.limits.refused_unless("--all")?;
    let terms = args.end_terms();
    let had_ended = match app.run(&run)? {
        Source::Run(run_id, reader) if !reader.is_open(&run_id)? => Some(run_id),
        _ => None,
    };
    let exit = resume_one(app, run, args)?;
    // Its recorded result stands, whatever is wrong below it.
    if let Some(run_id) = had_ended {
        end_all_below(app, &run_id, terms)?;
    }
    Ok(exit)
}

impl ResumeArgs {
    fn end_terms(&self) -> EndTerms {
        EndTerms {
            durability: self.recording.durability.into(),
            leaving: self.leaving,
        }
    }
}

/// Goes on with one run, or reports its recorded result.
fn resume_one(app: &App, run: String, args: ResumeArgs) -> Result<Exit, ServiceError> {
    if let Ok(source) = WorkflowSource::of(app.run(&run)?)? {
        let run_id = source.run_id.clone();
        drop(source);
        let contract = args.contract.iter().map(|_| "--contract".to_owned());
        let sets = args.sets.iter().map(|set| format!("--set {set}"));
        as_written(run_id.as_str(), contract.chain(sets))?;
        refuse_options(app.accounting.kept.save.is_some(), run_id.as_str())?;
        judge_pins(app, &run_id, &args.pins)?;
        let job = WorkflowJob {
            durability: args.recording.durability.into(),
            json: args.json,
            leaving: args.leaving,
        };
        return resume_workflow(app, &run_id, job);
    }
    report(app, args.json, resume_to_its_end(app, run, args))
}

/// `monolith resume --all`.
fn resume_all(app: &App, args: ResumeArgs) -> Result<Exit, ServiceError> {
    let limits = Fleet::allowed(args.limits.into())?;
    let mut runs = VecDeque::new();
    if let Some(reader) = app.reader()? {
        // A run below another one goes on with that, and a step with its workflow.
        let goes_with_another = |run_id: &RunId| {
            let first = reader.goes_on_with(run_id);
            first.is_ok_and(|first| first != *run_id)
        };
        // The oldest goes on first.
        reader.each_row(RunFilter::Open, |row| {
            match row {
                Ok(row) if row.is_imported() || goes_with_another(&row.run_id) => {}
                Ok(row) => runs.push_front(Ok(row.run_id)),
                Err(damaged) => runs.push_front(Err(damaged)),
            }
            true
        })?;
    }
    if runs.is_empty() {
        app.screen
            .write_err("note: no run of this store waits to be gone on with\n");
        return Ok(Exit::OK);
    }
    let durability = args.recording.durability.into();
    let readable = runs.iter().filter_map(|run| run.as_ref().ok());
    let accounts = Accounts::resuming(app.billing(durability)?, readable.cloned());
    let terms = Terms {
        accounts,
        app: app.without_questions(),
        json: args.json,
        leaving: args.leaving,
        key: app.redaction_key()?,
        sets: args.sets,
        task: None,
    };
    let fleet = Fleet::of(&terms, limits, durability)?;
    let terms = Arc::new(terms);
    fleet.drive(RecordedRuns { runs, terms })
}

fn resume_to_its_end(app: &App, run: String, args: ResumeArgs) -> Result<Ended, Broken> {
    // Found first, by who makes nothing: a store or a key is not made for a run that is not there.
    let Source::Run(run_id, mut reader) = app.run(&run)? else {
        let asked = run;
        return Err(ServiceError::from(StoreError::NoSuchRun { asked }).into());
    };
    overwritten(app, app.accounting.kept.save.as_deref())?;
    let first = app.first_of(&run_id)?;
    if reader.read_run(&run_id)?.row().outcome.is_some() {
        // It has its result already, if it is the one that was recorded.
        let trust = app.trust(&[], &[], &[])?;
        let (report, _) = verify::report_of(app.source(&run)?, true, &trust)?;
        if let Some(bad) = &report.first_bad {
            let place = place(bad);
            let asked = run;
            return Err(ServiceError::from(TranscriptFault::NotVerified { asked, place }).into());
        }
        app.screen
            .write_err("note: the run had ended; this is its recorded result\n");
        judge_pins(app, &run_id, &args.pins)?;
        let (run, view) = Source::Run(run_id, reader).fold(first)?;
        return Ok(Ended::of(&run, view));
    }
    drop(reader);
    let store = app.open_store(args.recording.durability.into())?;
    let reopened = driver::reopen(&store, &run_id, &app.environment)?;
    judge_pins(app, &run_id, &args.pins)?;
    if reopened.is_orphan() {
        return end_orphan(app, &store, reopened, args.end_terms());
    }
    let begun = reopened.invocation().cloned();
    let changes = args.sets.clone();
    let file = ContractFile::of_run(app, begun, args.contract, args.sets);
    let file = file.ok_or(ContractFault::NoContractFile {
        run_id: run_id.clone(),
    })?;
    let request = file.request(app, app.read_contract(&file)?, app.redaction_key()?);
    let sessions = request.spec.sessions_dir.as_deref();
    let live = Live::accounting(app, sessions, args.recording.durability.into())?;
    if let Some(first) = first {
        live.originating_from(first);
    }
    live.recall(reopened.contract(), reopened.entries())?;
    if args.leaving.no_wait && waits_unanswered(app, &live, &run_id, &reopened) {
        let left = live.take_view().map(Ended::left);
        return left.ok_or_else(|| ServiceError::from(DriverError::Cancelled).into());
    }
    let request = live.preparing(request);
    let prepare =
        async |cancel: &CancellationToken| driver::prepare_resume(reopened, request, cancel).await;
    let driven = drive_to_the_end(None, &store, &live, args.leaving, prepare);
    driven.map_err(|broken| {
        let name = app.brief_name(run_id.as_str());
        let again = |typed: &str| app.hint(&format!("continue {name} \"…\"{typed}"));
        broken.located_as_resumed(&file, &changes, again)
    })
}

/// Holds a run that is locked for this process against what was noted of it: one that was cut would do again what it had done.
fn judge_pins(app: &App, run_id: &RunId, pins: &[PathBuf]) -> Result<(), ServiceError> {
    if pins.is_empty() {
        return Ok(());
    }
    let trust = app.trust(&[], pins, &[])?;
    let of_run = |pin: &Pin| matches!(pin, Pin::Run { run_id: noted, .. } if noted == run_id);
    let run_id = run_id.clone();
    if !trust.pins.iter().any(of_run) {
        return Err(TranscriptFault::NotPinned { run_id }.into());
    }
    let Source::Run(_, mut reader) = app.run(run_id.as_str())? else {
        return Ok(());
    };
    let report = reader.verify_run_trusting(&run_id, true, &trust)?;
    match &report.first_bad {
        None => Ok(()),
        Some(bad) => {
            let place = place(bad);
            Err(TranscriptFault::NotAsPinned { run_id, place }.into())
        }
    }
}
