//! Text and small values that have a form of their own.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::form::{Read, Schemas};
use super::names::{ENV_NAME, HEADER_NAME, SERVER_NAME, is_env_name, is_header_name};
use super::reader::ScalarText;
use super::reporter::Reporter;
use super::transport::McpSpec;
use super::tree::{Kind, Node};
use crate::contract::{check_address, check_server_name, secret_pattern};

/// The most stop sequences, and the longest in characters: what every protocol takes that has them.
const MAX_STOPS: usize = 4;
const MAX_STOP_CHARS: usize = 256;

/// The name of a variable, with a message for a file that has the value itself there.
fn env_name(node: &Node, reporter: &Reporter<'_>, help: &str) -> Option<String> {
    let name = String::read(node, reporter)?;
    if is_env_name(&name) {
        return Some(name);
    }
    let rule = "expected the name of an environment variable";
    reporter.refuse(node, rule, Some(help.to_owned()));
    None
}

/// The name of the variable that holds a key.
pub(in crate::contract) struct KeyEnv(pub(super) String);

impl Read for KeyEnv {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let help = "the key itself never belongs in a contract file";
        env_name(node, reporter, help).map(Self)
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": ENV_NAME})
    }
}

/// The name of a variable.
pub(in crate::contract) struct EnvName(pub(super) String);

impl Read for EnvName {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let help = "the value itself never belongs in a contract file";
        env_name(node, reporter, help).map(Self)
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": ENV_NAME})
    }
}

/// Variables with their values.
#[derive(Default)]
pub(in crate::contract) struct Env(pub(super) BTreeMap<String, String>);

impl Read for Env {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let map: BTreeMap<String, ScalarText> = Read::read(node, reporter)?;
        if map.keys().any(|name| !is_env_name(name)) {
            reporter.refuse(node, "expected names of environment variables", None);
        }
        let plain = map.into_iter().map(|(name, ScalarText(text))| (name, text));
        Some(Self(plain.collect()))
    }

    fn schema(definitions: &mut Schemas) -> Value {
        named(ENV_NAME, &ScalarText::schema(definitions))
    }
}

/// The name of a header.
pub(in crate::contract) struct HeaderName(pub(super) String);

impl Read for HeaderName {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let name = String::read(node, reporter)?;
        if is_header_name(&name) {
            return Some(Self(name));
        }
        reporter.refuse(node, "not a header name", None);
        None
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": HEADER_NAME})
    }
}

/// Headers that say where a request ends: an author's would cut it.
const OF_CONNECTION: [&str; 2] = ["content-length", "transfer-encoding"];

/// Whether no value of a header holds that (RFC 9110 §5.5).
fn is_no_part(c: char) -> bool {
    c.is_control() && c != '\t'
}

/// Headers with their values.
#[derive(Default)]
pub(in crate::contract) struct Headers(pub(super) BTreeMap<String, String>);

impl Read for Headers {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        if let Kind::Map(entries) = &node.kind {
            for (key, _) in entries.iter().filter(|(key, _)| !is_header_name(&key.text)) {
                let rule = "not a header name";
                let reporter = reporter.below(&key.text);
                reporter
                    .findings
                    .add(&key.place, &reporter.path, rule, None);
            }
            for (key, value) in entries {
                let reporter = reporter.below(&key.text);
                let mut own = OF_CONNECTION.iter();
                if own.any(|own| key.text.eq_ignore_ascii_case(own)) {
                    let rule = "the connection has this header of its own: it says how long what is sent is";
                    reporter
                        .findings
                        .add(&key.place, &reporter.path, rule, None);
                }
                if matches!(&value.kind, Kind::Scalar { text, .. } if text.contains(is_no_part)) {
                    let rule = "no header holds a line break or another control character";
                    reporter.refuse(value, rule, None);
                }
            }
        }
        let map: BTreeMap<String, ScalarText> = Read::read(node, reporter)?;
        let plain = map.into_iter().map(|(name, ScalarText(text))| (name, text));
        Some(Self(plain.collect()))
    }

    fn schema(definitions: &mut Schemas) -> Value {
        named(HEADER_NAME, &ScalarText::schema(definitions))
    }
}

/// Tool servers by name.
#[derive(Default)]
pub(in crate::contract) struct Servers(pub(super) BTreeMap<String, McpSpec>);

impl Read for Servers {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        if let Kind::Map(entries) = &node.kind {
            for (key, _) in entries {
                let reporter = reporter.below(&key.text);
                if let Err(rule) = check_server_name(&key.text) {
                    reporter
                        .findings
                        .add(&key.place, &reporter.path, rule, None);
                }
            }
        }
        let mut servers: BTreeMap<String, McpSpec> = Read::read(node, reporter)?;
        servers.retain(|_, server| server.enabled);
        Some(Self(servers))
    }

    fn schema(definitions: &mut Schemas) -> Value {
        named(SERVER_NAME, &McpSpec::schema(definitions))
    }
}

/// Schema of a mapping whose names fit a pattern.
fn named(pattern: &str, value: &Value) -> Value {
    json!({
        "type": "object",
        "patternProperties": {pattern: value},
        "additionalProperties": false,
    })
}

/// A regular expression for secrets.
pub(in crate::contract) struct SecretPattern(pub(super) String);

impl Read for SecretPattern {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let text = String::read(node, reporter)?;
        match secret_pattern(&text) {
            Ok(_) => Some(Self(text)),
            Err(rule) => {
                reporter.refuse(node, rule, None);
                None
            }
        }
    }

    fn schema(definitions: &mut Schemas) -> Value {
        String::schema(definitions)
    }
}

/// An address of the web that holds no user name and no password.
pub(in crate::contract) struct Url(pub(super) String);

impl Read for Url {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let text = String::read(node, reporter)?;
        match check_address(&text) {
            Ok(()) => Some(Self(text)),
            Err(rule) => {
                reporter.refuse(node, rule, None);
                None
            }
        }
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": r"^https?://[^/?#@\s]+([/?#]\S*)?$"})
    }
}

/// The address of a tool server; of a websocket, too.
pub(in crate::contract) struct ServerUrl(pub(super) String);

impl Read for ServerUrl {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let text = String::read(node, reporter)?;
        let as_http = text.strip_prefix("ws").map(|rest| format!("http{rest}"));
        match check_address(as_http.as_deref().unwrap_or(&text)) {
            Ok(()) => Some(Self(text)),
            Err(rule) => {
                reporter.refuse(node, rule, None);
                None
            }
        }
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": r"^(https?|wss?)://[^/?#@\s]+([/?#]\S*)?$"})
    }
}

/// Texts that end an answer.
pub(in crate::contract) struct StopTexts(pub(super) Vec<String>);

impl Read for StopTexts {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let stops = Vec::<String>::read(node, reporter)?;
        let long = |stop: &String| stop.is_empty() || stop.chars().count() > MAX_STOP_CHARS;
        if stops.len() > MAX_STOPS || stops.iter().any(long) {
            let rule = format!("at most {MAX_STOPS} texts of 1 to {MAX_STOP_CHARS} characters");
            reporter.refuse(node, rule, None);
            return None;
        }
        Some(Self(stops))
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": MAX_STOP_CHARS},
            "maxItems": MAX_STOPS,
        })
    }
}

/// Tokens of reasoning; 0 is written `disabled`, too.
pub(in crate::contract) struct ReasoningTokens(pub(super) u64);

impl Read for ReasoningTokens {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        if matches!(&node.kind, Kind::Scalar { text, .. } if text == "disabled") {
            return Some(Self(0));
        }
        u64::read(node, reporter).map(Self)
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({"anyOf": [u64::schema(definitions), {"const": "disabled"}]})
    }
}

/// A number that is clamped to 0 to MAX (001 §2).
pub(in crate::contract) struct ClampedTo<const MAX: u32>(pub(super) f64);

impl<const MAX: u32> Read for ClampedTo<MAX> {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        f64::read(node, reporter).map(|number| Self(clamped(number, f64::from(MAX), reporter)))
    }

    fn schema(definitions: &mut Schemas) -> Value {
        f64::schema(definitions)
    }
}

/// A number that is clamped to 0 and above (001 §2).
pub(in crate::contract) struct NotNegative(pub(super) f64);

impl Read for NotNegative {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        f64::read(node, reporter).map(|number| Self(clamped(number, f64::MAX, reporter)))
    }

    fn schema(definitions: &mut Schemas) -> Value {
        f64::schema(definitions)
    }
}

fn clamped(number: f64, max: f64, reporter: &Reporter<'_>) -> f64 {
    // `+ 0.0` turns the −0 that clamp lets pass into 0.
    let taken = number.clamp(0.0, max) + 0.0;
    if (taken - number).abs() > 0.0 {
        reporter.findings.clamp(&reporter.path, number, taken);
    }
    taken
}

/// A price in US dollars, as it is written: as a number of the file it would not be exact.
pub(in crate::contract) struct Dollars(pub(super) Node);

impl Read for Dollars {
    fn read(node: &Node, _: &Reporter<'_>) -> Option<Self> {
        Some(Self(node.clone()))
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"},
        ]})
    }
}
