//! `monolith continue`: a new run that goes on from the conversation of an ended one. The ended run is only read.

use std::mem::take;
use std::path::PathBuf;

use clap::Args;
use tokio::runtime::Runtime;

use crate::commands::contract::{check_file, refuse_file};
use crate::commands::drive::{
    LeavingArgs, RecordingArgs, Watched, argument, drive_to_the_end, keepable, offer_models,
    piped_task, report, task_of, unkeepable,
};
use crate::commands::run::FrontArgs;
use crate::commands::values::run_id;
use crate::context::app::App;
use crate::context::knobs::KnobArgs;
use crate::context::trust::trusting;
use monolith_core::contract::ContractSpec;
use monolith_core::message::{AgentMessage, Role, RunId};
use monolith_host::store::{NEWEST, StoreError};
use monolith_service::as_typed::as_typed;
use monolith_service::begun_below::not_continued;
use monolith_service::contract_file::ContractFile;
use monolith_service::drive::ended::{Broken, Ended};
use monolith_service::drive::follower::Follower;
use monolith_service::drive::fork::{ContinuedRun, Next};
use monolith_service::error::ServiceError;
use monolith_service::error::contract::ContractFault;
use monolith_service::error::input::InputFault;
use monolith_service::exit::Exit;
use monolith_service::secrets::without_secrets;
use monolith_service::source::Source;
use monolith_service::text::command::typed_again;

#[derive(Debug, Args)]
#[command(
    after_help = "What it takes over: monolith continue --help",
    after_long_help = "The new run begins with the conversation of the ended one and your message. It has budgets and a proof of its \
own. Its contract is made again from the file that the run was begun with, with the changes that you give; a file that has changed \
is refused."
)]
pub(crate) struct ContinueArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// What you say now, @FILE, or - for standard input
    ///
    /// Where nothing is given it is read from standard input.
    #[arg(value_name = "MESSAGE")]
    pub(crate) message: Option<String>,
    /// The same as an option: the text, @FILE, or - for standard input
    #[arg(
        long,
        hide_short_help = true,
        value_name = "TEXT|@FILE|-",
        conflicts_with = "message"
    )]
    pub(crate) task: Option<String>,
    /// Continue under this contract file instead
    ///
    /// The file is taken as it is now, whatever the run was begun with.
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// Change a value, such as max_turns=3
    ///
    /// It comes after the changes that the run was begun with, and may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    #[command(flatten)]
    pub(crate) front: FrontArgs,
    #[command(flatten)]
    pub(crate) knobs: KnobArgs,
    /// As `contract check --start-servers`: ask no model
    #[arg(long, hide_short_help = true, conflicts_with = "run_id")]
    pub(crate) dry_run: bool,
    /// Of `run` alone: a run that is continued has a conversation
    #[arg(long, hide = true, value_name = "FILE")]
    pub(crate) load: Option<PathBuf>,
    /// Print the result as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// The new run's name; a random one by default
    #[arg(long, hide_short_help = true, value_name = "ID", value_parser = run_id)]
    pub(crate) run_id: Option<RunId>,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) leaving: LeavingArgs,
}

/// `monolith continue`.
pub(crate) fn continue_run(app: &App, args: ContinueArgs) -> Result<Exit, ServiceError> {
    let json = args.json;
    if args.dry_run {
        return match read_for_dry_run(app, args) {
            Ok((next, said, spec)) => {
                let mut others = unkeepable(app, spec.sessions_dir.as_deref());
                others.extend(app.unusable_store());
                check_file(app, &next.file, (&spec, said, others), json)
            }
            Err(fault) => refuse_file(app, fault, json),
        };
    }
    report(app, json, continued(app, args))
}

fn continued(app: &App, args: ContinueArgs) -> Result<Ended, Broken> {
    let leaving = args.leaving;
    drive_next(app, None, leaving, &next_of(app, args)?)
}

/// What a dry run judges: the file as it is now, with the message as its task, and what was said before.
fn read_for_dry_run(
    app: &App,
    args: ContinueArgs,
) -> Result<(Next, Vec<AgentMessage>, ContractSpec), ServiceError> {
    let next = next_of(app, args)?;
    let ContinuedRun {
        point,
        next,
        mut spec,
        ..
    } = trusting(app, || ContinuedRun::of(app, next.clone()))?;
    spec.task = Some(next.message.clone());
    let mut said = point.messages;
    said.retain(|message| message.role != Role::System);
    Ok((next, said, spec))
}

/// What the arguments ask for.
fn next_of(app: &App, mut args: ContinueArgs) -> Result<Next, ServiceError> {
    if args.load.is_some() {
        return Err(InputFault::LoadedTwice.into());
    }
    args.sets.extend(take(&mut args.knobs).into_sets());
    args.sets.extend(args.front.sets());
    let run = match app.settled(&args.run) {
        Err(ServiceError::Store(StoreError::NoSuchRun { .. }))
            if args.message.is_none() && args.run.contains(char::is_whitespace) =>
        {
            let last = app.settled(NEWEST).ok();
            let last = last.map(|last| app.brief_name(&last));
            let message = args.run;
            return Err(InputFault::NoRun { last, message }.into());
        }
        settled => settled?,
    };
    let same_contract = args.contract.is_none();
    if same_contract && let Some(fault) = not_continued(app, &run)? {
        return Err(fault.into());
    }
    let begun = match app.source(&run)? {
        Source::Run(run_id, reader) => reader.invocation(&run_id)?,
        Source::File(_) => None,
    };
    let sets = args.sets.iter();
    let sets = sets.map(|set| typed_again(&as_typed(&without_secrets(set))));
    let sets: String = sets.collect();
    let without_changes = if same_contract && !args.sets.is_empty() {
        ContractFile::of_run(app, begun.clone(), None, Vec::new())
    } else {
        None
    };
    let file = ContractFile::of_run(app, begun, args.contract, args.sets);
    let file = file.ok_or_else(|| ContractFault::NoFileOfRun { asked: run.clone() })?;
    args.front.are_for(&file)?;
    let message = match (args.message, args.task) {
        (Some(message), _) => Some(argument(app, message)?),
        (None, Some(task)) => Some(task_of(app, task)?),
        (None, None) => piped_task()?,
    };
    let message = message.filter(|message| !message.trim().is_empty());
    let name = app.brief_name(&run);
    let changed = format!("continue {name} \"…\" --contract {}{sets}", file.word(app));
    let way_on = format!(
        "{} continues under the file as it is now",
        app.hint(&changed)
    );
    Ok(Next {
        durability: args.recording.durability.into(),
        file,
        head: None,
        message: message.ok_or(InputFault::NoMessage)?,
        run,
        run_id: args.run_id,
        same_contract,
        states_proof: same_contract && without_changes.is_none(),
        without_changes,
        way_on,
    })
}

/// Begins the run that goes on from the other one, and brings it to its end, on that runtime or on one of its own.
pub(crate) fn drive_next(
    app: &App,
    on: Option<&Runtime>,
    leaving: LeavingArgs,
    next: &Next,
) -> Result<Ended, Broken> {
    let run = trusting(app, || ContinuedRun::of(app, next.clone()))?;
    keepable(app, run.spec.sessions_dir.as_deref())?;
    offer_models(app, &run.spec)?;
    let live = Follower::accounting(app, Watched::of_app(app), None, next.durability)?;
    drive_to_the_end(on, &live, leaving, async |conduct| {
        Box::pin(run.drive(app, conduct)).await
    })
}
