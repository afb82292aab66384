//! `monolith continue`: a new run that goes on from the conversation of an ended one. The ended run is only read.

use crate::commands::drive::Watched;
use monolith_service::drive::ended::Broken;
use monolith_service::drive::ended::Ended;
use monolith_service::drive::follower::Follower;
use std::mem::take;

use tokio::runtime::Runtime;

use super::args::ContinueArgs;
use crate::commands::contract::{check_file, refuse_file};
use crate::commands::drive::LeavingArgs;
use crate::commands::drive::offer_models;
use crate::commands::drive::{argument, piped_task, task_of};
use crate::commands::drive::{drive_to_the_end, report};
use crate::commands::drive::{keepable, unkeepable};
use crate::context::app::App;
use monolith_core::contract::ContractSpec;
use monolith_core::message::{AgentMessage, Digest, Role, RunId};
use monolith_host::store::{Durability, NEWEST, StoreError};
use monolith_service::as_typed::as_typed;
use monolith_service::begun_below::not_continued;
use monolith_service::contract_file::ContractFile;
use monolith_service::drive::fork::{self, ContinuedFrom};
use monolith_service::error::ServiceError;
use monolith_service::error::contract::ContractFault;
use monolith_service::error::input::InputFault;
use monolith_service::exit::Exit;
use monolith_service::remedy::proof_rule;
use monolith_service::secrets::without_secrets;
use monolith_service::source::Source;
use monolith_service::text::command::typed_again;

/// A run that is to go on from the end of another one.
#[derive(Debug)]
pub(crate) struct Next {
    pub(crate) durability: Durability,
    pub(crate) file: ContractFile,
    /// Its last entry, where that is known: a run of its name that ends otherwise is another run.
    pub(crate) head: Option<Digest>,
    pub(crate) leaving: LeavingArgs,
    pub(crate) message: String,
    /// The name of the other run, in full.
    pub(crate) run: String,
    pub(crate) run_id: Option<RunId>,
    /// Whether the file must give the contract of the other run.
    pub(crate) same_contract: bool,
    /// Whether it is stated first what the contract of the other run demands of each run.
    pub(crate) states_proof: bool,
    /// The file without what the command line changes of it now, where it changes something.
    pub(crate) without_changes: Option<ContractFile>,
    /// What the caller may do where the file has changed.
    pub(crate) way_on: String,
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
    drive_next(app, None, next_of(app, args)?)
}

/// What a dry run judges: the file as it is now, with the message as its task, and what was said before.
fn read_for_dry_run(
    app: &App,
    args: ContinueArgs,
) -> Result<(Next, Vec<AgentMessage>, ContractSpec), ServiceError> {
    let next = next_of(app, args)?;
    let from = ContinuedFrom::end_of(app, &next.run, None)?;
    let mut spec = app.read_contract(&next.file)?;
    spec.task = Some(next.message.clone());
    let mut said = from.point.messages;
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
        leaving: args.leaving,
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
pub(crate) fn drive_next(app: &App, on: Option<&Runtime>, next: Next) -> Result<Ended, Broken> {
    let from = ContinuedFrom::end_of(app, &next.run, next.head)?;
    let rule = proof_rule(from.contract()).filter(|_| next.states_proof);
    let spec = app.read_contract(&next.file)?;
    keepable(app, spec.sessions_dir.as_deref())?;
    offer_models(app, &spec)?;
    let live = Follower::accounting(app, Watched::of_app(app), None, next.durability)?;
    // Where it cannot be read without the changes, those are part of what it was.
    let without_changes = next.without_changes.and_then(|file| {
        let (spec, key) = (app.read_contract(&file).ok()?, app.redaction_key().ok()?);
        Some(Box::new(file.request(app, spec, key)))
    });
    let leaving = next.leaving;
    let next = fork::Next {
        durability: next.durability,
        file: next.file,
        message: next.message,
        note: rule.map(|rule| format!("note: {rule}")),
        run_id: next.run_id,
        same_contract: next.same_contract,
        spec,
        way_on: next.way_on,
        without_changes,
    };
    drive_to_the_end(on, &live, leaving, async |conduct| {
        Box::pin(fork::continue_run(app, from, next, conduct)).await
    })
}
