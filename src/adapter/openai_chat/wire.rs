use serde::Deserialize;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A field that may be missing or null; else its JSON text as it stood.
pub(super) type Raw<'a> = Option<&'a RawValue>;

/// A blocking body, or one chunk of a stream.
///
/// All fields are raw: servers disagree on types, and a wrong type in a field that does not matter must not cost the
/// message.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireChunk<'a> {
    #[serde(borrow)]
    pub choices: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
    #[serde(borrow)]
    pub model: Raw<'a>,
    #[serde(borrow)]
    pub object: Raw<'a>,
    #[serde(borrow)]
    pub usage: Raw<'a>,
    #[serde(borrow)]
    pub x_groq: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireChoice<'a> {
    #[serde(borrow)]
    pub delta: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
    #[serde(borrow)]
    pub finish_reason: Raw<'a>,
    #[serde(borrow)]
    pub index: Raw<'a>,
    #[serde(borrow)]
    pub message: Raw<'a>,
    #[serde(borrow)]
    pub usage: Raw<'a>,
}

/// `message` of a blocking body, `delta` of a chunk.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireMessage<'a> {
    #[serde(borrow)]
    pub content: Raw<'a>,
    #[serde(borrow)]
    pub function_call: Raw<'a>,
    #[serde(borrow)]
    pub reasoning: Raw<'a>,
    #[serde(borrow)]
    pub reasoning_content: Raw<'a>,
    #[serde(borrow)]
    pub reasoning_details: Raw<'a>,
    #[serde(borrow)]
    pub refusal: Raw<'a>,
    #[serde(borrow)]
    pub tool_calls: Raw<'a>,
}

/// A part of a content array, or of an array of reasoning details.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WirePart<'a> {
    #[serde(borrow)]
    pub refusal: Raw<'a>,
    #[serde(borrow)]
    pub summary: Raw<'a>,
    #[serde(borrow)]
    pub text: Raw<'a>,
    #[serde(borrow)]
    pub thinking: Raw<'a>,
    #[serde(borrow, rename = "type")]
    pub kind: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireCall<'a> {
    #[serde(borrow)]
    pub function: Raw<'a>,
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow)]
    pub index: Raw<'a>,
    #[serde(borrow, rename = "type")]
    pub kind: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireFunction<'a> {
    #[serde(borrow)]
    pub arguments: Raw<'a>,
    #[serde(borrow)]
    pub name: Raw<'a>,
}

/// Reads `text` as a JSON object. Derived structs would read an array by position, so the brace is checked here.
pub(super) fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    text.trim_start()
        .starts_with('{')
        .then(|| serde_json::from_str(text).ok())
        .flatten()
}

/// The string a field holds; none where it is missing, null, of another type, or no Unicode text.
pub(super) fn string(raw: Raw<'_>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

/// The number a field holds, where it is a whole one.
pub(super) fn whole(raw: Raw<'_>) -> Option<u64> {
    serde_json::from_str(raw?.get()).ok()
}

/// The first `limit` elements of an array, and whether there are more; none where the text is no array. What is
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
    serde::Deserializer::deserialize_seq(&mut deserializer, Bounded(limit)).ok()
}
