//! Reasoning that models write at the beginning of their text, between tags. Does not know the markup after it.

use crate::message::AgentMessage;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Splits off the reasoning at the beginning of a message: the reasoning, and the start of the text after it. Without a closing
/// tag, everything is reasoning.
///
/// Templates of some servers write the opening tag themselves, so a closing tag without one ends a reasoning too, if it
/// comes before anything that `is_markup` finds.
pub(super) fn split(text: &str, is_markup: impl Fn(&str) -> bool) -> (Option<&str>, usize) {
    let after_open = text.trim_start().strip_prefix(OPEN);
    let inside = after_open.unwrap_or(text);
    let Some(length) = inside.find(CLOSE) else {
        return match after_open {
            Some(_) => (Some(inside.trim()), text.len()),
            None => (None, 0),
        };
    };
    let reasoning = inside.get(..length).unwrap_or_default();
    if after_open.is_none() && is_markup(reasoning) {
        return (None, 0);
    }
    let after = inside.get(length + CLOSE.len()..).unwrap_or_default();
    (
        Some(reasoning.trim()),
        text.len() - after.trim_start().len(),
    )
}

/// The text after the reasoning that it begins with. A text that may still become an opening tag shows nothing.
pub(super) fn after_reasoning(text: &str) -> &str {
    let start = text.trim_start();
    if OPEN.starts_with(start) {
        return "";
    }
    let (_, at) = split(text, |_| true);
    text.get(at..).unwrap_or_default()
}

/// The reasoning that a text begins with, as far as it has arrived: it only grows. A piece that may become the closing tag waits.
pub(super) fn arriving_reasoning(text: &str) -> Option<&str> {
    let inside = text.trim_start().strip_prefix(OPEN)?;
    let end = inside.find(CLOSE).unwrap_or_else(|| {
        let mut parts = (1..CLOSE.len())
            .rev()
            .filter_map(|length| CLOSE.get(..length));
        let part = parts.find(|part| inside.ends_with(part));
        inside.len() - part.map_or(0, str::len)
    });
    inside.get(..end).map(str::trim)
}

/// The message without the reasoning that its text begins with, which joins its other reasoning. What a provider wants to see again
/// belongs to the text as it was. The message itself, unless its text `thinks`.
pub(super) fn without_reasoning(mut message: AgentMessage, thinks: bool) -> AgentMessage {
    let (Some(thought), at) = split(&message.content, |_| true) else {
        return message;
    };
    if !thinks {
        return message;
    }
    let parts = [
        message.reasoning.take().unwrap_or_default(),
        thought.to_owned(),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|text| !text.is_empty()).collect();
    message.reasoning = Some(parts.join("\n")).filter(|text| !text.is_empty());
    message.content.drain(..at);
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Role;

    #[test]
    fn reasoning_at_the_beginning_leaves_the_text_also_unclosed() {
        let check = |text: &str, thought: Option<&str>, rest: &str| {
            let message = AgentMessage::text(Role::Assistant, text, 0);
            let AgentMessage {
                content, reasoning, ..
            } = without_reasoning(message, true);
            assert_eq!(
                (reasoning.as_deref(), content.as_str()),
                (thought, rest),
                "{text:?}"
            );
        };
        check("<think>a</think>\n\nb", Some("a"), "b");
        check(" \n<think>\na\n</think>", Some("a"), "");
        check("<think>a", Some("a"), "");
        check("<think></think>b", None, "b");
        check("b <think>a</think>", None, "b <think>a</think>");
        check("a</think>b", None, "a</think>b");
        check("<thinking>a", None, "<thinking>a");
    }

    #[test]
    fn the_reasoning_only_grows_and_ends_before_its_tag() {
        for text in [
            "<think> a b </think>\nc",
            "<think>a < b",
            " <think>a</thin king>b",
        ] {
            let message = AgentMessage::text(Role::Assistant, text, 0);
            let whole = without_reasoning(message, true).reasoning.unwrap();
            let mut shown = String::new();
            for end in 0..=text.len() {
                let now = arriving_reasoning(&text[..end]).unwrap_or_default();
                assert!(now.starts_with(&shown), "{text:?} at {end}: {now:?}");
                now.clone_into(&mut shown);
            }
            assert_eq!(shown, whole, "{text:?}");
        }
        assert_eq!(arriving_reasoning("plain"), None);
    }

    #[test]
    fn the_shown_text_only_grows() {
        for text in [
            "<think>a</think>\n b",
            "  plain",
            "<b>x</b>",
            "<think>open",
            "<thing",
        ] {
            let content =
                without_reasoning(AgentMessage::text(Role::Assistant, text, 0), true).content;
            let mut shown = String::new();
            for end in 0..=text.len() {
                let now = after_reasoning(&text[..end]);
                assert!(
                    now.starts_with(&shown),
                    "{text:?} at {end}: {now:?} after {shown:?}"
                );
                now.clone_into(&mut shown);
            }
            if text != "  plain" || !shown.is_empty() {
                assert_eq!(shown, content);
            }
        }
    }
}
