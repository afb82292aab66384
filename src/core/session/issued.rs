//! What must be known of a request to decode its response. Does not hold the body.

use crate::adapter::Adapter;
use crate::kernel::XmlOffer;
use crate::message::Digest;

/// The part of a request that decoding its response needs.
#[derive(Clone, Debug)]
pub struct Issued {
    /// By whose rules.
    pub adapter: Adapter,
    /// BLAKE3 over the body.
    pub body: Digest,
    /// Whether decoding itself is masked, so that prose is the backend's fault.
    pub closed: bool,
    /// Prompt tokens that the machine expected.
    pub(crate) expected_tokens: u64,
    /// Whether it stands beside the turns: for a summary, or what a server wants asked. No conversation shows it.
    pub is_beside: bool,
    /// Index of the target.
    pub target: usize,
    /// The tags that were offered.
    pub xml: Option<XmlOffer>,
}

impl Issued {
    /// Whether the text of a response may be shown before the whole of it is judged: tags carry what is no text.
    pub(super) const fn releases(&self) -> bool {
        !self.is_beside && self.xml.is_none()
    }
}
