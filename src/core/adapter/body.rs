//! Request bodies, and their digests. Does not know any protocol.

use std::ops::Deref;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::kernel::{InferRequest, ToolExposure, XmlOffer};
use crate::message::{AgentMessage, Digest, DigestBuilder, Parameter};

/// The body of a request, and BLAKE3 over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestBody {
    /// The sent bytes.
    pub bytes: Bytes,
    /// BLAKE3 over `bytes`.
    pub digest: Digest,
}

impl RequestBody {
    /// A body that was rendered as a whole.
    pub(super) fn whole(bytes: Vec<u8>) -> Self {
        let digest = Digest::of(&bytes);
        Self {
            bytes: bytes.into(),
            digest,
        }
    }
}

impl Deref for RequestBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The bodies of one conversation, each of which extends the one before it. Their common part is hashed once, and copied only
/// while the sender still holds an earlier body.
#[derive(Debug)]
pub(super) struct GrowingBody {
    /// Number of bytes of the common part in `hashed`.
    counted: usize,
    hashed: DigestBuilder,
    /// The last body; the common part is its beginning.
    last: Bytes,
    /// Length of the common part.
    length: usize,
}

impl GrowingBody {
    pub(super) fn of(head: &[u8]) -> Self {
        Self {
            counted: 0,
            hashed: DigestBuilder::new(),
            last: Bytes::copy_from_slice(head),
            length: head.len(),
        }
    }

    /// The next body: the first `kept` bytes of the common part, then `new`, which the body after it has too, then what only this body
    /// ends with.
    pub(super) fn next(&mut self, kept: usize, new: &[u8], end: &[&[u8]]) -> RequestBody {
        let kept = kept.min(self.length);
        if self.counted > kept {
            self.hashed = DigestBuilder::new();
            self.counted = 0;
        }
        let added = new.len() + end.iter().map(|part| part.len()).sum::<usize>();
        let last = std::mem::take(&mut self.last);
        let mut bytes = last.try_into_mut().unwrap_or_else(|in_use| {
            // Its capacity grows with each body, so that most bodies need no new allocation.
            let mut copy = BytesMut::with_capacity((kept + added) * 2);
            copy.extend_from_slice(in_use.get(..kept).unwrap_or_default());
            copy
        });
        bytes.truncate(kept);
        bytes.reserve(added);
        bytes.extend_from_slice(new);
        self.hashed
            .update(bytes.get(self.counted..).unwrap_or_default());
        self.length = bytes.len();
        self.counted = self.length;
        let mut whole = self.hashed.clone();
        for part in end {
            bytes.extend_from_slice(part);
            whole.update(part);
        }
        self.last = bytes.freeze();
        RequestBody {
            bytes: self.last.clone(),
            digest: whole.digest(),
        }
    }
}

/// The parts of a request besides the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestShape<'a> {
    /// True in the closing turn, which offers nothing except the final report.
    pub closing: bool,
    /// Messages after the conversation, in this request only; never kept.
    pub notices: &'a [AgentMessage],
    /// The offer of tools, if there is one.
    pub tools: ToolExposure,
    /// True if the target refused members that it had given itself: then its messages go back without them.
    pub without_state: bool,
    /// The tags that it describes; `None` under the native transport.
    pub xml: Option<XmlOffer>,
}

impl<'a> From<&'a InferRequest> for RequestShape<'a> {
    fn from(request: &'a InferRequest) -> Self {
        Self {
            closing: request.closing.is_some(),
            notices: &request.notices,
            tools: request.tools,
            without_state: request.left_out.contains(&Parameter::ProviderState),
            xml: request.xml,
        }
    }
}

/// A renderer of bodies for one protocol.
pub(super) trait Encode: std::fmt::Debug + Send {
    /// The body of a request; the same conversation and shape always give the same bytes.
    fn encode(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        shape: &RequestShape<'_>,
    ) -> RequestBody;

    /// When the run began, for prompts that name the time.
    fn begun_at(&mut self, _unix_ms: u64) {}
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_body_that_was_dropped_is_written_on_in_its_place() {
        let mut body = GrowingBody::of(b"head:");
        let first = body.next(5, &[b'a'; 4096], &[b"!"]);
        let at = first.as_ptr();
        drop(first);
        // There is room for this without other memory.
        let second = body.next(5 + 4096, b"", &[b"?"]);
        assert_eq!(second.as_ptr(), at);
        let third = body.next(5 + 4096, b"b", &[b"."]);
        assert_ne!(third.as_ptr(), at, "the second is still in use");
        assert!(second.ends_with(b"a?") && third.ends_with(b"ab."));
    }

    proptest! {
        /// Whatever is kept and added, and whether or not earlier bodies are in use: the bytes and the digest are those of a
        /// body that is made at once.
        #[test]
        fn a_growing_body_is_that_of_all_its_parts(
            steps in proptest::collection::vec((0_usize..3000, 0_usize..3000, "[a-z]{0,9}", any::<bool>()), 1..12),
        ) {
            let (mut body, mut common, mut held) = (GrowingBody::of(b"head"), b"head".to_vec(), Vec::new());
            for (kept, new, end, hold) in steps {
                common.truncate(kept);
                let kept = common.len();
                let new = vec![u8::try_from(kept % 251).unwrap(); new];
                common.extend_from_slice(&new);
                let expect = [common.as_slice(), end.as_bytes()].concat();
                let got = body.next(kept, &new, &[end.as_bytes()]);
                prop_assert_eq!(&*got, expect.as_slice());
                prop_assert_eq!(got.digest, Digest::of(&expect));
                if hold {
                    held.push((got, expect));
                }
            }
            for (body, expect) in held {
                prop_assert_eq!(&*body, expect.as_slice());
            }
        }
    }
}
