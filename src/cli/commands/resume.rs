//! `monolith resume`: resumes a recorded run under the contract file that it was begun with.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::commands::drive::{LeavingArgs, RecordingArgs, Watched, drive_to_the_end, report};
use crate::commands::many::{self, LimitArgs};
use crate::commands::workflow::{WorkflowJob, resume_workflow};
use crate::context::app::App;
use crate::context::trust::trusting;
use monolith_core::message::RunId;
use monolith_host::store::{Durability, Store};
use monolith_service::drive::ended::{Broken, Ended};
use monolith_service::drive::follower::Follower;
use monolith_service::drive::overwritten::overwritten;
use monolith_service::drive::resume::{Found, OpenRun, Resume, judge_pins, open};
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::many::{Inputs, Terms};
use monolith_service::source::Source;
use monolith_service::workflow::check::{as_written, refuse_options};
use monolith_service::workflow_entries::WorkflowSource;

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Run name or unique prefix, or `last`
    #[arg(value_name = "RUN", required_unless_present = "all")]
    pub(crate) run: Option<String>,
    /// Resume all unfinished runs, with a result for each
    ///
    /// Resumes the runs of the store that have not ended and that no process drives. Each prints one result line when it
    /// ends.
    #[arg(long, conflicts_with_all = ["run", "contract", "pins", "verbose"])]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// The contract file, if it has moved
    ///
    /// It supplies what a contract does not contain: keys, headers, variables. Default: the file that the run started with.
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// Supply a value that is not recorded
    ///
    /// A run keeps its contract, so a change such as max_turns=3 is refused. Values outside the contract may differ, such as
    /// the value of a header: providers.NAME.headers.x-team=a. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// A file of heads that were noted earlier; a run with missing or different entries is refused
    #[arg(hide_short_help = true, long = "pin", value_name = "FILE")]
    pub(crate) pins: Vec<PathBuf>,
    /// Print the result as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) leaving: LeavingArgs,
}

impl ResumeArgs {
    fn end_terms(&self) -> EndTerms {
        EndTerms {
            durability: self.recording.durability.into(),
            leaving: self.leaving,
        }
    }
}

/// `monolith resume`.
pub(crate) fn resume(app: &App, mut args: ResumeArgs) -> Result<Exit, ServiceError> {
    let Some(run) = args.run.take() else {
        return resume_all(app, args);
    };
    args.limits.refused_unless("--all")?;
    // Where nobody can be asked, a call that waits is left to `approve`: it may have waited for days.
    args.leaving.no_wait |= !(app.screen.is_watched() && io::stdin().is_terminal());
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

/// Resumes one run, or reports its recorded result.
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
    let inputs = Inputs::unfinished(app)?;
    if inputs.left() == Some(0) {
        app.screen.write_err("note: no runs to resume\n");
        return Ok(Exit::OK);
    }
    let terms = Terms {
        durability: args.recording.durability.into(),
        grace: Duration::from_secs(args.leaving.grace),
        limits: args.limits.into(),
        service: app.service.clone(),
        sets: args.sets,
        surface: Box::new(app.clone()),
        task: None,
    };
    many::drive(app, terms, inputs, args.json, "")
}

fn resume_to_its_end(app: &App, run: String, args: ResumeArgs) -> Result<Ended, Broken> {
    overwritten(app, app.accounting.kept.save.as_deref())?;
    let durability = args.recording.durability.into();
    let asked = Resume {
        contract: args.contract,
        durability,
        pins: args.pins,
        run,
        sets: args.sets,
    };
    let found = trusting(app, || open(app, asked.clone()))?;
    match found {
        Found::Ended(ended) => {
            app.screen
                .write_err("note: the run had already ended; this is its recorded result\n");
            Ok(*ended)
        }
        Found::Open(run) => drive_open(app, *run, durability, args.leaving),
    }
}

/// Drives a run of the store to its end.
fn drive_open(
    app: &App,
    run: OpenRun,
    durability: Durability,
    leaving: LeavingArgs,
) -> Result<Ended, Broken> {
    if let Some((run, parent)) = run.ended_with() {
        let note = format!("note: parent run {parent} of {run} has ended, so {run} ends too\n");
        app.screen.write_err(&note);
    }
    let live = Follower::accounting(app, Watched::of_app(app), None, durability)?;
    drive_to_the_end(None, &live, leaving, async |conduct| {
        Box::pin(run.drive(app, conduct)).await
    })
}

/// Terms under which runs are driven to their end.
#[derive(Clone, Copy, Debug)]
struct EndTerms {
    durability: Durability,
    leaving: LeavingArgs,
}

/// Ends every open run below one that has ended. What keeps one of them open is reported once each was tried: the first fault.
fn end_all_below(app: &App, run_id: &RunId, terms: EndTerms) -> Result<(), ServiceError> {
    let Some(mut reader) = app.reader()? else {
        return Ok(());
    };
    let open = reader.open_below(run_id)?;
    if open.is_empty() {
        return Ok(());
    }
    let store = app.open_store(terms.durability)?;
    let mut first_fault = None;
    for below in &open {
        if let Err(fault) = end_below(app, &store, below, terms) {
            first_fault = first_fault.or(Some(fault.error));
        }
    }
    first_fault.map_or(Ok(()), Err)
}

fn end_below(app: &App, store: &Store, below: &RunId, terms: EndTerms) -> Result<(), Broken> {
    match OpenRun::child_of_ended(app, store, below)? {
        None => Ok(()),
        Some(run) => drive_open(app, run, terms.durability, terms.leaving).map(drop),
    }
}
