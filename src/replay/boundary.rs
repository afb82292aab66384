//! What crossed the boundary to models and tools, made again from the stored bytes.

use super::pointer::first_difference;
use super::replayer::{Replayer, text_of};
use super::{Attribution, BlobSource};
use crate::adapter::xml::transported;
use crate::adapter::{Adapter, Decoded, ResponseMeta};
use crate::kernel::{
    Event, EventKind, InferRequest, InferenceFailed, InferenceReturned, Run, XmlOffer,
};
use crate::message::{AgentMessage, Digest, InferenceSeq, QuarterBytes};
use crate::transcript::{SealedEntry, blob_references};

/// A request that the machine issued, as this build encodes it.
pub(super) struct Issued {
    pub(super) body: Digest,
    /// The body itself, until its answer was seen.
    pub(super) bytes: Vec<u8>,
    pub(super) expected_tokens: u64,
    pub(super) target: usize,
    /// The tags that it offered.
    pub(super) xml: Option<XmlOffer>,
}

impl Issued {
    pub(super) fn of(request: &InferRequest, body: Vec<u8>) -> Self {
        Self {
            body: Digest::of(&body),
            bytes: body,
            expected_tokens: request.expected_tokens,
            target: request.target,
            xml: request.xml,
        }
    }
}

impl Replayer {
    /// Encodes and decodes again what crossed the boundary to the model.
    pub(super) fn check_boundary(
        &mut self,
        entry: &SealedEntry,
        event: &Event,
        blobs: &dyn BlobSource,
    ) {
        match &event.event {
            EventKind::InferenceReturned(returned) => {
                let hash = returned.request_hash;
                self.count_answer(returned.inference);
                self.check_request(entry, returned.inference, Some(hash));
                self.check_decoding(entry, returned, blobs);
            }
            EventKind::InferenceFailed(failed) => {
                if failed.request_hash.is_some() {
                    self.count_answer(failed.inference);
                }
                self.check_request(entry, failed.inference, failed.request_hash);
                self.check_failure(entry, failed, blobs);
            }
            EventKind::ToolReturned(returned) => {
                self.check_tool_result(entry, returned, blobs);
                for named in blob_references(event) {
                    if blobs.erased(named.hash) && blobs.blob(named.hash).is_none() {
                        self.note_erased(entry, "what the tool returned in full");
                    }
                }
            }
            EventKind::RunStarted(started) => self.check_opening(entry, started),
            EventKind::Probed(_)
            | EventKind::TimerFired
            | EventKind::StopRequested
            | EventKind::Interrupted(_)
            | EventKind::ApprovalGiven(_)
            | EventKind::ApprovalDenied(_)
            | EventKind::EffectLost(_)
            | EventKind::Resumed(_) => {}
        }
    }

    fn count_answer(&mut self, inference: InferenceSeq) {
        let target = self.requests.get(&inference).map(|issued| issued.target);
        if let Some(count) = target.and_then(|target| self.answered.get_mut(target)) {
            *count = count.saturating_add(1);
        }
    }

    fn check_request(
        &mut self,
        entry: &SealedEntry,
        inference: InferenceSeq,
        recorded: Option<Digest>,
    ) {
        let Some(issued) = self.requests.get_mut(&inference) else {
            if self.issued.contains(&inference) {
                // Its adapter is unknown here, and that was said once.
                return;
            }
            // Where the recorded machine issued it, it is this build's that did not; else nobody was ever asked.
            let cause = if self.recorded_requests.contains(&inference) {
                Attribution::Kernel
            } else {
                Attribution::Tampered
            };
            let pointer = "/event/event/value/inference";
            let actual = "the machine issued no such request";
            self.differ_at(entry, pointer, &inference.0.to_string(), actual, cause);
            return;
        };
        let encoded = issued.body;
        issued.bytes = Vec::new();
        if Some(encoded) != recorded {
            let recorded = recorded.map_or_else(|| "absent".to_owned(), |hash| hash.to_string());
            self.differ_at(
                entry,
                "/event/event/value/request_hash",
                &recorded,
                &encoded.to_string(),
                Attribution::Adapter,
            );
        }
    }

    fn check_decoding(
        &mut self,
        entry: &SealedEntry,
        returned: &InferenceReturned,
        blobs: &dyn BlobSource,
    ) {
        let recorded = &returned.result;
        self.check_usage(entry, returned);
        if returned.redacted {
            self.check_redacted(entry, returned);
            return;
        }
        let Some(raw) = blobs.blob(recorded.raw_hash) else {
            if blobs.erased(recorded.raw_hash) {
                self.note_erased(entry, "the response");
            } else if returned.gated {
                self.check_withheld(entry, returned);
            } else {
                let pointer = "/event/event/value/result/raw_hash";
                let hash = recorded.raw_hash.to_string();
                self.differ_at(
                    entry,
                    pointer,
                    &hash,
                    "no such bytes",
                    Attribution::Truncated,
                );
            }
            return;
        };
        let actual_hash = Digest::of(&raw);
        if actual_hash != recorded.raw_hash {
            let pointer = "/event/event/value/result/raw_hash";
            let (expected, actual) = (recorded.raw_hash.to_string(), actual_hash.to_string());
            self.differ_at(entry, pointer, &expected, &actual, Attribution::Tampered);
            return;
        }
        let Some(run) = &self.run else { return };
        let target = self
            .requests
            .get(&returned.inference)
            .map_or(0, |issued| issued.target);
        let model = self
            .contract
            .targets
            .get(target)
            .map_or("", |target| target.model.as_str());
        let strict = self.contract.strict_mode;
        let decoded = Adapter::by_version(&recorded.adapter_version).map(|adapter| {
            let meta = ResponseMeta {
                status: 200,
                ..ResponseMeta::default()
            };
            let adapter = adapter.under(strict);
            let mut decoder = adapter.decoder_under(&self.contract, meta, model);
            decoder.push(&raw);
            (decoder.finish(), adapter)
        });
        let again = match decoded {
            Ok((Decoded::Message(result), adapter)) => {
                let xml = self.requests.get(&returned.inference).and_then(|i| i.xml);
                let asked = (target, adapter);
                let result = transported(*result, xml.as_ref(), &self.contract, asked);
                let admitted = run.admit(result);
                if admitted.gated != returned.gated {
                    let (expected, actual) =
                        (returned.gated.to_string(), admitted.gated.to_string());
                    let pointer = "/event/event/value/gated";
                    self.differ_at(entry, pointer, &expected, &actual, Attribution::Kernel);
                }
                text_of(&admitted.result)
            }
            Ok((Decoded::Fault { fault, .. }, _)) => text_of(&fault),
            Err(fault) => {
                let pointer = "/event/event/value/result/adapter_version";
                let version = &recorded.adapter_version;
                let actual = fault.to_string();
                self.differ_at(
                    entry,
                    pointer,
                    version,
                    &actual,
                    Attribution::UnknownVersion,
                );
                return;
            }
        };
        let found = first_difference("/event/event/value/result", &text_of(recorded), &again);
        if let Some((pointer, expected, actual)) = found {
            self.differ_at(entry, &pointer, &expected, &actual, Attribution::Adapter);
        }
    }

    /// A response whose bytes were not kept, since a secret stood in them in pieces. What is left must agree with the gate.
    fn check_redacted(&mut self, entry: &SealedEntry, returned: &InferenceReturned) {
        let Some(run) = &self.run else { return };
        let again = run.admit(returned.result.clone());
        if again.gated != returned.gated || again.withheld.is_some() {
            let (expected, actual) = (returned.gated.to_string(), again.gated.to_string());
            let pointer = "/event/event/value/gated";
            self.differ_at(entry, pointer, &expected, &actual, Attribution::Kernel);
            return;
        }
        self.not_compared.push(format!(
            "entry {}: the response was redacted and its bytes were not kept",
            entry.seq
        ));
    }

    /// Bytes that were erased cannot be decoded again; what the entry says of them is taken as it stands.
    fn note_erased(&mut self, entry: &SealedEntry, what: &str) {
        let seq = entry.seq;
        self.not_compared
            .push(format!("entry {seq}: {what} was erased"));
    }

    /// A response whose bytes were left out: it can only be one that the token gate held back, and then it opens nothing and
    /// shows no text.
    fn check_withheld(&mut self, entry: &SealedEntry, returned: &InferenceReturned) {
        let Some(run) = &self.run else { return };
        let again = run.admit(returned.result.clone());
        let shows = |message: &AgentMessage| !message.content.is_empty();
        let says_something = returned
            .result
            .canonical_message
            .as_ref()
            .is_some_and(shows);
        if !again.gated || says_something {
            let pointer = "/event/event/value/gated";
            self.differ_at(entry, pointer, "true", "false", Attribution::Kernel);
            return;
        }
        let seq = entry.seq;
        self.not_compared.push(format!(
            "entry {seq}: the response is withheld and was left out"
        ));
    }

    /// What an inference is said to have used must be what the response says, or the estimate.
    fn check_usage(&mut self, entry: &SealedEntry, returned: &InferenceReturned) {
        let Some(issued) = self.requests.get(&returned.inference) else {
            return;
        };
        // The estimate counts text that is withheld, which only the bytes can show.
        if returned.result.usage.is_none() && returned.gated {
            return;
        }
        let expected_tokens = issued.expected_tokens;
        let again = if returned.result.usage.is_some() {
            returned
                .result
                .usage_or_estimate(expected_tokens, &QuarterBytes)
        } else {
            let Some(counter) = self.counts() else { return };
            returned
                .result
                .usage_or_estimate(expected_tokens, counter.as_ref())
        };
        let again = text_of(&again);
        let recorded = text_of(&returned.usage);
        let found = first_difference("/event/event/value/usage", &recorded, &again);
        if let Some((pointer, expected, actual)) = found {
            self.differ_at(entry, &pointer, &expected, &actual, Attribution::Adapter);
        }
    }

    /// Decodes a failed answer again, where it was the provider's. A transport fault has no status, and its bytes broke off.
    fn check_failure(
        &mut self,
        entry: &SealedEntry,
        failed: &InferenceFailed,
        blobs: &dyn BlobSource,
    ) {
        let recorded = &failed.fault;
        if failed.redacted {
            self.not_compared.push(format!(
                "entry {}: the failed answer was redacted and its bytes were not kept",
                entry.seq
            ));
            return;
        }
        let pointer = "/event/event/value/fault/raw_hash";
        let raw = match recorded.raw_hash {
            None => Vec::new(),
            Some(hash) => match blobs.blob(hash) {
                Some(raw) if Digest::of(&raw) == hash => raw,
                Some(raw) => {
                    let (expected, actual) = (hash.to_string(), Digest::of(&raw).to_string());
                    self.differ_at(entry, pointer, &expected, &actual, Attribution::Tampered);
                    return;
                }
                None if blobs.erased(hash) => {
                    self.note_erased(entry, "the failed answer");
                    return;
                }
                None if failed.gated && self.run.as_ref().is_some_and(Run::holds_back) => {
                    let seq = entry.seq;
                    self.not_compared.push(format!(
                        "entry {seq}: the failed answer is withheld and was left out"
                    ));
                    return;
                }
                None => {
                    let hash = hash.to_string();
                    self.differ_at(
                        entry,
                        pointer,
                        &hash,
                        "no such bytes",
                        Attribution::Truncated,
                    );
                    return;
                }
            },
        };
        let (Some(status), Some(issued)) = (recorded.status, self.requests.get(&failed.inference))
        else {
            return;
        };
        let target = self.contract.targets.get(issued.target);
        let adapter = Adapter::of_target(&self.contract, issued.target);
        let (Some(target), Ok(adapter)) = (target, adapter) else {
            return;
        };
        let meta = ResponseMeta {
            status,
            ..ResponseMeta::default()
        };
        let mut decoder = adapter.decoder_under(&self.contract, meta, &target.model);
        decoder.push(&raw);
        let again = match decoder.finish() {
            Decoded::Fault { mut fault, .. } => {
                // What the headers asked is recorded, the headers are not.
                fault.raw_hash = recorded.raw_hash;
                fault.retry_after_ms = recorded.retry_after_ms;
                text_of(&fault)
            }
            Decoded::Message(result) => text_of(&result),
        };
        let found = first_difference("/event/event/value/fault", &text_of(recorded), &again);
        if let Some((pointer, expected, actual)) = found {
            self.differ_at(entry, &pointer, &expected, &actual, Attribution::Adapter);
        }
    }
}
