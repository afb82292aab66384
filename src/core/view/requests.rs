//! Folds entries into the requests of a run. Does not know how they are displayed.

use std::collections::BTreeMap;

use super::turns::{Activities, Activity};
use crate::kernel::Action;
use crate::message::{
    AdapterStatus, AgentMessage, CallSeq, FailureCode, InferenceSeq, Parameter,
    ProtocolAdapterResult, ProviderFault, ProviderFaultClass, StopReason, Usage,
};

/// A request to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The number of the activity.
    pub number: usize,
    /// The purpose.
    pub purpose: RequestPurpose,
    /// Index of the target.
    pub target: u32,
    /// The turn that it belongs to.
    pub turn: u32,
    /// The attempt in that turn, from 1. For a request outside the attempts: the attempt whose message asked for the call.
    pub attempt: u32,
    /// Milliseconds since the run began.
    pub sent_at_ms: u64,
    /// Milliseconds since the run began; none while it is in flight.
    pub ended_at_ms: Option<u64>,
    /// The end of the request; none while it is in flight.
    pub end: Option<RequestEnd>,
    /// The usage, as far as reported or estimated; a late answer counts, too.
    pub usage: Option<Usage>,
    /// True if its message is in the conversation; none before that is decided. A message left out belongs to a failed attempt.
    pub kept: Option<bool>,
    /// The reason why its message was left out, in the machine's words.
    pub left_out: Option<String>,
    /// The cost, if known.
    pub cost_micro_usd: Option<u64>,
    /// True if an attempt of the closing turn failed although its message is in the conversation: it asked for
    /// withheld tools, or its report was broken.
    pub failed_in_closing: bool,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestPurpose {
    /// An attempt of its turn.
    Attempt,
    /// A summary of that call's result.
    Summary(CallSeq),
    /// The model request that the server of that call asked for.
    Sampling(CallSeq),
}

/// The end of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestEnd {
    /// A response came, and the adapter judged it.
    Returned {
        /// The verdict.
        status: AdapterStatus,
        /// True if its message has neither text nor a call.
        blank: bool,
        /// The model's stop reason.
        stop: StopReason,
        /// The provider's word for a stop reason that the adapter does not know.
        stop_word: Option<String>,
        /// The reason of a rejection.
        failure_code: Option<FailureCode>,
        /// The place of the fault in the response.
        pointer: Option<String>,
    },
    /// No message came.
    Failed {
        /// Whose fault it is.
        class: ProviderFaultClass,
        /// The message of the fault.
        message: String,
        /// True if no model API is at the address. False if the API only lacks the model, or is down.
        not_found: bool,
        /// Parameters that the provider names as the ones it does not take.
        parameters: Vec<Parameter>,
        /// True if the same request would fail again.
        permanent: bool,
        /// Milliseconds that the provider asked to wait.
        retry_after_ms: Option<u64>,
        /// The status of the HTTP response, where there was one.
        status: Option<u16>,
        /// True if the provider says that it does not have the model.
        unknown_model: bool,
    },
    /// Its process ended first.
    Lost,
    /// The machine gave up what was in flight.
    GivenUp,
}

/// The requests of a run, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Requests(BTreeMap<InferenceSeq, Request>);

impl Request {
    /// Returns true if it is not an attempt of a turn, but a side request.
    pub const fn is_beside(&self) -> bool {
        !matches!(self.purpose, RequestPurpose::Attempt)
    }

    /// Returns true if a message with neither text nor a call came.
    pub const fn is_blank(&self) -> bool {
        matches!(self.end, Some(RequestEnd::Returned { blank: true, .. }))
    }

    /// Returns true if it brought a canonical message, and the attempt did not fail of it: a message that was cut, refused or empty is left
    /// out.
    pub fn succeeded(&self) -> bool {
        self.is_ok() && self.kept != Some(false) && !self.failed_in_closing
    }

    /// Returns true if a canonical message came in time.
    pub const fn is_ok(&self) -> bool {
        matches!(
            self.end,
            Some(RequestEnd::Returned {
                failure_code: None,
                ..
            })
        )
    }

    /// Returns true if its answer stopped for a reason that the adapter does not know, or for none.
    pub const fn is_unended(&self) -> bool {
        matches!(
            self.end,
            Some(RequestEnd::Returned {
                failure_code: None,
                stop: StopReason::Unknown,
                ..
            })
        )
    }
}

impl RequestEnd {
    pub(super) fn returned(result: &ProtocolAdapterResult) -> Self {
        let message = result.canonical_message.as_ref();
        let is_blank = |message: &AgentMessage| {
            message.is_blank() && message.tool_calls.is_empty() && !message.has_reasoning()
        };
        let held_back = result.withheld.is_some_and(|withheld| !withheld.blank);
        Self::Returned {
            blank: message.is_some_and(is_blank) && !held_back,
            failure_code: result.failure_code,
            pointer: result.pointer.clone(),
            status: result.status,
            stop: result.stop,
            stop_word: result.stop_word.clone(),
        }
    }

    pub(super) fn failed(fault: &ProviderFault) -> Self {
        Self::Failed {
            class: fault.class,
            message: fault.message.clone(),
            not_found: is_elsewhere(fault),
            parameters: fault.parameters.clone(),
            permanent: fault.permanent,
            retry_after_ms: fault.retry_after_ms,
            status: fault.status,
            unknown_model: fault.unknown_model,
        }
    }
}

/// Returns true if the answer is not from a model's API: the address has nothing, rejects such requests,
/// redirects, speaks another protocol or serves a web page. A page with any other status comes from a proxy
/// whose server is down.
fn is_elsewhere(fault: &ProviderFault) -> bool {
    match fault.status {
        Some(404 | 405 | 501) => !fault.unknown_model || has_web_page(&fault.message),
        Some(100..=199 | 300..=399) => true,
        Some(200..=299) => has_web_page(&fault.message),
        _ => false,
    }
}

/// Returns true if the message of a fault quotes a web page, alone or after its description.
pub fn has_web_page(message: &str) -> bool {
    message.split(": ").any(|part| {
        let part: String = part.trim_start().chars().take(14).collect();
        let part = part.to_ascii_lowercase();
        part.starts_with("<!doctype html") || part.starts_with("<html")
    })
}

impl Requests {
    pub(super) const fn all(&self) -> &BTreeMap<InferenceSeq, Request> {
        &self.0
    }

    pub(super) fn is_beside(&self, inference: InferenceSeq) -> bool {
        self.0.get(&inference).is_some_and(Request::is_beside)
    }

    /// A request is sent.
    pub(super) fn send(
        &mut self,
        activities: &mut Activities,
        inference: InferenceSeq,
        (purpose, target, attempt): (RequestPurpose, u32, u32),
        action: &Action,
        at_ms: u64,
    ) {
        let request = Request {
            attempt,
            cost_micro_usd: None,
            end: None,
            ended_at_ms: None,
            failed_in_closing: false,
            kept: None,
            left_out: None,
            number: activities.begin(Activity::Request(inference)),
            purpose,
            sent_at_ms: at_ms,
            target,
            turn: action.counters.turns,
            usage: None,
        };
        self.0.insert(inference, request);
    }

    /// The request ended so, where it was in flight.
    pub(super) fn end(
        &mut self,
        activities: &mut Activities,
        inference: InferenceSeq,
        end: RequestEnd,
        at_ms: u64,
    ) {
        if let Some(request) = self.0.get_mut(&inference)
            && request.end.is_none()
        {
            // What came back is judged first.
            let is_judged = matches!(end, RequestEnd::Returned { .. });
            request.kept = (!is_judged).then_some(false);
            request.end = Some(end);
            request.ended_at_ms = Some(at_ms);
            if !is_judged || request.is_beside() {
                activities.end(request.number);
            }
        }
    }

    /// It is decided whether the message of the request is in the conversation: its facts are complete. `note` says why where it is not.
    pub(super) fn settle(
        &mut self,
        activities: &mut Activities,
        inference: InferenceSeq,
        kept: bool,
        note: Option<&String>,
    ) {
        if let Some(request) = self.0.get_mut(&inference)
            && request.kept.is_none()
        {
            request.kept = Some(kept);
            request.left_out = note.filter(|_| !kept).cloned();
            activities.end(request.number);
        }
    }

    /// Records that a message of the closing turn is in the conversation, before COMMIT decides about it.
    pub(super) fn keep(&mut self, inference: InferenceSeq) {
        if let Some(request) = self.0.get_mut(&inference)
            && request.kept.is_none()
        {
            request.kept = Some(true);
        }
    }

    /// Records the decision of COMMIT about a message of the closing turn that is kept.
    pub(super) fn decide(
        &mut self,
        activities: &mut Activities,
        inference: InferenceSeq,
        answered: bool,
    ) {
        if let Some(request) = self.0.get_mut(&inference)
            && request.kept == Some(true)
        {
            request.failed_in_closing = !answered;
            activities.end(request.number);
        }
    }

    /// The request used so much, and that cost so much.
    pub(super) fn charge(
        &mut self,
        inference: InferenceSeq,
        usage: &Usage,
        cost_micro_usd: Option<u64>,
    ) {
        if let Some(request) = self.0.get_mut(&inference) {
            request.usage = Some(*usage);
            request.cost_micro_usd = cost_micro_usd;
        }
    }

    /// Gives up the requests in flight.
    pub(super) fn give_up(&mut self, activities: &mut Activities, at_ms: u64) {
        for request in self.0.values_mut().filter(|request| request.end.is_none()) {
            request.end = Some(RequestEnd::GivenUp);
            request.kept = Some(false);
            request.ended_at_ms = Some(at_ms);
            activities.end(request.number);
        }
    }
}

/// The recorded fact about the last request, if it says more than the outcome's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum LastRequest {
    /// The answer had neither text nor a call.
    Blank,
    /// The server cut the answer at the limit of its length that the request states.
    CutAtLimit,
    /// The same at a limit of the server's own: the request states none.
    CutByServer,
    /// The response breaks off, or is not a document of the protocol.
    CutShort,
    /// The run wants a final report, and no answer held one.
    NoReport,
    /// The provider limits the rate of requests.
    RateLimited,
    /// No answer came in the time that the contract allows.
    Slow,
    /// The server refused it as larger than the model's context.
    TooLarge,
    /// The server, which wants a key, does not have the model.
    UnknownModel,
}
