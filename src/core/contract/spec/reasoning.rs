//! The levels of reasoning of a provider or a model, and their reader. Does not know protocols.

use serde_json::{Value, json};

use super::form::{Read, Schemas};
use super::reader::plain;
use super::reporter::Reporter;
use super::tree::{Kind, Node};
use crate::contract::ReasoningValue;

/// The longest word of a reasoning mapping.
const MAX_WORD: usize = 64;

/// The values of the levels minimal, low, medium and high; None switches one off (001 §6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasoningMap(pub [Option<ReasoningValue>; 4]);

impl ReasoningMap {
    /// Returns the value of a level; None if it is off.
    #[must_use]
    pub fn of(&self, level: &str) -> Option<&ReasoningValue> {
        let Self([minimal, low, medium, high]) = self;
        let value = match level {
            "minimal" => minimal,
            "low" => low,
            "medium" => medium,
            _ => high,
        };
        value.as_ref()
    }
}

impl Read for ReasoningMap {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let Kind::List(items) = &node.kind else {
            let value = read_value(node, reporter)?;
            return Some(Self([value.clone(), value.clone(), value.clone(), value]));
        };
        let [minimal, low, medium, high] = items.as_slice() else {
            let rule = format!(
                "expected one value or four, [minimal, low, medium, high], got {}",
                items.len()
            );
            reporter.refuse(node, rule, None);
            return None;
        };
        let one = |n: &str, item| read_value(item, &reporter.below(n));
        let (minimal, low) = (one("0", minimal), one("1", low));
        let (medium, high) = (one("2", medium), one("3", high));
        Some(Self([minimal?, low?, medium?, high?]))
    }

    fn schema(definitions: &mut Schemas) -> Value {
        let value = json!({"anyOf": [
            {"type": "string", "minLength": 1, "maxLength": MAX_WORD},
            u64::schema(definitions),
            {"type": "null"},
        ]});
        json!({"anyOf": [
            value,
            {"type": "array", "items": value, "minItems": 4, "maxItems": 4},
        ]})
    }
}

/// A word, a number of tokens, or null; None if it is none of them.
#[expect(
    clippy::option_option,
    reason = "null is a value here: the level is off"
)]
fn read_value(node: &Node, reporter: &Reporter<'_>) -> Option<Option<ReasoningValue>> {
    if node.is_null() {
        return Some(None);
    }
    if plain(node).is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit())) {
        return u64::read(node, reporter).map(|n| (n > 0).then_some(ReasoningValue::Tokens(n)));
    }
    let word = String::read(node, reporter)?;
    if word.is_empty() || word.chars().count() > MAX_WORD {
        let rule = format!("expected a word of 1 to {MAX_WORD} characters or a number of tokens");
        reporter.refuse(node, rule, None);
        return None;
    }
    Some(Some(ReasoningValue::Word(word)))
}
