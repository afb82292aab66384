//! `monolith approve`: leaves a person's answer for a call that waits. The process that drives the run takes it.

use super::args::ApproveArgs;
use crate::cli::commands::drive::{agreed, fields_of, shown};
use crate::cli::context::app::App;
use crate::cli::context::approval::verdict;
use crate::cli::context::ask;
use crate::cli::context::error::{CliError, SystemFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::form;
use crate::cli::context::source::Source;
use crate::driver::DriverError;
use crate::kernel::{CallOrder, Run};
use crate::message::{Digest, ObjectText, RunId};
use crate::replay::Replayer;
use crate::store::{Answer, StoreError, StoreReader};

/// Fewer digits of a hash could be another one's, too.
const LEAST_DIGITS: usize = 8;

/// `monolith approve`: shows the call that a run waits with, and leaves the answer for the process that drives the run.
pub(in crate::cli) fn approve(app: &App, args: &ApproveArgs) -> Result<Exit, CliError> {
    let Source::Run(run_id, reader) = app.run(&args.run)? else {
        let asked = args.run.clone();
        return Err(StoreError::NoSuchRun { asked }.into());
    };
    let path = app.store_path()?;
    let Some((order, first_entry)) = awaited(run_id.clone(), reader)? else {
        let message =
            format!("failed to answer for run {run_id}: none of its calls waits for an approval");
        app.screen.fault(&message, Some(app.hint("list --open")));
        return Ok(Exit::USAGE);
    };
    let hash = order.arguments_hash.to_string();
    if let Some(meant) = &args.arguments
        && (meant.len() < LEAST_DIGITS || !hash.starts_with(&meant.to_ascii_lowercase()))
    {
        let why = if meant.len() < LEAST_DIGITS {
            format!("--arguments takes {LEAST_DIGITS} digits of the hash at least")
        } else {
            "the arguments of the call that waits have another hash".to_owned()
        };
        let message = format!("failed to answer for run {run_id}: {why}");
        app.screen
            .fault(&message, Some(app.hint(&format!("approve {run_id}"))));
        return Ok(Exit::USAGE);
    }
    let approved = !args.deny;
    let content = match entered(&order, args) {
        Ok(content) => content,
        Err(why) => {
            let message = format!("failed to answer for run {run_id}: {why}");
            let command = format!("approve {run_id}{}", fields_of(&order));
            app.screen.fault(&message, Some(app.hint(&command)));
            return Ok(Exit::USAGE);
        }
    };
    let reader = StoreReader::open(&path)?;
    let found = reader.left_answer(&run_id)?;
    let answer = Answer {
        approved,
        arguments_hash: order.arguments_hash,
        call: order.call,
        content,
        first_entry,
    };
    let given = found.as_ref().filter(|given| given.is_to_the_same(&answer));
    match given {
        Some(given) if *given == answer => {
            let what = verdict(approved);
            app.screen.out(&format!(
                "already {what}: call {} of run {run_id}\n{}",
                order.call.0,
                next_step(app, &reader, &run_id)?
            ))?;
            return Ok(Exit::OK);
        }
        Some(given) if !args.replace => {
            let message = format!(
                "failed to answer for run {run_id}: its call was {} before, and that answer has not been taken yet",
                verdict(given.approved)
            );
            let resume = app.hint(&format!("resume {run_id}"));
            let help = format!(
                "`{resume}` goes on with that answer; --replace puts this one in its place"
            );
            app.screen.fault(&message, Some(help));
            return Ok(Exit::USAGE);
        }
        Some(_) | None => {}
    }
    if !args.yes {
        let what = if approved { "allow" } else { "refuse" };
        let question = format!(
            "run {run_id}: {}  {what} it? [y/N] ",
            shown(&order, app.screen.width())
        );
        let typed = ask::answer(app, &question)?;
        if typed.is_none() {
            let deny = if approved { "" } else { " --deny" };
            let fields = if approved {
                fields_of(&order)
            } else {
                String::new()
            };
            let command = format!("approve {run_id}{deny}{fields} --yes --arguments {hash}");
            app.screen.write_err(&format!(
                "run {run_id}: {}",
                shown(&order, app.screen.width())
            ));
            let message = format!("failed to answer for run {run_id}: it was not confirmed");
            let help = format!("`{}` {what}s it", app.hint(&command));
            app.screen.fault(&message, Some(help));
            return Ok(Exit::USAGE);
        }
        if !typed.is_some_and(|typed| agreed(&typed)) {
            return Err(SystemFault::NotConfirmed { what: "answer" }.into());
        }
    }
    if !reader.leave_answer(&run_id, &answer, found.as_ref())? {
        let message = format!(
            "failed to answer for run {run_id}: somebody else answered meanwhile, or the run went on"
        );
        app.screen
            .fault(&message, Some(app.hint(&format!("show {run_id}"))));
        return Ok(Exit::USAGE);
    }
    let replaced = if given.is_some() {
        ", in the place of the answer before"
    } else {
        ""
    };
    app.screen.out(&format!(
        "{}: call {} of run {run_id}{replaced}\n{}",
        verdict(approved),
        order.call.0,
        next_step(app, &reader, &run_id)?
    ))?;
    Ok(Exit::OK)
}

/// What the person enters, where the call's server asks for something.
fn entered(order: &CallOrder, args: &ApproveArgs) -> Result<Option<ObjectText>, String> {
    match &order.input {
        _ if args.deny => Ok(None),
        Some(_) => form::content(&order.invocation.arguments, &args.fields).map(Some),
        None if args.fields.is_empty() => Ok(None),
        None => Err("its call waits for an approval, and its server asks for no field".to_owned()),
    }
}

/// What is to be typed for the answer to be taken: nothing where a process drives the run.
fn next_step(app: &App, reader: &StoreReader, run_id: &RunId) -> Result<String, CliError> {
    if reader.driver_of(run_id)?.is_some() {
        return Ok(String::new());
    }
    let resume = app.hint(&format!("resume {run_id}"));
    Ok(format!("Now: {resume}\n"))
}

/// What a run waits with, as a fresh machine finds it from what is stored, and the hash of its first entry.
fn awaited(
    run_id: RunId,
    mut reader: StoreReader,
) -> Result<Option<(CallOrder, Digest)>, CliError> {
    if reader.read_run(&run_id)?.row().outcome.is_some() {
        return Ok(None);
    }
    let recorded = Source::Run(run_id.clone(), reader).load()?;
    let mut replayer = Replayer::new(recorded.contract.clone(), &run_id);
    for entry in &recorded.entries {
        replayer.take(entry, &recorded);
    }
    match replayer.into_unfinished() {
        Ok(unfinished) => {
            let order = unfinished.session.run().and_then(Run::awaited);
            Ok(order.zip(recorded.entries.first().map(|entry| entry.hash)))
        }
        Err(report) => Err(DriverError::DoesNotReplay { run_id, report }.into()),
    }
}
