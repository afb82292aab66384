//! Facts about a model that decide on the form of its requests and on its price. Plain data; does not know where they come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ModelPrice;

/// The form in which a model is asked to reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingForm {
    /// The model decides how much; an effort guides it.
    Adaptive,
    /// The same, and it reasons unless a request says otherwise.
    AdaptiveOn,
    /// The same, and no request can switch it off.
    Always,
    /// A level in words, where older models take a number of tokens.
    Level,
}

/// The facts of the catalogue that a target uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelFacts {
    /// Version of the catalogue.
    pub catalogue: String,
    /// The model's words for an effort of reasoning, the weakest first; omitted if they are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub efforts: Vec<String>,
    /// Tokens of the longest answer; omitted if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// The price at the vendor; omitted if the author states one, or if someone else serves the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<ModelPrice>,
    /// Parameters that the model or its vendor refuses, by their names in the protocol; omitted if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refuses: Vec<String>,
    /// The form in which it is asked to reason; omitted if that is a number of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingForm>,
}

impl ModelFacts {
    /// True if requests with that parameter of the protocol are refused.
    #[must_use]
    pub fn refuses(&self, parameter: &str) -> bool {
        self.refuses.iter().any(|refused| refused == parameter)
    }

    /// The model's word for a level of reasoning: the level, else the next stronger word, else its strongest one.
    #[must_use]
    pub fn effort(&self, level: &str) -> Option<&str> {
        const ORDER: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
        let rank = |word: &str| ORDER.iter().position(|known| *known == word);
        let wanted = rank(level);
        let enough = self.efforts.iter().find(|word| rank(word) >= wanted);
        enough.or(self.efforts.last()).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_the_models_word_that_is_strong_enough() {
        let check = |efforts: &[&str], level: &str, expect: Option<&str>| {
            let facts = ModelFacts {
                efforts: efforts.iter().map(|word| (*word).to_owned()).collect(),
                ..ModelFacts::default()
            };
            assert_eq!(facts.effort(level), expect, "{efforts:?} {level}");
        };
        check(&["low", "medium", "high"], "minimal", Some("low"));
        check(
            &["minimal", "low", "medium", "high"],
            "minimal",
            Some("minimal"),
        );
        check(&["none", "high"], "low", Some("high"));
        check(&["low", "high", "max"], "medium", Some("high"));
        check(&["medium"], "high", Some("medium"));
        check(&[], "high", None);
    }
}
