//! `monolith approve` and `monolith deny`: leave a person's answer for a call that waits. The process that drives the run takes it.

use std::path::Path;

use super::answer::{NoAnswer, given};
use super::args::ApproveArgs;
use crate::commands::drive::{agreed, shown};
use crate::context::app::App;
use crate::context::ask;
use crate::context::runtime::runtime;
use monolith_core::kernel::CallOrder;
use monolith_core::message::RunId;
use monolith_host::store::{Answer, StoreError, StoreReader};
use monolith_service::approval::verdict;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::list::found::waiting_runs;
use monolith_service::run_status::is_driven;
use monolith_service::source::Source;
use monolith_service::text::command::typed_word;
use monolith_service::text::escape::{json, line};
use monolith_service::waiting_call::WaitingCall;
use monolith_service::waiting_call::answering;

/// Fewer digits of a hash could be another one's, too.
const LEAST_DIGITS: usize = 8;

/// Shows the call that a run waits with, and leaves the answer for the process that drives the run.
pub(crate) fn approve(app: &App, args: &ApproveArgs) -> Result<Exit, ServiceError> {
    let Source::Run(run_id, reader) = app.run(&args.run)? else {
        let asked = args.run.clone();
        return Err(StoreError::NoSuchRun { asked }.into());
    };
    let refuse = |why: &str, help: Option<String>| {
        let message = format!("failed to answer for run {run_id}: {why}");
        app.screen.fault(&message, help);
        Ok(Exit::USAGE)
    };
    let path = app.store_path()?;
    let call = if reader.is_workflow(&run_id)? {
        drop(reader);
        None
    } else {
        WaitingCall::of(&run_id, reader)?
    };
    let Some(call) = call else {
        // Who asks for the first run of a tree may mean one below it.
        let (mut below, mut not_taken) = (Vec::new(), None);
        for (waiting, call) in WaitingCall::below(app, &run_id)? {
            match call.refusal(app, &waiting)? {
                None => below.push((waiting, call)),
                Some(why) => not_taken = not_taken.or(Some((waiting, call.order.call, why))),
            }
        }
        let commands = below.iter().map(|(run_id, call)| {
            let name = app.brief_name(run_id.as_str());
            app.hint(&call.answering(args.verb(), &name))
        });
        let commands: Vec<String> = commands.collect();
        let Some((waiting, call)) = below.first() else {
            if let Some((waiting, call, why)) = not_taken {
                let said = why.said(&format!("call {call} of run {waiting}"));
                return refuse(&said, why.help(app, &waiting));
            }
            return refuse(
                "none of its calls waits for an approval",
                Some(elsewhere(app, args.verb())),
            );
        };
        let why = format!(
            "none of its own calls waits for an approval; call {} of {} in run {waiting}, which is below it, does",
            call.order.call.0,
            line(&call.order.invocation.name)
        );
        return refuse(&why, Some(commands.join(", ")));
    };
    let not_taken = || match call.refusal(app, &run_id)? {
        Some(why) => refuse(&why.said("its call"), why.help(app, &run_id)).map(Some),
        None => Ok(None),
    };
    if let Some(exit) = not_taken()? {
        return Ok(exit);
    }
    let order = &call.order;
    let again = || app.hint(&call.answering(args.verb(), run_id.as_str()));
    if let Some(meant) = &args.answer.arguments
        && let Some(why) = is_another(meant, order)
    {
        return refuse(why, Some(again()));
    }
    let answer = match given(app, &call, args) {
        Ok(answer) => answer,
        Err(NoAnswer::Fault(fault)) => return Err(fault),
        Err(NoAnswer::Refused(why)) => {
            return refuse(&why, Some(again()));
        }
    };
    let approved = answer.approved;
    let reader = StoreReader::open(&path)?;
    let found = reader.left_answer(&run_id)?;
    let earlier = found.as_ref().filter(|given| given.is_to_the_same(&answer));
    match earlier {
        Some(given) if *given == answer => {
            let what = verdict(approved);
            app.screen.out(&format!(
                "already {what}: call {} of run {run_id}\n{}",
                order.call.0,
                next_step(app, &reader, &run_id)?
            ))?;
            return Ok(Exit::OK);
        }
        // It may have it already, though it is not recorded yet.
        Some(given) if is_driven(&reader, &run_id)? => {
            let why = format!(
                "its call was {} before, and the process that drives the run is taking that answer",
                verdict(given.approved)
            );
            return refuse(&why, Some(app.hint(&format!("show {run_id}"))));
        }
        Some(given) if !args.answer.replace => {
            let why = format!(
                "its call was {} before, and that answer has not been taken yet",
                verdict(given.approved)
            );
            let resume = app.hint(&format!("resume {}", reader.goes_on_with(&run_id)?));
            let help = format!(
                "`{resume}` goes on with that answer; --replace puts this one in its place"
            );
            return refuse(&why, Some(help));
        }
        Some(_) | None => {}
    }
    if !args.answer.yes || args.answer.arguments.is_none() {
        let question = question(app, &call, &run_id, &reader)?;
        let what = if approved { "allow" } else { "refuse" };
        let (typed, why) = if args.answer.yes {
            (None, "--yes goes with --arguments, the hash of the call")
        } else {
            let asked = format!("{question}{}  {what} it? [y/N] ", proposed(&answer));
            (ask::answer(app, &asked)?, "it was not confirmed")
        };
        let Some(typed) = typed else {
            app.screen.write_err(&question);
            let command = unasked(&run_id, args, order);
            let help = format!("`{}` {what}s it", app.hint(&command));
            return refuse(why, Some(help));
        };
        if !agreed(&typed) {
            let (other, refuses) = if approved {
                ("deny", "refuses")
            } else {
                ("approve", "allows")
            };
            let other = app.hint(&call.answering(other, run_id.as_str()));
            app.screen.write_err(&format!(
                "nothing was answered: call {} of run {run_id} still waits; {other} {refuses} it\n",
                order.call.0
            ));
            return Ok(Exit::USAGE);
        }
    }
    // Its process may have ended since.
    if let Some(exit) = not_taken()? {
        return Ok(exit);
    }
    if !left_for(&reader, &path, (&run_id, &call), (&answer, found.as_ref()))? {
        return refuse(
            "somebody else answered meanwhile, or the run went on",
            Some(app.hint(&format!("show {run_id}"))),
        );
    }
    let replaced = if earlier.is_some() {
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

/// How to answer the one call of the store that waits; where it is not one, how to list them.
fn elsewhere(app: &App, verb: &str) -> String {
    let waiting = waiting_runs(app).and_then(|(runs, _)| WaitingCall::unanswered(app, runs));
    match waiting.as_deref() {
        Ok([(run_id, call)]) => {
            let name = app.brief_name(run_id.as_str());
            let command = app.hint(&call.answering(verb, &name));
            format!("{name} waits: {command}")
        }
        Ok(_) | Err(_) => app.hint("approvals"),
    }
}

/// Leaves the answer for the run, in the place of the one that was found, as long as the run waits with that call: it may have been left and
/// resumed since the call was shown, and waits with it again then. False where it does not, or another answer was given.
fn left_for(
    reader: &StoreReader,
    path: &Path,
    (run_id, call): (&RunId, &WaitingCall),
    (answer, found): (&Answer, Option<&Answer>),
) -> Result<bool, ServiceError> {
    let waits_with = |now: &WaitingCall| {
        let of = |call: &WaitingCall| {
            let order = &call.order;
            (
                call.question,
                order.call,
                order.arguments_hash,
                call.first_entry,
            )
        };
        of(now) == of(call)
    };
    // A process may have begun to take the other one since.
    if found.is_some_and(|given| given.is_to_the_same(answer)) && is_driven(reader, run_id)? {
        return Ok(false);
    }
    let mut entries = call.entries;
    while !reader.leave_answer(run_id, answer, (found, entries))? {
        let now = WaitingCall::of(run_id, StoreReader::open(path)?)?;
        match now.filter(waits_with) {
            Some(now) if now.entries != entries => entries = now.entries,
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Why the hash is not that of the call that waits, where it is not.
fn is_another(meant: &str, order: &CallOrder) -> Option<&'static str> {
    let hash = order.arguments_hash.to_string();
    if meant.len() < LEAST_DIGITS {
        return Some("--arguments takes 8 digits of the hash at least");
    }
    let same = hash.starts_with(&meant.to_ascii_lowercase());
    (!same).then_some("the arguments of the call that waits have another hash")
}

/// The call as a person judges it, with what it would change of a file.
fn question(
    app: &App,
    call: &WaitingCall,
    run_id: &RunId,
    reader: &StoreReader,
) -> Result<String, ServiceError> {
    let change = match call.changes(app, run_id, reader) {
        Some(changes) => runtime()?.block_on(changes.of_call(&call.order)),
        None => None,
    };
    let shown = shown(&call.order, app.screen.width(), change.as_ref());
    Ok(format!("run {run_id}: {shown}"))
}

/// The arguments that are proposed, where some are.
fn proposed(answer: &Answer) -> String {
    let proposal = answer.approval.proposal.as_ref();
    let proposal = proposal.map(|arguments| {
        let text = line(arguments.as_str());
        format!("  proposed   {text}\n")
    });
    proposal.unwrap_or_default()
}

/// The command that answers so without a question.
fn unasked(run_id: &RunId, args: &ApproveArgs, order: &CallOrder) -> String {
    let begin = if args.edit.is_some() {
        format!("{} {run_id}", args.verb())
    } else {
        // The key that was given stands behind it.
        answering(args.verb(), run_id.as_str(), order, false)
    };
    let again = |option: &str, given: &Option<String>| {
        let given = given.as_deref();
        let given = given.map(|given| format!(" {option} {}", typed_word(given)));
        given.unwrap_or_default()
    };
    let edit = args.edit.as_deref().map(|given| {
        if given.trim_start().starts_with('{') {
            // Between values JSON takes a space as it takes a line feed, and in texts it has none.
            json(&given.trim().replace(['\n', '\r', '\t'], " "))
        } else {
            given.to_owned()
        }
    });
    let edit = again("--edit", &edit);
    let reason = again("--reason", &args.answer.reason);
    let key = again("--key", &args.answer.key);
    format!(
        "{begin}{edit}{reason}{key} --yes --arguments {}",
        order.arguments_hash
    )
}

/// What is to be typed for the answer to be taken: nothing where a process drives the run.
fn next_step(app: &App, reader: &StoreReader, run_id: &RunId) -> Result<String, ServiceError> {
    if is_driven(reader, run_id)? {
        return Ok(String::new());
    }
    let resume = app.hint(&format!("resume {}", reader.goes_on_with(run_id)?));
    Ok(format!("Now: {resume}\n"))
}
