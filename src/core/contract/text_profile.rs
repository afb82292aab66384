//! The text profiles: how models write calls into text. Names only; adapters read and write the text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a model writes calls into its text, where it has none of its own on the wire. Data of model profiles; the adapter
/// that a target is given names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextProfile {
    /// `<tool_call>` around a JSON object with `name` and `arguments`.
    Hermes,
    /// A JSON object with `name` and `parameters`, the whole message or after `<|python_tag|>`.
    Llama3,
    /// The calls of `hermes` under the prompt and the results that Qwen models know.
    Qwen,
}

/// Every adapter of a wire protocol that a text profile can be laid over: its version, the profile, the version of both.
macro_rules! layered {
    ($($wire:literal $edition:literal),+ $(,)?) => {
        &[$(
            (concat!($wire, $edition), TextProfile::Hermes, concat!($wire, "+hermes", $edition)),
            (concat!($wire, $edition), TextProfile::Llama3, concat!($wire, "+llama3", $edition)),
            (concat!($wire, $edition), TextProfile::Qwen, concat!($wire, "+qwen", $edition)),
        )+]
    };
}

const LAYERED: &[(&str, TextProfile, &str)] = layered![
    "ollama-chat" "/1",
    "openai-chat" "/1",
    "openrouter-chat" "/1",
];

impl TextProfile {
    /// Every profile.
    pub const ALL: [Self; 3] = [Self::Hermes, Self::Llama3, Self::Qwen];

    /// Whether calls are between `<tool_call>` tags: the form that the token gate's grammar writes.
    #[must_use]
    pub const fn is_tagged(self) -> bool {
        matches!(self, Self::Hermes | Self::Qwen)
    }

    /// The adapter version of this profile over the wire protocol of that adapter version; none if it has none.
    #[must_use]
    pub fn over(self, wire: &str) -> Option<&'static str> {
        let found = LAYERED.iter().find(|(w, p, _)| *w == wire && *p == self);
        found.map(|(_, _, version)| *version)
    }

    /// The wire protocol's adapter version and the profile of an adapter version that names both.
    #[must_use]
    pub fn of_version(version: &str) -> Option<(&'static str, Self)> {
        let found = LAYERED.iter().find(|(_, _, v)| *v == version);
        found.map(|(wire, profile, _)| (*wire, *profile))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_names_the_wire_protocol_and_the_profile() {
        for profile in TextProfile::ALL {
            for wire in ["ollama-chat", "openai-chat", "openrouter-chat"] {
                let alone = format!("{wire}/1");
                let version = profile.over(&alone).unwrap();
                assert_eq!(version, format!("{wire}+{}/1", profile.as_str()));
                let split = TextProfile::of_version(version);
                assert_eq!(split, Some((alone.as_str(), profile)));
            }
            let read: TextProfile =
                serde_json::from_str(&format!("{:?}", profile.as_str())).unwrap();
            assert_eq!(read, profile);
        }
        assert_eq!(TextProfile::Hermes.over("other/1"), None);
        assert_eq!(TextProfile::of_version("openai-chat/1"), None);
        assert_eq!(TextProfile::of_version("openai-chat+other/1"), None);
    }
}
