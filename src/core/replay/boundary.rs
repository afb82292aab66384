//! The traffic across the boundary to models and tools, made again from the stored bytes.

use super::pointer::first_difference;
use super::replayer::{Replayer, issued_by, text_of};
use super::{Attribution, BlobSource};
use crate::adapter::{Adapter, ResponseMeta};
use crate::kernel::{Event, EventKind, InferenceFailed, InferenceReturned};
use crate::message::{AgentMessage, Digest, InferenceSeq};
use crate::session::DecodedEvent;
use crate::transcript::{SealedEntry, blob_references};

const INFERENCE: &str = "/event/event/value/inference";

/// True if an entry says that it issued that request.
fn issues(entry: &SealedEntry, inference: InferenceSeq) -> bool {
    let action = entry.decode_action();
    action.is_ok_and(|action| issued_by(&action).any(|issued| issued == inference))
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
            | EventKind::CallStreamed(_)
            | EventKind::TimerFired
            | EventKind::StopRequested
            | EventKind::Interrupted(_)
            | EventKind::ApprovalGiven(_)
            | EventKind::ApprovalDenied(_)
            | EventKind::EffectLost(_)
            | EventKind::Suspended
            | EventKind::Resumed(_) => {}
        }
    }

    fn count_answer(&mut self, inference: InferenceSeq) {
        let target = self.session.issued(inference).map(|issued| issued.target);
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
        if let Some(requests) = &mut self.requests {
            requests.remove(&inference);
        }
        let Some(issued) = self.session.issued(inference) else {
            self.check_no_request(entry, inference);
            return;
        };
        let encoded = issued.body;
        if Some(encoded) != recorded {
            let recorded = recorded.map_or_else(|| "absent".to_owned(), |hash| hash.to_string());
            let pointer = "/event/event/value/request_hash";
            let encoded = encoded.to_string();
            self.differ_at(entry, pointer, &recorded, &encoded, Attribution::Adapter);
        }
    }

    /// A response to a request that is not in flight.
    fn check_no_request(&mut self, entry: &SealedEntry, inference: InferenceSeq) {
        let (actual, cause) = if self.sendable.contains(&inference) {
            let actual = "the request has had its response, or was lost";
            (actual, Attribution::Tampered)
        } else if self.issued.contains(&inference) {
            // This build does not know its adapter, or lacks the result that was to be summarised: both are reported elsewhere.
            return;
        } else if self.recorded_requests.contains(&inference) || issues(entry, inference) {
            // The recorded machine issued it, this build's did not.
            let actual = "the machine issued no such request";
            (actual, Attribution::Kernel)
        } else {
            let actual = "the machine issued no such request";
            (actual, Attribution::Tampered)
        };
        self.differ_at(entry, INFERENCE, &inference.0.to_string(), actual, cause);
    }

    fn check_decoding(
        &mut self,
        entry: &SealedEntry,
        returned: &InferenceReturned,
        blobs: &dyn BlobSource,
    ) {
        let recorded = &returned.result;
        if returned.redacted {
            if blobs.blob(recorded.raw_hash).is_some() {
                // The name of bytes that were dropped is a commitment: no bytes have it.
                let pointer = "/event/event/value/redacted";
                self.differ_at(entry, pointer, "true", "false", Attribution::Tampered);
            }
            self.check_usage(entry, returned);
            self.check_redacted(entry, returned);
            return;
        }
        let pointer = "/event/event/value/result/raw_hash";
        let hash = recorded.raw_hash.to_string();
        let Some(raw) = blobs.blob(recorded.raw_hash) else {
            self.check_usage(entry, returned);
            if blobs.erased(recorded.raw_hash) {
                self.note_erased(entry, "the response");
            } else if returned.gated {
                self.check_withheld(entry, returned);
            } else {
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
        let actual = Digest::of(&raw);
        if actual != recorded.raw_hash {
            self.differ_at(
                entry,
                pointer,
                &hash,
                &actual.to_string(),
                Attribution::Tampered,
            );
            return;
        }
        if let Err(fault) = Adapter::by_version(&recorded.adapter_version) {
            let pointer = "/event/event/value/result/adapter_version";
            let (version, actual) = (&recorded.adapter_version, fault.to_string());
            let cause = Attribution::UnknownVersion;
            self.differ_at(entry, pointer, version, &actual, cause);
            return;
        }
        let Some(decoded) = self.decode_again(returned.inference, 200, &raw) else {
            if self.issued.contains(&returned.inference) {
                let seq = entry.seq;
                self.not_compared.push(format!(
                    "entry {seq}: the response: its request cannot be made again here"
                ));
            }
            return;
        };
        match decoded.event {
            EventKind::InferenceReturned(replayed) => {
                self.compare_returned(entry, returned, &replayed);
            }
            EventKind::InferenceFailed(replayed) => {
                let (recorded, replayed) = (text_of(recorded), text_of(&replayed.fault));
                let pointer = "/event/event/value/result";
                self.compare_at(entry, pointer, &recorded, &replayed, Attribution::Adapter);
            }
            _ => {}
        }
    }

    /// The event that the recorded bytes are, to this build.
    fn decode_again(
        &self,
        inference: InferenceSeq,
        status: u16,
        raw: &[u8],
    ) -> Option<DecodedEvent> {
        let meta = ResponseMeta {
            status,
            ..ResponseMeta::default()
        };
        self.session.decode_bytes(inference, meta, raw)
    }

    fn compare_returned(
        &mut self,
        entry: &SealedEntry,
        recorded: &InferenceReturned,
        replayed: &InferenceReturned,
    ) {
        let flags = [
            ("gated", recorded.gated, replayed.gated),
            (
                "gate_breached",
                recorded.gate_breached,
                replayed.gate_breached,
            ),
        ];
        for (flag, recorded, replayed) in flags {
            if recorded != replayed {
                let pointer = format!("/event/event/value/{flag}");
                let (recorded, replayed) = (recorded.to_string(), replayed.to_string());
                self.differ_at(entry, &pointer, &recorded, &replayed, Attribution::Kernel);
            }
        }
        if recorded.result != replayed.result {
            let result = (text_of(&recorded.result), text_of(&replayed.result));
            let pointer = "/event/event/value/result";
            self.compare_at(entry, pointer, &result.0, &result.1, Attribution::Adapter);
        }
        let is_unknown = replayed.usage.estimated && self.counts().is_none();
        if is_unknown || recorded.usage == replayed.usage {
            return;
        }
        let usage = (text_of(&recorded.usage), text_of(&replayed.usage));
        let pointer = "/event/event/value/usage";
        self.compare_at(entry, pointer, &usage.0, &usage.1, Attribution::Adapter);
    }

    fn compare_at(
        &mut self,
        entry: &SealedEntry,
        pointer: &str,
        recorded: &str,
        replayed: &str,
        cause: Attribution,
    ) {
        let found = first_difference(pointer, recorded, replayed);
        if let Some((pointer, expected, actual)) = found {
            self.differ_at(entry, &pointer, &expected, &actual, cause);
        }
    }

    /// Without the bytes: an embedded model broke its mask where a message opens nothing and asks for nothing.
    fn check_breach(&mut self, entry: &SealedEntry, returned: &InferenceReturned) {
        let Some(issued) = self.session.issued(returned.inference) else {
            return;
        };
        let is_message = returned.result.canonical_message.is_some();
        let run = self.session.run();
        let asks = run.is_some_and(|run| run.asks(&returned.result));
        let replayed = issued.closed && is_message && returned.gated && !asks;
        if replayed != returned.gate_breached {
            let (recorded, replayed) = (returned.gate_breached.to_string(), replayed.to_string());
            let pointer = "/event/event/value/gate_breached";
            self.differ_at(entry, pointer, &recorded, &replayed, Attribution::Kernel);
        }
    }

    /// A response whose bytes were not kept, because a secret was in them in pieces. What is left must agree with the gate.
    fn check_redacted(&mut self, entry: &SealedEntry, returned: &InferenceReturned) {
        self.check_breach(entry, returned);
        let Some(replayed) = self.session.admit(returned.result.clone()) else {
            return;
        };
        if replayed.gated != returned.gated || replayed.withheld.is_some() {
            let (expected, actual) = (returned.gated.to_string(), replayed.gated.to_string());
            let pointer = "/event/event/value/gated";
            self.differ_at(entry, pointer, &expected, &actual, Attribution::Kernel);
            return;
        }
        self.not_compared.push(format!(
            "entry {}: the response was redacted and its bytes were not kept",
            entry.seq
        ));
    }

    /// Bytes that were erased cannot be decoded again; what the entry says of them is taken unchanged.
    fn note_erased(&mut self, entry: &SealedEntry, what: &str) {
        let seq = entry.seq;
        self.not_compared
            .push(format!("entry {seq}: {what} was erased"));
    }

    /// A response whose bytes were left out: it can only be one that the token gate held back, and then it opens nothing and
    /// shows no text.
    fn check_withheld(&mut self, entry: &SealedEntry, returned: &InferenceReturned) {
        self.check_breach(entry, returned);
        let Some(replayed) = self.session.admit(returned.result.clone()) else {
            return;
        };
        let shows = |message: &AgentMessage| !message.content.is_empty();
        let message = returned.result.canonical_message.as_ref();
        if !replayed.gated || message.is_some_and(shows) {
            let pointer = "/event/event/value/gated";
            self.differ_at(entry, pointer, "true", "false", Attribution::Kernel);
            return;
        }
        let seq = entry.seq;
        self.not_compared.push(format!(
            "entry {seq}: the response is withheld and was left out"
        ));
    }

    /// Without the bytes: what an inference is said to have used must be what its recorded verdict says, or the estimate.
    fn check_usage(&mut self, entry: &SealedEntry, returned: &InferenceReturned) {
        let Some(issued) = self.session.issued(returned.inference) else {
            return;
        };
        let expected_tokens = issued.expected_tokens;
        let is_estimate = returned.result.usage.is_none();
        // The estimate counts text that is withheld, which only the bytes can show.
        if is_estimate && returned.gated {
            return;
        }
        let Some(counter) = self.counts_if(is_estimate) else {
            return;
        };
        let replayed = returned
            .result
            .usage_or_estimate(expected_tokens, counter.as_ref());
        let usage = (text_of(&returned.usage), text_of(&replayed));
        let pointer = "/event/event/value/usage";
        self.compare_at(entry, pointer, &usage.0, &usage.1, Attribution::Adapter);
    }

    /// Decodes a failed answer again, where it was the provider's. A transport fault has no status, and its bytes broke off.
    fn check_failure(
        &mut self,
        entry: &SealedEntry,
        failed: &InferenceFailed,
        blobs: &dyn BlobSource,
    ) {
        let recorded = &failed.fault;
        let gated = recorded.raw_hash.is_some() && self.session.holds_back();
        if gated != failed.gated && self.session.issued(failed.inference).is_some() {
            let (recorded, replayed) = (failed.gated.to_string(), gated.to_string());
            let pointer = "/event/event/value/gated";
            self.differ_at(entry, pointer, &recorded, &replayed, Attribution::Kernel);
        }
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
                None if failed.gated && self.session.holds_back() => {
                    let seq = entry.seq;
                    self.not_compared.push(format!(
                        "entry {seq}: the failed answer is withheld and was left out"
                    ));
                    return;
                }
                None => {
                    let (hash, actual) = (hash.to_string(), "no such bytes");
                    self.differ_at(entry, pointer, &hash, actual, Attribution::Truncated);
                    return;
                }
            },
        };
        let decoded = recorded
            .status
            .and_then(|status| self.decode_again(failed.inference, status, &raw));
        let Some(decoded) = decoded else { return };
        let replayed = match decoded.event {
            EventKind::InferenceFailed(replayed) => {
                let usage = (text_of(&failed.usage), text_of(&replayed.usage));
                let pointer = "/event/event/value/usage";
                self.compare_at(entry, pointer, &usage.0, &usage.1, Attribution::Adapter);
                let mut fault = replayed.fault;
                // What the headers said is recorded, the headers are not.
                fault.retry_after_ms = recorded.retry_after_ms;
                if recorded
                    .status
                    .is_some_and(|status| (300..400).contains(&status))
                {
                    fault.message.clone_from(&recorded.message);
                }
                text_of(&fault)
            }
            EventKind::InferenceReturned(replayed) => text_of(&replayed.result),
            _ => return,
        };
        let (pointer, recorded) = ("/event/event/value/fault", text_of(recorded));
        self.compare_at(entry, pointer, &recorded, &replayed, Attribution::Adapter);
    }
}
