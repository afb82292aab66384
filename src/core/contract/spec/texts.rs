//! Text and small values with special forms.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde_json::{Value, json};

use super::form::{Read, Schemas};
use super::reader::ScalarText;
use super::reporter::Reporter;
use super::secrets::{ENV_NAME, HEADER_NAME, SERVER_NAME, is_env_name, is_header_name};
use super::tree::{Kind, Node};
use crate::contract::{
    HostPattern, PrivateNetwork, check_address, check_server_name, secret_pattern,
};

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
pub(in crate::contract) struct KeyEnv;

impl Read for KeyEnv {
    type Output = String;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let help = "the key itself never belongs in a contract file";
        env_name(node, reporter, help)
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": ENV_NAME})
    }
}

/// The name of a variable.
pub(in crate::contract) struct EnvName;

impl Read for EnvName {
    type Output = String;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let help = "the value itself never belongs in a contract file";
        env_name(node, reporter, help)
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": ENV_NAME})
    }
}

/// Variables with their values.
pub(in crate::contract) struct Env;

impl Read for Env {
    type Output = BTreeMap<String, String>;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let map = BTreeMap::<String, ScalarText>::read(node, reporter)?;
        if map.keys().any(|name| !is_env_name(name)) {
            reporter.refuse(node, "expected names of environment variables", None);
        }
        Some(map)
    }

    fn schema(definitions: &mut Schemas) -> Value {
        named(ENV_NAME, &ScalarText::schema(definitions))
    }
}

/// The name of a header.
pub(in crate::contract) struct HeaderName;

/// Headers that say where a request ends: an author's would cut it.
const OF_CONNECTION: [&str; 2] = ["content-length", "transfer-encoding"];

/// True if no header value may contain it (RFC 9110 §5.5).
fn is_no_part(c: char) -> bool {
    c.is_control() && c != '\t'
}

/// Headers with their values.
pub(in crate::contract) struct Headers;

impl Read for Headers {
    type Output = BTreeMap<String, String>;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
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
                    let rule = "monolith sets this header itself: it gives the length of the body";
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
        BTreeMap::<String, ScalarText>::read(node, reporter)
    }

    fn schema(definitions: &mut Schemas) -> Value {
        named(HEADER_NAME, &ScalarText::schema(definitions))
    }
}

/// Names of one kind.
pub(in crate::contract) trait Names {
    /// The pattern of such a name.
    const PATTERN: &'static str;

    /// Checks a name.
    ///
    /// # Errors
    /// The rule that it breaks.
    fn check(name: &str) -> Result<(), String>;
}

/// Names of tool servers.
pub(in crate::contract) struct ServerNames;
/// Names of tools of web services: with their prefix they have 64 characters at most.
pub(in crate::contract) struct RestNames;
/// Names of services with operations, whose names follow them.
pub(in crate::contract) struct ImportNames;

impl Names for ServerNames {
    const PATTERN: &'static str = SERVER_NAME;

    fn check(name: &str) -> Result<(), String> {
        check_server_name(name).map_err(str::to_owned)
    }
}

impl Names for RestNames {
    const PATTERN: &'static str = "^[A-Za-z0-9_-]{1,58}$";

    fn check(name: &str) -> Result<(), String> {
        check_name(name, 58)
    }
}

impl Names for ImportNames {
    const PATTERN: &'static str = "^[A-Za-z0-9_-]{1,32}$";

    fn check(name: &str) -> Result<(), String> {
        check_name(name, 32)
    }
}

fn check_name(name: &str, most: usize) -> Result<(), String> {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if (1..=most).contains(&name.len()) && name.bytes().all(word) {
        return Ok(());
    }
    Err(format!(
        "such a name is 1 to {most} characters of A–Z a–z 0–9 _ -"
    ))
}

/// A mapping whose keys are names of a kind.
pub(in crate::contract) struct Named<N, T>(PhantomData<(N, T)>);

impl<N: Names, T: Read> Read for Named<N, T> {
    type Output = BTreeMap<String, T::Output>;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        if let Kind::Map(entries) = &node.kind {
            for (key, _) in entries {
                if let Err(rule) = N::check(&key.text) {
                    let path = reporter.join(&key.text);
                    reporter.findings.add(&key.place, &path, rule, None);
                }
            }
        }
        BTreeMap::<String, T>::read(node, reporter)
    }

    fn schema(definitions: &mut Schemas) -> Value {
        named(N::PATTERN, &T::schema(definitions))
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

/// Parses a text, and reports the rule that it breaks.
fn parsed<T>(
    node: &Node,
    reporter: &Reporter<'_>,
    parse: impl FnOnce(String) -> Result<T, String>,
) -> Option<T> {
    let parsed = parse(String::read(node, reporter)?);
    parsed
        .map_err(|rule| reporter.refuse(node, rule, None))
        .ok()
}

/// Declares the readers of texts: the type that is read, its value, its schema, and what parses it.
macro_rules! texts {
    ($($name:ident: $output:ty, $schema:tt, $parse:expr;)+) => {
        $(impl Read for $name {
            type Output = $output;

            fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
                parsed(node, reporter, $parse)
            }

            fn schema(_: &mut Schemas) -> Value {
                json!($schema)
            }
        })+
    };
}

texts! {
    HeaderName: String, {"type": "string", "pattern": HEADER_NAME},
        |text| is_header_name(&text).then_some(text).ok_or_else(|| "not a header name".to_owned());
    HostPattern: Self, {"type": "string", "pattern": r"^[^\s/@?#]+$"}, |text| Self::parse(&text);
    PrivateNetwork: Self, {"type": "string", "pattern": r"^[0-9a-f:.]+/[0-9]{1,3}$"}, |text| Self::parse(&text);
    SecretPattern: String, {"type": "string"}, |text| secret_pattern(&text).map(|_| text);
    ServerUrl: String, {"type": "string", "pattern": r"^(https?|wss?)://[^/?#@\s]+([/?#]\S*)?$"}, |text| {
        let as_http = text.strip_prefix("ws").map(|rest| format!("http{rest}"));
        address(as_http.as_deref().unwrap_or(&text)).map(|()| text)
    };
    Url: String, {"type": "string", "pattern": r"^https?://[^/?#@\s]+([/?#]\S*)?$"}, |text| address(&text).map(|()| text);
}

fn address(text: &str) -> Result<(), String> {
    check_address(text).map_err(str::to_owned)
}

/// A regular expression for secrets.
pub(in crate::contract) struct SecretPattern;

/// An address of the web that holds no user name and no password.
pub(in crate::contract) struct Url;

/// The address of a tool server; of a websocket, too.
pub(in crate::contract) struct ServerUrl;

/// Texts that end an answer.
pub(in crate::contract) struct StopTexts;

impl Read for StopTexts {
    type Output = Vec<String>;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let stops = Vec::<String>::read(node, reporter)?;
        let long = |stop: &String| stop.is_empty() || stop.chars().count() > MAX_STOP_CHARS;
        if stops.len() > MAX_STOPS || stops.iter().any(long) {
            let rule = format!("at most {MAX_STOPS} texts of 1 to {MAX_STOP_CHARS} characters");
            reporter.refuse(node, rule, None);
            return None;
        }
        Some(stops)
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
pub(in crate::contract) struct ReasoningTokens;

impl Read for ReasoningTokens {
    type Output = u64;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        if matches!(&node.kind, Kind::Scalar { text, .. } if text == "disabled") {
            return Some(0);
        }
        u64::read(node, reporter)
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({"anyOf": [u64::schema(definitions), {"const": "disabled"}]})
    }
}

/// A number that is clamped to 0 to MAX (001 §2).
pub(in crate::contract) struct ClampedTo<const MAX: u32>;

impl<const MAX: u32> Read for ClampedTo<MAX> {
    type Output = f64;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        f64::read(node, reporter).map(|number| clamped(number, f64::from(MAX), reporter))
    }

    fn schema(definitions: &mut Schemas) -> Value {
        f64::schema(definitions)
    }
}

/// A number that is clamped to 0 and above (001 §2).
pub(in crate::contract) struct NotNegative;

impl Read for NotNegative {
    type Output = f64;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        f64::read(node, reporter).map(|number| clamped(number, f64::MAX, reporter))
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
pub(in crate::contract) struct Dollars;

impl Read for Dollars {
    type Output = Node;

    fn read(node: &Node, _: &Reporter<'_>) -> Option<Self::Output> {
        Some(node.clone())
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"},
        ]})
    }
}
