//! Repair of a call's argument text, where the contract is not strict (semantics §6, 000 §1).
//!
//! Every step reads a way of writing that has one meaning only, by a name under which it is recorded; the result is parsed
//! again like any other text. What was cut is never completed: which of its values are missing, and whether the last one is
//! whole, cannot be known. So every bracket and every quote must have been closed by the model.

use std::iter::Peekable;
use std::str::CharIndices;

use crate::message::{ObjectText, Repair};

/// Maximum nesting of a repaired text; a deeper one is refused anyway.
const MAX_DEPTH: usize = 64;

/// The rule for repairing argument text that is no JSON object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Repairs {
    /// Every text is validated as it came: strict mode, and the default.
    #[default]
    Never,
    /// Text with only one meaning is repaired, and the message is recovered.
    Allowed,
}

/// A text after its repair.
#[derive(Debug)]
pub(super) struct Repaired {
    pub object: ObjectText,
    /// The repair steps, each once, in the order in which they were first needed.
    pub steps: Vec<&'static str>,
}

/// Repairs a text that is not the text of one JSON object; none if its meaning would have to be guessed.
pub(super) fn repair(text: &str) -> Option<Repaired> {
    if let Ok(inner) = serde_json::from_str::<String>(text) {
        let object = ObjectText::parse(inner).ok()?;
        let steps = vec!["arguments_unquoted"];
        return Some(Repaired { object, steps });
    }
    let mut repairer = JsonWriter::default();
    let text = repairer.without_fence(text);
    let from = text.find('{')?;
    let (before, object) = text.split_at(from);
    let length = repairer.object(object)?;
    let after = object.get(length..).unwrap_or_default();
    if before.contains('[') || after.contains(['{', '[']) {
        // An array is another value than its element, and of two objects either may be meant.
        return None;
    }
    if is_key(before) || goes_on(after) {
        return None;
    }
    if !before.trim().is_empty() || !after.trim().is_empty() {
        repairer.note("object_extracted");
    }
    let object = ObjectText::parse(repairer.out).ok()?;
    let steps = repairer.steps;
    (!steps.is_empty()).then_some(Repaired { object, steps })
}

/// True if a text ends like a member before its value: then the object is part of another one.
fn is_key(before: &str) -> bool {
    let key = before.trim_end().strip_suffix(':').map(str::trim_end);
    key.is_some_and(|key| key.ends_with(['"', '\'']))
}

/// True if the text after an object may belong to it: a quote that no other one closes, or more members. The object was then
/// closed too early, by a quote in the middle of a value or by an extra bracket. The whole cannot be known.
fn goes_on(after: &str) -> bool {
    let behind = after.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '}' | ']'));
    behind.starts_with([',', ':']) || !after.matches('"').count().is_multiple_of(2)
}

/// The last token, white space aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Bracket,
    /// A comma, and where it was written.
    Comma(usize),
    Other,
}

/// Writes a text token by token as JSON has it.
#[derive(Debug, Default)]
struct JsonWriter {
    last: Last,
    /// The closing brackets that are awaited.
    open: Vec<char>,
    out: String,
    steps: Vec<&'static str>,
}

impl JsonWriter {
    fn note(&mut self, step: &'static str) {
        if !self.steps.contains(&step) {
            self.steps.push(step);
        }
    }

    /// The text inside of a Markdown fence, if it has one.
    fn without_fence<'t>(&mut self, text: &'t str) -> &'t str {
        let inside = || {
            let fenced = text.trim().strip_prefix("```")?.strip_suffix("```")?;
            let (language, inside) = fenced.split_once('\n')?;
            matches!(language.trim(), "" | "json" | "JSON").then_some(inside)
        };
        match inside() {
            Some(inside) => {
                self.note("fence_removed");
                inside
            }
            None => text,
        }
    }

    /// Writes the object that `text` begins with: its length, where it is closed.
    fn object(&mut self, text: &str) -> Option<usize> {
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '{' => self.opens('{', '}')?,
                '[' => self.opens('[', ']')?,
                '}' | ']' => {
                    self.closes(c)?;
                    if self.open.is_empty() {
                        return Some(at + c.len_utf8());
                    }
                }
                ',' => {
                    // One that follows nothing is no comma too many.
                    self.last = match self.last {
                        Last::Other => Last::Comma(self.out.len()),
                        Last::Bracket | Last::Comma(_) => Last::Other,
                    };
                    self.out.push(',');
                }
                '"' | '\'' => self.string(c, &mut chars)?,
                // The exponent of a number follows its digits directly.
                'e' | 'E' if self.out.ends_with(|c: char| c.is_ascii_digit()) => self.out.push(c),
                _ if c.is_ascii_alphabetic() || matches!(c, '_' | '$') => {
                    let rest = text.get(at..).unwrap_or_default();
                    let length = word_length(rest);
                    let (word, after) = rest.split_at(length);
                    // All of it is ASCII.
                    for _ in 1..length {
                        chars.next();
                    }
                    self.word(word, after)?;
                }
                _ => {
                    self.out.push(c);
                    if !c.is_ascii_whitespace() {
                        self.last = Last::Other;
                    }
                }
            }
        }
        None
    }

    fn opens(&mut self, bracket: char, closing: char) -> Option<()> {
        if self.open.len() > MAX_DEPTH {
            return None;
        }
        self.open.push(closing);
        self.out.push(bracket);
        self.last = Last::Bracket;
        Some(())
    }

    fn closes(&mut self, bracket: char) -> Option<()> {
        if self.open.pop() != Some(bracket) {
            return None;
        }
        if let Last::Comma(at) = self.last {
            self.out.remove(at);
            self.note("comma_removed");
        }
        self.out.push(bracket);
        self.last = Last::Other;
        Some(())
    }

    /// A text whose opening quote was read.
    fn string(&mut self, quote: char, chars: &mut Peekable<CharIndices<'_>>) -> Option<()> {
        if quote == '\'' {
            self.note("quotes_replaced");
        }
        self.out.push('"');
        loop {
            let (_, c) = chars.next()?;
            match c {
                _ if c == quote => break,
                '\\' => {
                    let (_, escaped) = chars.next()?;
                    if escaped == '\'' {
                        self.note("escape_mended");
                    } else if matches!(
                        escaped,
                        '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u'
                    ) {
                        self.out.push('\\');
                    } else {
                        // Either a backslash or a letter was meant: this cannot be decided.
                        return None;
                    }
                    self.out.push(escaped);
                }
                '"' => self.out.push_str("\\\""),
                '\u{0}'..='\u{1f}' => {
                    self.note("control_escaped");
                    let escaped = serde_json::Value::from(c.to_string()).to_string();
                    self.out.push_str(escaped.trim_matches('"'));
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
        self.last = Last::Other;
        Some(())
    }

    /// A bare word, and what follows it: a key, a literal of JSON or one of Python.
    fn word(&mut self, word: &str, after: &str) -> Option<()> {
        let is_key = self.open.last() == Some(&'}') && self.last != Last::Other;
        if is_key && after.trim_start().starts_with(':') {
            self.note("key_quoted");
            self.out.push('"');
            self.out.push_str(word);
            self.out.push('"');
            self.last = Last::Other;
            return Some(());
        }
        let literal = match word {
            "true" | "false" | "null" => word,
            "True" => "true",
            "False" => "false",
            "None" => "null",
            _ => return None,
        };
        if literal != word {
            self.note("literal_replaced");
        }
        self.out.push_str(literal);
        self.last = Last::Other;
        Some(())
    }
}

/// Returns the length of the word that `text` begins with.
fn word_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '-')))
        .unwrap_or(text.len())
}

/// Two records as one, the lines of the first before those of the second.
pub(super) fn joined(first: Option<Repair>, second: Option<Repair>) -> Option<Repair> {
    let (Some(first), Some(second)) = (&first, &second) else {
        return first.or(second);
    };
    Some(Repair {
        original: format!("{}\n{}", first.original, second.original),
        repaired: format!("{}\n{}", first.repaired, second.repaired),
        steps: [first.steps.as_slice(), second.steps.as_slice()].concat(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expect: Option<(&str, &[&str])>) {
        let repaired = repair(text);
        let got = repaired
            .as_ref()
            .map(|r| (r.object.as_str(), r.steps.as_slice()));
        assert_eq!(got, expect, "{text}");
    }

    #[test]
    fn what_has_one_meaning_is_repaired_by_named_steps() {
        for (text, expect, steps) in [
            (r#""{\"a\":1}""#, r#"{"a":1}"#, &["arguments_unquoted"][..]),
            ("```json\n{\"a\":1}\n```", "{\"a\":1}", &["fence_removed"]),
            ("{\"a\":[1,2,],}", "{\"a\":[1,2]}", &["comma_removed"]),
            ("{\"a\":1 , }", "{\"a\":1  }", &["comma_removed"]),
            (
                "{'a':'say \"it\\'s\"'}",
                r#"{"a":"say \"it's\""}"#,
                &["quotes_replaced", "escape_mended"],
            ),
            (r#"{"a":"it\'s"}"#, r#"{"a":"it's"}"#, &["escape_mended"]),
            (
                "{\"a\":\"x\ny\t\u{1}\"}",
                r#"{"a":"x\ny\t\u0001"}"#,
                &["control_escaped"],
            ),
            (
                "{a:True,b_2 :None,\"c\":[False,null,1e-3,-2.5E+1]}",
                "{\"a\":true,\"b_2\" :null,\"c\":[false,null,1e-3,-2.5E+1]}",
                &["key_quoted", "literal_replaced"],
            ),
            ("{\"a\":1}}", "{\"a\":1}", &["object_extracted"]),
            (
                "I'll call it: {\"a\":{}} now.",
                "{\"a\":{}}",
                &["object_extracted"],
            ),
            (
                "{\"a\":1} says \"a\", that's all",
                "{\"a\":1}",
                &["object_extracted"],
            ),
        ] {
            check(text, Some((expect, steps)));
        }
    }

    #[test]
    fn what_was_cut_or_could_mean_two_things_is_not() {
        for text in [
            "",
            "null",
            "\"text\"",
            "[]",
            "[{\"a\":1}]",
            "{\"a\":1",
            "{\"a\":\"x",
            "{\"a\":[1}",
            "{\"a\":\"x\"",
            "{'a':1",
            "```json\n{\"a\":",
            "{\"a\":1}{\"a\":2}",
            "{\"a\":1}, {\"b\"",
            r#"{"s":"rm -rf /tmp/x"}, "dry_run": tr"#,
            r#"{"a":1}, "b": "x"#,
            r#"{"a":1}, "b": 2}"#,
            r#"{"a":1}}, "b": 2}"#,
            "{\"a\":1} , b",
            "{\"a\":1}: 2",
            "{\"a\":1} and \"b",
            r#""a": {"b":1}}"#,
            "'a' :\n{'b':1}",
            "{\"a\":\\d}",
            r#"{"a":"\d+"}"#,
            "{\"a\":undefined}",
            "{\"a\":NaN}",
            "{\"a\":b}",
            "{a}",
            "{\"a\":1,,\"b\":2}",
            "{,}",
            "{\"a\":\"say \"b\" to c\"}",
            "{\"a\" 1}",
            "{\"a\":1,\"a\":2,}",
            "{\"a\":01}",
            "{\"a\":1 /* b */}",
            "\"{\\\"a\\\":1,}\"",
        ] {
            check(text, None);
        }
        let deep = format!("{{\"a\":{}1,{}}}", "[".repeat(9_999), "]".repeat(9_999));
        check(&deep, None);
    }

    proptest! {
        #[test]
        fn a_repair_is_an_object_and_no_cut_text_is_repaired(
            text in "[{}\\[\\],:'\"\\\\a1 \\n]{0,40}",
            key in "[a-c]{1,2}",
        ) {
            if let Some(repaired) = repair(&text) {
                prop_assert!(!repaired.steps.is_empty());
                prop_assert!(repaired.object.to_value().is_object());
            }
            let whole = format!("{{'{key}':[1,True,],\"z\":{{}}}}");
            prop_assert!(repair(&whole).is_some());
            for end in 0..whole.len() {
                prop_assert!(repair(&whole[..end]).is_none(), "{}", &whole[..end]);
            }
        }
    }
}
