use super::contract_spec::{ModelSpec, ReasoningMap, SamplingSpec, Setting};
use super::reader::{Big, Choice, Out, Read, Section, plain};
use super::tree::{Kind, Node};
use crate::contract::ReasoningValue;

/// The most stop sequences, and the longest in characters: what every protocol takes that has them.
const MAX_STOPS: usize = 4;
const MAX_STOP_CHARS: usize = 256;
/// The longest word of a reasoning mapping.
const MAX_WORD: usize = 64;

impl Read for SamplingSpec {
    /// What overrides of the command line say is kept apart: it comes before whatever any part of the file says.
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let Kind::Map(entries) = &node.kind else {
            out.expected(node, "a mapping");
            return None;
        };
        let (commanded, written): (Vec<_>, Vec<_>) = entries
            .iter()
            .cloned()
            .partition(|(_, value)| value.place.is_override());
        let part = |entries| {
            let kind = Kind::Map(entries);
            let place = node.place.clone();
            Section::read(&Node { kind, place }, out, read_sampling)
        };
        let above = (!commanded.is_empty()).then(|| part(commanded));
        let below = part(written)?;
        Some(Self {
            commanded: above.flatten().map(Box::new),
            ..below
        })
    }
}

fn read_sampling(section: &mut Section<'_, '_>) -> SamplingSpec {
    SamplingSpec {
        caching: setting(section, "caching", |node, out| {
            Caching::read(node, out).map(|word| word.0.to_owned())
        }),
        commanded: None,
        max_output_tokens: setting(section, "max_output_tokens", u64::read),
        reasoning: setting(section, "reasoning", |node, out| {
            Level::read(node, out).map(|word| word.0.to_owned())
        }),
        reasoning_tokens: setting(section, "reasoning_tokens", |node, out| {
            if matches!(&node.kind, Kind::Scalar { text, .. } if text == "disabled") {
                return Some(0);
            }
            u64::read(node, out)
        }),
        repeat_penalty: number(section, "repeat_penalty", f64::MAX),
        seed: setting(section, "seed", |node, out| {
            Big::read(node, out).map(|Big(n)| n)
        }),
        stop: setting(section, "stop", read_stop),
        stream: section.get("stream"),
        temperature: number(section, "temperature", 2.0),
        top_p: number(section, "top_p", 1.0),
    }
}

#[derive(Clone, Copy)]
struct Caching(&'static str);

impl Choice for Caching {
    // The second is one of the words for off, too.
    const WORDS: &'static [(&'static str, Self)] =
        &[("full", Self("full")), ("none", Self("none"))];
}

#[derive(Clone, Copy)]
struct Level(&'static str);

impl Choice for Level {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("minimal", Self("minimal")),
        ("low", Self("low")),
        ("medium", Self("medium")),
        ("high", Self("high")),
    ];
}

fn read_stop(node: &Node, out: &Out<'_>) -> Option<Vec<String>> {
    let stops = Vec::<String>::read(node, out)?;
    let long = |stop: &String| stop.is_empty() || stop.chars().count() > MAX_STOP_CHARS;
    if stops.len() > MAX_STOPS || stops.iter().any(long) {
        let rule = format!("at most {MAX_STOPS} texts of 1 to {MAX_STOP_CHARS} characters");
        out.refuse(node, rule, None);
        return None;
    }
    Some(stops)
}

/// A parameter that null and the words of 001 §2 switch off.
fn setting<T>(
    section: &mut Section<'_, '_>,
    key: &'static str,
    read: impl FnOnce(&Node, &Out<'_>) -> Option<T>,
) -> Setting<T> {
    let Some(node) = section.node(key) else {
        return Setting::Unset;
    };
    let off = matches!(&node.kind, Kind::Scalar { text, .. }
        if matches!(text.as_str(), "off" | "none" | "unset" | "default"));
    if off || node.is_null() {
        return Setting::Off;
    }
    read(node, &section.out.below(key)).map_or(Setting::Unset, Setting::Value)
}

/// A number clamped to 0..=max (001 §2).
fn number(section: &mut Section<'_, '_>, key: &'static str, max: f64) -> Setting<f64> {
    // `+ 0.0` turns the −0 that clamp lets pass into 0.
    setting(section, key, |node, out| {
        f64::read(node, out).map(|n| n.clamp(0.0, max) + 0.0)
    })
}

impl Read for ModelSpec {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        Section::read(node, out, |section| Self {
            context_window: section.nullable("context_window"),
            overrides: section.get("overrides").unwrap_or_default(),
            reasoning: section.get("reasoning"),
            tokenizer: section.or_off("tokenizer"),
        })
    }
}

impl Read for ReasoningMap {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let Kind::List(items) = &node.kind else {
            let value = read_value(node, out)?;
            return Some(Self([value.clone(), value.clone(), value.clone(), value]));
        };
        let [minimal, low, medium, high] = items.as_slice() else {
            let rule = format!(
                "expected one value or four, [minimal, low, medium, high], got {}",
                items.len()
            );
            out.refuse(node, rule, None);
            return None;
        };
        let one = |n: &str, item| read_value(item, &out.below(n));
        let (minimal, low) = (one("0", minimal), one("1", low));
        let (medium, high) = (one("2", medium), one("3", high));
        Some(Self([minimal?, low?, medium?, high?]))
    }
}

/// A word, a number of tokens, or null; None where it is none of them.
#[expect(
    clippy::option_option,
    reason = "null is a value here: the level is off"
)]
fn read_value(node: &Node, out: &Out<'_>) -> Option<Option<ReasoningValue>> {
    if node.is_null() {
        return Some(None);
    }
    if plain(node).is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit())) {
        return u64::read(node, out).map(|n| (n > 0).then_some(ReasoningValue::Tokens(n)));
    }
    let word = String::read(node, out)?;
    if word.is_empty() || word.chars().count() > MAX_WORD {
        let rule = format!("expected a word of 1 to {MAX_WORD} characters or a number of tokens");
        out.refuse(node, rule, None);
        return None;
    }
    Some(Some(ReasoningValue::Word(word)))
}
