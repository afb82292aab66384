//! The calls of the last message until they start. Does not know their results.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::{BATCH, ExecutionContract, FlowAction, Ruling, SessionTool, StepsLeft};
use crate::kernel::{CallStreamed, FlowRecord};
use crate::message::{AgentMessage, CallSeq, Digest, InferenceSeq, ObjectText, ToolInvocation};

/// A call that a message of the model asked for: of the message itself, or in a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestedCall {
    /// The argument text.
    pub(super) arguments: String,
    /// The id of the batch that holds it, where one does.
    pub(super) batch: Option<String>,
    /// Its id; of a call in a batch, the batch's id, a slash, and its number from 1.
    pub(super) id: String,
    /// The response that its message came in; `None` if the call is an input of the run.
    pub(super) inference: Option<InferenceSeq>,
    /// The exposed tool name.
    pub(super) name: String,
    /// True if a rule of `flow` asks a person about it.
    asks: bool,
    /// The call number under which its approval was requested.
    awaited: Option<CallSeq>,
}

/// The cause for which the calls of a message were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Arguments break the schema of their tool.
    Arguments,
    /// A rule of `approval` denies a call.
    DeniedByRule,
    /// The contract does not offer a tool of that name.
    UnknownTool,
}

/// The calls of the message that came last, summaries aside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestedCalls {
    last: Vec<RequestedCall>,
    /// Calls of tools, each one of a batch counted, without the reports of the session.
    tools: u64,
    total: u64,
}

/// The arguments of a batch.
#[derive(Deserialize)]
struct Batch {
    calls: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    arguments: Box<RawValue>,
    tool: String,
}

impl RequestedCalls {
    /// A response came; one without a message asks for nothing. The call that a run is given came in none.
    pub(super) fn take(&mut self, inference: Option<InferenceSeq>, message: Option<&AgentMessage>) {
        let calls = message.map_or(&[][..], |message| &message.tool_calls);
        let count = u64::try_from(calls.len()).unwrap_or(u64::MAX);
        self.total = self.total.saturating_add(count);
        self.last = calls
            .iter()
            .flat_map(|call| read(inference, call))
            .collect();
    }

    /// Counts the calls of the message that was taken last.
    pub(super) fn count_tools(&mut self, contract: &ExecutionContract) {
        let calls = self.last.iter();
        let tools = calls.filter(|call| call.batch.is_some() || !is_report(contract, call));
        self.tools = self.tools.saturating_add(tools.count() as u64);
    }

    /// A call of an arriving message starts. It is counted with its message.
    pub(super) fn take_early(&mut self, streamed: &CallStreamed) {
        self.last = read(Some(streamed.inference), &streamed.invocation);
    }

    /// Takes what rules of `flow` decided about the calls.
    pub(super) fn judged(&mut self, flows: &[FlowRecord]) {
        let asked = flows.iter().filter(|flow| flow.action == FlowAction::Ask);
        for flow in asked {
            let of_id = self.last.iter_mut().find(|one| one.id == flow.call);
            if let Some(requested) = of_id {
                requested.asks = true;
            }
        }
    }

    /// Returns the number of tool calls that all messages asked for.
    pub(super) const fn tools(&self) -> u64 {
        self.tools
    }

    /// Returns the number of calls requested by all messages; a batch counts as one.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// Returns true if the note of VALIDATE_CALLS about these calls is a refusal. With the session's own reports, the note may
    /// quote their text. Then only a name that is no tool is certainly a refusal.
    pub(super) fn are_refused(&self, contract: &ExecutionContract) -> bool {
        let calls = || self.last.iter();
        !self.last.is_empty()
            && (!calls().any(|call| is_report(contract, call))
                || calls().any(|call| is_unknown(contract, call)))
    }

    /// Returns the cause for which they are refused: one that a change of the contract can remove comes first.
    pub(super) fn refusal(&self, contract: &ExecutionContract) -> Refusal {
        let calls = || self.last.iter();
        if calls().any(|call| is_unknown(contract, call)) {
            Refusal::UnknownTool
        } else if calls().any(|call| is_denied(contract, call)) {
            Refusal::DeniedByRule
        } else {
            Refusal::Arguments
        }
    }

    /// Returns true if one of them is for a tool, and not a report of the session.
    pub(super) fn want_a_tool(&self, contract: &ExecutionContract) -> bool {
        let mut calls = self.last.iter();
        calls.any(|call| call.batch.is_some() || !is_report(contract, call))
    }

    /// The names of the calls, in order; of a batch, those in it.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.last.iter().map(|requested| requested.name.as_str())
    }

    /// The same with their arguments.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&str, &str)> {
        let calls = self.last.iter();
        calls.map(|requested| (requested.name.as_str(), requested.arguments.as_str()))
    }

    /// The call of that id.
    pub(super) fn of_id(&self, id: &str) -> Option<&RequestedCall> {
        self.last.iter().find(|requested| requested.id == id)
    }

    /// The call that `call` is, which waits for a person: all that is recorded of it is the hash of its arguments. `waits` states
    /// which names need an approval.
    pub(super) fn awaiting(
        &mut self,
        call: CallSeq,
        hash: Digest,
        waits: impl Fn(&str) -> bool,
    ) -> Option<&RequestedCall> {
        let requested = self.last.iter_mut().find(|requested| {
            requested.awaited.is_none()
                && (requested.asks || waits(&requested.name))
                && Digest::of(requested.arguments.as_bytes()) == hash
        })?;
        requested.awaited = Some(call);
        Some(requested)
    }
}

/// True if it is neither a tool of the contract nor one of the session.
fn is_unknown(contract: &ExecutionContract, call: &RequestedCall) -> bool {
    let mut exposed = contract.exposed_tools();
    contract.session_tool(&call.name).is_none() && !exposed.any(|tool| tool.name == call.name)
}

/// True if its arguments are valid and a rule of the contract denies it.
fn is_denied(contract: &ExecutionContract, call: &RequestedCall) -> bool {
    let Ok(arguments) = ObjectText::parse(&call.arguments) else {
        return false;
    };
    let (validators, mut left) = (contract.validators(), StepsLeft::WHOLE);
    validators.validate(&call.name, &arguments).is_ok()
        && matches!(
            contract.ruling_of(validators, &call.name, &arguments, &mut left),
            Ruling::Deny(_)
        )
}

/// Returns true if the call is a report of the session.
fn is_report(contract: &ExecutionContract, call: &RequestedCall) -> bool {
    let own = contract.session_tool(&call.name);
    matches!(
        own,
        Some(SessionTool::FinalReport | SessionTool::ProgressReport)
    )
}

/// A call, or those that a batch holds. What cannot be read is never started.
fn read(inference: Option<InferenceSeq>, call: &ToolInvocation) -> Vec<RequestedCall> {
    let one =
        |id: String, name: String, arguments: &ObjectText, batch: Option<&String>| RequestedCall {
            arguments: arguments.to_string(),
            asks: false,
            awaited: None,
            batch: batch.cloned(),
            id,
            inference,
            name,
        };
    let id = &call.id;
    if call.name != BATCH {
        return vec![one(id.clone(), call.name.clone(), &call.arguments, None)];
    }
    let batch: Result<Batch, _> = serde_json::from_str(call.arguments.as_str());
    let parts = batch.map_or_else(|_| Vec::new(), |batch| batch.calls);
    let parts = parts.into_iter().zip(1_usize..);
    let parts = parts.filter_map(|(part, number)| {
        let arguments = ObjectText::parse(part.arguments.get()).ok()?;
        Some(one(
            format!("{id}/{number}"),
            part.tool,
            &arguments,
            Some(id),
        ))
    });
    parts.collect()
}
