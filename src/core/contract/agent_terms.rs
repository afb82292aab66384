//! The agent of a contract: its profile, the abilities in its system prompt, and its selection. Plain data; decides nothing.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::compiled_schema::HexDigest;
use crate::message::Digest;

/// The name of an agent, an ability or a capability: lower-case letters and digits, with single hyphens between them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct AgentId(String);

/// The error of an invalid [`AgentId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected up to {} lower-case letters and digits, with single hyphens between them",
    AgentId::MOST_CHARS
)]
pub struct AgentIdFault;

impl AgentId {
    /// The most characters of one.
    pub(crate) const MOST_CHARS: usize = 64;
    /// Its form, for JSON Schemas.
    pub(crate) const PATTERN: &str = "^[a-z0-9]+(-[a-z0-9]+)*$";

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id that a name comes to: what is no letter or digit becomes a hyphen; `agent` where nothing is left.
    pub(crate) fn sanitized(name: &str) -> Self {
        let words = name.split(|c: char| !c.is_ascii_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        let mut id = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
        id.truncate(Self::MOST_CHARS);
        id.truncate(id.trim_end_matches('-').len());
        Self(if id.is_empty() {
            "agent".to_owned()
        } else {
            id
        })
    }
}

impl TryFrom<String> for AgentId {
    type Error = AgentIdFault;

    fn try_from(text: String) -> Result<Self, AgentIdFault> {
        let allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
        let mut words = text.split('-');
        let fits = words.all(|word| !word.is_empty() && word.bytes().all(allowed));
        if fits && text.len() <= Self::MOST_CHARS {
            Ok(Self(text))
        } else {
            Err(AgentIdFault)
        }
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for AgentId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AgentId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": Self::PATTERN, "maxLength": Self::MOST_CHARS})
    }
}

/// The certainty of a selection, from 0 to 1 (INV-AGT-SEL-002). Counted in hundredths, so that sums are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Confidence(u8);

/// A number that is no [`Confidence`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a confidence is 0 to 1, in hundredths, got {0}")]
pub struct ConfidenceFault(f64);

impl Confidence {
    /// The score, taken at the nearer end where it is outside of 0 to 100.
    #[must_use]
    pub fn clamped(hundredths: i64) -> Self {
        Self(u8::try_from(hundredths.clamp(0, 100)).unwrap_or(0))
    }

    /// 0 to 100.
    #[must_use]
    pub const fn hundredths(self) -> u8 {
        self.0
    }
}

impl From<Confidence> for f64 {
    fn from(confidence: Confidence) -> Self {
        Self::from(confidence.0) / 100.0
    }
}

impl TryFrom<f64> for Confidence {
    type Error = ConfidenceFault;

    fn try_from(fraction: f64) -> Result<Self, ConfidenceFault> {
        let hundredths = hundredths::read(fraction).and_then(|read| u8::try_from(read).ok());
        hundredths.map(Self).ok_or(ConfidenceFault(fraction))
    }
}

/// Hundredths from −100 to 100, written as the fractions that they are.
mod hundredths {
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    fn fraction(hundredths: i8) -> f64 {
        f64::from(hundredths) / 100.0
    }

    /// The hundredths of a fraction; `None` if it is not one of them.
    pub(super) fn read(given: f64) -> Option<i8> {
        (-100..=100).find(|hundredths| fraction(*hundredths).to_bits() == given.to_bits())
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    pub(super) fn serialize<S: Serializer>(
        hundredths: &i64,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let hundredths = i8::try_from(*hundredths).map_err(S::Error::custom)?;
        serializer.serialize_f64(fraction(hundredths))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        let given = f64::deserialize(deserializer)?;
        let hundredths = read(given).map(i64::from);
        hundredths.ok_or_else(|| D::Error::custom("not a number of hundredths from -1 to 1"))
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

impl JsonSchema for Confidence {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Confidence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0, "maximum": 1})
    }
}

/// The part of a profile that counted for an agent, or against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// The task is one of `exampleTasks`.
    ExactExample,
    /// The task contains one of `exampleTasks`.
    Example,
    /// The task names one of `capabilities`.
    Capability,
    /// The task contains one of `notForTasks`.
    NotFor,
    /// No profile fits the task.
    Fallback,
}

/// One reason of a score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// Hundredths that it adds to a confidence; negative if it subtracts. A document has the fraction.
    #[serde(with = "hundredths")]
    #[schemars(with = "f64")]
    pub adds: i64,
    /// Its kind.
    pub kind: SignalKind,
    /// The text of the profile that matched.
    pub matched: String,
}

/// The fit of an agent for a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentScore {
    /// The agent.
    pub agent: AgentId,
    /// The sum of the signals, between 0 and 1.
    pub confidence: Confidence,
    /// Cause.
    pub signals: Vec<Signal>,
}

impl AgentScore {
    /// The sum of its signals in hundredths, which may be outside of 0 to 100.
    #[must_use]
    pub fn sum(&self) -> i64 {
        self.signals.iter().map(|signal| signal.adds).sum()
    }

    /// True if its confidence is not that sum, because the sum is outside of the range.
    #[must_use]
    pub fn is_clamped(&self) -> bool {
        self.sum() != i64::from(self.confidence.hundredths())
    }
}

/// The selection of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentSelection {
    /// Number of agents that could have been selected.
    pub considered: u64,
    /// BLAKE3 over their ids and the digests of their profiles.
    #[schemars(with = "HexDigest")]
    pub registry: Digest,
    /// The agents that fit, the best first; at most 16.
    pub scores: Vec<AgentScore>,
}

/// An ability in the system prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbilityTerms {
    /// True if the profile always has it; otherwise the task matched it.
    pub core: bool,
    /// BLAKE3 of its file.
    #[schemars(with = "HexDigest")]
    pub digest: Digest,
    /// Bytes of its text that are in the prompt, where it was cut; left out where it is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_bytes: Option<u64>,
    /// Its name.
    pub name: AgentId,
    /// Its share of the budget, including its heading: bytes / 4.
    pub tokens: u64,
}

/// The agent of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentTerms {
    /// The abilities at the start of the system prompt, in that order; omitted if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abilities: Vec<AbilityTerms>,
    /// BLAKE3 of its profile's text, what it includes included.
    #[schemars(with = "HexDigest")]
    pub digest: Digest,
    /// Its id.
    pub id: AgentId,
    /// Its selection; omitted if the agent was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<AgentSelection>,
    /// The version of its profile.
    pub version: String,
}

/// The description of an agent besides its contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentProfile {
    /// Abilities that a task may match.
    pub abilities: Vec<AgentId>,
    /// Budget of abilities in the system prompt, in tokens of four bytes.
    pub(crate) ability_tokens: u64,
    /// Its skills, in words.
    pub capabilities: Vec<AgentId>,
    /// Abilities that it always has.
    pub core_abilities: Vec<AgentId>,
    /// For people.
    pub description: Option<String>,
    /// BLAKE3 of its text.
    pub digest: Digest,
    /// True if it may be selected and run.
    pub enabled: bool,
    /// Tasks that it is for.
    pub(crate) example_tasks: Vec<String>,
    /// The id, unique in a registry.
    pub id: AgentId,
    /// Tasks that it is not for.
    pub(crate) not_for_tasks: Vec<String>,
    /// The version that the author states.
    pub version: String,
    /// The course of its work, for the model.
    pub workflow: Option<String>,
}

impl AgentProfile {
    /// The agent that is always there (INV-AGT-SEL-004).
    pub const STANDARD: &str = "standard";
    /// Budget of abilities if a profile states none.
    pub(crate) const ABILITY_TOKENS: u64 = 4_000;

    /// The agent of that id which has nothing but a prompt.
    pub const fn bare(id: AgentId, version: String, digest: Digest) -> Self {
        Self {
            abilities: Vec::new(),
            ability_tokens: Self::ABILITY_TOKENS,
            capabilities: Vec::new(),
            core_abilities: Vec::new(),
            description: None,
            digest,
            enabled: true,
            example_tasks: Vec::new(),
            id,
            not_for_tasks: Vec::new(),
            version,
            workflow: None,
        }
    }

    /// True if any part of it enters the system prompt.
    pub fn is_injected(&self) -> bool {
        self.workflow.is_some() || !self.core_abilities.is_empty() || !self.abilities.is_empty()
    }

    /// A task as tasks are compared: lower case, one space between words, no point at the end.
    pub(crate) fn normalized(task: &str) -> String {
        let words = task.split_whitespace().collect::<Vec<_>>().join(" ");
        let task = words.trim_end_matches(['.', '?', '!', ' ']);
        task.to_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_lower_case_letters_and_digits_with_hyphens_between_them() {
        let check = |text: &str, expect: bool| {
            let is_id = AgentId::try_from(text.to_owned()).is_ok();
            assert_eq!(is_id, expect, "{text:?}");
            let pattern = AgentId::json_schema(&mut SchemaGenerator::default());
            let pattern = serde_json::to_value(pattern).unwrap();
            let of_schema = jsonschema::is_valid(&pattern, &text.into());
            assert_eq!(of_schema, expect, "the schema of {text:?}");
        };
        check("a", true);
        check("code-reviewer-2", true);
        check(&"a".repeat(64), true);
        for wrong in [
            "",
            "-a",
            "a-",
            "a--b",
            "A",
            "a b",
            "a_b",
            "é",
            "a\n",
            &"a".repeat(65),
        ] {
            check(wrong, false);
        }
    }

    #[test]
    fn a_name_that_is_sanitized_is_an_id() {
        let check = |name: &str, expect: &str| {
            let id = AgentId::sanitized(name);
            assert_eq!(id.as_str(), expect);
            assert_eq!(AgentId::try_from(expect.to_owned()), Ok(id));
        };
        check("Trend Analyst.ai", "trend-analyst-ai");
        check("__", "agent");
        check(&format!("{}-b", "a".repeat(63)), &"a".repeat(63));
    }

    /// 003/INV-AGT-SEL-002: a confidence is 0 to 1, and a document that says another is refused.
    #[test]
    fn a_confidence_is_never_outside_of_its_range() {
        for (score, expect) in [
            (-50, "0.00"),
            (0, "0.00"),
            (40, "0.40"),
            (100, "1.00"),
            (160, "1.00"),
        ] {
            let confidence = Confidence::clamped(score);
            assert_eq!(confidence.to_string(), expect);
            let written = serde_json::to_string(&confidence).unwrap();
            assert_eq!(written.parse::<f64>(), expect.parse::<f64>());
            assert_eq!(
                serde_json::from_str::<Confidence>(&written).unwrap(),
                confidence
            );
        }
        for wrong in ["-1", "-0.5", "1.01", "2", "40", "0.405", "\"1\""] {
            let read: Result<Confidence, _> = serde_json::from_str(wrong);
            assert!(read.is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_a_signal_adds_is_a_fraction_in_a_document() {
        let signal = Signal {
            adds: -50,
            kind: SignalKind::NotFor,
            matched: "x".to_owned(),
        };
        let written = serde_json::to_value(&signal).unwrap();
        assert_eq!(written["adds"], serde_json::json!(-0.5));
        assert_eq!(serde_json::from_value::<Signal>(written).unwrap(), signal);
    }
}
