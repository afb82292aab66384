//! The byte of a document's text that a JSON pointer names: for people and models, who read the text. Knows JSON only.

use serde_json::value::RawValue;

use super::json::{Raw, elements, object};

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
}
