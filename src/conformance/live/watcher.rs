//! An observer of one live run: it counts and compares, and changes nothing.

use std::collections::BTreeMap;

use tokio::sync::mpsc;

use super::server_traits::Share;
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{
    EffectRecord, EntryDraft, EventKind, InferenceFailed, InferenceReturned, Run,
};
use monolith_core::message::{
    Digest, FailureCode, InferenceSeq, ProtocolAdapterResult, ProviderFaultClass, RunId,
    StopReason, ToolOutcome,
};
use monolith_core::session::Control;
use monolith_core::transcript::SealedEntry;
use monolith_host::driver::{NoObserver, Observer};

/// Sees the entries of one run and notes what they show of the server.
#[derive(Debug, Default)]
pub(super) struct Watcher {
    pub(super) arguments: Share,
    /// The calls of all messages.
    pub(super) calls: Vec<(String, String)>,
    /// True if a result was cut.
    pub(super) cut: bool,
    pub(super) elapsed_ms: u64,
    pub(super) faults: BTreeMap<ProviderFaultClass, u64>,
    pub(super) finish: Share,
    /// The first message: the digest of its text, and its calls.
    pub(super) first: Option<FirstMessage>,
    pub(super) latency_ms: Vec<u64>,
    pub(super) none: Share,
    pub(super) rejected: u64,
    pub(super) required: Share,
    pub(super) responses: u64,
    pub(super) usage: Share,
    asked: BTreeMap<InferenceSeq, SentRequest>,
}

/// A message as two runs are compared by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FirstMessage {
    calls: Vec<(String, String)>,
    failure_code: Option<FailureCode>,
    text: Digest,
}

/// A request that was sent.
#[derive(Clone, Copy, Debug)]
struct SentRequest {
    at_ms: u64,
    /// True if a call was required.
    forced: bool,
    tools: bool,
}

impl Observer for Watcher {
    fn below(&mut self, _: &RunId, _: mpsc::Sender<Control>) -> Box<dyn Observer> {
        Box::new(NoObserver)
    }

    fn entry(&mut self, draft: &EntryDraft, _: &SealedEntry, run: &Run) {
        if let Some(event) = &draft.event {
            self.elapsed_ms = self.elapsed_ms.max(event.at_ms);
            match &event.event {
                EventKind::InferenceReturned(returned) => {
                    self.returned(returned, event.at_ms, run.contract());
                }
                EventKind::InferenceFailed(failed) => self.failed(failed),
                EventKind::ToolReturned(returned) => {
                    if let ToolOutcome::Returned(envelope) = &returned.outcome {
                        self.cut |= envelope.full.is_some();
                    }
                }
                _ => {}
            }
        }
        for effect in &draft.action.effects {
            if let EffectRecord::Infer {
                inference, tools, ..
            } = effect
            {
                let asked = SentRequest {
                    at_ms: self.elapsed_ms,
                    forced: *tools && run.holds_back(),
                    tools: *tools,
                };
                self.asked.insert(*inference, asked);
            }
        }
    }
}

impl Watcher {
    fn returned(&mut self, returned: &InferenceReturned, at_ms: u64, contract: &ExecutionContract) {
        let result = &returned.result;
        let calls = calls_of(result);
        // A call whose arguments are not whole is a call all the same.
        let broken = result.failure_code.is_some_and(is_of_a_call);
        let called = broken || !calls.is_empty();
        if let Some(asked) = self.asked.remove(&returned.inference) {
            self.latency_ms.push(at_ms.saturating_sub(asked.at_ms));
            // A message that was cut says nothing of what would have come.
            if asked.forced && (called || result.stop != StopReason::Length) {
                self.required.count(called);
            }
            if !asked.tools {
                self.none.count(!called);
            }
        }
        if called {
            self.arguments.count(!broken);
        }
        let most = contract
            .targets
            .first()
            .map(|t| t.sampling.max_output_tokens);
        let full = !returned.usage.estimated && Some(returned.usage.output) >= most;
        let ended = result.stop == StopReason::End;
        let cut = result.failure_code == Some(FailureCode::ArgsInvalidJson) || full;
        self.finish
            .count(result.stop != StopReason::Unknown && !(ended && cut));
        self.usage.count(!returned.usage.estimated);
        self.responses += 1;
        self.rejected += u64::from(result.failure_code.is_some());
        self.first.get_or_insert_with(|| FirstMessage {
            calls: calls.clone(),
            failure_code: result.failure_code,
            text: text_of(result),
        });
        self.calls.extend(calls);
    }

    fn failed(&mut self, failed: &InferenceFailed) {
        self.asked.remove(&failed.inference);
        *self.faults.entry(failed.fault.class).or_default() += 1;
    }
}

fn calls_of(result: &ProtocolAdapterResult) -> Vec<(String, String)> {
    let calls = result.canonical_message.iter().flat_map(|m| &m.tool_calls);
    calls
        .map(|call| (call.name.clone(), call.arguments.as_str().to_owned()))
        .collect()
}

/// The digest of the text, held back or not.
fn text_of(result: &ProtocolAdapterResult) -> Digest {
    let shown = || {
        result
            .canonical_message
            .as_ref()
            .map_or("", |m| m.content.as_str())
    };
    let withheld = result.withheld.as_ref();
    withheld.map_or_else(|| Digest::of(shown().as_bytes()), |held| held.hash)
}

/// True if a message was rejected for one of its calls.
const fn is_of_a_call(code: FailureCode) -> bool {
    matches!(
        code,
        FailureCode::ArgsInvalidJson
            | FailureCode::ArgsNotObject
            | FailureCode::ArgsDuplicateKey
            | FailureCode::ArgsTooDeep
            | FailureCode::CallNameMissing
            | FailureCode::CallShape
            | FailureCode::CallIdDuplicate
            | FailureCode::TooManyCalls
    )
}
