//! The escape that keeps text from being read as markup.
//!
//! A marker is `<` and one of a fixed list of words. There may be any number of backslashes between the two: with none it is
//! markup, with n it is text that holds n − 1 of them. Escaping adds one, unescaping takes one away, and both leave
//! everything else as it is; so unescaping what was escaped gives the same text again, bit for bit.

use std::borrow::Cow;

/// The markers of a family: what may follow `<`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks(pub(super) &'static [&'static str]);

/// Tags of calls and prompts, and the turn marks of ChatML, which a server's template writes around messages.
pub(super) const TAGGED: Marks = Marks(&[
    "tool_call>",
    "/tool_call>",
    "tool_response>",
    "/tool_response>",
    "tools>",
    "/tools>",
    "think>",
    "/think>",
    "|im_start|>",
    "|im_end|>",
    "|endoftext|>",
]);

/// The prefix of control tokens in most vocabularies: a server's tokenizer reads them anywhere.
pub(super) const CONTROL: Marks = Marks(&["|"]);

/// The special tokens of Llama 3 that begin calls, turns and headers.
pub(super) const LLAMA3: Marks = Marks(&[
    "|python_tag|>",
    "|start_header_id|>",
    "|end_header_id|>",
    "|eot_id|>",
    "|eom_id|>",
    "|begin_of_text|>",
    "|end_of_text|>",
    "think>",
    "/think>",
]);

/// Tags of the XML transport, whatever their nonce, and the blocks of its results.
pub(super) const XML: Marks = Marks(&[
    "ai-agent-",
    "/ai-agent-",
    "request>",
    "/request>",
    "response>",
    "/response>",
]);

impl Marks {
    /// `text` with one backslash more in every marker.
    pub(super) fn escape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.each(text, Change::Add)
    }

    /// `text` with one backslash less in every marker that has any.
    pub(super) fn unescape<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.each(text, Change::Remove)
    }

    /// JSON text without markers: the `<` of each is written as `\u003c`, which is the same value.
    pub(super) fn in_json(&self, json: &str) -> String {
        let mut out = String::with_capacity(json.len());
        let mut rest = json;
        while let Some(at) = rest.find('<') {
            let (before, from) = rest.split_at(at);
            let after = from.get(1..).unwrap_or_default();
            out.push_str(before);
            out.push_str(if self.begins(after) { "\\u003c" } else { "<" });
            rest = after;
        }
        out.push_str(rest);
        out
    }

    fn begins(&self, after: &str) -> bool {
        self.0.iter().any(|word| after.starts_with(word))
    }

    /// Copies `text` with `change` made between each marker's `<` and its word.
    fn each<'a>(&self, text: &'a str, change: Change) -> Cow<'a, str> {
        let mut out = String::new();
        let mut kept = 0;
        let mut from = 0;
        while let Some(found) = text.get(from..).and_then(|rest| rest.find('<')) {
            let after = from + found + 1;
            let rest = text.get(after..).unwrap_or_default();
            let backslashes = rest.bytes().take_while(|byte| *byte == b'\\').count();
            from = after + backslashes;
            if !self.begins(rest.get(backslashes..).unwrap_or_default()) {
                continue;
            }
            match change {
                Change::Add => {
                    out.push_str(text.get(kept..after).unwrap_or_default());
                    out.push('\\');
                    kept = after;
                }
                Change::Remove if backslashes > 0 => {
                    out.push_str(text.get(kept..after).unwrap_or_default());
                    kept = after + 1;
                }
                Change::Remove => {}
            }
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(text.get(kept..).unwrap_or_default());
        Cow::Owned(out)
    }
}

/// A change to the backslashes in a marker.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// One more.
    Add,
    /// One less, where there are any.
    Remove,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::adapter::fixture::marked_text;

    #[test]
    fn a_marker_gets_one_backslash_more_and_loses_it_again() {
        let check = |plain: &str, escaped: &str| {
            assert_eq!(TAGGED.escape(plain), escaped);
            assert_eq!(TAGGED.unescape(escaped), plain);
        };
        check("a < b <b> <tool_callx>", "a < b <b> <tool_callx>");
        check("<tool_call>", r"<\tool_call>");
        check("x</tool_response>y", r"x<\/tool_response>y");
        check(r"<\tool_call><\\think>", r"<\\tool_call><\\\think>");
        check("<<tool_call>", r"<<\tool_call>");
        check(r"<\<think>", r"<\<\think>");
        check("<|im_end|>\u{0}", "<\\|im_end|>\u{0}");
    }

    #[test]
    fn json_without_markers_is_the_same_value() {
        let json = r#"{"a":"<tools>","b":"</tools> < <x>"}"#;
        let safe = TAGGED.in_json(json);
        assert!(
            !safe.contains("<tools>") && !safe.contains("</tools>"),
            "{safe}"
        );
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&safe), value(json));
    }

    proptest! {
        #[test]
        fn what_was_escaped_holds_no_marker_and_comes_back(text in marked_text()) {
            for marks in [TAGGED, LLAMA3, XML] {
                let escaped = marks.escape(&text);
                for word in marks.0 {
                    let marker = format!("<{word}");
                    prop_assert!(!escaped.contains(&marker), "{escaped}");
                }
                let back = marks.unescape(&escaped);
                prop_assert_eq!(back.as_ref(), text.as_str());
            }
        }
    }
}
