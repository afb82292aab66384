/// What contracts and results call a wire protocol, by the edition of its adapter: the number behind the name.
///
/// A new contract names the newest; what an older one names stays as it is (docs/versions.md).
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireVersions {
    /// Of contracts before the second edition.
    pub(crate) first: &'static str,
    /// The newest.
    pub(crate) second: &'static str,
}

/// The one place where the numbers stand.
macro_rules! editions {
    ($name:literal) => {
        WireVersions {
            first: concat!($name, "/1"),
            second: concat!($name, "/2"),
        }
    };
}

impl WireVersions {
    pub(crate) const ANTHROPIC: Self = editions!("anthropic-messages");
    pub(crate) const BEDROCK: Self = editions!("bedrock-converse");
    pub(crate) const GEMINI: Self = editions!("google-gemini");
    pub(crate) const LOCAL_HERMES: Self = editions!("local-hermes");
    pub(crate) const OLLAMA: Self = editions!("ollama-chat");
    pub(crate) const OPENAI_CHAT: Self = editions!("openai-chat");
    pub(crate) const OPENAI_RESPONSES: Self = editions!("openai-responses");
    pub(crate) const OPENROUTER_CHAT: Self = editions!("openrouter-chat");

    /// What a new contract names.
    pub(crate) const fn newest(self) -> &'static str {
        self.second
    }
}
