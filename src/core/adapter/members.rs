//! Members of a provider's objects that no message holds, gathered from the pieces of a stream. Does not know what they mean.

use std::fmt;

use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::json::put;

/// The keys whose value each piece of a stream gives whole; the strings under every other key are pieces of one text.
const WHOLE: [&str; 10] = [
    "encrypted_content",
    "format",
    "id",
    "index",
    "name",
    "phase",
    "signature",
    "status",
    "thought_signature",
    "type",
];

/// Members by their key, in the order in which they first came.
#[derive(Debug, Default)]
pub(super) struct Members(Vec<(String, Member)>);

#[derive(Debug)]
enum Member {
    /// The JSON text of the only piece.
    Received(String),
    Joined(Value),
}

impl Members {
    /// Takes the members of an object whose keys are not `known`. Empty values say nothing.
    pub(super) fn take(&mut self, object: &str, known: &[&str]) {
        for (key, raw) in others(object, known) {
            if matches!(raw.get(), "null" | "\"\"" | "[]" | "{}") {
                continue;
            }
            match self.0.iter_mut().find(|(name, _)| *name == key) {
                None => self.0.push((key, Member::Received(raw.get().to_owned()))),
                Some((_, member)) => member.join(&key, raw),
            }
        }
    }

    /// Each member's key and JSON text.
    pub(super) fn into_texts(self) -> impl Iterator<Item = (String, String)> {
        self.0.into_iter().map(|(key, member)| {
            let text = match member {
                Member::Received(text) => text,
                Member::Joined(value) => value.to_string(),
            };
            (key, text)
        })
    }

    /// The members as one object; empty where there are none.
    pub(super) fn into_object(self) -> String {
        let mut out = Vec::new();
        for (key, text) in self.into_texts() {
            out.push(if out.is_empty() { b'{' } else { b',' });
            put(&mut out, &key);
            out.push(b':');
            out.extend_from_slice(text.as_bytes());
        }
        if !out.is_empty() {
            out.push(b'}');
        }
        String::from_utf8(out).unwrap_or_default()
    }
}

impl Member {
    fn join(&mut self, key: &str, raw: &RawValue) {
        if let Self::Received(text) = self {
            *self = Self::Joined(serde_json::from_str(text).unwrap_or_default());
        }
        if let (Self::Joined(value), Ok(piece)) = (self, serde_json::from_str(raw.get())) {
            join(key, value, piece);
        }
    }
}

/// Joins the next piece of a value: texts are continued, lists by the `index` of their elements, objects by their keys.
fn join(key: &str, value: &mut Value, piece: Value) {
    match (value, piece) {
        (_, Value::Null) => {}
        (Value::String(text), Value::String(more)) if !WHOLE.contains(&key) => text.push_str(&more),
        (Value::Array(list), Value::Array(pieces)) => {
            for piece in pieces {
                match list.last_mut().filter(|held| continues(held, &piece)) {
                    Some(held) => join("", held, piece),
                    None => list.push(piece),
                }
            }
        }
        (Value::Object(members), Value::Object(pieces)) => {
            for (key, piece) in pieces {
                match members.get_mut(&key) {
                    Some(member) => join(&key, member, piece),
                    None => {
                        members.insert(key, piece);
                    }
                }
            }
        }
        (value, piece) => *value = piece,
    }
}

/// The JSON text of a part and of the piece that follows it, joined.
pub(super) fn joined_parts(part: &str, piece: &str) -> String {
    let read = |text| serde_json::from_str(text).unwrap_or_default();
    let mut value: Value = read(part);
    join("", &mut value, read(piece));
    value.to_string()
}

/// True if an element of a list is a piece of the last one: of its kind and index. Encrypted data comes whole.
fn continues(last: &Value, piece: &Value) -> bool {
    let same = |key: &str| {
        let (last, piece) = (last.get(key), piece.get(key));
        piece.is_none() || last == piece
    };
    piece.is_object()
        && same("type")
        && last.get("index") == piece.get("index")
        && piece.get("data").is_none()
}

/// The members of an object whose keys are not `known`, in their order; none if the text is no object.
pub(super) fn others<'a>(object: &'a str, known: &[&str]) -> Vec<(String, &'a RawValue)> {
    struct Others<'k>(&'k [&'k str]);
    impl<'de> Visitor<'de> for Others<'_> {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut kept = Vec::new();
            while let Some((key, raw)) = map.next_entry::<String, &RawValue>()? {
                if !self.0.contains(&key.as_str()) {
                    kept.push((key, raw));
                }
            }
            Ok(kept)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(object);
    let others = Deserializer::deserialize_map(&mut deserializer, Others(known));
    others.unwrap_or_default()
}

/// The members of an object whose keys are not `known`, as an object; empty where there are none.
pub(super) fn other_members(object: &str, known: &[&str]) -> String {
    let mut members = Members::default();
    members.take(object, known);
    members.into_object()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(pieces: &[&str]) -> String {
        let mut members = Members::default();
        for piece in pieces {
            members.take(piece, &["content"]);
        }
        members.into_object()
    }

    #[test]
    fn a_member_that_came_whole_keeps_its_bytes() {
        let whole = r#"{"content":"x","z":{ "b":1.0,"a":1e400 },"n":null,"e":"","l":[]}"#;
        assert_eq!(joined(&[whole]), r#"{"z":{ "b":1.0,"a":1e400 }}"#);
        assert_eq!(joined(&[r#"{"content":"x"}"#, "[1]", "nonsense"]), "");
    }

    #[test]
    fn texts_are_continued_and_names_are_not() {
        let pieces = [
            r#"{"reasoning_content":"th","phase":"commentary"}"#,
            r#"{"reasoning_content":"ink","phase":"commentary"}"#,
            r#"{"reasoning_content":null}"#,
        ];
        let expect = r#"{"reasoning_content":"think","phase":"commentary"}"#;
        assert_eq!(joined(&pieces), expect);
    }

    #[test]
    fn details_are_joined_by_their_index() {
        let pieces = [
            r#"{"d":[{"type":"t","text":"a","index":0}]}"#,
            r#"{"d":[{"type":"t","text":"b","signature":"s","index":0}]}"#,
            r#"{"d":[{"type":"t","text":"c","index":1},{"type":"e","data":"x","index":1}]}"#,
        ];
        let value: Value = serde_json::from_str(&joined(&pieces)).unwrap();
        let expect = serde_json::json!({"d": [
            {"type": "t", "text": "ab", "signature": "s", "index": 0},
            {"type": "t", "text": "c", "index": 1},
            {"type": "e", "data": "x", "index": 1},
        ]});
        assert_eq!(value, expect);
    }
}
