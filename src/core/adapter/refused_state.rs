//! The words with which a provider refuses state that it gave itself (semantics §4): the place of a member in a message, or
//! what such a member holds. Does not know what a request sends.

/// The lists of messages in requests.
const LISTS: &[&str] = &["contents", "input", "messages"];
/// The members of messages and their parts that monolith writes itself, and the roles that some reports name.
const OWN_MEMBERS: &[&str] = &[
    "args",
    "arguments",
    "assistant",
    "cache_control",
    "call_id",
    "content",
    "function",
    "functionCall",
    "functionResponse",
    "function_call",
    "function_response",
    "id",
    "input",
    "name",
    "output",
    "parts",
    "response",
    "role",
    "source",
    "system",
    "text",
    "tool",
    "tool_call_id",
    "tool_calls",
    "tool_result",
    "tool_use",
    "tool_use_id",
    "type",
    "user",
];
/// Names in a report about a part that holds state.
const STATE: &[&str] = &[
    "encrypted_content",
    "redacted_thinking",
    "signature",
    "thinking",
];
/// Words for a member whose name the server does not know, in lower case.
const UNKNOWN_MEMBER: &[&str] = &[
    "additional propert",
    "extra fields",
    "extra inputs",
    "extra_forbidden",
    "is unsupported",
    "unexpected",
    "unknown field",
    "unknown name",
    "unknown parameter",
    "unrecognized",
];
/// Phrases without a place, in lower case: one row suffices, and all parts of it must be there.
const PHRASES: &[&[&str]] = &[
    &["encrypted content", "could not be"],
    &["item found with id"],
    &["item with id", "not found"],
    &["redacted_thinking"],
    &["thought signature"],
    &["thought_signature"],
    &["thoughtsignature"],
    &["was provided without its required"],
];
/// Words with which servers miss a member that they want back.
const MISSING_WORDS: &[&str] = &["missing", "must be passed", "passed back"];

/// True if a report with that place and message refuses state.
pub(super) fn refuses_state(param: Option<&str>, message: &str) -> bool {
    let words = message.to_ascii_lowercase();
    let has = |phrase: &&str| words.contains(phrase);
    if MISSING_WORDS.iter().any(has) {
        return false;
    }
    let places: Vec<Vec<&str>> = param
        .into_iter()
        .chain([message])
        .flat_map(places)
        .collect();
    let is_foreign = |place: &Vec<&str>| place.iter().any(|name| !OWN_MEMBERS.contains(name));
    let names_state = || {
        words_of(message)
            .iter()
            .any(|(_, name)| STATE.contains(name))
    };
    PHRASES.iter().any(|row| row.iter().all(has))
        || places.iter().any(is_foreign)
        || !places.is_empty() && (UNKNOWN_MEMBER.iter().any(has) || names_state())
}

/// The places in messages that a text names: for each, the names of members below the message.
fn places(text: &str) -> Vec<Vec<&str>> {
    let words = words_of(text);
    let is_index = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let begins = |pair: &[(&str, &str)]| match pair {
        [(_, list), (step, index)] => LISTS.contains(list) && is_step(step) && is_index(index),
        _ => false,
    };
    let starts = words.windows(2).enumerate();
    let starts = starts.filter(|(_, pair)| begins(pair));
    let members = starts.map(|(at, _)| {
        let path = words.iter().skip(at + 2);
        let path = path.take_while(|(step, _)| is_step(step));
        let names = path.map(|(_, word)| *word).filter(|word| !is_index(word));
        names.collect::<Vec<&str>>()
    });
    members.collect()
}

/// The words of a text, each after the text between it and the one before.
fn words_of(text: &str) -> Vec<(&str, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_part)
        && let Some((between, from)) = rest.split_at_checked(start)
    {
        let end = from.find(|c: char| !is_part(c)).unwrap_or(from.len());
        let Some((word, after)) = from.split_at_checked(end) else {
            break;
        };
        words.push((between, word));
        rest = after;
    }
    words
}

/// True if two words with this text between them are steps of one place: `a.b`, `a[1]`, `"a",1`, `'a', 1`.
fn is_step(between: &str) -> bool {
    let bare: String = between
        .chars()
        .filter(|c| !matches!(c, '\'' | '"' | '`'))
        .collect();
    match bare.as_str() {
        "." | "[" | "]." | "][" => true,
        "," | ", " => bare.len() < between.len(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expect: bool, rows: &[(Option<&str>, &str)]) {
        for (param, message) in rows {
            assert_eq!(
                refuses_state(*param, message),
                expect,
                "{param:?} {message}"
            );
        }
    }

    #[test]
    fn a_member_of_a_message_is_state_in_every_wording() {
        for name in [
            "reasoning",
            "thinking",
            "provider_specific_fields",
            "thinking_blocks",
            "token_ids",
            "metadata",
            "status",
            "stop",
        ] {
            let place = format!("messages[1].{name}");
            let openai = format!("Unknown parameter: '{place}'.");
            let groq = format!(
                "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property '{name}' is unsupported)]"
            );
            let pydantic = format!(
                r#"[{{"type":"extra_forbidden","loc":["body","messages",1,"assistant","{name}"],"msg":"Extra inputs are not permitted","input":1}}]"#
            );
            let python = format!(
                "[{{'type': 'extra_forbidden', 'loc': ('body', 'messages', 1, '{name}'), 'msg': 'Extra inputs are not permitted'}}]"
            );
            let schema = format!(
                "Additional properties are not allowed ('{name}' was unexpected) - 'messages.1'"
            );
            check(
                true,
                &[
                    (Some(place.as_str()), "bad request"),
                    (None, openai.as_str()),
                    (None, groq.as_str()),
                    (None, pydantic.as_str()),
                    (None, python.as_str()),
                    (None, schema.as_str()),
                ],
            );
        }
        check(
            true,
            &[
                (Some("input[1].status"), "Unknown parameter"),
                (None, "Invalid 'input[1].encrypted_content'"),
                (
                    Some("messages[1].phase"),
                    "messages.2.reasoning_content: Extra inputs are not permitted",
                ),
                (None, "messages[1]: unknown field reasoning_content"),
                (
                    None,
                    "Unrecognized request argument supplied: messages.1.weird_member",
                ),
            ],
        );
    }

    #[test]
    fn each_provider_has_its_own_words_for_state_that_it_does_not_take() {
        check(
            true,
            &[
                (
                    None,
                    "The encrypted content ENC could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
                ),
                (
                    None,
                    "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
                ),
                (
                    Some("input"),
                    "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
                ),
                (
                    Some("input"),
                    "Duplicate item found with id rs_1. Remove duplicate items from your input and try again.",
                ),
                (
                    None,
                    "messages.1.content.0: Invalid `signature` in `thinking` block",
                ),
                (
                    None,
                    "messages.1.content.0.thinking.signature: Field required",
                ),
                (
                    None,
                    "messages.1.content.0.type: Expected `text`, but found `thinking`",
                ),
                (
                    None,
                    "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
                ),
                (None, "Thought signature is not valid."),
                (
                    None,
                    "Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed",
                ),
                (
                    None,
                    "Invalid JSON payload received. Unknown name \"id\" at 'contents[1].parts[0].function_call': Cannot find field.",
                ),
                (
                    None,
                    "Unable to submit request because thought_signature is corrupted",
                ),
            ],
        );
    }

    #[test]
    fn a_flaw_in_a_members_own_value_or_a_missing_member_is_no_refused_state() {
        check(
            false,
            &[
                (None, ""),
                (
                    Some("messages[0].content"),
                    "Invalid 'messages[0].content': a string is not supported",
                ),
                (
                    None,
                    "Invalid 'messages[2].tool_calls[0].function.name': string does not match pattern.",
                ),
                (
                    None,
                    "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
                ),
                (
                    None,
                    "messages.0.content.0.text: text content blocks must be non-empty",
                ),
                (
                    None,
                    "Function call is a part without a thought_signature: it is missing in functionCall parts.",
                ),
                (
                    None,
                    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
                ),
                (None, "messages[2]: missing field `reasoning_content`"),
                (
                    None,
                    "The `reasoning_content` in the thinking mode must be passed back to the API.",
                ),
                (None, "at most 3 messages, 2 tools and 1 image, unexpected"),
                (
                    Some("tools[0].function.parameters"),
                    "Invalid schema for function 'read_file': 'seed' is not permitted",
                ),
            ],
        );
    }
}
