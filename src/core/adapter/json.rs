//! Narrow, tolerant reading of providers' JSON: a wrong type in a field that does not matter must not cost the message.

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// The most tokens of a report: more than any window has.
const MAX_TOKENS: f64 = 2_147_483_648.0;

/// A field that may be missing or null; else its JSON text as it stood.
pub(super) type Raw<'a> = Option<&'a RawValue>;

/// Declares objects of a provider's JSON: every member keeps its text, null counts as missing, and other members are ignored.
///
/// `member = "key"` has a key that is no field name, and `member: "given"` keeps a null.
macro_rules! wire {
    ($($(#[$of:meta])* $vis:vis struct $name:ident {
        $($(#[$on:meta])* $member:ident $(= $key:literal)? $(: $read:literal)?),* $(,)?
    })*) => {$(
        #[derive(Default, serde::Deserialize)]
        #[serde(default)]
        $(#[$of])*
        $vis struct $name<'a> {
            $(
                $(#[$on])*
                #[serde(borrow $(, rename = $key)? $(, deserialize_with = $read)?)]
                pub $member: $crate::adapter::json::Raw<'a>,
            )*
        }
    )*};
}

pub(super) use wire;

/// A field in which null is a value like any other, and not a missing one.
pub(super) fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Raw<'de>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// True if a field holds null; only one that was read by [`given`] can.
pub(super) fn is_null(raw: Raw<'_>) -> bool {
    raw.is_some_and(|raw| raw.get() == "null")
}

/// Reads `text` as a JSON object. Derived structs would read an array by position, so the brace is checked here.
pub(super) fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    text.trim_start()
        .starts_with('{')
        .then(|| serde_json::from_str(text).ok())
        .flatten()
}

/// The string a field holds; none if it is missing, null, of another type, or no Unicode text.
pub(super) fn string(raw: Raw<'_>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

/// The number a field holds, where it is a whole one.
pub(super) fn whole(raw: Raw<'_>) -> Option<u64> {
    serde_json::from_str(raw?.get()).ok()
}

/// The first `limit` elements of an array, and whether there are more; none if the text is no array. What is
/// beyond the limit is read over, never kept.
pub(super) fn elements(raw: &RawValue, limit: usize) -> Option<(Vec<&RawValue>, bool)> {
    struct Bounded(usize);
    impl<'de> Visitor<'de> for Bounded {
        type Value = (Vec<&'de RawValue>, bool);

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a JSON array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut kept = Vec::new();
            while kept.len() < self.0 {
                match seq.next_element()? {
                    Some(element) => kept.push(element),
                    None => return Ok((kept, false)),
                }
            }
            let mut more = false;
            while seq.next_element::<IgnoredAny>()?.is_some() {
                more = true;
            }
            Ok((kept, more))
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(raw.get());
    Deserializer::deserialize_seq(&mut deserializer, Bounded(limit)).ok()
}

/// A token count of a report of usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Count {
    /// No number was reported.
    #[default]
    Missing,
    /// A number below zero, or one that no request can have: nothing is known of the usage.
    Absurd,
    /// A number.
    Of(u64),
}

impl Count {
    /// Reads a field; unreadable counts are missing.
    pub(super) fn of(raw: Raw<'_>) -> Self {
        let number = raw.and_then(|raw| serde_json::from_str::<f64>(raw.get()).ok());
        match number {
            Some(number) if !(0.0..=MAX_TOKENS).contains(&number) => Self::Absurd,
            Some(number) => whole(raw)
                .or_else(|| floored(number))
                .map_or(Self::Missing, Self::Of),
            None => Self::Missing,
        }
    }

    /// The number, or none.
    pub(super) const fn number(self) -> Option<u64> {
        match self {
            Self::Of(count) => Some(count),
            Self::Absurd | Self::Missing => None,
        }
    }
}

/// The whole part of a number that is finite and not negative.
pub(super) fn floored(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float-to-int casts saturate, and the value is not negative"
    )]
    let whole = (number.is_finite() && number >= 0.0).then_some(number as u64);
    whole
}

/// The members of `value`, an object that is not empty, and its closing brace, after a comma: what ends a body whose other
/// members stand before it.
pub(super) fn members(value: &impl Serialize) -> Vec<u8> {
    let mut out = b",".to_vec();
    put(&mut out, value);
    out.remove(1);
    out
}

/// Appends the JSON text of `value`. It cannot fail: wire values have string keys and no fallible parts, and a vector takes
/// every write.
pub(super) fn put(out: &mut Vec<u8>, value: &impl Serialize) {
    let written = serde_json::to_writer(&mut *out, value);
    debug_assert!(written.is_ok(), "a wire value did not serialise");
}

/// Adds members to a written object, before its closing brace.
pub(super) fn append<K: AsRef<str>, T: AsRef<[u8]>>(
    object: &mut Vec<u8>,
    members: impl IntoIterator<Item = (K, T)>,
) {
    let is_closed = object.pop_if(|last| *last == b'}').is_some();
    for (key, text) in members {
        if object.last() != Some(&b'{') {
            object.push(b',');
        }
        put(object, &key.as_ref());
        object.push(b':');
        object.extend_from_slice(text.as_ref());
    }
    if is_closed {
        object.push(b'}');
    }
}

/// The elements of a JSON array as they are added, joined by commas.
#[derive(Debug, Default)]
pub(super) struct Elements(Vec<u8>);

impl Elements {
    pub(super) fn add(&mut self, element: &impl Serialize) {
        put(self.next(), element);
    }

    /// Adds an object with more members.
    pub(super) fn add_with<K: AsRef<str>, T: AsRef<[u8]>>(
        &mut self,
        object: &impl Serialize,
        members: impl IntoIterator<Item = (K, T)>,
    ) {
        let out = self.next();
        put(out, object);
        append(out, members);
    }

    /// Adds JSON text as it came.
    pub(super) fn add_text(&mut self, json: &str) {
        self.next().extend_from_slice(json.as_bytes());
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn next(&mut self) -> &mut Vec<u8> {
        if !self.0.is_empty() {
            self.0.push(b',');
        }
        &mut self.0
    }
}

/// True if the character ends a line, for a person or for a program that reads the text.
pub(super) const fn is_line_break(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// The byte at which the value begins that an RFC 6901 pointer names. If it is missing, the last value on the way to it. In a
/// text that is no JSON, the first invalid byte.
pub(super) fn offset_of_pointer(text: &str, pointer: &str) -> usize {
    let mut at: &RawValue = match serde_json::from_str(text) {
        Ok(whole) => whole,
        Err(fault) => return offset_of_line(text, fault.line(), fault.column()),
    };
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        match below(at, &token) {
            Some(next) => at = next,
            None => break,
        }
    }
    // A part of the text, so it does not begin before it.
    at.get()
        .as_ptr()
        .addr()
        .saturating_sub(text.as_ptr().addr())
}

/// The byte of a line and a column, each from 1.
pub(super) fn offset_of_line(text: &str, line: usize, column: usize) -> usize {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1));
    let before: usize = before.map(str::len).sum();
    before
        .saturating_add(column.saturating_sub(1))
        .min(text.len())
}

fn below<'a>(at: &'a RawValue, token: &str) -> Option<&'a RawValue> {
    if let Ok(index) = token.parse::<usize>() {
        let (all, _) = elements(at, index.saturating_add(1))?;
        return all.get(index).copied();
    }
    let members: std::collections::BTreeMap<String, Raw<'a>> = object(at.get())?;
    members.get(token).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_leads_to_its_value_or_as_far_as_there_is_one() {
        let text = r#" {"a": [1, {"b/c": "x"}], "d": null}"#;
        for (pointer, expect) in [
            ("", "{\"a\""),
            ("/a", "[1"),
            ("/a/1", "{\"b/c\""),
            ("/a/1/b~1c", "\"x\""),
            ("/a/7/b", "[1"),
            ("/none", "{\"a\""),
        ] {
            let at = offset_of_pointer(text, pointer);
            assert!(text[at..].starts_with(expect), "{pointer}: {}", &text[at..]);
        }
    }

    #[test]
    fn in_what_is_no_json_it_is_where_that_ends() {
        assert_eq!(offset_of_pointer("{\"a\":\n 1,}", "/a"), 9);
        assert_eq!(offset_of_pointer("", "/a"), 0);
        assert_eq!(offset_of_pointer("{\"a\":", ""), 4);
    }

    #[test]
    fn members_are_appended_before_the_brace() {
        let mut object = b"{}".to_vec();
        append(&mut object, [("a", "1"), ("b\"", "[ ]")]);
        assert_eq!(object, br#"{"a":1,"b\"":[ ]}"#);
    }
}
