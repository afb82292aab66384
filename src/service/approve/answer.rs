//! The answer that a request gives to a call that waits. Leaves it nowhere.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::error::ServiceError;
use crate::form;
use crate::service::Service;
use crate::waiting_call::WaitingCall;
use monolith_core::kernel::{Approval, MAX_PROPOSAL_BYTES, MAX_REASON_BYTES};
use monolith_core::message::ObjectText;
use monolith_core::transcript::SecretKey;
use monolith_host::driver::KeyFolder;
use monolith_host::store::Answer;

/// An answer to give.
#[derive(Clone, Debug, Default)]
pub struct AnswerRequest {
    /// Hash of the arguments of the call that is meant, or its first 8 digits or more.
    pub arguments: Option<String>,
    /// True to refuse the call.
    pub deny: bool,
    /// Arguments to propose in a refusal: a JSON object, or a file that holds one.
    pub edit: Option<String>,
    /// Fields of the form that the call's server asks for.
    pub fields: Vec<(String, String)>,
    /// Name of a key of this machine, or the file of one, that signs the answer.
    pub key: Option<String>,
    /// Reason for the answer; a refusal tells it to the model.
    pub reason: Option<String>,
    /// True to replace an answer that was not taken yet.
    pub replace: bool,
    /// Name of a run, its beginning, or `last`.
    pub run: String,
}

impl AnswerRequest {
    /// True if the answer allows the call.
    #[must_use]
    pub const fn approves(&self) -> bool {
        !self.deny && self.edit.is_none()
    }

    /// Returns the command that gives such an answer.
    #[must_use]
    pub const fn verb(&self) -> &'static str {
        if self.deny { "deny" } else { "approve" }
    }
}

/// The reason why an answer cannot be formed.
pub(super) enum NoAnswer {
    /// The caller asks for something impossible.
    Refused(String),
    /// A key cannot be used.
    Fault(ServiceError),
}

/// Forms the answer, and signs it with the key that the request names.
pub(super) fn given(
    service: &Service,
    call: &WaitingCall,
    request: &AnswerRequest,
) -> Result<Answer, NoAnswer> {
    let approved = request.approves();
    let order = &call.order;
    let mut approval = Approval {
        content: entered(call, request, approved).map_err(NoAnswer::Refused)?,
        proposal: proposed(service, call, request).map_err(NoAnswer::Refused)?,
        reason: request.reason.clone(),
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
    if let Some(key) = &request.key {
        let key = signer(service, key).map_err(NoAnswer::Fault)?;
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
fn signer(service: &Service, given: &str) -> Result<SecretKey, ServiceError> {
    let file = Path::new(given);
    let is_file = file.components().count() > 1 || file.extension().is_some();
    if !is_file {
        return Ok(service.own_keys()?.show(given)?);
    }
    let path = service.cwd.join(file);
    service.judge_place(&path)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let folder = path.parent().unwrap_or(&path).to_owned();
    Ok(KeyFolder::new(folder).show(&name)?)
}

/// The fields that the person enters for a question of the call's server.
fn entered(
    call: &WaitingCall,
    request: &AnswerRequest,
    approved: bool,
) -> Result<Option<ObjectText>, String> {
    match &call.order.input {
        _ if !approved => Ok(None),
        Some(_) => form::content(&call.order.invocation.arguments, &request.fields).map(Some),
        None if request.fields.is_empty() => Ok(None),
        None => Err("its call waits for an approval, and its server asks for no field".to_owned()),
    }
}

/// The arguments that are proposed instead of the call's own. The tool must accept them.
fn proposed(
    service: &Service,
    call: &WaitingCall,
    request: &AnswerRequest,
) -> Result<Option<ObjectText>, String> {
    let Some(given) = &request.edit else {
        return Ok(None);
    };
    if call.order.input.is_some() {
        return Err("its server asks a question, which has no arguments to edit".to_owned());
    }
    let text = if given.trim_start().starts_with('{') {
        given.clone()
    } else {
        let file = service.cwd.join(given);
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

/// Reads a file up to the most that a proposal may have.
fn read(file: &Path) -> io::Result<String> {
    let most = u64::try_from(MAX_PROPOSAL_BYTES).unwrap_or(u64::MAX);
    let mut text = String::new();
    // White space around the arguments is none of them.
    File::open(file)?
        .take(most.saturating_mul(2))
        .read_to_string(&mut text)?;
    Ok(text)
}
