use super::openai_chat;
use super::{AdapterError, RequestEncoder, ResponseDecoder, ResponseMeta};
use crate::contract::{TargetTerms, Terms};

/// One wire protocol in one version: what encodes requests for a target and judges its responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapter(Protocol);

/// The protocols of this build. A later one is a variant here and a folder beside `openai_chat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// OpenAI chat completions, first version.
    OpenaiChat,
}

impl Protocol {
    const ALL: [Self; 1] = [Self::OpenaiChat];

    pub(super) const fn version(self) -> &'static str {
        match self {
            Self::OpenaiChat => openai_chat::VERSION,
        }
    }
}

impl Adapter {
    /// Every adapter of this build.
    pub fn all() -> impl Iterator<Item = Self> {
        Protocol::ALL.into_iter().map(Self)
    }

    /// The adapter of that version, such as `openai-chat/1`.
    ///
    /// # Errors
    /// [`AdapterError::UnknownVersion`] where this build has none of that name.
    pub fn by_version(version: &str) -> Result<Self, AdapterError> {
        Protocol::ALL
            .into_iter()
            .find(|protocol| protocol.version() == version)
            .map(Self)
            .ok_or_else(|| AdapterError::UnknownVersion {
                got: version.chars().take(80).collect(),
                known: Protocol::ALL.map(Protocol::version).join(", "),
            })
    }

    /// The adapter of a contract's target.
    ///
    /// # Errors
    /// [`AdapterError`] where there is no such target, or none of its version.
    pub fn of_target(terms: &Terms, index: usize) -> Result<Self, AdapterError> {
        Self::by_version(&target(terms, index)?.adapter_version)
    }

    /// The version that stands in contracts, entries and results.
    #[must_use]
    pub const fn version(self) -> &'static str {
        self.0.version()
    }

    /// Where a request goes, below the provider's base URL, without a leading slash.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self.0 {
            Protocol::OpenaiChat => openai_chat::PATH,
        }
    }

    /// Judges one response. `model` is the name that was asked for: calls carry it where the provider names no
    /// model itself.
    #[must_use]
    pub fn decoder(self, meta: ResponseMeta, model: &str) -> ResponseDecoder {
        ResponseDecoder::new(self.0, meta, model)
    }

    pub(super) const fn protocol(self) -> Protocol {
        self.0
    }
}

/// The encoder of a target; here beside the other dispatch.
pub(super) fn encoder(terms: &Terms, index: usize) -> Result<RequestEncoder, AdapterError> {
    let target = target(terms, index)?;
    let protocol = Adapter::by_version(&target.adapter_version)?.protocol();
    Ok(RequestEncoder::with(protocol, terms, target))
}

fn target(terms: &Terms, index: usize) -> Result<&TargetTerms, AdapterError> {
    terms.targets.get(index).ok_or(AdapterError::UnknownTarget {
        index,
        targets: terms.targets.len(),
    })
}
