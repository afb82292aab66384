//! A server's statements about itself (semantics §9): evidence for people that decides nothing. Plain data.

use serde::{Deserialize, Serialize};

use super::char_prefix;

/// Bytes of a name, a version or a header that are recorded.
const TEXT_BYTES: usize = 256;
/// Bytes of a tool server's instructions that are recorded.
const INSTRUCTION_BYTES: usize = 2_048;
/// The most headers of one response that are recorded.
const MAX_HEADERS: usize = 16;

/// A model server's statements besides the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServedBy {
    /// The model as the server names it, where that is not the name that was asked for; at most 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The `system_fingerprint` of OpenAI's protocol; at most 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_fingerprint: Option<String>,
}

/// A text that a server gave under a name: a header, or a property.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedText {
    /// Its name, of a header in lower case.
    pub name: String,
    /// Its value, at most 256 bytes.
    pub value: String,
}

/// A tool server's statement at MCP initialization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolServerStatement {
    /// Usage of its tools, in its own words; at most 2,048 bytes. No model reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Name it gives itself; at most 256 bytes, like the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The version of the Model Context Protocol that it speaks.
    pub protocol: String,
    /// Its name in the contract.
    pub server: String,
    /// Its own version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl ServedBy {
    /// Returns an answer's statements; `None` if they add nothing to the contract.
    pub fn of(asked: &str, model: Option<&str>, system_fingerprint: Option<&str>) -> Option<Self> {
        let model = model.filter(|model| *model != asked).map(text);
        let system_fingerprint = system_fingerprint.map(text);
        (model.is_some() || system_fingerprint.is_some()).then_some(Self {
            model,
            system_fingerprint,
        })
    }
}

impl NamedText {
    /// Creates a header from its name and value.
    pub fn new(name: &str, value: &str) -> Self {
        Self {
            name: text(name),
            value: text(value),
        }
    }

    /// Selects the response headers that identify a server: `server`, and every name with the word `version`. Sorted.
    pub fn of_headers(headers: &[(String, String)]) -> Vec<Self> {
        let states = |name: &str| {
            let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
            name == "server" || words.any(|word| word == "version")
        };
        let named = headers
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .filter(|(name, _)| states(name));
        let mut named: Vec<Self> = named.map(|(name, value)| Self::new(&name, value)).collect();
        named.sort();
        named.truncate(MAX_HEADERS);
        named
    }
}

impl ToolServerStatement {
    /// Creates a statement from its parts.
    pub fn new(
        server: &str,
        own: Option<(&str, &str)>,
        protocol: &str,
        instructions: Option<&str>,
    ) -> Self {
        let instructions = instructions.filter(|text| !text.trim().is_empty());
        Self {
            instructions: instructions
                .map(|stated| char_prefix(stated, INSTRUCTION_BYTES).to_owned()),
            name: own.map(|(name, _)| text(name)),
            protocol: text(protocol),
            server: server.to_owned(),
            version: own.map(|(_, version)| text(version)),
        }
    }
}

fn text(value: &str) -> String {
    char_prefix(value, TEXT_BYTES).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_headers_those_are_taken_in_which_a_server_says_what_it_is() {
        let headers = [
            ("X-Model-Version", "7"),
            ("set-cookie", "a=b"),
            ("x-conversion-id", "17"),
            ("Server", "llama.cpp"),
            ("openai-organization", "me"),
            ("openai-version", "2020-10-01"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let taken = NamedText::of_headers(&headers);
        let taken: Vec<(&str, &str)> = taken
            .iter()
            .map(|one| (one.name.as_str(), one.value.as_str()))
            .collect();
        let expect = [
            ("openai-version", "2020-10-01"),
            ("server", "llama.cpp"),
            ("x-model-version", "7"),
        ];
        assert_eq!(taken, expect);
        let many: Vec<_> = (0..99)
            .map(|n| (format!("version-{n}"), "x".repeat(999)))
            .collect();
        let taken = NamedText::of_headers(&many);
        assert_eq!(taken.len(), 16);
        assert!(taken.iter().all(|one| one.value.len() == 256));
    }

    #[test]
    fn an_answer_under_the_name_that_was_asked_for_states_nothing_more() {
        assert_eq!(ServedBy::of("m", Some("m"), None), None);
        assert_eq!(ServedBy::of("m", None, None), None);
        let other = ServedBy::of("m", Some("m-2026"), None).unwrap();
        assert_eq!(other.model.as_deref(), Some("m-2026"));
        let same = ServedBy::of("m", Some("m"), Some("fp_1")).unwrap();
        assert_eq!(same.model, None);
        assert_eq!(same.system_fingerprint.as_deref(), Some("fp_1"));
    }
}
