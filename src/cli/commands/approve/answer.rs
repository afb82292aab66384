//! The answer that the command line gives to a call that waits. Leaves it nowhere.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::args::ApproveArgs;
use crate::context::app::App;
use monolith_core::kernel::{Approval, MAX_PROPOSAL_BYTES, MAX_REASON_BYTES};
use monolith_core::message::ObjectText;
use monolith_core::transcript::SecretKey;
use monolith_host::driver::KeyFolder;
use monolith_host::store::Answer;
use monolith_service::error::ServiceError;
use monolith_service::form;
use monolith_service::waiting_call::WaitingCall;

/// An answer that cannot be given, in words.
pub(super) enum NoAnswer {
    /// The caller asks for something that does not go.
    Refused(String),
    /// Something that it needs is not there.
    Fault(ServiceError),
}

/// The answer, signed where a key is given.
pub(super) fn given(app: &App, call: &WaitingCall, args: &ApproveArgs) -> Result<Answer, NoAnswer> {
    let approved = !args.deny && args.edit.is_none();
    let order = &call.order;
    let mut approval = Approval {
        content: entered(call, args, approved).map_err(NoAnswer::Refused)?,
        proposal: proposed(app, call, args).map_err(NoAnswer::Refused)?,
        reason: args.answer.reason.clone(),
        ..Approval::to(order.call, order.arguments_hash)
    };
    if approval
        .reason
        .as_ref()
        .is_some_and(|reason| reason.len() > MAX_REASON_BYTES)
    {
        let why = format!("--reason takes at most {MAX_REASON_BYTES} bytes");
        return Err(NoAnswer::Refused(why));
    }
    if let Some(key) = &args.answer.key {
        let key = signer(app, key).map_err(NoAnswer::Fault)?;
        approval.sign(&key, call.first_entry, approved);
    }
    counts(call, &approval).map_err(NoAnswer::Refused)?;
    Ok(Answer {
        approved,
        approval,
        first_entry: call.first_entry,
    })
}

/// Refuses an answer that the run would not take.
fn counts(call: &WaitingCall, approval: &Approval) -> Result<(), String> {
    let approvers = &call.contract.approvers;
    if approvers.is_empty() {
        return Ok(());
    }
    let answerer = approval.answerer.as_ref();
    let names = approvers
        .iter()
        .map(|key| key.split('+').next().unwrap_or(key));
    let names = names.collect::<Vec<_>>().join(", ");
    match answerer {
        Some(answerer) if approvers.contains(&answerer.key) => Ok(()),
        Some(answerer) => Err(format!(
            "the contract takes no answer signed by {}; its approvers are {names}",
            answerer.key
        )),
        None => Err(format!(
            "the contract takes only answers that one of its approvers has signed ({names}): --key"
        )),
    }
}

/// A key of this machine by its name, or the file of one.
fn signer(app: &App, given: &str) -> Result<SecretKey, ServiceError> {
    let file = Path::new(given);
    let is_file = file.components().count() > 1 || file.extension().is_some();
    if !is_file {
        return Ok(app.own_keys()?.show(given)?);
    }
    let path = app.cwd.join(file);
    app.judge_place(&path)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let folder = path.parent().unwrap_or(&path).to_owned();
    Ok(KeyFolder::new(folder).show(&name)?)
}

/// What the person enters, where the call's server asks for something.
fn entered(
    call: &WaitingCall,
    args: &ApproveArgs,
    approved: bool,
) -> Result<Option<ObjectText>, String> {
    match &call.order.input {
        _ if !approved => Ok(None),
        Some(_) => form::content(&call.order.invocation.arguments, &args.fields).map(Some),
        None if args.fields.is_empty() => Ok(None),
        None => Err("its call waits for an approval, and its server asks for no field".to_owned()),
    }
}

/// The arguments that are proposed in the place of those that the call has. The tool would have to take them.
fn proposed(
    app: &App,
    call: &WaitingCall,
    args: &ApproveArgs,
) -> Result<Option<ObjectText>, String> {
    let Some(given) = &args.edit else {
        return Ok(None);
    };
    if call.order.input.is_some() {
        return Err("its server asks a question, which has no arguments to edit".to_owned());
    }
    let text = if given.trim_start().starts_with('{') {
        given.clone()
    } else {
        let file = app.cwd.join(given);
        read(&file).map_err(|fault| format!("--edit {}: {fault}", file.display()))?
    };
    let text = text.trim();
    if text.len() > MAX_PROPOSAL_BYTES {
        return Err(format!("--edit takes at most {MAX_PROPOSAL_BYTES} bytes"));
    }
    let arguments = ObjectText::parse(text).map_err(|fault| format!("--edit: {fault}"))?;
    if arguments == call.order.invocation.arguments {
        return Err("--edit gives the arguments that the call has already".to_owned());
    }
    let tool = &call.order.invocation.name;
    let valid = call.contract.validators().validate(tool, &arguments);
    valid.map_err(|fault| format!("--edit: {tool} would not take these arguments: {fault}"))?;
    Ok(Some(arguments))
}

/// A file, as far as it may be long.
fn read(file: &Path) -> io::Result<String> {
    let most = u64::try_from(MAX_PROPOSAL_BYTES).unwrap_or(u64::MAX);
    let mut text = String::new();
    // White space around the arguments is none of them.
    File::open(file)?
        .take(most.saturating_mul(2))
        .read_to_string(&mut text)?;
    Ok(text)
}
