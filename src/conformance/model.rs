//! What the model and its provider do in a case.

use super::drive::{Asked, Drive};
use super::script::{Answer, Body, FaultText, UsageText};
use super::wire;
use crate::adapter::xml::{Nonce, transported};
use crate::adapter::{Adapter, Decoded, ResponseMeta};
use crate::kernel::{EventKind, InferenceFailed, InferenceReturned};
use crate::message::{
    AdapterStatus, Digest, FailureCode, ProtocolAdapterResult, ProviderFault, QuarterBytes, Repair,
    Usage,
};

impl Drive {
    fn asked(&mut self) -> Result<Asked, String> {
        let waits_for = self.flight.describe();
        self.flight.inference.take().ok_or_else(|| {
            let state = self.played.run.state();
            format!("no inference is in flight: {state} waits for {waits_for}")
        })
    }

    pub(super) fn answer(&mut self, answer: &Answer) -> Result<(), String> {
        let asked = self.asked()?;
        let target = asked.request.target;
        let contract = self.played.contract.clone();
        let adapter = Adapter::of_target(&contract, target).map_err(|fault| fault.to_string())?;
        let model = contract
            .targets
            .get(target)
            .map_or("", |t| t.model.as_str());
        let xml = asked.request.xml.as_ref();
        let said = |text: &str| match xml {
            Some(offer) => with_nonce(text, &offer.genesis),
            None => text.to_owned(),
        };
        let (body, recovered) = match &answer.body {
            Body::Raw(body) => (said(body), false),
            Body::Message(message) => {
                let mut message = message.clone();
                message.content = said(&message.content);
                (wire::body(adapter, &message, answer.usage, model)?, false)
            }
            Body::Recovered(message) => (wire::body(adapter, message, answer.usage, model)?, true),
        };
        let meta = ResponseMeta {
            headers: answer.headers.clone().into_iter().collect(),
            received_unix_ms: 0,
            status: answer.status.unwrap_or(200),
        };
        let mut decoder = adapter.decoder_under(&contract, meta, model);
        decoder.push(body.as_bytes());
        let raw_hash = self.keep(body.into_bytes());
        let mut result = match decoder.finish() {
            Decoded::Message(result) => {
                Box::new(transported(*result, xml, &contract, (target, adapter)))
            }
            Decoded::Fault { mut fault, usage } => {
                if let Some(code) = answer.rejected {
                    let class = fault.class.as_str();
                    return Err(format!(
                        "the adapter made a fault of it ({class}), expected {code}"
                    ));
                }
                fault.raw_hash = Some(raw_hash);
                return self.failed(&asked, fault, usage);
            }
        };
        if !self.recast || result.failure_code.is_some() != answer.rejected.is_some() {
            same_verdict(answer, &result)?;
        }
        if recovered {
            self.played.replayable = false;
            result.status = AdapterStatus::Recovered;
            result.repair = Some(Repair {
                original: "as the case says".to_owned(),
                repaired: "as the case says".to_owned(),
                steps: Vec::new(),
            });
        }
        let usage = result.usage_or_estimate(asked.request.expected_tokens, &QuarterBytes);
        let admitted = self.played.run.admit(*result);
        if let Some(text) = admitted.withheld {
            self.keep(text.into_bytes());
        }
        self.push(EventKind::InferenceReturned(Box::new(InferenceReturned {
            gate_breached: answer.gate_breached,
            gated: admitted.gated,
            inference: asked.request.inference,
            redacted: false,
            request_hash: asked.request_hash,
            result: admitted.result,
            usage,
        })))
    }

    pub(super) fn fail(&mut self, text: &FaultText) -> Result<(), String> {
        let asked = self.asked()?;
        let mut fault = ProviderFault::new(text.class, "as the case says");
        fault.retry_after_ms = text.retry_after_ms;
        fault.status = text.status;
        self.failed(&asked, fault, text.usage.map(reported))
    }

    fn failed(
        &mut self,
        asked: &Asked,
        fault: ProviderFault,
        usage: Option<Usage>,
    ) -> Result<(), String> {
        self.push(EventKind::InferenceFailed(InferenceFailed {
            gated: fault.raw_hash.is_some() && self.played.run.holds_back(),
            fault,
            inference: asked.request.inference,
            redacted: false,
            request_hash: Some(asked.request_hash),
            usage,
        }))
    }
}

/// A text of a case, with the nonce of its run where it says so.
pub(super) fn with_nonce(text: &str, genesis: &Digest) -> String {
    text.replace("NONCE", &Nonce::of(genesis).to_string())
}

/// Whether the adapter's verdict is the one that the case says.
fn same_verdict(answer: &Answer, result: &ProtocolAdapterResult) -> Result<(), String> {
    let got = result.failure_code;
    if got != answer.rejected {
        let word = |code: Option<FailureCode>| {
            code.map_or_else(|| "accepted it".to_owned(), |c| format!("rejected it: {c}"))
        };
        let (got, expected) = (word(got), word(answer.rejected));
        return Err(format!("the adapter {got}; the case says it {expected}"));
    }
    match (&answer.pointer, &result.pointer) {
        (Some(expected), got) if got.as_ref() != Some(expected) => Err(format!(
            "the adapter names {:?}, expected {expected:?}",
            got.as_deref().unwrap_or("nothing")
        )),
        _ => Ok(()),
    }
}

fn reported(usage: UsageText) -> Usage {
    Usage {
        cache_read: usage.cache_read,
        cache_write: 0,
        cost_fault: false,
        cost_micro_usd: usage.cost_micro_usd,
        estimated: false,
        input: usage.input,
        output: usage.output,
    }
}
