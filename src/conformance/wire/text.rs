//! Calls as models write them into their text, for each text profile.

use crate::script::{CallText, MessageText};

/// What writes calls into text.
type Family = fn(&[CallText]) -> String;

/// Every text profile by its name in an adapter's version, such as `openai-chat+hermes/1`.
const FAMILIES: [(&str, Family); 3] = [("hermes", tagged), ("llama3", bare), ("qwen", tagged)];

/// The message as a model writes it that has no calls of its own on the wire; as it is under a version without text profile.
///
/// # Errors
/// The version names a text profile that is not known here.
pub(super) fn written(version: &str, message: &MessageText) -> Result<MessageText, String> {
    let mut written = message.clone();
    let name = version.split_once('+').map(|(_, rest)| rest);
    let name = name.and_then(|rest| rest.split('/').next());
    if let Some(name) = name {
        let family = FAMILIES.iter().find(|(family, _)| *family == name);
        let (_, write) = family.ok_or_else(|| {
            format!("no way to write the calls of {version} in text: src/conformance/wire")
        })?;
        let calls = std::mem::take(&mut written.calls);
        written.content.push_str(&write(&calls));
    }
    Ok(written)
}

/// A JSON object between tags for each call.
pub(super) fn tagged(calls: &[CallText]) -> String {
    let tagged = |call: &CallText| {
        let object = object(call, "arguments");
        format!("<tool_call>\n{object}\n</tool_call>")
    };
    calls.iter().map(tagged).collect::<Vec<_>>().join("\n")
}

/// A JSON object that stands alone.
fn bare(calls: &[CallText]) -> String {
    let calls = calls.iter().map(|call| object(call, "parameters"));
    calls.collect::<Vec<_>>().join("\n")
}

/// The object of a call; its arguments as they stand, JSON or not.
fn object(call: &CallText, key: &str) -> String {
    let CallText {
        name, arguments, ..
    } = call;
    format!("{{\"name\": \"{name}\", \"{key}\": {}}}", arguments.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::ArgumentsText;

    fn check(version: &str, expect: Result<&str, &str>) {
        let message = MessageText {
            calls: vec![CallText {
                id: None,
                name: "f".to_owned(),
                arguments: ArgumentsText("{\"a\": 1".to_owned()),
            }],
            ..MessageText::default()
        };
        match (written(version, &message), expect) {
            (Ok(got), Ok(expect)) => assert_eq!(got.content, expect, "{version}"),
            (Err(got), Err(expect)) => assert!(got.contains(expect), "{got}"),
            (got, expect) => panic!("{version}: {got:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn a_text_profile_writes_calls_into_the_text_and_no_other_version_does() {
        let object = "{\"name\": \"f\", \"arguments\": {\"a\": 1}";
        check(
            "openai-chat+hermes/1",
            Ok(&format!("<tool_call>\n{object}\n</tool_call>")),
        );
        check(
            "openai-chat+llama3/1",
            Ok("{\"name\": \"f\", \"parameters\": {\"a\": 1}"),
        );
        check("openai-chat/1", Ok(""));
        check("openai-chat+telex/1", Err("openai-chat+telex/1"));
    }
}
