use super::VERSION;
use super::hermes::{Parsed, parse};
use super::wire::LocalLine;
use crate::adapter::{Decoded, ResponseMeta};
use crate::message::{
    AdapterStatus, AgentMessage, Digest, FailureCode, ProtocolAdapterResult, ProviderFault,
    ProviderFaultClass, Role, StopReason, Usage,
};

/// The most bytes of one answer.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Judges one answer of an embedded model.
#[derive(Debug)]
pub(in crate::adapter) struct Decoder {
    hasher: blake3::Hasher,
    meta: ResponseMeta,
    model: String,
    /// What has arrived of the next line.
    part: Vec<u8>,
    received: usize,
    state: State,
    text: String,
}

#[derive(Debug)]
enum State {
    Open,
    Ended(StopReason, Usage),
    Failed(ProviderFaultClass, String),
    Broken(FailureCode),
}

impl Decoder {
    pub(in crate::adapter) fn new(meta: ResponseMeta, model: &str) -> Self {
        Self {
            hasher: blake3::Hasher::new(),
            meta,
            model: model.to_owned(),
            part: Vec::new(),
            received: 0,
            state: State::Open,
            text: String::new(),
        }
    }

    pub(in crate::adapter) fn push(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        for byte in bytes {
            if self.is_settled() {
                return;
            }
            self.received += 1;
            if self.received > MAX_BODY_BYTES {
                self.state = State::Broken(FailureCode::TooLarge);
            } else if *byte == b'\n' {
                let line = std::mem::take(&mut self.part);
                self.line(&line);
            } else {
                self.part.push(*byte);
            }
        }
    }

    fn line(&mut self, line: &[u8]) {
        match serde_json::from_slice(line) {
            Ok(LocalLine::Text { text }) => self.text.push_str(&text),
            Ok(LocalLine::Stop { stop, usage }) => {
                let usage = Usage {
                    cache_read: 0,
                    cost_micro_usd: None,
                    estimated: false,
                    input: usage.input,
                    output: usage.output,
                };
                self.state = State::Ended(stop, usage);
            }
            Ok(LocalLine::Fault { fault, message }) => self.state = State::Failed(fault, message),
            Err(_) => self.state = State::Broken(FailureCode::BodyInvalidJson),
        }
    }

    pub(in crate::adapter) const fn is_settled(&self) -> bool {
        !matches!(self.state, State::Open)
    }

    pub(in crate::adapter) fn finish(self) -> Decoded {
        let raw_hash = Digest::from_bytes(*self.hasher.finalize().as_bytes());
        let (stop, usage, failure) = match self.state {
            State::Failed(class, message) => {
                let fault = ProviderFault {
                    raw_hash: Some(raw_hash),
                    status: Some(self.meta.status),
                    ..ProviderFault::new(class, message)
                };
                return Decoded::Fault { fault, usage: None };
            }
            State::Ended(stop, usage) => (stop, Some(usage), None),
            State::Broken(code) => (StopReason::Unknown, None, Some(code)),
            State::Open => (
                StopReason::Unknown,
                None,
                Some(FailureCode::StreamIncomplete),
            ),
        };
        let parsed = match failure {
            Some(code) => Err((code, String::new())),
            None => parse(&self.text, &self.model)
                .map_err(|(code, at)| (code, format!("/tool_calls/{at}"))),
        };
        let mut result = ProtocolAdapterResult {
            adapter_version: VERSION.to_owned(),
            canonical_message: None,
            failure_code: None,
            pointer: None,
            raw_hash,
            repair: None,
            status: AdapterStatus::Rejected,
            stop,
            usage,
            withheld: None,
        };
        match parsed {
            Ok(Parsed { calls, content }) => {
                result.status = AdapterStatus::Native;
                result.canonical_message = Some(AgentMessage {
                    tool_calls: calls,
                    ..AgentMessage::text(Role::Assistant, content, 0)
                });
            }
            Err((code, pointer)) => {
                result.failure_code = Some(code);
                result.pointer = Some(pointer);
            }
        }
        Decoded::Message(Box::new(result))
    }
}
