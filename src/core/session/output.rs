//! The requests of a session to its host. Plain data; performs nothing.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::base64;
use super::error::SessionError;
use crate::contract::{DelegationGrant, Label};
use crate::kernel::{CallOrder, EntryDraft, InferRequest, Outcome};
use crate::message::{Digest, InferenceSeq, RunId};
use crate::transcript::SealedEntry;

/// An effect that a [`Session`](super::Session) requests of its host, in the order in which it must be performed.
///
/// After an [`Output::Append`] nothing comes until the host has handed in [`Input::Durable`](super::Input::Durable) for its entries.
///
/// As JSON, for a host in another process:
///
/// ```
/// use monolith_core::session::Output;
///
/// let output = serde_json::to_string(&Output::Arm(Some(3_600_001)))?;
/// assert_eq!(output, r#"{"kind":"arm","value":3600001}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum Output {
    /// Make these entries and blobs durable, as one batch.
    Append(Append),
    /// Ask every target whether it answers, for at most 10 seconds each; hand in `Probed`.
    Probe {
        /// For each target, in the contract's order: the headers that every request of its protocol carries.
        headers: Vec<Vec<(String, String)>>,
    },
    /// Send a request; hand in its response, or a fault.
    Send(Request),
    /// Start a call; hand in `ToolResult`.
    Call(Call),
    /// Start a child run for the call of an agent, or resume the one of that name; hand in `ChildEnded`.
    Delegate(Delegation),
    /// Hand in the bytes of a blob, as `Blob`: a request for its summary follows.
    Summarise {
        /// The blob that holds the whole of a tool's result.
        full: Digest,
        /// The inference of the summary.
        inference: InferenceSeq,
    },
    /// Hand in the bytes of a blob, as `Blob`: what the server of a call wants a model to be asked follows as a request.
    Sample {
        /// The inference.
        inference: InferenceSeq,
        /// The blob that holds the messages.
        prompt: Digest,
    },
    /// Ask a person about a call; hand in `Control::Approve` or `Control::Deny`. It comes again after `Resumed`.
    Ask(CallOrder),
    /// Hand in `Timer` at this moment, in milliseconds since the run began, and at no other; at none if it is absent.
    Arm(Option<u64>),
    /// Text of a response that may be shown: the token gate is open, and secrets are out. The response may still fail.
    Delta {
        /// The request that it answers.
        inference: InferenceSeq,
        /// Continuation of the text released before.
        text: String,
    },
    /// Thinking of a response that may be shown, under the same terms as [`Output::Delta`]. It comes before the response's text.
    Thinking {
        /// The request that it answers.
        inference: InferenceSeq,
        /// Continuation of the thinking released before.
        text: String,
    },
    /// Stop reading: the rest of this response is not needed.
    Close(InferenceSeq),
    /// Give up everything that is in flight. What still comes of it may be handed in.
    Cancel,
    /// The run is over. Nothing follows.
    Done(Outcome),
}

/// One step's entries, and what became known with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Append {
    /// Blobs that the entries name: responses as received, text that is held back. The blobs of tool results are the host's.
    #[serde(with = "base64::list")]
    pub blobs: Vec<Vec<u8>>,
    /// The text of a checkpoint at the last entry, to be signed, where one is due. At the seal it lacks its last line, which
    /// [`EarlierCheckpoints::complete`](crate::transcript::EarlierCheckpoints::complete) adds: only the host knows what it has signed and kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// The entries as the machine decided them, for hosts in this process.
    #[serde(skip)]
    pub drafts: Vec<EntryDraft>,
    /// The entries as they are stored.
    pub entries: Vec<SealedEntry>,
}

/// A request to a model server, or to an embedded model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The body. For an embedded model it holds the grammar of the token gate, too.
    #[serde(with = "base64")]
    pub body: Bytes,
    /// Headers that every request of the protocol carries. Keys and the author's own headers are the host's.
    pub headers: Vec<(String, String)>,
    /// The machine's terms of it: its number, target, attempt, turn, how tools are offered.
    pub inference: InferRequest,
    /// Path below the provider's address: segments without a leading slash, and a query if there is one.
    pub path: String,
    /// Maximum time without a byte, in milliseconds; every piece of the response restarts it.
    pub timeout_ms: u64,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The same for every attempt at the same call of the same run; for tools that recognise a repetition.
    pub idempotency_key: String,
    /// The call itself.
    pub order: CallOrder,
    /// The most bytes of text that its envelope may hold.
    pub output_limit_bytes: u64,
    /// The queue of the contract that limits how many calls run at once; none if nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Maximum duration in milliseconds.
    pub timeout_ms: u64,
}

/// A call of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegation {
    /// Limits of its run.
    pub grant: DelegationGrant,
    /// The labels that its task carries.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<Label>,
    /// The call itself.
    pub order: CallOrder,
    /// The most bytes of text that its envelope may hold.
    pub output_limit_bytes: u64,
    /// The queue of the contract that limits how many calls run at once; none if nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The name of its run, the same for every attempt.
    pub run_id: RunId,
}

/// The outputs that wait to be polled, and the entries they wait for.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    /// The last entry that was handed out and is not durable yet.
    awaits: Option<u64>,
    /// True if entries have to be made durable at all.
    gated: bool,
    queue: VecDeque<Output>,
}

impl Outputs {
    /// Outputs that wait for what is durable.
    pub(super) fn gated() -> Self {
        Self {
            gated: true,
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, output: Output) {
        self.queue.push_back(output);
    }

    pub(super) fn extend(&mut self, outputs: impl IntoIterator<Item = Output>) {
        self.queue.extend(outputs);
    }

    /// The next output; none while entries that were handed out are not durable.
    pub(super) fn next(&mut self) -> Option<Output> {
        if self.awaits.is_some() {
            return None;
        }
        let next = self.queue.pop_front()?;
        if let (true, Output::Append(append)) = (self.gated, &next) {
            self.awaits = append.entries.last().map(|entry| entry.seq);
        }
        Some(next)
    }

    /// Everything up to that entry is durable. `entries` is the number of entries of the run.
    pub(super) fn durable(&mut self, seq: u64, entries: u64) -> Result<(), SessionError> {
        let last = self.awaits.or(entries.checked_sub(1));
        if last.is_none_or(|last| seq > last) {
            return Err(SessionError::NoSuchEntry { seq });
        }
        if self.awaits.is_some_and(|awaited| awaited <= seq) {
            self.awaits = None;
        }
        Ok(())
    }

    /// Repeats the open question to a person for a host that has not received it.
    pub(super) fn ask_again(&mut self, asked: Option<CallOrder>) {
        let asks = |output: &Output| matches!(output, Output::Ask(_));
        if !self.queue.iter().any(asks) {
            self.extend(asked.map(Output::Ask));
        }
    }
}
