//! A recorded event as it would have been under another contract.

use std::sync::Arc;

use super::BlobSource;
use super::replayer::counter_of;
use crate::adapter::ResponseMeta;
use crate::contract::{ExecutionContract, TargetTerms};
use crate::kernel::{
    Event, EventKind, InferenceFailed, InferenceReturned, Probed, ProbedTarget, Run, RunStarted,
    ToolReturned, observation_tokens,
};
use crate::message::{
    AgentMessage, BytesPerToken, ContentBlock, Digest, InferenceSeq, NoTokenizers, TokenCounter,
    ToolEnvelope, ToolOutcome, amount, char_prefix,
};
use crate::session::{Issued, Session};

/// The reason why a recorded event does not answer the effect that the machine requests.
pub(super) struct Mismatch {
    pub(super) why: String,
    pub(super) recorded: String,
    pub(super) other: String,
}

/// Answers the effects of the machine under the other contract from the recording.
pub(super) struct RecordedAnswers {
    /// Counter under the other contract; otherwise why there is none.
    pub(super) counter: Result<Arc<dyn TokenCounter>, String>,
    pub(super) not_compared: Vec<String>,
    other: Arc<ExecutionContract>,
    recorded: Arc<ExecutionContract>,
}

impl Mismatch {
    fn new(why: impl Into<String>, recorded: impl Into<String>, other: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            recorded: recorded.into(),
            other: other.into(),
        }
    }

    pub(super) fn unreadable() -> Self {
        let known = "an entry that this build knows";
        Self::new("the entry does not read back", "something else", known)
    }

    pub(super) fn times_out(at_ms: u64, next_ms: u64) -> Self {
        Self::new(
            "a time limit passes before what is recorded next",
            format!("the next event at {next_ms} ms"),
            format!("its time is up at {at_ms} ms"),
        )
    }
}

impl RecordedAnswers {
    pub(super) fn new(recorded: Arc<ExecutionContract>, other: Arc<ExecutionContract>) -> Self {
        let mut not_compared = Vec::new();
        for (name, was, is) in [
            (
                "llm_timeout_ms",
                recorded.llm_timeout_ms,
                other.llm_timeout_ms,
            ),
            (
                "tool_timeout_ms",
                recorded.tool_timeout_ms,
                other.tool_timeout_ms,
            ),
        ] {
            if was != is {
                not_compared.push(format!(
                    "{name}: whether an answer would have been waited for is not decided again"
                ));
            }
        }
        if names(&recorded.targets) != names(&other.targets) {
            not_compared
                .push("probe: a model that was not asked then is taken to answer it".to_owned());
        }
        Self {
            counter: counter_of(&other, &NoTokenizers),
            not_compared,
            other,
            recorded,
        }
    }

    /// The hash that a process would have computed: the other contract's, unless the recorded one had been changed already.
    fn stated(&self, recorded: Digest) -> Digest {
        if recorded == self.recorded.rehash() {
            self.other.rehash()
        } else {
            recorded
        }
    }

    /// True if a text has another number of tokens under the other contract.
    fn counts_otherwise(&self) -> bool {
        !self.recorded.counting().is_like(&self.other.counting())
    }

    /// Describes what the other contract needs counted, the recorded one lacks, and nothing here can count.
    pub(super) fn uncounted(&self) -> Option<String> {
        let reason = self.counter.as_ref().err()?;
        let alike = !self.counts_otherwise();
        let tools = self.other.tools.iter().chain(&self.other.session_tools);
        let tools = tools.filter(|tool| !alike || self.recorded.defined_as(tool).is_none());
        let system = !(self.other.system.trim().is_empty() || alike && self.has_same_system());
        let count = tools.count() + usize::from(system);
        (count > 0)
            .then(|| format!("estimates of tokens, {count} of them, are bytes / 4: {reason}"))
    }

    fn has_same_system(&self) -> bool {
        self.recorded.system == self.other.system
    }

    /// The beginning under the other contract: its hash, and its system prompt instead of the recorded one.
    pub(super) fn started(&self, mut started: RunStarted) -> RunStarted {
        started.contract_hash = self.stated(started.contract_hash);
        let counter: &dyn TokenCounter = match &self.counter {
            Ok(counter) => counter.as_ref(),
            Err(_) => &BytesPerToken,
        };
        if self.counts_otherwise() {
            started.tokenizer_fault = self.counter.as_ref().err().cloned();
            RunStarted::recount(&mut started.messages, counter);
        }
        if !self.has_same_system() {
            let messages = started.conversation();
            let was = &self.recorded.system;
            started.messages = RunStarted::with_system(&self.other.system, messages, was, counter);
            started.provider_states = AgentMessage::take_states(&mut started.messages);
        }
        started
    }

    /// The event as it would have been, where it answers what the machine waits for.
    pub(super) fn fitted(
        &self,
        event: Event,
        session: &Session,
        blobs: &dyn BlobSource,
    ) -> Result<Event, Mismatch> {
        let at_ms = event.at_ms;
        let due = session.run().and_then(Run::next_deadline);
        let event = match event.event {
            EventKind::InferenceReturned(returned) => {
                returned_now(*returned, (session, self.counter.is_ok()), blobs)?
            }
            EventKind::InferenceFailed(failed) => failed_now(failed, session)?,
            EventKind::ToolReturned(returned) => self.tool(*returned, blobs)?,
            EventKind::Probed(probed) => EventKind::Probed(self.probed(probed)),
            EventKind::Resumed(mut resumed) => {
                resumed.contract_hash = self.stated(resumed.contract_hash);
                EventKind::Resumed(resumed)
            }
            EventKind::TimerFired if due.is_none_or(|due| due > at_ms) => {
                let due =
                    due.map_or_else(|| "for ever".to_owned(), |due| format!("until {due} ms"));
                let other = format!("it waits on, {due}");
                let recorded = format!("the time was up at {at_ms} ms");
                return Err(Mismatch::new(
                    "the recorded run waited no longer",
                    recorded,
                    other,
                ));
            }
            same => same,
        };
        Ok(Event { at_ms, event })
    }

    /// A tool's result as it would have been cut and counted.
    fn tool(
        &self,
        mut returned: ToolReturned,
        blobs: &dyn BlobSource,
    ) -> Result<EventKind, Mismatch> {
        let (was, is) = (
            &self.recorded.tool_output_budget,
            &self.other.tool_output_budget,
        );
        if let ToolOutcome::Returned(envelope) = &returned.outcome
            && (was != is || self.counts_otherwise())
        {
            let envelope = if was == is {
                envelope.clone()
            } else {
                refit(envelope, is.max_bytes_per_call, blobs)?
            };
            let counter = self.counter.as_ref().map_err(|reason| {
                let recorded = amount(envelope.tokens, "token");
                Mismatch::new("a result cannot be counted again", recorded, reason)
            })?;
            let tokens = observation_tokens(&envelope, is, counter.as_ref());
            returned.outcome = ToolOutcome::Returned(envelope.counted(tokens));
        }
        Ok(EventKind::ToolReturned(Box::new(returned)))
    }

    fn probed(&self, probed: Probed) -> Probed {
        let (was, is) = (names(&self.recorded.targets), names(&self.other.targets));
        if was == is {
            return probed;
        }
        let probed_target = |name: &(String, String)| {
            let index = was.iter().position(|other| other == name);
            let found = index.and_then(|index| probed.targets.get(index)).cloned();
            found.unwrap_or_else(|| ProbedTarget {
                detail: "not asked".to_owned(),
                responsive: true,
                ..ProbedTarget::default()
            })
        };
        Probed {
            targets: is.iter().map(probed_target).collect(),
        }
    }
}

/// Returns the data for judging a response, if it answers the request that is sent now.
fn issued(
    session: &Session,
    inference: InferenceSeq,
    sent: Option<Digest>,
) -> Result<&Issued, Mismatch> {
    let why = format!("request {inference} is another one");
    let Some(issued) = session.issued(inference) else {
        return Err(Mismatch::new(why, "an answer to it", "it is not sent"));
    };
    if sent.is_some_and(|sent| sent != issued.body) {
        let body = |body: Digest| format!("a body with the hash {}", body.short(16));
        let recorded = sent.map(body).unwrap_or_default();
        return Err(Mismatch::new(why, recorded, body(issued.body)));
    }
    Ok(issued)
}

/// A response as it would be judged now; from its bytes, where they are there.
fn returned_now(
    returned: InferenceReturned,
    (session, counts): (&Session, bool),
    blobs: &dyn BlobSource,
) -> Result<EventKind, Mismatch> {
    issued(session, returned.inference, Some(returned.request_hash))?;
    let decoded = blobs.blob(returned.result.raw_hash).and_then(|raw| {
        let meta = ResponseMeta {
            status: 200,
            ..ResponseMeta::default()
        };
        let decoded = session.decode_bytes(returned.inference, meta, &raw)?;
        match decoded.event {
            EventKind::InferenceReturned(now) => Some(now),
            _ => None,
        }
    });
    if let Some(mut now) = decoded {
        if now.usage.estimated && !counts {
            now.usage = returned.usage;
        }
        return Ok(EventKind::InferenceReturned(now));
    }
    // Without the bytes, the recorded verdict holds if the gate was the same.
    if session.holds_back() == returned.gated {
        return Ok(EventKind::InferenceReturned(Box::new(returned)));
    }
    let recorded = "its bytes are withheld and were left out";
    let other = "the token gate is in another state";
    Err(Mismatch::new("an answer is not here", recorded, other))
}

fn failed_now(failed: InferenceFailed, session: &Session) -> Result<EventKind, Mismatch> {
    issued(session, failed.inference, failed.request_hash)?;
    Ok(EventKind::InferenceFailed(InferenceFailed {
        gated: session.run().is_some_and(|run| run.gates(&failed.fault)),
        ..failed
    }))
}

fn names(targets: &[TargetTerms]) -> Vec<(String, String)> {
    let name = |target: &TargetTerms| (target.provider.clone(), target.model.clone());
    targets.iter().map(name).collect()
}

/// The envelope with as much of its text as another budget lets it have.
fn refit(
    envelope: &ToolEnvelope,
    limit: u64,
    blobs: &dyn BlobSource,
) -> Result<ToolEnvelope, Mismatch> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let whole = match envelope.full {
        None => envelope.text(),
        Some(full) => {
            let bytes = blobs.blob(full).ok_or_else(|| {
                let recorded = "a beginning of it";
                Mismatch::new("a tool result is not here", recorded, "another part of it")
            })?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    let mut fields = envelope.clone().into_fields();
    fields.full = (whole.len() > limit).then(|| Digest::of(whole.as_bytes()));
    let kept = char_prefix(&whole, limit);
    match (fields.content.as_mut_slice(), &mut fields.error) {
        ([], Some(error)) => kept.clone_into(&mut error.message),
        ([ContentBlock::Text(text)], _) => kept.clone_into(text),
        // Beside what is no text, the blocks keep what they have: the observation is cut from them.
        _ => {}
    }
    Ok(ToolEnvelope::new(fields))
}
