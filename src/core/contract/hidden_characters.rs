//! Characters in the definitions of tools that no terminal shows: what a person reads there is not what the model gets. Judges nothing
//! else, and changes nothing.

use serde_json::Value;

use super::ToolTerms;
use super::schema_bounds::join;
use crate::message::{escaped_line, invisible_code_points, is_invisible};

/// The most texts that are named.
const MOST_TEXTS: usize = 50;
/// Characters of a text that are shown, and how many of them stand before the first one that a terminal does not show.
const CHARS_AROUND: usize = 60;
const CHARS_BEFORE: usize = 20;

/// A sentence for each text in the definitions of these tools that holds such characters. Names hold none: a server's tool with one in
/// its name is left out.
pub(super) fn hidden_characters(tools: &[ToolTerms]) -> Vec<String> {
    let mut found = Vec::new();
    for tool in tools {
        let mut note = |place: &str, text: &str| {
            if let Some(points) = invisible_code_points(text, is_usual) {
                let (name, around) = (&tool.name, around_first(text));
                found.push(format!(
                    "{place} of {name} holds characters that a terminal does not show: {points}, in \"{around}\""
                ));
            }
        };
        note("the description", &tool.description);
        for (what, value) in [
            ("the input schema", &tool.input_schema),
            ("the annotations", &tool.annotations),
        ] {
            each_text(value, "", &mut |pointer, text| {
                note(&format!("{what} at \"{}\"", escaped_line(pointer)), text);
            });
        }
    }
    let more = found.len().saturating_sub(MOST_TEXTS);
    if more > 0 {
        found.truncate(MOST_TEXTS);
        found.push(format!("{more} more texts of tools hold such characters"));
    }
    found
}

/// True for control characters of multi-line text.
const fn is_usual(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\t')
}

/// The text around the first such character, escaped.
fn around_first(text: &str) -> String {
    let hidden = text.chars().position(|c| is_invisible(c) && !is_usual(c));
    let from = hidden.unwrap_or_default().saturating_sub(CHARS_BEFORE);
    let around: String = text.chars().skip(from).take(CHARS_AROUND).collect();
    escaped_line(&around)
}

/// Hands over every text in a value with its pointer; a key is a text at the pointer of its value.
fn each_text(value: &Value, pointer: &str, visit: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::String(text) => visit(pointer, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_text(item, &join(pointer, &index.to_string()), visit);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let pointer = join(pointer, key);
                visit(&pointer, key);
                each_text(member, &pointer, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use serde_json::json;

    use super::*;
    use crate::contract::tests::make;

    #[test]
    fn every_text_of_a_definition_is_looked_at_and_named_by_its_place() {
        let mut tool = make(&[]).tools[0].clone();
        tool.name = "s__t".to_owned();
        tool.description = "Plain.\n\tTwo lines.".to_owned();
        assert_eq!(hidden_characters(from_ref(&tool)), [""; 0]);
        tool.description = "a\u{200b}b\u{200b}\u{e0041}".to_owned();
        tool.input_schema = json!({"properties": {
            "pa/th": {"description": "x\u{202e}y"},
            "k\u{2800}": {"enum": ["plain", "\u{1b}[8m"]},
        }});
        tool.annotations = json!({"title": "\u{ad}"});
        let says = "holds characters that a terminal does not show:";
        assert_eq!(
            hidden_characters(from_ref(&tool)),
            [
                format!(
                    "the description of s__t {says} U+200B (2 times), U+E0041, in \"a\\u{{200b}}b\\u{{200b}}\\u{{e0041}}\""
                ),
                format!(
                    "the input schema at \"/properties/pa~1th/description\" of s__t {says} U+202E, in \"x\\u{{202e}}y\""
                ),
                format!(
                    "the input schema at \"/properties/k\\u{{2800}}\" of s__t {says} U+2800, in \"k\\u{{2800}}\""
                ),
                format!(
                    "the input schema at \"/properties/k\\u{{2800}}/enum/1\" of s__t {says} U+001B, in \"\\u{{1b}}[8m\""
                ),
                format!("the annotations at \"/title\" of s__t {says} U+00AD, in \"\\u{{ad}}\""),
            ]
        );
        tool.description = "long ".repeat(50) + "\u{200b}" + &" text".repeat(50);
        let long = hidden_characters(&[tool]).swap_remove(0);
        let around = "\"long long long long \\u{200b} text text text text text text text tex\"";
        assert!(long.contains(around), "{long}");
    }
}
