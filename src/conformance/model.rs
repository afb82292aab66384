//! The actions of the model and its provider in a case.

use super::drive::Drive;
use super::script::{Answer, Body, FaultText, UsageText};
use super::wire;
use monolith_core::adapter::xml::Nonce;
use monolith_core::adapter::{Adapter, ResponseMeta};
use monolith_core::kernel::{EventKind, InferRequest, InferenceReturned};
use monolith_core::message::{
    AdapterStatus, Digest, FailureCode, InferenceSeq, ProtocolAdapterResult, ProviderFault, Repair,
    Usage,
};
use monolith_core::session::{DecodedEvent, Input, ReceivedResponse};

impl Drive {
    fn asked(&mut self) -> Result<InferRequest, String> {
        let waits_for = self.flight.describe();
        self.flight.inference.take().ok_or_else(|| {
            let state = self.state();
            format!("no inference is in flight: {state} waits for {waits_for}")
        })
    }

    pub(super) fn answer(&mut self, answer: &Answer) -> Result<(), String> {
        let asked = self.asked()?;
        let contract = self.contract().clone();
        let adapter = Adapter::of_target(&contract, asked.target).map_err(|e| e.to_string())?;
        let target = contract.targets.get(asked.target);
        let model = target.map_or("", |target| target.model.as_str());
        let with_nonce = |text: &str| match &asked.xml {
            Some(offer) => with_nonce(text, &offer.genesis),
            None => text.to_owned(),
        };
        let (body, recovered) = match &answer.body {
            Body::Raw(body) => (with_nonce(body), false),
            Body::Message(message) => {
                let mut message = message.clone();
                message.content = with_nonce(&message.content);
                (wire::body(adapter, &message, answer.usage, model)?, false)
            }
            Body::Recovered(message) => (wire::body(adapter, message, answer.usage, model)?, true),
        };
        let meta = ResponseMeta {
            headers: answer.headers.clone().into_iter().collect(),
            received_unix_ms: 0,
            status: answer.status.unwrap_or(200),
        };
        let bytes = body.into_bytes();
        self.check_verdict(answer, asked.inference, meta.clone(), &bytes)?;
        if recovered {
            return self.altered(asked.inference, meta, &bytes, |returned| {
                // Some adapter of another build repaired it.
                returned.result.status = AdapterStatus::Recovered;
                returned.result.repair = Some(Repair {
                    original: "as the case says".to_owned(),
                    repaired: "as the case says".to_owned(),
                    steps: Vec::new(),
                });
            });
        }
        if self.recast && adapter.is_embedded() {
            return self.altered(asked.inference, meta, &bytes, |returned| {
                // A case for every protocol lets the model write what the mask of an embedded one would not.
                returned.gate_breached = false;
            });
        }
        self.hand_in(Input::Response {
            bytes,
            inference: asked.inference,
            meta,
        })
    }

    /// Checks that the session judges a response as the case says.
    fn check_verdict(
        &self,
        answer: &Answer,
        inference: InferenceSeq,
        meta: ResponseMeta,
        bytes: &[u8],
    ) -> Result<(), String> {
        let judged = self.session.decode_bytes(inference, meta, bytes);
        match judged.map(|judged| judged.event) {
            Some(EventKind::InferenceReturned(returned)) => {
                let rejects = answer.rejected.is_some();
                if self.recast && returned.result.failure_code.is_some() == rejects {
                    return Ok(());
                }
                same_verdict(answer, &returned.result)
            }
            Some(EventKind::InferenceFailed(failed)) => match answer.rejected {
                Some(code) => {
                    let class = failed.fault.class.as_str();
                    let fault =
                        format!("the adapter made a fault of it ({class}), expected {code}");
                    Err(fault)
                }
                None => Ok(()),
            },
            _ => Err(format!("request {inference} is not in flight")),
        }
    }

    /// A response of which the case says more than its bytes do: no replay comes to the same.
    fn altered(
        &mut self,
        inference: InferenceSeq,
        meta: ResponseMeta,
        bytes: &[u8],
        alter: impl FnOnce(&mut InferenceReturned),
    ) -> Result<(), String> {
        let Some(DecodedEvent { blobs, mut event }) =
            self.session.decode_bytes(inference, meta, bytes)
        else {
            return Err(format!("request {inference} is not in flight"));
        };
        for bytes in blobs {
            self.keep(bytes);
        }
        if let EventKind::InferenceReturned(returned) = &mut event {
            let before = returned.clone();
            alter(returned);
            self.replayable &= *returned == before;
        }
        self.push(event)
    }

    pub(super) fn fail(&mut self, text: &FaultText) -> Result<(), String> {
        let asked = self.asked()?;
        let mut fault = ProviderFault::new(text.class, "as the case says");
        fault.retry_after_ms = text.retry_after_ms;
        fault.status = text.status;
        let broken = ReceivedResponse::broken(fault);
        let Some(mut judged) = self.session.decode(asked.inference, broken, None) else {
            return Err(format!("request {} is not in flight", asked.inference));
        };
        if let EventKind::InferenceFailed(failed) = &mut judged.event {
            failed.usage = text.usage.map(reported);
        }
        self.push(judged.event)
    }
}

/// A text of a case, with the nonce of its run where it says so.
pub(super) fn with_nonce(text: &str, genesis: &Digest) -> String {
    text.replace("NONCE", &Nonce::of(genesis).to_string())
}

/// Checks that the adapter's verdict is the one of the case.
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
