//! Looks in a contract for what can only be a credential, though no file names it as one: by its shape, by the option, variable or
//! member that it is given to, or as the password of an address. Knows no values.

use serde_json::Value;

use monolith_core::contract::{
    ADDRESS_PASSWORD, REST_PREFIX, is_certainly_secret, is_stand_in, masked_text, masked_value,
};
use monolith_core::session::credentials_in;

/// Keys of addresses: a contract holds them without user and query, and the name of a host may look like anything.
const ADDRESSES: [&str; 2] = ["base_url", "url"];
/// Sections that hold no text of an author's: patterns, and what servers offer, which is scrubbed where it comes in.
const NOT_TEXTS: [&str; 4] = ["grammar", "redact", "session_tools", "tools"];
/// The fewest characters of a word in running text that may be a credential.
const SHORTEST_IN_TEXT: usize = 8;

/// The way to read a text of a contract.
#[derive(Clone, Copy)]
enum Reading {
    /// Running text, where a word behind `--token` may be the next word of a sentence.
    Prose,
    /// A command, a template or options: its text is used as it is.
    Command,
}

/// Returns the first place where a contract's document shows a credential: its RFC 6901 pointer, and its place in the file.
pub(super) fn credential_in(document: &Value) -> Option<(String, String)> {
    let sections = document.as_object()?.iter();
    let mut sections = sections.filter(|(name, _)| !NOT_TEXTS.contains(&name.as_str()));
    let steps = sections.find_map(|(name, section)| {
        let mut steps = vec![name.clone()];
        below(section, &mut steps, Reading::Prose).then_some(steps)
    })?;
    let pointer = steps.iter().map(|step| {
        let step = step.replace('~', "~0").replace('/', "~1");
        format!("/{step}")
    });
    Some((pointer.collect(), place_of(&steps)))
}

/// Returns true if a value shows one; `steps` then lead to it.
fn below(value: &Value, steps: &mut Vec<String>, reading: Reading) -> bool {
    let key = steps.last().cloned().unwrap_or_default();
    let key = key.as_str();
    let reading = match key {
        "args" | "body_template" | "command" | "provider_options" => Reading::Command,
        _ => reading,
    };
    let mut each = |step: String, value: &Value| {
        steps.push(step);
        let is_shown = below(value, steps, reading);
        if !is_shown {
            steps.pop();
        }
        is_shown
    };
    match value {
        Value::String(text) if ADDRESSES.contains(&key) => {
            let path = text
                .split_once("://")
                .and_then(|(_, rest)| rest.split_once('/'));
            path.is_some_and(|(_, path)| has_shape(path))
        }
        Value::String(text) => has_shape(text) || names_one(key, value, reading),
        Value::Array(items) => {
            let mut items_of = items.iter().enumerate();
            items_of.any(|(at, item)| each(at.to_string(), item))
                || matches!(reading, Reading::Command) && names_one("", value, reading)
        }
        Value::Object(members) => {
            let mut all = members.iter();
            all.any(|(name, item)| has_shape(name) || each(name.clone(), item))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns true if the text has the shape of a well-known credential, and is not a mere placeholder.
fn has_shape(text: &str) -> bool {
    let found = credentials_in(text);
    found.iter().any(|one| !is_stand_in(one))
}

/// Returns true if it gives a name a value that can only be secret.
fn names_one(key: &str, value: &Value, reading: Reading) -> bool {
    let mut is_shown = false;
    let mut found = |name: &str, text: &str| {
        let is_credential = match reading {
            Reading::Command => true,
            Reading::Prose => name == ADDRESS_PASSWORD || is_mixed(text),
        };
        is_shown |= is_certainly_secret(name) && !is_stand_in(text) && is_credential;
    };
    match (value, reading) {
        (_, Reading::Command) => drop(masked_value(key, value, &mut found)),
        (Value::String(text), Reading::Prose) => drop(masked_text(text, &mut found)),
        _ => {}
    }
    is_shown
}

/// Returns true if the text is one piece of letters and digits: hardly a word of a sentence.
fn is_mixed(text: &str) -> bool {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    text.len() >= SHORTEST_IN_TEXT
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().any(|b| b.is_ascii_alphabetic())
}

/// The place in the file of the value there in the contract.
fn place_of(steps: &[String]) -> String {
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    match steps.as_slice() {
        ["servers", name, rest @ ..] => {
            let rest = rest.strip_prefix(&["rest"]).unwrap_or(rest);
            let section = match name.strip_prefix(REST_PREFIX) {
                Some(own) => format!("tools.rest.{own}"),
                None => format!("tools.mcp.{name}"),
            };
            format!("{section}.{}", rest.join("."))
        }
        all => all.join("."),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEY: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

    #[test]
    fn a_credential_is_found_in_every_text_of_a_contract() {
        let check = |document: Value, pointer: &str, place: &str| {
            let found = credential_in(&document);
            let expect = (pointer.to_owned(), place.to_owned());
            assert_eq!(found, Some(expect), "{document}");
        };
        let args = |args: Value| json!({"servers": {"s": {"command": "x", "args": args}}});
        let of_args = ("/servers/s/args", "tools.mcp.s.args");
        check(
            json!({"system": format!("use {KEY} now")}),
            "/system",
            "system",
        );
        let first = ("/servers/s/args/0", "tools.mcp.s.args.0");
        check(args(json!([KEY])), first.0, first.1);
        check(
            args(json!([format!("TOKEN={KEY} exec x")])),
            first.0,
            first.1,
        );
        check(
            args(json!(["postgres://u:mongopw77@h/db"])),
            first.0,
            first.1,
        );
        check(args(json!(["--token=argtokenlit"])), first.0, first.1);
        check(
            args(json!(["Authorization: Bearer abcdefgh"])),
            first.0,
            first.1,
        );
        check(
            args(json!(["--password", "hunter3literal"])),
            of_args.0,
            of_args.1,
        );
        check(
            json!({"servers": {"rest__r": {"rest": {"body_template": {"password": "bodypw123"}}}}}),
            "/servers/rest__r/rest/body_template/password",
            "tools.rest.r.body_template.password",
        );
        let options = format!("{{\"user\":\"{KEY}\"}}");
        let options = json!({"targets": [{"provider_options": options}]});
        check(
            options,
            "/targets/0/provider_options",
            "targets.0.provider_options",
        );
        let url = format!("https://h/{KEY}/v1");
        check(
            json!({"servers": {"s": {"url": url}}}),
            "/servers/s/url",
            "tools.mcp.s.url",
        );
        let prose = "Ask postgres://u:mongopw@h/db.";
        check(json!({"system": prose}), "/system", "system");
        check(
            json!({"system": "Call x --token abc123def456."}),
            "/system",
            "system",
        );
    }

    #[test]
    fn what_only_looks_like_a_credential_is_let_through() {
        let check = |document: Value| assert_eq!(credential_in(&document), None, "{document}");
        for prose in [
            "Password: see the vault. Use `--token VALUE`, the token parameter is required.",
            "Never print a key such as sk-xxxxxxxxxxxxxxxxxxxxxxxx or AKIAIOSFODNN7EXAMPLE.",
            "Send `Authorization: Bearer YOUR_ACCESS_TOKEN_HERE`; secret: base64-encoded.",
            "Connect with postgres://user:password@host/db or postgres://user:${PASSWORD}@host/db.",
            "Tokens are counted; --token is an option. api key: 32-character string",
        ] {
            check(json!({"system": prose}));
        }
        for args in [
            json!(["--author", "somebody", "--keyboard", "german"]),
            json!(["--token=${T}", "--token-file", "/run/secrets/token"]),
            json!([
                "--api-key",
                "YOUR_API_KEY",
                "--password",
                "/run/pw",
                "--max-tokens",
                "100000"
            ]),
            json!(["-y", "@modelcontextprotocol/server-filesystem", "."]),
            json!([
                "postgresql://localhost/mydb",
                "http://h/?units=metric",
                "--user",
                "1000:1000"
            ]),
        ] {
            check(json!({"servers": {"s": {"args": args}}}));
        }
        check(
            json!({"servers": {"rest__r": {"rest": {"body_template": {"password": "${parameters.password}"}}}}}),
        );
        check(
            json!({"servers": {"s": {"url": "https://ghp_abcdefghijklmnopqrstuvwxyz0123456789.example.org/v1"}}}),
        );
        check(json!({"redact": {"patterns": ["sk-[0-9a-zA-Z_-]{16}"]}, "tokenizer": "cl100k"}));
    }
}
