//! `monolith approve` and `monolith deny`: a person allows or refuses the call that a run waits with.

use clap::Args;

use super::drive::{agreed, shown};
use crate::context::app::App;
use crate::context::ask;
use crate::context::runtime::runtime;
use monolith_core::kernel::CallOrder;
use monolith_core::message::RunId;
use monolith_host::store::Answer;
use monolith_service::approval::verdict;
use monolith_service::approve::pending::{
    AnswerGiven, AnswerRequest, PendingAnswer, Prepared, prepare,
};
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::command::typed_word;
use monolith_service::text::escape::{json, line};
use monolith_service::waiting_call::answering;

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// Run name or unique prefix, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Deny the call, like `monolith deny`
    #[arg(long)]
    pub(crate) deny: bool,
    /// Deny the call and propose these arguments
    ///
    /// A JSON object, or a file that contains one. The call is not made. The model sees the arguments and may call again.
    #[arg(long, value_name = "FILE|JSON", conflicts_with = "fields")]
    pub(crate) edit: Option<String>,
    /// Fill in a field that the call's server asks for
    ///
    /// Other fields keep their defaults. May be repeated.
    #[arg(long = "field", value_name = "NAME=VALUE", conflicts_with = "deny", value_parser = field)]
    pub(crate) fields: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// Run name or unique prefix, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
}

/// Options of both answers.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The reason; the model sees it if you deny
    ///
    /// At most 1000 bytes, recorded in the transcript. If you deny the call, the message to the model ends with the reason.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Sign the answer with this key
    ///
    /// The name of a key on this machine (`monolith key generate NAME`), or a key file. The transcript then records who
    /// answered.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) key: Option<String>,
    /// Skip the confirmation (needs --arguments)
    ///
    /// --arguments identifies the call.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Answer only the call with this hash
    ///
    /// The hash of the call's arguments as shown, or a prefix of at least 8 digits.
    #[arg(long, value_name = "HASH")]
    pub(crate) arguments: Option<String>,
    /// Replace an answer that has not taken effect yet
    #[arg(long)]
    pub(crate) replace: bool,
}

impl From<DenyArgs> for ApproveArgs {
    fn from(args: DenyArgs) -> Self {
        Self {
            run: args.run,
            deny: true,
            edit: None,
            fields: Vec::new(),
            answer: args.answer,
        }
    }
}

fn field(given: &str) -> Result<(String, String), String> {
    let (name, value) = given.split_once('=').ok_or("it has no `=`")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Leaves a person's answer for the call that a run waits with.
pub(crate) fn approve(app: &App, args: ApproveArgs) -> Result<Exit, ServiceError> {
    let is_sure = args.answer.yes;
    let request = AnswerRequest {
        arguments: args.answer.arguments,
        deny: args.deny,
        edit: args.edit,
        fields: args.fields,
        key: args.answer.key,
        reason: args.answer.reason,
        replace: args.answer.replace,
        run: args.run,
    };
    let pending = match prepare(app, &request)? {
        Prepared::Given(given) => {
            let said = format!("already {}", verdict(given.approved));
            return done(app, &given, &said, "");
        }
        Prepared::Ready(pending) => pending,
    };
    let is_named = request.arguments.is_some();
    if (!is_sure || !is_named) && !confirmed(app, &request, &pending, is_sure)? {
        return Ok(Exit::USAGE);
    }
    let given = pending.leave(app)?;
    let replaced = if given.replaced {
        ", replacing the earlier answer"
    } else {
        ""
    };
    done(app, &given, verdict(given.approved), replaced)
}

/// Shows the call and asks the person; false for a no. Without an answer it is an error.
fn confirmed(
    app: &App,
    request: &AnswerRequest,
    pending: &PendingAnswer,
    is_sure: bool,
) -> Result<bool, ServiceError> {
    let PendingAnswer {
        answer,
        call,
        run_id,
        ..
    } = pending;
    let question = question(app, pending)?;
    let (what, other, refuses) = if answer.approved {
        ("allow", "deny", "refuses")
    } else {
        ("refuse", "approve", "allows")
    };
    let (typed, why) = if is_sure {
        (None, "--yes requires --arguments, the hash of the call")
    } else {
        let asked = format!("{question}{}  {what} it? [y/N] ", proposed(answer));
        (ask::answer(app, &asked)?, "it was not confirmed")
    };
    let Some(typed) = typed else {
        app.screen.write_err(&question);
        let command = app.hint(&unasked(run_id, request, &call.order));
        return Err(pending.refused(why, Some(format!("`{command}` {what}s it"))));
    };
    if !agreed(&typed) {
        let other = app.hint(&call.answering(other, run_id.as_str()));
        app.screen.write_err(&format!(
            "no answer recorded: call {} of run {run_id} is still waiting; {other} {refuses} it\n",
            call.order.call
        ));
        return Ok(false);
    }
    Ok(true)
}

fn done(app: &App, given: &AnswerGiven, said: &str, replaced: &str) -> Result<Exit, ServiceError> {
    let AnswerGiven { call, run_id, .. } = given;
    let resume = given.resume.as_ref();
    let resume = resume.map(|run| format!("Now: {}\n", app.hint(&app.resume_words(run))));
    app.screen.out(&format!(
        "{said}: call {call} of run {run_id}{replaced}\n{}",
        resume.unwrap_or_default()
    ))?;
    Ok(Exit::OK)
}

/// The call as a person judges it, with its changes to a file.
fn question(app: &App, pending: &PendingAnswer) -> Result<String, ServiceError> {
    let order = &pending.call.order;
    let change = match pending.changes(app) {
        Some(changes) => runtime()?.block_on(changes.of_call(order)),
        None => None,
    };
    let shown = shown(order, app.screen.width(), change.as_ref());
    Ok(format!("run {}: {shown}", pending.run_id))
}

/// The line with the proposed arguments; empty if there are none.
fn proposed(answer: &Answer) -> String {
    let proposal = answer.approval.proposal.as_ref();
    let proposal = proposal.map(|arguments| {
        let text = line(arguments.as_str());
        format!("  proposed   {text}\n")
    });
    proposal.unwrap_or_default()
}

/// Returns the command that gives the same answer without a question.
fn unasked(run_id: &RunId, request: &AnswerRequest, order: &CallOrder) -> String {
    let begin = if request.edit.is_some() {
        format!("{} {run_id}", request.verb())
    } else {
        // The key that was given stands behind it.
        answering(request.verb(), run_id.as_str(), order, false)
    };
    let again = |option: &str, given: &Option<String>| {
        let given = given.as_deref();
        let given = given.map(|given| format!(" {option} {}", typed_word(given)));
        given.unwrap_or_default()
    };
    let edit = request.edit.as_deref().map(|given| {
        if given.trim_start().starts_with('{') {
            // Between values JSON takes a space as it takes a line feed, and in texts it has none.
            json(&given.trim().replace(['\n', '\r', '\t'], " "))
        } else {
            given.to_owned()
        }
    });
    let edit = again("--edit", &edit);
    let reason = again("--reason", &request.reason);
    let key = again("--key", &request.key);
    format!(
        "{begin}{edit}{reason}{key} --yes --arguments {}",
        order.arguments_hash
    )
}
