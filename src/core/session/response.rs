//! Decodes a response's bytes into its event: the only place where bytes become events. Does not know how bytes arrive.

use super::scrub::{Scrub, Scrubbed};
use crate::adapter::xml::transported;
use crate::adapter::{Adapter, Decoded, ResponseDecoder, ResponseMeta, naming_options};
use crate::contract::{ExecutionContract, WireNames};
use crate::kernel::{EventKind, InferenceFailed, InferenceReturned, Run, XmlOffer};
use crate::message::{
    AgentMessage, Digest, InferenceSeq, NamedText, ProtocolAdapterResult, ProviderFault,
    ProviderState, Scrubber, TokenCounter, ToolInvocation, Usage,
};

/// A response that is still arriving.
#[derive(Debug)]
pub(crate) struct PartialResponse {
    decoder: ResponseDecoder,
    meta: ResponseMeta,
    raw: Vec<u8>,
}

/// A response that has ended, complete or not.
#[derive(Debug)]
pub enum ReceivedResponse {
    /// To its end.
    Whole {
        /// The decoded answer.
        decoded: Decoded,
        /// Status and headers.
        meta: ResponseMeta,
        /// The bytes as received.
        raw: Vec<u8>,
    },
    /// It broke off, or never began.
    Broken {
        /// The fault.
        fault: ProviderFault,
        /// The bytes as received.
        raw: Vec<u8>,
    },
}

/// Decodes a response into its event, under the state of the run.
#[derive(Clone, Copy)]
pub(super) struct EventDecoder<'s> {
    pub(super) contract: &'s ExecutionContract,
    pub(super) counter: &'s dyn TokenCounter,
    pub(super) inference: InferenceSeq,
    pub(super) issued: &'s Issued,
    pub(super) run: &'s Run,
    /// Absent if the bytes were scrubbed before.
    pub(super) scrubber: Option<&'s dyn Scrubber>,
}

/// The event of a response, and the blobs that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedEvent {
    /// Bytes that the event names by hash.
    pub blobs: Vec<Vec<u8>>,
    /// The event for the machine.
    pub event: EventKind,
}

impl ReceivedResponse {
    /// A response of which nothing arrived.
    pub const fn broken(fault: ProviderFault) -> Self {
        Self::Broken {
            fault,
            raw: Vec::new(),
        }
    }
}

impl PartialResponse {
    pub(super) fn new(issued: &Issued, contract: &ExecutionContract, meta: ResponseMeta) -> Self {
        Self {
            decoder: decoder(issued, contract, meta.clone()),
            meta,
            raw: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes);
        self.raw.extend_from_slice(bytes);
    }

    /// True if later bytes cannot change the message.
    pub(crate) fn is_settled(&self) -> bool {
        self.decoder.is_settled()
    }

    /// The text of the message so far; none if only the whole response shows which part is text.
    pub(super) fn text(&self) -> Option<&str> {
        self.decoder.text()
    }

    /// The reasoning so far, where it comes apart from the text.
    pub(super) fn reasoning(&self) -> Option<&str> {
        self.decoder.reasoning()
    }

    /// The call at that place of the message, if it is whole so far.
    pub(super) fn call(&mut self, at: usize) -> Option<ToolInvocation> {
        self.decoder.call(at)
    }

    pub(crate) fn end(self) -> ReceivedResponse {
        ReceivedResponse::Whole {
            decoded: self.decoder.finish(),
            meta: self.meta,
            raw: self.raw,
        }
    }

    pub(crate) fn break_off(self, fault: ProviderFault) -> ReceivedResponse {
        let raw = self.raw;
        ReceivedResponse::Broken { fault, raw }
    }
}

fn decoder(issued: &Issued, contract: &ExecutionContract, meta: ResponseMeta) -> ResponseDecoder {
    let target = contract.targets.get(issued.target);
    let model = target.map_or("", |target| target.model.as_str());
    issued.adapter.decoder_under(contract, meta, model)
}

/// The stored part of a response's bytes.
struct Evidence {
    /// The name of the bytes; none if nothing arrived.
    hash: Option<Digest>,
    /// The bytes without secrets; none if nothing arrived, or they cannot be kept.
    raw: Option<Vec<u8>>,
}

impl Evidence {
    fn new(arrived: bool, raw: Option<Vec<u8>>, hash: Digest) -> Self {
        Self {
            hash: arrived.then_some(hash),
            raw: raw.filter(|_| arrived),
        }
    }

    /// True if something arrived and is not kept.
    const fn is_redacted(&self) -> bool {
        self.hash.is_some() && self.raw.is_none()
    }
}

impl EventDecoder<'_> {
    pub(super) fn decode(&self, arrived: ReceivedResponse) -> DecodedEvent {
        match arrived {
            ReceivedResponse::Whole { decoded, meta, raw } => {
                let arrived = !raw.is_empty();
                let mut headers = NamedText::of_headers(&meta.headers);
                if let Some(scrubber) = self.scrubber {
                    for header in &mut headers {
                        header.value = scrubber.cut_text(&header.value);
                    }
                }
                let Scrubbed {
                    decoded,
                    raw,
                    raw_hash,
                } = match self.scrubber {
                    None => Scrubbed::as_it_is(raw, decoded),
                    Some(scrubber) => Scrub(scrubber).response(raw, decoded, |bytes| {
                        let mut again = decoder(self.issued, self.contract, meta);
                        again.push(bytes);
                        again.finish()
                    }),
                };
                let evidence = Evidence::new(arrived, raw, raw_hash);
                match decoded {
                    Decoded::Message(result) => self.returned(*result, headers, evidence),
                    Decoded::Fault { fault, usage } => self.failed(fault, usage, evidence),
                }
            }
            ReceivedResponse::Broken { mut fault, raw } => {
                let arrived = !raw.is_empty();
                let (raw, hash) = match self.scrubber {
                    None => {
                        let hash = Digest::of(&raw);
                        (Some(raw), hash)
                    }
                    Some(scrubber) => {
                        fault.message = scrubber.cut_text(&fault.message);
                        Scrub(scrubber).broken(&raw)
                    }
                };
                self.failed(fault, None, Evidence::new(arrived, raw, hash))
            }
        }
    }

    fn returned(
        &self,
        result: ProtocolAdapterResult,
        server_headers: Vec<NamedText>,
        evidence: Evidence,
    ) -> DecodedEvent {
        let asked = (self.issued.target, self.issued.adapter);
        let mut result = transported(result, self.issued.xml.as_ref(), self.contract, asked);
        let names = WireNames::of(self.contract);
        let message = result.canonical_message.iter_mut();
        for call in message.flat_map(|message| &mut message.tool_calls) {
            call.name = names.own(&call.name).to_owned();
        }
        // Before anything is held back: an estimate counts the whole text, shown or not.
        let usage = result.usage_or_estimate(self.issued.expected_tokens, self.counter);
        let is_message = result.canonical_message.is_some();
        let asks = self.run.asks(&result);
        let mut admitted = self.run.admit(result);
        let message = admitted.result.canonical_message.as_mut();
        let provider_state = message.and_then(|message| self.state_of(message));
        let redacted = evidence.is_redacted();
        let blobs = evidence.raw.into_iter();
        let blobs = blobs.chain(admitted.withheld.map(String::into_bytes));
        DecodedEvent {
            blobs: blobs.collect(),
            event: EventKind::InferenceReturned(Box::new(InferenceReturned {
                // A message without calls, through a mask that allows only a call.
                gate_breached: self.issued.closed && is_message && admitted.gated && !asks,
                gated: admitted.gated,
                inference: self.inference,
                provider_state,
                redacted,
                request_hash: self.issued.body,
                result: admitted.result,
                server_headers,
                usage,
            })),
        }
    }

    /// Takes the state off a message: the event holds it separately, with the target that gave it.
    fn state_of(&self, message: &mut AgentMessage) -> Option<Box<ProviderState>> {
        let mut state = message.state.take()?;
        let target = self.contract.targets.get(self.issued.target)?;
        state.target = target.owner_of_state();
        Some(state)
    }

    fn failed(
        &self,
        fault: ProviderFault,
        usage: Option<Usage>,
        evidence: Evidence,
    ) -> DecodedEvent {
        let fault = ProviderFault {
            raw_hash: evidence.hash,
            ..naming_options(fault, self.contract.options_of(self.issued.target))
        };
        DecodedEvent {
            event: EventKind::InferenceFailed(InferenceFailed {
                gated: self.run.gates(&fault),
                fault,
                inference: self.inference,
                redacted: evidence.is_redacted(),
                request_hash: Some(self.issued.body),
                usage,
            }),
            blobs: evidence.raw.into_iter().collect(),
        }
    }
}

/// The part of a request that decoding its response needs.
#[derive(Clone, Debug)]
pub struct Issued {
    /// By whose rules.
    pub adapter: Adapter,
    /// BLAKE3 over the body.
    pub body: Digest,
    /// True if decoding itself is masked, so that prose is the backend's fault.
    pub closed: bool,
    /// Prompt tokens that the machine expected.
    pub(crate) expected_tokens: u64,
    /// True if it is outside the turns: for a summary, or for a server's model request. No conversation shows it.
    pub is_beside: bool,
    /// Index of the target.
    pub target: usize,
    /// The tags that were offered.
    pub xml: Option<XmlOffer>,
}

impl Issued {
    /// True if the text of a response may be shown before the whole is judged: tags carry more than text.
    pub(super) const fn releases(&self) -> bool {
        self.xml.is_none()
    }
}
