//! Halves of surrogate pairs: joins those that two pieces of a stream carry, and replaces lonely ones in what
//! goes back to a provider. Knows the places of strings in a document; does not know what they mean.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::value::RawValue;

use super::json::{elements, string};
use super::members::others;
use crate::message::AgentMessage;

/// The length of `\uXXXX`.
const ESCAPE_BYTES: usize = 6;
/// The most objects and arrays around a string of a message.
const MAX_DEPTH: usize = 16;
/// The most elements of an array that are looked at.
const MAX_ELEMENTS: usize = 1024;
/// Members that tell apart the objects of a stream whose pieces have equal paths.
const NUMBERS: [&str; 6] = [
    "contentBlockIndex",
    "content_index",
    "index",
    "output_index",
    "summary_index",
    "thought",
];

/// The high halves at which strings of a stream ended, by the place of each string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Halves {
    /// For each array the last element with an index or an id: an element without both is a piece of it.
    last: BTreeMap<String, String>,
    /// True if a string continued without the low half.
    lonely: bool,
    pending: BTreeMap<String, String>,
}

impl Halves {
    /// True if each high half has its low half.
    pub(super) fn are_joined(&self) -> bool {
        self.pending.is_empty() && !self.lonely
    }

    /// A document of a stream whose strings hold whole characters: a high half at the end of a string is
    /// kept, and goes before the low half at which the next piece of the same string begins.
    pub(super) fn join<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        if self.pending.is_empty() && !may_hold_halves(text) {
            return Cow::Borrowed(text);
        }
        let Ok(document) = serde_json::from_str::<&RawValue>(text) else {
            return Cow::Borrowed(text);
        };
        let mut strings = Vec::new();
        self.gather(document, String::new(), 0, &mut strings);
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        for (place, piece) in strings {
            let begins_low = piece.get(..ESCAPE_BYTES).and_then(half) == Some(Half::Low);
            let pending = self.pending.remove(&place);
            self.lonely |= pending.is_some() && !begins_low;
            let pending = pending.filter(|_| begins_low);
            let (whole, half) = without_half(piece);
            if let Some(half) = half {
                self.pending.insert(place, half.to_owned());
            }
            if pending.is_none() && half.is_none() {
                continue;
            }
            // A part of the text, so it does not begin before it.
            let at = piece.as_ptr().addr().saturating_sub(text.as_ptr().addr());
            out.push_str(text.get(copied..at).unwrap_or_default());
            out.push_str(pending.as_deref().unwrap_or_default());
            out.push_str(whole);
            copied = at.saturating_add(piece.len());
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Adds the strings of a value that are not empty, each with its place, in the order of the text.
    fn gather<'t>(
        &mut self,
        value: &'t RawValue,
        mut place: String,
        depth: usize,
        strings: &mut Vec<(String, &'t str)>,
    ) {
        let text = value.get();
        if let Some(quoted) = text.strip_prefix('"') {
            let piece = quoted.strip_suffix('"').unwrap_or_default();
            if !piece.is_empty() {
                strings.push((place, piece));
            }
        } else if depth == MAX_DEPTH {
            // No string of a message is deeper.
        } else if text.starts_with('{') {
            let members = others(text, &[]);
            for (key, member) in &members {
                // The kind of an event is in each of its pieces; that of a call is only in the first.
                if NUMBERS.contains(&key.as_str()) || (depth == 0 && key == "type") {
                    let _ = write!(place, "?{key}={}", member.get());
                }
            }
            for (key, member) in members {
                self.gather(member, format!("{place}/{key}"), depth + 1, strings);
            }
        } else if text.starts_with('[') {
            let (list, _) = elements(value, MAX_ELEMENTS).unwrap_or_default();
            for (position, element) in list.into_iter().enumerate() {
                let element_key = self.element_key(&place, position, element);
                let below = format!("{place}/{element_key}");
                self.gather(element, below, depth + 1, strings);
            }
        }
    }

    /// The element's index, else its id, else those of the last element that had one, else its position.
    fn element_key(&mut self, array: &str, position: usize, element: &RawValue) -> String {
        let members = others(element.get(), &[]);
        let find = |name: &str| {
            let mut members = members.iter();
            members.find(|(key, _)| key == name).map(|(_, raw)| *raw)
        };
        let index = find("index").map(|raw| raw.get().to_owned());
        let named = index.filter(|index| index != "null").or_else(|| {
            let id = string(find("id")).filter(|id| !id.is_empty());
            id.map(|id| format!("#{id}"))
        });
        match named {
            Some(named) => {
                self.last.insert(array.to_owned(), named.clone());
                named
            }
            None => match self.last.get(array) {
                Some(last) => last.clone(),
                None => position.to_string(),
            },
        }
    }
}

/// The message whose state is valid JSON for every parser: U+FFFD replaces each half of a pair without the
/// other one.
pub(super) fn without_lonely_halves(mut message: AgentMessage) -> AgentMessage {
    let members = message
        .state
        .iter_mut()
        .flat_map(|state| &mut state.members);
    for member in members {
        if let Cow::Owned(whole) = with_replacements(&member.bytes) {
            member.bytes = whole;
        }
    }
    message
}

/// JSON text with the escape of U+FFFD for each half of a pair without the other one.
fn with_replacements(text: &str) -> Cow<'_, str> {
    if !may_hold_halves(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escaped) = rest.split_at(at);
        out.push_str(before);
        let half_at = |from: usize| escaped.get(from..from + ESCAPE_BYTES).and_then(half);
        let (taken, lonely) = match half_at(0) {
            Some(Half::High) if half_at(ESCAPE_BYTES) == Some(Half::Low) => {
                (2 * ESCAPE_BYTES, false)
            }
            Some(Half::High | Half::Low) => (ESCAPE_BYTES, true),
            // The escaped character, which may be a backslash.
            None => (2, false),
        };
        let (escape, after) = escaped.split_at_checked(taken).unwrap_or((escaped, ""));
        out.push_str(if lonely { "\\ufffd" } else { escape });
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// False only if JSON text holds the escape of no half.
fn may_hold_halves(text: &str) -> bool {
    ["\\ud", "\\uD"].iter().any(|part| text.contains(part))
}

/// The content of a JSON string without the high half at its end, and that half.
fn without_half(content: &str) -> (&str, Option<&str>) {
    let at = content.len().saturating_sub(ESCAPE_BYTES);
    let Some((before, escape)) = content.split_at_checked(at) else {
        return (content, None);
    };
    let backslashes = before.bytes().rev().take_while(|byte| *byte == b'\\');
    if half(escape) == Some(Half::High) && backslashes.count().is_multiple_of(2) {
        (before, Some(escape))
    } else {
        (content, None)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    High,
    Low,
}

/// Reads `\uXXXX`, if it is a half of a pair.
fn half(escape: &str) -> Option<Half> {
    let digits = escape.strip_prefix("\\u")?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xD800..=0xDBFF => Some(Half::High),
        0xDC00..=0xDFFF => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&str], expect: &[&str], are_joined: bool) {
        let mut halves = Halves::default();
        let joined = pieces.iter().map(|piece| halves.join(piece));
        let joined: Vec<_> = joined.collect();
        assert_eq!(joined, expect);
        assert_eq!(halves.are_joined(), are_joined, "{halves:?}");
    }

    #[test]
    fn a_pair_in_two_pieces_is_joined_in_the_second() {
        check(
            &[r#"{"a":"x\ud83d"}"#, r#"{"a":""}"#, r#"{"a":"\uDE00y"}"#],
            &[r#"{"a":"x"}"#, r#"{"a":""}"#, r#"{"a":"\ud83d\uDE00y"}"#],
            true,
        );
        check(
            &[
                r#"{"a":"\ud83d","b":"\ud83e"}"#,
                r#"{"b":"\udd23","a":"\ude00"}"#,
            ],
            &[
                r#"{"a":"","b":""}"#,
                r#"{"b":"\ud83e\udd23","a":"\ud83d\ude00"}"#,
            ],
            true,
        );
    }

    #[test]
    fn parallel_strings_do_not_change_their_halves() {
        // Calls by their index.
        check(
            &[
                r#"{"t":[{"index":0,"type":"function","a":"\ud83d"},{"index":1,"a":"\ud83e"}]}"#,
                r#"{"t":[{"index":1,"a":"\udd23"}]}"#,
                r#"{"t":[{"index":0,"a":"\ude00"}]}"#,
            ],
            &[
                r#"{"t":[{"index":0,"type":"function","a":""},{"index":1,"a":""}]}"#,
                r#"{"t":[{"index":1,"a":"\ud83e\udd23"}]}"#,
                r#"{"t":[{"index":0,"a":"\ud83d\ude00"}]}"#,
            ],
            true,
        );
        // Calls by their id, where only the first piece has one.
        check(
            &[
                r#"{"t":[{"id":"c1","a":"\ud83d"}]}"#,
                r#"{"t":[{"a":"\ude00"}]}"#,
                r#"{"t":[{"id":"c2","a":"\ude00"}]}"#,
            ],
            &[
                r#"{"t":[{"id":"c1","a":""}]}"#,
                r#"{"t":[{"a":"\ud83d\ude00"}]}"#,
                r#"{"t":[{"id":"c2","a":"\ude00"}]}"#,
            ],
            true,
        );
        // Blocks and items by the event; thoughts of Gemini.
        for key in [
            r#""type":"t","index":"#,
            r#""type":"t","output_index":"#,
            r#""contentBlockIndex":"#,
        ] {
            let piece = |at: u8, text: &str| format!(r#"{{{key}{at},"delta":"{text}"}}"#);
            let pieces = [
                piece(0, r"\ud83d"),
                piece(1, r"\ud83e"),
                piece(1, r"\udd23"),
                piece(0, r"\ude00"),
            ];
            let expect = [
                piece(0, ""),
                piece(1, ""),
                piece(1, r"\ud83e\udd23"),
                piece(0, r"\ud83d\ude00"),
            ];
            let pieces = pieces.each_ref().map(String::as_str);
            check(&pieces, &expect.each_ref().map(String::as_str), true);
        }
        check(
            &[
                r#"{"parts":[{"thought":true,"text":"\ud83d"}]}"#,
                r#"{"parts":[{"text":"\ude00"}]}"#,
            ],
            &[
                r#"{"parts":[{"thought":true,"text":""}]}"#,
                r#"{"parts":[{"text":"\ude00"}]}"#,
            ],
            false,
        );
    }

    #[test]
    fn a_string_that_continues_otherwise_has_a_lonely_half() {
        check(
            &[r#"{"a":"\ud83d"}"#, r#"{"a":"x"}"#, r#"{"a":"\ude00"}"#],
            &[r#"{"a":""}"#, r#"{"a":"x"}"#, r#"{"a":"\ude00"}"#],
            false,
        );
    }

    #[test]
    fn nothing_else_changes() {
        for text in [
            r#"{"a":"\ud83d\ude00"}"#,
            r#"{"a":"\\ud83d"}"#,
            r#"{"a":"\ud83dx"}"#,
            r#"{"a":"\ude00"}"#,
            r#"{"a":"\u00e9\u"}"#,
            "\\",
            "\\ud8",
        ] {
            check(&[text], &[text], true);
        }
        check(&[r#"{"a":"\\\ud83d"}"#], &[r#"{"a":"\\"}"#], false);
        let deep = format!("{}\"\\ud83d\"{}", "[".repeat(99_999), "]".repeat(99_999));
        check(&[&deep], &[&deep], true);
    }

    #[test]
    fn a_lonely_half_is_replaced() {
        let check = |text: &str, expect: &str| assert_eq!(with_replacements(text), expect);
        check(r#"{"a":"x\ud83d"}"#, r#"{"a":"x\ufffd"}"#);
        check(
            r#""\uDE00\ud83d\ud83d\ude00""#,
            r#""\ufffd\ufffd\ud83d\ude00""#,
        );
        check(r#""\\ud83d \n\ud7ff""#, r#""\\ud83d \n\ud7ff""#);
        check("\\ud8", "\\ud8");
    }
}
