//! Finds requests and calls of a recorded run to make again, and compares the results. Sends nothing itself.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::pointer::differences;
use super::replayer::text_of;
use super::{Attribution, BlobSource, LiveReport, Replayer};
use crate::contract::ExecutionContract;
use crate::kernel::{EventKind, InferenceFailed, InferenceReturned, ToolReturned};
use crate::message::{
    AgentMessage, Digest, InferenceSeq, ProtocolAdapterResult, ProviderFault, RunId, Scrubber,
    TokenCounters, ToolEnvelope, ToolOutcome,
};
use crate::session::{Call, Input, PartialResponse, ReceivedResponse, Request, Scrub};
use crate::transcript::SealedEntry;

/// Maximum number of differences named for one answer.
const MOST: usize = 20;
/// Built-in tools that change nothing.
const HARMLESS: [&str; 4] = ["clock", "echo", "list_directory", "read_file"];
const RESULT: &str = "/event/event/value/result";
const ENVELOPE: &str = "/event/event/value/outcome/value";

/// The parts of a run to ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveScope {
    /// True if calls that are not known to be repeatable are made again.
    pub effects: bool,
    /// True if the models are asked.
    pub inference: bool,
    /// True if the tools are called.
    pub tools: bool,
}

/// A request or call of the recorded run, to be made again.
#[derive(Clone, Debug)]
pub enum Reissue {
    /// A request to a model: the digest of its body is the recorded one.
    Inference(Box<Request>),
    /// A call of a tool.
    Call(Box<Call>),
}

/// Finds in a recorded run what can be reissued, and compares what comes back. It sends nothing itself.
///
/// Here nothing answers: a program sends what it gets, and hands in what comes back.
///
/// ```
/// use monolith_core::replay::{LiveScope, Reissue, Requerier};
/// # use std::collections::BTreeMap;
/// # use monolith_core::contract::ExecutionContract;
/// # use monolith_core::transcript::{LineReader, Record, SealedEntry};
///
/// # let text = std::fs::read("../../replay/v1/core.valid_call.jsonl")?;
/// # let (mut reader, mut header, mut entries) = (LineReader::new(), None, Vec::new());
/// # let mut blobs = BTreeMap::new();
/// # for line in text.split_inclusive(|byte| *byte == b'\n') {
/// #     match reader.read(line)? {
/// #         Record::Header(found) => header = Some((ExecutionContract::decode(found.contract)?, found.run_id)),
/// #         Record::Entry(entry) => entries.push(SealedEntry::from(&*entry)),
/// #         Record::Blob(blob) => drop(blobs.insert(blob.hash, blob.bytes.to_vec())),
/// #         _ => {}
/// #     }
/// # }
/// # let (contract, run_id) = header.ok_or("no header")?;
/// let scope = LiveScope { effects: false, inference: true, tools: false };
/// let mut requerier = Requerier::new(contract, &run_id, scope);
/// let mut requests = 0;
/// for entry in &entries {
///     if let Some(Reissue::Inference(request)) = requerier.reissue(entry) {
///         assert!(!request.body.is_empty());
///         requests += 1;
///         requerier.skipped(entry.seq, "there is no model here"); // else `compare`
///     }
///     requerier.take(entry, &blobs);
/// }
/// let report = requerier.finish(false);
/// assert!(requests > 0 && report.same && report.inferences == 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Requerier {
    answered: BTreeSet<InferenceSeq>,
    /// The response that arrives.
    partial: Option<PartialResponse>,
    calls: u64,
    contract: ExecutionContract,
    inferences: u64,
    notes: Vec<String>,
    replayer: Replayer,
    scope: LiveScope,
}

impl Requerier {
    /// For the run of that name under that contract.
    #[must_use]
    pub fn new(contract: ExecutionContract, run_id: &RunId, scope: LiveScope) -> Self {
        Self {
            answered: BTreeSet::new(),
            partial: None,
            calls: 0,
            inferences: 0,
            notes: Vec::new(),
            replayer: Replayer::new(contract.clone(), run_id).keeping_requests(),
            scope,
            contract,
        }
    }

    /// The same, with estimates made again by the contract's tokenizer where that is among `tokenizers`.
    #[must_use]
    pub fn counting_with(mut self, tokenizers: &dyn TokenCounters) -> Self {
        self.replayer = self.replayer.counting_with(tokenizers);
        self
    }

    /// Returns the request or call that the next entry answers, if it is to be made again. Skips a request that this build
    /// encodes differently from the sent one: the difference is reported when the entry is taken.
    pub fn reissue(&mut self, entry: &SealedEntry) -> Option<Reissue> {
        let event = entry.decode_event().ok()??;
        match event.event {
            EventKind::InferenceReturned(returned) => {
                let sent = Some(returned.request_hash);
                self.request_again(returned.inference, sent)
            }
            EventKind::InferenceFailed(failed) => {
                self.request_again(failed.inference, failed.request_hash)
            }
            EventKind::ToolReturned(returned) => self.call_again(entry.seq, &returned),
            _ => None,
        }
    }

    fn request_again(&mut self, inference: InferenceSeq, sent: Option<Digest>) -> Option<Reissue> {
        self.answered.insert(inference);
        if !self.scope.inference {
            return None;
        }
        let issued = self.replayer.session.issued(inference)?;
        if Some(issued.body) != sent {
            return None;
        }
        let request = self.replayer.requests.as_ref()?.get(&inference)?;
        Some(Reissue::Inference(Box::new(request.clone())))
    }

    fn call_again(&mut self, seq: u64, returned: &ToolReturned) -> Option<Reissue> {
        if !self.scope.tools {
            return None;
        }
        let call = self.replayer.orders.get(&returned.call)?;
        let name = &call.order.invocation.name;
        let why = match &returned.outcome {
            ToolOutcome::Returned(_) if self.scope.effects || self.is_repeatable(name) => {
                return Some(Reissue::Call(Box::new(call.clone())));
            }
            ToolOutcome::Returned(_) => "it is not known to be repeatable (--effects)",
            _ => "it was not executed to its end",
        };
        let note = format!("entry {seq}: the call of {name} was not made again: {why}");
        self.replayer.not_compared.push(note);
        None
    }

    fn is_repeatable(&self, name: &str) -> bool {
        let tool = self.contract.tool(name);
        let declared = tool
            .is_some_and(|tool| tool.annotations.get("readOnlyHint") == Some(&Value::Bool(true)));
        let harmless =
            tool.is_some_and(|tool| tool.origin == "builtin") && HARMLESS.contains(&name);
        declared || harmless || self.contract.idempotent.iter().any(|listed| listed == name)
    }

    /// A tool that its server describes otherwise now, or not at all.
    pub fn tool_changed(&mut self, entry: &SealedEntry, name: &str) {
        let index = self
            .contract
            .tools
            .iter()
            .position(|tool| tool.name == name);
        let pin = index.and_then(|index| self.contract.tools.get(index));
        let pin = pin.map(|tool| tool.pin.to_string()).unwrap_or_default();
        let pointer = format!("/contract/tools/{}/pin", index.unwrap_or_default());
        let actual = format!("another tool of the name {name}, or none");
        self.replayer
            .differ_at(entry, &pointer, &pin, &actual, Attribution::Tool);
    }

    /// Something that was to be asked and was not.
    pub fn skipped(&mut self, seq: u64, why: &str) {
        let note = format!("entry {seq}: not asked again: {why}");
        self.replayer.not_compared.push(note);
    }

    /// Takes the head or the next bytes of a response to a request that was sent again; true where nothing more of it matters.
    pub fn arrives(&mut self, input: Input) -> bool {
        match input {
            Input::ResponseBegan { inference, meta } => {
                self.partial = self.replayer.session.begin(inference, meta);
            }
            Input::ResponseBytes { bytes, .. } => {
                if let Some(partial) = &mut self.partial {
                    partial.push(&bytes);
                }
            }
            _ => {}
        }
        self.partial
            .as_ref()
            .is_some_and(PartialResponse::is_settled)
    }

    /// Compares what came back (a response, its end, a fault, or the result of a call) with what the entry records. Must come before
    /// the entry is taken. `scrubber` takes out what is secret now.
    pub fn compare(&mut self, entry: &SealedEntry, live: Input, scrubber: &dyn Scrubber) {
        let Ok(Some(event)) = entry.decode_event() else {
            return;
        };
        let live = match live {
            Input::ToolResult { mut outcome, .. } => {
                if let EventKind::ToolReturned(returned) = event.event {
                    self.calls = self.calls.saturating_add(1);
                    Scrub(scrubber).outcome(&mut outcome);
                    self.compare_call(entry, &returned, &outcome);
                }
                return;
            }
            Input::Response {
                bytes,
                inference,
                meta,
            } => {
                self.partial = self.replayer.session.begin(inference, meta);
                self.arrives(Input::ResponseBytes { bytes, inference });
                self.partial.take().map(PartialResponse::end)
            }
            Input::ResponseEnded { .. } => self.partial.take().map(PartialResponse::end),
            Input::Fault { fault, .. } => Some(match self.partial.take() {
                Some(partial) => partial.break_off(fault),
                None => ReceivedResponse::broken(fault),
            }),
            _ => None,
        };
        let Some(live) = live else { return };
        match event.event {
            EventKind::InferenceReturned(returned) => {
                self.inferences = self.inferences.saturating_add(1);
                if let Some(live) = self.decode_live(returned.inference, live, scrubber) {
                    self.compare_returned(entry, &returned, live);
                }
            }
            EventKind::InferenceFailed(failed) => {
                self.inferences = self.inferences.saturating_add(1);
                if let Some(live) = self.decode_live(failed.inference, live, scrubber) {
                    self.compare_failed(entry, &failed, live);
                }
            }
            _ => {}
        }
    }

    /// The event that a response is now.
    fn decode_live(
        &self,
        inference: InferenceSeq,
        live: ReceivedResponse,
        scrubber: &dyn Scrubber,
    ) -> Option<Live> {
        let session = &self.replayer.session;
        match session.decode(inference, live, Some(scrubber))?.event {
            EventKind::InferenceReturned(returned) => Some(Ok(returned.result)),
            EventKind::InferenceFailed(failed) => Some(Err(failed.fault)),
            _ => None,
        }
    }

    fn compare_returned(&mut self, entry: &SealedEntry, recorded: &InferenceReturned, live: Live) {
        let live = match live {
            Ok(live) => live,
            Err(fault) => {
                let actual = describe_fault(&fault);
                let pointer = "/event/event/kind";
                let expected = "inference_returned";
                self.replayer
                    .differ_at(entry, pointer, expected, &actual, Attribution::Model);
                return;
            }
        };
        let (expected, actual) = (describe_result(&recorded.result), describe_result(&live));
        for (pointer, expected, actual) in differences(RESULT, &expected, &actual, MOST) {
            self.replayer
                .differ_at(entry, &pointer, &expected, &actual, Attribution::Model);
        }
        self.note_beside(entry.seq, &recorded.result, &live);
    }

    /// Notes differences outside the answer that are worth a look.
    fn note_beside(
        &mut self,
        seq: u64,
        recorded: &ProtocolAdapterResult,
        live: &ProtocolAdapterResult,
    ) {
        if recorded.usage != live.usage {
            let (was, is) = (text_of(&recorded.usage), text_of(&live.usage));
            self.notes
                .push(format!("entry {seq}: usage was {was} and is {is}"));
        }
        if reasoning(recorded) != reasoning(live) {
            self.notes
                .push(format!("entry {seq}: the reasoning is another"));
        }
    }

    fn compare_failed(&mut self, entry: &SealedEntry, recorded: &InferenceFailed, live: Live) {
        let fault = &recorded.fault;
        let (pointer, expected, actual) = match live {
            Ok(_) => (
                "/event/event/kind",
                "inference_failed".to_owned(),
                "inference_returned".to_owned(),
            ),
            Err(live) if live.class == fault.class => return,
            Err(live) => (
                "/event/event/value/fault/class",
                fault.class.as_str().to_owned(),
                describe_fault(&live),
            ),
        };
        self.replayer
            .differ_at(entry, pointer, &expected, &actual, Attribution::Model);
    }

    fn compare_call(&mut self, entry: &SealedEntry, recorded: &ToolReturned, live: &ToolOutcome) {
        let ToolOutcome::Returned(recorded) = &recorded.outcome else {
            return;
        };
        let ToolOutcome::Returned(live) = live else {
            let pointer = "/event/event/value/outcome/kind";
            let actual = text_of(live);
            self.replayer
                .differ_at(entry, pointer, "returned", &actual, Attribution::Tool);
            return;
        };
        let (expected, actual) = (answered(recorded), answered(live));
        for (pointer, expected, actual) in differences(ENVELOPE, &expected, &actual, MOST) {
            self.replayer
                .differ_at(entry, &pointer, &expected, &actual, Attribution::Tool);
        }
    }

    /// Takes the entry: it is decided again, as in every replay.
    pub fn take(&mut self, entry: &SealedEntry, blobs: &dyn BlobSource) {
        self.replayer.take(entry, blobs);
    }

    /// Names requests and calls without a recorded answer: they are never made again, for there is nothing to compare with.
    fn name_unanswered(&mut self) {
        let mut notes = Vec::new();
        if self.scope.inference {
            let open = self.replayer.issued.difference(&self.answered);
            notes.extend(open.map(|inference| format!("request {inference}")));
        }
        if self.scope.tools {
            let open = self.replayer.orders.values().map(|call| &call.order);
            notes.extend(
                open.map(|order| format!("call {} of {}", order.call, order.invocation.name)),
            );
        }
        let notes = notes.into_iter();
        let describe_fault =
            notes.map(|what| format!("{what}: no answer is recorded, so it was not asked again"));
        self.replayer.not_compared.extend(describe_fault);
    }

    /// Ends the replay. `open` accepts a run that has no seal yet.
    #[must_use]
    pub fn finish(mut self, open: bool) -> LiveReport {
        self.name_unanswered();
        let report = self.replayer.finish(open);
        LiveReport {
            same: report.same,
            entries: report.entries,
            inferences: self.inferences,
            calls: self.calls,
            first_difference: report.first_difference,
            differences: report.differences,
            open: report.open,
            notes: self.notes,
            not_compared: report.not_compared,
        }
    }
}

/// A model's answer now: a verdict, or why there is none.
type Live = Result<ProtocolAdapterResult, ProviderFault>;

fn reasoning(result: &ProtocolAdapterResult) -> Option<&str> {
    let message = result.canonical_message.as_ref();
    message.and_then(|message| message.reasoning.as_deref())
}

fn describe_fault(fault: &ProviderFault) -> String {
    let status = fault.status.map(|status| format!(", status {status}"));
    let status = status.unwrap_or_default();
    format!(
        "inference_failed: {}{status}: {}",
        fault.class.as_str(),
        fault.message
    )
}

/// Returns the content of an answer, without ids and sizes, which a provider makes new each time.
fn describe_result(result: &ProtocolAdapterResult) -> String {
    let message = |message: &AgentMessage| {
        let calls = message
            .tool_calls
            .iter()
            .map(|call| json!({"name": call.name, "arguments": call.arguments.to_value()}));
        let calls: Vec<Value> = calls.collect();
        json!({"content": message.content, "tool_calls": calls})
    };
    json!({
        "canonical_message": result.canonical_message.as_ref().map(message),
        "failure_code": result.failure_code,
        "status": result.status,
        "stop": result.stop,
        "withheld": result.withheld.map(|withheld| withheld.hash),
    })
    .to_string()
}

/// Returns a tool's answer, without times and the id of the call.
fn answered(envelope: &ToolEnvelope) -> String {
    json!({
        "bytes_out": envelope.bytes_out,
        "content": envelope.content,
        "error": envelope.error,
        "full": envelope.full,
        "status": envelope.status,
    })
    .to_string()
}
