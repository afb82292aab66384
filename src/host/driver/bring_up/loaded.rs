//! A task, and the conversation that was saved before it: what the intent rules judge of both, and what a run begins with. A run and its
//! preview ask the same.

use std::collections::BTreeSet;

use monolith_core::contract::{ExecutionContract, Label, ToolTransport};
use monolith_core::kernel::{Inherited, ParentRun, RunStarted, is_failure};
use monolith_core::message::{AgentMessage, Observed, ObservedStatus, Role, TokenCounter};

/// The text that a run begins with, as entry 0 records it.
pub(super) struct Opening {
    pub(super) inherited: Option<Inherited>,
    pub(super) messages: Vec<AgentMessage>,
    pub(super) parent: Option<ParentRun>,
}

impl Opening {
    /// A conversation of which the user of this run wrote the last `own` messages; the rest has those labels.
    pub(super) fn inheriting(
        messages: Vec<AgentMessage>,
        own: usize,
        labels: BTreeSet<Label>,
    ) -> Self {
        let count = messages.len().saturating_sub(own);
        let inherited = Inherited {
            labels,
            messages: u64::try_from(count).unwrap_or(u64::MAX),
        };
        Self {
            inherited: Some(inherited),
            messages,
            parent: None,
        }
    }

    pub(super) fn of(self, parent: ParentRun) -> Self {
        let parent = Some(parent);
        Self { parent, ..self }
    }
}

/// Returns the text that the intent rules judge: all that the user says, or only the task if nothing was saved; none without a
/// task.
pub(super) fn intent_of(saved: &[AgentMessage], task: &str) -> Option<String> {
    if task.trim().is_empty() {
        return None;
    }
    if saved.is_empty() {
        return Some(task.to_owned());
    }
    let task = AgentMessage::text(Role::User, task, 0);
    RunStarted::intent(&[saved, &[task]].concat())
}

/// The first messages: the saved ones stand before the task.
pub(super) fn opening_of(
    mut saved: Vec<AgentMessage>,
    task: &str,
    contract: &ExecutionContract,
    counter: &dyn TokenCounter,
) -> Vec<AgentMessage> {
    for message in &mut saved {
        message.tokens = tokens_of(message, counter);
        message.observed = observed(message, contract.tool_transport);
    }
    let mut messages = RunStarted::opening_counted(&contract.system, task, counter);
    let at = messages.len().saturating_sub(1);
    messages.splice(at..at, saved);
    messages
}

/// Returns the status of the call that a loaded message answers, if results are rendered as text.
fn observed(message: &AgentMessage, transport: ToolTransport) -> Option<Observed> {
    let status = if is_failure(&message.content) {
        ObservedStatus::Failed
    } else {
        ObservedStatus::Ok
    };
    let is_rendered = message.role == Role::Tool && transport == ToolTransport::Xml;
    is_rendered.then_some(Observed {
        duration_ms: 0,
        status,
    })
}

/// The tokens of a message that no run counted, the arguments of its calls included.
fn tokens_of(message: &AgentMessage, counter: &dyn TokenCounter) -> u64 {
    let calls = message.tool_calls.iter();
    let calls = calls.map(|call| counter.count(call.arguments.as_str()));
    calls.fold(counter.count(&message.content), u64::saturating_add)
}
