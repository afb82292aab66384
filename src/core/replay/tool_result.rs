//! Checks a recorded tool result against its call and the bytes that it names. Calls no tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Attribution;
use super::replayer::Replayer;
use crate::kernel::{ToolReturned, observation_tokens};
use crate::message::{
    BytesPerToken, ContentBlock, Digest, TokenCounter, ToolEnvelope, ToolOutcome, amount,
    char_prefix,
};
use crate::transcript::SealedEntry;

const ENVELOPE: &str = "/event/event/value/outcome/value";

impl Replayer {
    /// Holds an envelope's text against the whole text in the blob store, and its tokens against its text.
    pub(super) fn check_tool_result(
        &mut self,
        entry: &SealedEntry,
        returned: &ToolReturned,
        blobs: &dyn BlobSource,
    ) {
        let call = self.orders.remove(&returned.call);
        let ToolOutcome::Returned(envelope) = &returned.outcome else {
            return;
        };
        match envelope.full {
            Some(full) => self.check_cut(entry, envelope, full, blobs),
            None => self.check_size(
                entry,
                "bytes_out",
                envelope.bytes_out,
                envelope.text().len(),
            ),
        }
        if let Some(call) = call {
            let given = call.order.invocation.arguments.as_str().len();
            self.check_size(entry, "bytes_in", envelope.bytes_in, given);
        }
        self.check_tokens(entry, envelope);
    }

    /// A size follows from the text that it is the size of.
    fn check_size(&mut self, entry: &SealedEntry, field: &str, recorded: u64, text: usize) {
        let recomputed = u64::try_from(text).unwrap_or(u64::MAX);
        if recomputed != recorded {
            let (recorded, recomputed) = (recorded.to_string(), recomputed.to_string());
            let pointer = format!("{ENVELOPE}/{field}");
            self.differ_at(
                entry,
                &pointer,
                &recorded,
                &recomputed,
                Attribution::Tampered,
            );
        }
    }

    /// The text of a result that was too long must be the beginning of the whole, no shorter than the budget lets it be.
    fn check_cut(
        &mut self,
        entry: &SealedEntry,
        envelope: &ToolEnvelope,
        full: Digest,
        blobs: &dyn BlobSource,
    ) {
        let pointer = format!("{ENVELOPE}/full");
        let hash = full.to_string();
        let Some(bytes) = blobs.blob(full) else {
            // The check of all blobs of the event reports it.
            if blobs.erased(full) {
                return;
            }
            let actual = "no such bytes";
            self.differ_at(entry, &pointer, &hash, actual, Attribution::Truncated);
            return;
        };
        let actual = Digest::of(&bytes);
        if actual != full {
            let actual = actual.to_string();
            self.differ_at(entry, &pointer, &hash, &actual, Attribution::Tampered);
            return;
        }
        let limit = self.contract.tool_output_budget.max_bytes_per_call;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        for (field, recorded, recomputed) in cut_again(envelope, &bytes, limit) {
            let pointer = format!("{ENVELOPE}/{field}");
            self.differ_at(
                entry,
                &pointer,
                &recorded,
                &recomputed,
                Attribution::Tampered,
            );
        }
    }

    /// Returns the token counter; without one, one estimate more is taken as recorded.
    pub(super) fn counts(&mut self) -> Option<Arc<dyn TokenCounter>> {
        let counter = self.counter.as_ref().ok().cloned();
        self.uncounted += u64::from(counter.is_none());
        counter
    }

    /// Returns the counter for an estimate; a provider's numbers need none.
    pub(super) fn counts_if(&mut self, is_estimate: bool) -> Option<Arc<dyn TokenCounter>> {
        if is_estimate {
            return self.counts();
        }
        Some(BytesPerToken::counter())
    }

    /// Notes which estimates were not made again.
    pub(super) fn note_uncounted(&mut self) {
        if let (Err(reason), 1..) = (&self.counter, self.uncounted) {
            let note = format!(
                "estimates of tokens, {} of them, are taken as they are recorded: {reason}",
                self.uncounted
            );
            self.not_compared.push(note);
        }
    }

    /// The tokens of a result follow from its text.
    fn check_tokens(&mut self, entry: &SealedEntry, envelope: &ToolEnvelope) {
        let Some(counter) = self.counts() else { return };
        let budget = &self.contract.tool_output_budget;
        let recomputed = observation_tokens(envelope, budget, counter.as_ref());
        if recomputed != envelope.tokens {
            let pointer = format!("{ENVELOPE}/tokens");
            let (expected, actual) = (envelope.tokens.to_string(), recomputed.to_string());
            self.differ_at(entry, &pointer, &expected, &actual, Attribution::Kernel);
        }
    }
}

/// Each field of the envelope that does not follow from the whole text: what is recorded, and what the bytes give.
fn cut_again(envelope: &ToolEnvelope, whole: &[u8], limit: usize) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let size = u64::try_from(whole.len()).unwrap_or(u64::MAX);
    if envelope.bytes_out != size {
        let (recorded, recomputed) = (envelope.bytes_out.to_string(), size.to_string());
        found.push(("bytes_out".to_owned(), recorded, recomputed));
    }
    if whole.len() <= limit {
        let recomputed = format!("absent: {} within {limit}", amount(size, "byte"));
        found.push(("full".to_owned(), "present".to_owned(), recomputed));
    }
    // The whole is text by construction; what is not was never written here, and shows as another text.
    let whole = String::from_utf8_lossy(whole);
    let recomputed = char_prefix(&whole, limit);
    let is_cut = |text: &str| whole.starts_with(text) && text.len() >= recomputed.len();
    match (envelope.content.as_slice(), &envelope.error) {
        ([], Some(error)) => {
            if !is_cut(&error.message) {
                let (recorded, recomputed) = (error.message.clone(), recomputed.to_owned());
                found.push(("error/message".to_owned(), recorded, recomputed));
            }
        }
        ([ContentBlock::Text(text)], _) => {
            if !is_cut(text) {
                found.push((
                    "content/0/value".to_owned(),
                    text.clone(),
                    recomputed.to_owned(),
                ));
            }
        }
        (blocks, _) => {
            let mut rest = whole.as_ref();
            for (index, block) in blocks.iter().enumerate() {
                let ContentBlock::Text(text) = block else {
                    continue;
                };
                if let Some((_, after)) = rest.split_once(text.as_str()) {
                    rest = after;
                } else {
                    let recomputed = "a part of the whole text, in its order";
                    let field = format!("content/{index}/value");
                    found.push((field, text.clone(), recomputed.to_owned()));
                }
            }
        }
    }
    found
}

/// The source of the bytes that entries name by hash.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use monolith_core::message::Digest;
/// use monolith_core::replay::BlobSource;
///
/// let blobs = BTreeMap::from([(Digest::of(b"bytes"), b"bytes".to_vec())]);
/// assert_eq!(blobs.blob(Digest::of(b"bytes")), Some(b"bytes".to_vec()));
/// ```
pub trait BlobSource {
    /// The bytes under that hash; none if they are not kept.
    fn blob(&self, hash: Digest) -> Option<Vec<u8>>;

    /// True if a tombstone says that the bytes under that hash were erased by design.
    fn erased(&self, _hash: Digest) -> bool {
        false
    }
}

impl BlobSource for BTreeMap<Digest, Vec<u8>> {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        self.get(&hash).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{EnvelopeError, EnvelopeFields, EnvelopeStatus, FileChanges};

    fn envelope(content: &[&str], bytes_out: u64) -> ToolEnvelope {
        let blocks = content
            .iter()
            .map(|text| ContentBlock::Text((*text).to_owned()));
        ToolEnvelope::new(EnvelopeFields {
            bytes_in: 2,
            bytes_out,
            changes: FileChanges::default(),
            content: blocks.collect(),
            duration_ms: 1,
            error: None,
            full: None,
            started_at_ms: 0,
            status: EnvelopeStatus::Ok,
            tokens: 0,
            tool: "read_file".to_owned(),
            tool_call_id: "c".to_owned(),
        })
    }

    #[test]
    fn a_text_that_is_no_beginning_of_the_whole_is_found() {
        let check = |content: &[&str], bytes_out: u64, whole: &str, expect: &[&str]| {
            let found = cut_again(&envelope(content, bytes_out), whole.as_bytes(), 4);
            let fields: Vec<&str> = found.iter().map(|(field, ..)| field.as_str()).collect();
            assert_eq!(fields, expect, "{content:?}");
        };
        check(&["abcd"], 6, "abcdef", &[]);
        check(&["abc"], 6, "abcédef", &["bytes_out"]);
        check(&["abcX"], 6, "abcdef", &["content/0/value"]);
        check(&["abc"], 6, "abcdef", &["content/0/value"]);
        check(&["abcde"], 6, "abcdef", &[]);
        check(&["abc"], 3, "abc", &["full"]);
        check(&["ab", "ef"], 6, "abcdef", &[]);
        check(&["ef", "ab"], 6, "abcdef", &["content/1/value"]);
    }

    #[test]
    fn the_words_of_a_failure_without_content_are_held_against_the_whole() {
        let failed = ToolEnvelope::new(EnvelopeFields {
            error: Some(EnvelopeError {
                code: "TOOL_ERROR".to_owned(),
                message: "abcd".to_owned(),
            }),
            status: EnvelopeStatus::Error,
            ..envelope(&[], 6).into_fields()
        });
        assert_eq!(cut_again(&failed, b"abcdef", 4), []);
        let found = cut_again(&failed, b"abXdef", 4);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "error/message");
    }
}
