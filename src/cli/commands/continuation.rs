//! `monolith continue`: a new run that continues the conversation of an ended one. It only reads the ended run.

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
    after_help = "What the new run inherits: monolith continue --help",
    after_long_help = "The new run starts with the conversation of the finished run, followed by your message. It has its own budgets and \
its own proof. monolith rebuilds its contract from the file that the finished run started with and applies your changes. It refuses a file \
that has changed."
)]
pub(crate) struct ContinueArgs {
    /// Run name or unique prefix, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Your next message, @FILE, or - for standard input
    ///
    /// Without MESSAGE, monolith reads it from standard input.
    #[arg(value_name = "MESSAGE")]
    pub(crate) message: Option<String>,
    /// Your next message as an option: text, @FILE, or - for standard input
    #[arg(
        long,
        hide_short_help = true,
        value_name = "TEXT|@FILE|-",
        conflicts_with = "message"
    )]
    pub(crate) task: Option<String>,
    /// Continue under this contract file instead
    ///
    /// Uses the current content of the file, even if it differs from the contract of the run.
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// Change a value, such as max_turns=3
    ///
    /// Applied after the changes that the run started with. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    #[command(flatten)]
    pub(crate) front: FrontArgs,
    #[command(flatten)]
    pub(crate) knobs: KnobArgs,
    /// Only check, like `contract check --start-servers`; ask no model
    #[arg(long, hide_short_help = true, conflicts_with = "run_id")]
    pub(crate) dry_run: bool,
    /// Only for `run`; a continued run already has a conversation
    #[arg(long, hide = true, value_name = "FILE")]
    pub(crate) load: Option<PathBuf>,
    /// Print the result as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Name of the new run (default: random)
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

/// Reads the input of a dry run: the current file, with the message as its task, and the earlier conversation.
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

/// Resolves the arguments.
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

/// Starts the run that continues the other one and drives it to its end, on `on` or on a new runtime.
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
