//! Reads sampling parameters. Does not know which protocol sends them.

use serde_json::{Value, json};

use super::contract_spec::{ModelSpec, ReasoningMap, SamplingSpec, Setting};
use super::form::{Key, OFF_WORDS, Read, Schemas};
use super::keys::{MODEL, SAMPLING};
use super::reader::{Big, plain};
use super::reporter::Reporter;
use super::section::Section;
use super::texts::{ClampedTo, NotNegative, ReasoningTokens, StopTexts};
use super::tree::{Kind, Node};
use super::words::{Caching, Level};
use crate::contract::ReasoningValue;

/// What other programs call a parameter that has no value. For the longest answer it means that none is asked for (001 §2).
const UNDEFINED: &str = "undefined";
/// The longest word of a reasoning mapping.
const MAX_WORD: usize = 64;

impl Read for SamplingSpec {
    /// Overrides of the command line are kept apart: they come before every part of the file.
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let Kind::Map(entries) = &node.kind else {
            reporter.expected(node, "a mapping");
            return None;
        };
        let (commanded, written): (Vec<_>, Vec<_>) = entries
            .iter()
            .cloned()
            .partition(|(_, value)| value.place.is_override());
        let part = |entries| {
            let kind = Kind::Map(entries);
            let place = node.place.clone();
            Section::read(&Node { kind, place }, reporter, &SAMPLING, read_sampling)
        };
        let above = (!commanded.is_empty()).then(|| part(commanded));
        let below = part(written)?;
        Some(Self {
            commanded: above.flatten().map(Box::new),
            ..below
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&SAMPLING)
    }
}

fn read_sampling(section: &mut Section<'_, '_>) -> SamplingSpec {
    SamplingSpec {
        caching: setting(section, &SAMPLING.caching, |Caching(word)| word.to_owned()),
        commanded: None,
        max_output_tokens: setting(section, &SAMPLING.max_output_tokens, |n| n),
        reasoning: setting(section, &SAMPLING.reasoning, |Level(word)| word.to_owned()),
        reasoning_tokens: setting(section, &SAMPLING.reasoning_tokens, |ReasoningTokens(n)| n),
        repeat_penalty: setting(section, &SAMPLING.repeat_penalty, |NotNegative(n)| n),
        seed: setting(section, &SAMPLING.seed, |Big(n)| n),
        stop: setting(section, &SAMPLING.stop, |StopTexts(stops)| stops),
        stream: section.get(&SAMPLING.stream),
        temperature: setting(section, &SAMPLING.temperature, |ClampedTo(n)| n),
        top_p: setting(section, &SAMPLING.top_p, |ClampedTo(n)| n),
    }
}

/// A parameter that null and the words of 001 §2 switch off.
fn setting<T: Read, U, V>(
    section: &mut Section<'_, '_>,
    key: &Key<T, U>,
    value: impl FnOnce(T) -> V,
) -> Setting<V> {
    let Some(node) = section.node(key) else {
        return Setting::Unset;
    };
    let is_cap = key.name == SAMPLING.max_output_tokens.name;
    let is_off = |text: &str| OFF_WORDS.contains(&text) || is_cap && text == UNDEFINED;
    let off = matches!(&node.kind, Kind::Scalar { text, .. } if is_off(text));
    if off || node.is_null() {
        return Setting::Off;
    }
    let reporter = section.reporter.below(key.name);
    if matches!(&node.kind, Kind::Scalar { text, .. } if text == UNDEFINED) {
        let rule = format!("expected a value, got {}", reporter.describe(node));
        let help = format!("a word switches it off: {}", OFF_WORDS.join(", "));
        reporter.refuse(node, rule, Some(help));
        return Setting::Unset;
    }
    let read = T::read(node, &reporter);
    read.map_or(Setting::Unset, |read| Setting::Value(value(read)))
}

impl Read for ModelSpec {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &MODEL, |section| Self {
            buffer: section.get(&MODEL.buffer),
            context_window: section.get(&MODEL.context_window),
            overrides: section.get(&MODEL.overrides).unwrap_or_default(),
            reasoning: section.get(&MODEL.reasoning),
            tokenizer: section.or_off(&MODEL.tokenizer),
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&MODEL)
    }
}

impl Read for ReasoningMap {
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
