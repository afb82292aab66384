//! The requests to models and their responses, for an operator who asks to see them (`--trace-llm`), with the severity TRC of
//! 001 §1. It shows what may be recorded: secrets are out, and text that the token gate holds back is absent.

use tracing::Level;

use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{EventKind, InferenceReturned};
use monolith_core::message::{Digest, Scrubber};
use monolith_core::session::{Append, Request};

/// The target of these diagnostics.
pub const LLM_TRACE: &str = "monolith::trace::llm";

/// Returns true if someone asks to see it.
fn is_on() -> bool {
    tracing::enabled!(target: LLM_TRACE, Level::TRACE)
}

/// Shows a request that is about to be sent.
pub(super) fn request(request: &Request, contract: &ExecutionContract, scrub: &dyn Scrubber) {
    if !is_on() {
        return;
    }
    let terms = &request.inference;
    let target = contract.targets.get(terms.target);
    let target = target.map(|target| format!("{}:{}", target.provider, target.model));
    let body = scrub.cut_bytes(&request.body);
    tracing::trace!(
        target: LLM_TRACE,
        "[TRC] → [{}.0] llm {}, request {}, attempt {}: {} bytes to {}\n{}",
        terms.turn,
        target.unwrap_or_default(),
        terms.inference,
        terms.attempt,
        request.body.len(),
        request.path,
        String::from_utf8_lossy(&body),
    );
}

/// Returns the responses as they are about to be recorded.
pub(super) fn responses(append: &Append) -> Vec<String> {
    if !is_on() {
        return Vec::new();
    }
    let events = append
        .drafts
        .iter()
        .filter_map(|draft| draft.event.as_ref());
    let shown = events.filter_map(|event| match &event.event {
        EventKind::InferenceReturned(returned) => Some(response(returned, &append.blobs)),
        EventKind::InferenceFailed(failed) => Some(format!(
            "[TRC] ← request {}: {}: {}",
            failed.inference,
            failed.fault.class.as_str(),
            failed.fault.message
        )),
        _ => None,
    });
    shown.collect()
}

/// Shows them, once they are recorded.
pub(super) fn show(responses: Vec<String>) {
    for response in responses {
        tracing::trace!(target: LLM_TRACE, "{response}");
    }
}

fn response(returned: &InferenceReturned, blobs: &[Vec<u8>]) -> String {
    let result = &returned.result;
    let begin = format!("[TRC] ← request {}: ", returned.inference);
    if returned.gated {
        return format!(
            "{begin}held back by the token gate; `monolith show RUN --withheld` shows it"
        );
    }
    let raw = blobs
        .iter()
        .find(|bytes| Digest::of(bytes) == result.raw_hash);
    match raw {
        Some(raw) => {
            let text = String::from_utf8_lossy(raw);
            format!("{begin}{} bytes\n{}", raw.len(), text.trim_end())
        }
        None => format!("{begin}its bytes are not kept: a secret stood in them"),
    }
}
