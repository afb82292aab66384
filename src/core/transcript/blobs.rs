//! The blobs that an event names, and those that must exist. Does not read them.

use crate::kernel::{Event, EventKind};
use crate::message::{ContentBlock, Digest, ToolOutcome};

/// A blob that an event names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobReference {
    /// Place in the event that names it, for people.
    pub field: &'static str,
    /// BLAKE3 of its bytes.
    pub hash: Digest,
    /// Requirement for its bytes.
    pub presence: Presence,
}

/// The requirement that the bytes named by an event exist. If two events name the same bytes, the stronger one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    /// They may be missing: a replay makes them again from what is there, and compares the hash.
    Derivable,
    /// They hold text that the token gate holds back (002 Invariant F): an export may leave them out, a store may not.
    Withheld,
    /// They must be there.
    Needed,
}

/// True if a secret was taken out of the answer that an event records, so that the received bytes were not kept.
#[must_use]
pub(crate) fn is_redacted(event: &Event) -> bool {
    match &event.event {
        EventKind::InferenceReturned(returned) => returned.redacted,
        EventKind::InferenceFailed(failed) => failed.redacted,
        _ => false,
    }
}

/// Every blob that an event names, in the order of the event's fields. The bytes of a redacted answer were never kept, so their
/// hash names no blob.
#[must_use]
pub fn blob_references(event: &Event) -> Vec<BlobReference> {
    let named = |presence| {
        move |field, hash| BlobReference {
            field,
            hash,
            presence,
        }
    };
    let (open, request) = (named(Presence::Needed), named(Presence::Derivable));
    match &event.event {
        EventKind::InferenceReturned(returned) => {
            let result = &returned.result;
            let gated = named(Presence::Withheld);
            let mut found = vec![request("event.request_hash", returned.request_hash)];
            let raw = "event.result.raw_hash";
            if returned.gated && !returned.redacted {
                found.push(gated(raw, result.raw_hash));
            } else if !returned.redacted {
                found.push(open(raw, result.raw_hash));
            }
            let text = result.withheld;
            found.extend(text.map(|text| gated("event.result.withheld.hash", text.hash)));
            found
        }
        EventKind::InferenceFailed(failed) => {
            let raw = failed.fault.raw_hash.filter(|_| !failed.redacted);
            let presence = if failed.gated {
                Presence::Withheld
            } else {
                Presence::Needed
            };
            let raw = raw.map(|hash| named(presence)("event.fault.raw_hash", hash));
            let sent = failed.request_hash;
            let sent = sent.map(|hash| request("event.request_hash", hash));
            raw.into_iter().chain(sent).collect()
        }
        EventKind::ToolReturned(returned) => match &returned.outcome {
            ToolOutcome::Returned(envelope) => {
                let resources = envelope.content.iter().filter_map(|block| match block {
                    ContentBlock::Resource { blob, .. } => Some(*blob),
                    ContentBlock::Text(_) => None,
                });
                let resources = resources.map(|blob| open("event.outcome.content.blob", blob));
                let full = envelope.full;
                let full = full.map(|hash| open("event.outcome.full", hash));
                resources.chain(full).collect()
            }
            ToolOutcome::Malformed { raw_hash, .. } => raw_hash
                .map(|hash| open("event.outcome.raw_hash", hash))
                .into_iter()
                .collect(),
            ToolOutcome::SamplingRequired(asked) => {
                vec![open("event.outcome.prompt", asked.prompt)]
            }
            ToolOutcome::TimedOut
            | ToolOutcome::InputRequired(_)
            | ToolOutcome::ConnectionLost { .. }
            | ToolOutcome::Cancelled
            | ToolOutcome::ToolChanged { .. }
            | ToolOutcome::RestartInProgress
            | ToolOutcome::RestartFailed { .. } => Vec::new(),
        },
        EventKind::RunStarted(_)
        | EventKind::Probed(_)
        | EventKind::CallStreamed(_)
        | EventKind::TimerFired
        | EventKind::StopRequested
        | EventKind::Interrupted(_)
        | EventKind::ApprovalGiven(_)
        | EventKind::ApprovalDenied(_)
        | EventKind::EffectLost(_)
        | EventKind::Suspended
        | EventKind::Resumed(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::sample_values::every_event;

    #[test]
    fn the_raw_hash_of_a_redacted_answer_names_no_blob() {
        let names_raw = |event: &Event| {
            let found = blob_references(event);
            found.iter().any(|named| named.field.ends_with("raw_hash"))
        };
        let mut seen = 0;
        for mut event in every_event() {
            let flag = match &mut event.event {
                EventKind::InferenceReturned(returned) => &mut returned.redacted,
                EventKind::InferenceFailed(failed) => &mut failed.redacted,
                _ => continue,
            };
            *flag = true;
            assert!(!names_raw(&event), "{event:?}");
            if let EventKind::InferenceReturned(returned) = &mut event.event {
                returned.redacted = false;
                assert!(names_raw(&event), "{event:?}");
                seen += 1;
            }
        }
        assert!(seen > 0);
    }
}
