//! The events of a run: the machine's only input. Their causes belong to `session`.

use serde::{Deserialize, Serialize};

use super::bring_up_fault::BringUpFault;
use super::texts::is_instruction;
use super::{CallStreamed, ChildEnd, Inherited};
use crate::contract::ExecutionContract;
use crate::message::{
    AgentMessage, BytesPerToken, CallSeq, Digest, InferenceSeq, InputExchange, NamedText,
    ObjectText, OpeningState, ProtocolAdapterResult, ProviderFault, ProviderState, Role, RunId,
    ServerConfinement, TokenCounter, ToolOutcome, ToolServerStatement, Usage,
};

/// Something that happened, and when. The only input of the machine, and with the contract all that a run is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Milliseconds since the run began, never decreasing, not counting time in which no process drove the run.
    pub at_ms: u64,
    /// The event.
    pub event: EventKind,
}

/// The kind of an event. Each variant says who raises it and what follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum EventKind {
    /// Raised by the session once, first: the inputs of the run. PRECHECK begins.
    RunStarted(Box<RunStarted>),
    /// Raised by the session after the probe of the targets: PRECHECK is judged.
    Probed(Probed),
    /// Raised by the session when a call of an arriving message may start before the message is complete (semantics §7).
    CallStreamed(Box<CallStreamed>),
    /// Raised by the session when an inference came back and the adapter has judged it.
    InferenceReturned(Box<InferenceReturned>),
    /// Raised by the session when an inference brought no message: a failed attempt.
    InferenceFailed(InferenceFailed),
    /// Raised by the session when a started call ended, however it ended.
    ToolReturned(Box<ToolReturned>),
    /// Raised by the session when the moment of [`Run::next_deadline`](super::Run::next_deadline) has come.
    TimerFired,
    /// Raised by the session when somebody asked the run to come to an end. A second one is an abort.
    StopRequested,
    /// Raised by the session when the run must end now.
    Interrupted(Interrupter),
    /// Raised by the shell when a person approved exactly these arguments, or answered exactly this question.
    ApprovalGiven(Approval),
    /// Raised by the shell when a person denied the call, or what its server asks for.
    ApprovalDenied(Approval),
    /// Raised by the session on resume, once for each issued effect without a result; and for an effect whose task panicked.
    EffectLost(LostEffect),
    /// Raised by the session when its process is about to leave the run: nothing is issued until it is resumed.
    Suspended,
    /// Raised by the session on resume, before any [`EventKind::EffectLost`].
    Resumed(Resumed),
}

/// The inputs of a run (semantics §8): what is not part of the contract.
///
/// ```
/// use monolith_core::kernel::RunStarted;
/// use monolith_core::message::Role;
///
/// let messages = RunStarted::opening("You tell the time.", "How late is it?");
/// assert_eq!(messages.iter().map(|message| message.role).collect::<Vec<_>>(), [Role::System, Role::User]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunStarted {
    /// Addresses of the providers for which the contract names a variable, or that a proxy leads to; sorted by provider.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<ProviderAddress>,
    /// Failures of bring-up, for people; sorted by server.
    pub bring_up: Vec<BringUpFault>,
    /// The confinement of each program that the run starts; sorted by server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confinement: Vec<ServerConfinement>,
    /// The hash of the contract as the driver computed it.
    pub contract_hash: Digest,
    /// The part of `messages` that neither the contract nor the user of this run wrote, with its labels. Stated by every run with a
    /// parent or an earlier conversation; where such a run leaves it out, all of it is private and untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited: Option<Inherited>,
    /// The words of the task that the intent rules matched, in order of appearance.
    pub intent_words: Vec<String>,
    /// The conversation at the start: system, prior messages, task; under a contract without a target also the call to make.
    pub messages: Vec<AgentMessage>,
    /// The run this one was forked from or delegated by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentRun>,
    /// The states of providers that came with messages of an earlier run; by message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provider_states: Vec<OpeningState>,
    /// The name of the run.
    pub run_id: RunId,
    /// Wall-clock time of the start, in milliseconds since 1970-01-01 UTC. Nothing is decided by it.
    pub started_unix_ms: u64,
    /// The one-line reason why the process that began the run cannot count with the contract's tokenizer, if so: the run then
    /// ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer_fault: Option<String>,
    /// Self-descriptions of the tool servers that came up and are not built in; sorted by server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_servers: Vec<ToolServerStatement>,
    /// BLAKE3 over the resolved workspace path, where there is a workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Digest>,
}

impl RunStarted {
    /// A run that begins with that conversation, under that contract, without anything that bring-up or a parent run would add.
    #[must_use]
    pub fn new(
        contract: &ExecutionContract,
        run_id: RunId,
        mut messages: Vec<AgentMessage>,
        started_unix_ms: u64,
    ) -> Self {
        Self {
            provider_states: AgentMessage::take_states(&mut messages),
            addresses: Vec::new(),
            bring_up: Vec::new(),
            confinement: Vec::new(),
            contract_hash: contract.rehash(),
            inherited: None,
            intent_words: Vec::new(),
            messages,
            parent: None,
            run_id,
            started_unix_ms,
            tokenizer_fault: None,
            tool_servers: Vec::new(),
            workspace: None,
        }
    }

    /// The conversation at the start, each message with the state of its provider.
    #[must_use]
    pub fn conversation(&self) -> Vec<AgentMessage> {
        let mut messages = self.messages.clone();
        for opening in &self.provider_states {
            let at = usize::try_from(opening.message).unwrap_or(usize::MAX);
            if let Some(message) = messages.get_mut(at) {
                message.state = Some(Box::new(opening.provider_state.clone()));
            }
        }
        messages
    }

    /// The conversation that a run begins with: the contract's system prompt where it says anything, then the task; tokens
    /// estimated as without a tokenizer.
    #[must_use]
    pub fn opening(system: &str, task: &str) -> Vec<AgentMessage> {
        Self::opening_counted(system, task, &BytesPerToken)
    }

    /// [`Self::opening`], tokens as `counter` counts them.
    #[must_use]
    pub fn opening_counted(
        system: &str,
        task: &str,
        counter: &dyn TokenCounter,
    ) -> Vec<AgentMessage> {
        let said = |role, text: &str| AgentMessage::text(role, text, counter.count(text));
        let system = (!system.trim().is_empty()).then(|| said(Role::System, system));
        system.into_iter().chain([said(Role::User, task)]).collect()
    }

    /// Returns the message with the call that the run is to make, where its contract names no model to ask: the last one.
    pub fn given_call(&self) -> Option<&AgentMessage> {
        let last = self.messages.last();
        last.filter(|last| last.role == Role::Assistant && !last.tool_calls.is_empty())
    }

    /// Returns the user's words in a run's initial conversation, joined by line feeds: the intent rules judge them (semantics
    /// §8). `None` if the user wrote nothing. Text that monolith itself writes in the user's name is left out.
    #[must_use]
    pub fn intent(messages: &[AgentMessage]) -> Option<String> {
        let said: Vec<&str> = messages
            .iter()
            .filter(|message| message.role == Role::User)
            .map(|message| message.content.as_str())
            .filter(|text| !is_instruction(text))
            .collect();
        (!said.is_empty()).then(|| said.join("\n"))
    }

    /// The messages that the intent rules judge by [`Self::intent`] (semantics §8, §10): of a continuation, whose contract names that of
    /// its parent, the last one alone; else all of them.
    #[must_use]
    pub fn judged_messages(&self, contract: &ExecutionContract) -> &[AgentMessage] {
        match self.messages.split_last() {
            Some((last, _)) if contract.parent_contract_hash.is_some() => {
                std::slice::from_ref(last)
            }
            _ => &self.messages,
        }
    }

    /// Recounts the tokens of a conversation, except the model's messages: those were never estimated.
    pub fn recount(messages: &mut [AgentMessage], counter: &dyn TokenCounter) {
        for message in messages {
            if message.role != Role::Assistant {
                message.tokens = counter.count(&message.content);
            }
        }
    }

    /// Replaces a conversation's own system prompt, `was`, with that of another contract, counted by `counter`; the rest stays.
    #[must_use]
    pub fn with_system(
        system: &str,
        mut messages: Vec<AgentMessage>,
        was: &str,
        counter: &dyn TokenCounter,
    ) -> Vec<AgentMessage> {
        if messages
            .first()
            .is_some_and(|first| first.role == Role::System && first.content == was)
        {
            messages.remove(0);
        }
        let first = (!system.trim().is_empty())
            .then(|| AgentMessage::text(Role::System, system, counter.count(system)));
        first.into_iter().chain(messages).collect()
    }
}

/// The origin of a child run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParentRun {
    /// The call of it that this run was begun for, where it was delegated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallSeq>,
    /// Head of the parent's chain at the point of the fork, or where it delegated.
    pub head: Digest,
    /// The parent's id.
    pub run_id: RunId,
}

impl ParentRun {
    /// Describes the child's origin in words: `forked from nightly`, `delegated by nightly (call 2)`.
    #[must_use]
    pub fn link(&self) -> String {
        let run_id = &self.run_id;
        self.call.map_or_else(
            || format!("forked from {run_id}"),
            |call| format!("delegated by {run_id} (call {call})"),
        )
    }
}

/// The results of probing the targets; never an inference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probed {
    /// One for each target, in the contract's order.
    pub targets: Vec<ProbedTarget>,
}

/// One target's answer to the probe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbedTarget {
    /// Observation, for people; at most 2,048 bytes.
    pub detail: String,
    /// The server's description of itself at `/props`, if it is a llama-server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<NamedText>,
    /// True if it answered at all; any HTTP answer counts.
    pub responsive: bool,
    /// The headers of its answer in which it says what it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_headers: Vec<NamedText>,
}

/// A response, judged by the adapter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InferenceReturned {
    /// Set by a local backend whose mask was closed and which nevertheless returned prose.
    pub gate_breached: bool,
    /// Set where the answer came through a closed token gate, so that its raw bytes may hold text that is held back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gated: bool,
    /// The inference that this answers.
    pub inference: InferenceSeq,
    /// The members of the message that go back to this target unchanged, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_state: Option<Box<ProviderState>>,
    /// Set where a secret had to be taken out of what was decoded: the raw bytes are then not kept, and `raw_hash` is keyed with
    /// the run's salt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// BLAKE3 over the request body as sent. The body itself is not kept: the adapter gives it again, byte for byte.
    pub request_hash: Digest,
    /// The adapter's verdict, with the text held back where the token gate is closed.
    pub result: ProtocolAdapterResult,
    /// The headers of the answer in which the server says what it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_headers: Vec<NamedText>,
    /// Usage of the inference: the provider's numbers, or an estimate marked as such.
    pub usage: Usage,
}

/// An inference that brought no message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InferenceFailed {
    /// Cause.
    pub fault: ProviderFault,
    /// Set where the token gate was closed, so that what arrived may hold text that is held back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gated: bool,
    /// The inference that this answers.
    pub inference: InferenceSeq,
    /// Set where a secret had to be taken out of what was decoded: the raw bytes are then not kept, and `raw_hash` is keyed with
    /// the run's salt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// BLAKE3 over the request body; absent where no request could be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_hash: Option<Digest>,
    /// Usage that the provider reported, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A started call that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolReturned {
    /// The call.
    pub call: CallSeq,
    /// Of a call of an agent the end of its run; `None` if none was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Box<ChildEnd>>,
    /// Its server's requests for input meanwhile and the answers, in that order; for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<InputExchange>,
    /// Its outcome.
    pub outcome: ToolOutcome,
}

/// Who ends the run now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interrupter {
    /// A person, asking twice.
    Abort,
    /// The process is being ended.
    Shutdown,
    /// The run that delegated.
    Parent,
}

/// A person's answer to a call that waits for one: for its approval, or for what its server asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// Who gave the answer, where it is signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answerer: Option<Answerer>,
    /// BLAKE3 over the exact text that the person saw: the arguments of the call, or the question of its server.
    pub arguments_hash: Digest,
    /// The call.
    pub call: CallSeq,
    /// Input of the person, if the server asked for something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ObjectText>,
    /// Of a denial: the arguments that the person would have the call made with. The model is shown them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<ObjectText>,
    /// Reason; the model sees that of a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The most bytes of a reason that a person gives: the model reads it.
pub const MAX_REASON_BYTES: usize = 1_000;
/// The most bytes of arguments that a person proposes.
pub const MAX_PROPOSAL_BYTES: usize = 16 << 10;

/// Who signed an answer. That the signature holds is checked by the session before there is an event, and by verification.
///
/// ```
/// use monolith_core::kernel::Answerer;
///
/// let signed = r#"{"key":"anna+f00d0123+AQ==","signature":"c2lnbmVk"}"#;
/// let signed: Answerer = serde_json::from_str(signed)?;
/// assert_eq!(signed.key, "anna+f00d0123+AQ==");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answerer {
    /// The public key, as `NAME+ID+BASE64`.
    pub key: String,
    /// The signature, in base64.
    pub signature: String,
}

impl Approval {
    /// An answer to that call, unsigned and without a word.
    #[must_use]
    pub const fn to(call: CallSeq, arguments_hash: Digest) -> Self {
        Self {
            answerer: None,
            arguments_hash,
            call,
            content: None,
            proposal: None,
            reason: None,
        }
    }
}

/// An issued effect without a recorded result (semantics §9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum LostEffect {
    /// The probe: repeated.
    Probe,
    /// An inference: counts as an inference, not as an attempt.
    Inference(InferenceSeq),
    /// A wait: re-armed for the rest.
    Wait,
    /// A call: run again only where the contract calls it idempotent.
    Call(CallSeq),
}

/// The address of a provider for which the contract names a variable, or that a proxy leads to.
///
/// ```
/// use monolith_core::kernel::ProviderAddress;
///
/// let moved = r#"{"address":"http://127.0.0.1:8080/v1","provider":"web"}"#;
/// let moved: ProviderAddress = serde_json::from_str(moved)?;
/// assert_eq!(moved.provider, "web");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderAddress {
    /// Its address, of a query the names alone.
    pub address: String,
    /// A key of the contract's `providers`.
    pub provider: String,
    /// The proxy of its requests, without user and password; absent where they go to the address itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
}

/// A new process took over the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resumed {
    /// As [`RunStarted::addresses`], for what follows: a model server or a proxy may have moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<ProviderAddress>,
    /// Differences between each tool server's offer and the contract, for people; sorted by server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bring_up: Vec<BringUpFault>,
    /// As [`RunStarted::confinement`], for what follows: it may be more than before, never less.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confinement: Vec<ServerConfinement>,
    /// The recomputed hash of the contract.
    pub contract_hash: Digest,
    /// Milliseconds by the wall clock since the last event, in which the run's own clock stood still. Holds shrink by them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub elapsed_ms: u64,
    /// As [`RunStarted::tool_servers`], for what follows: a server may be another version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_servers: Vec<ToolServerStatement>,
    /// Exposed names whose pin no longer holds.
    pub tools_changed: Vec<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands the field over by reference"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}
