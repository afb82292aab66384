//! The parsed file of a scripted provider. Knows its records and faults; does not play them.

use std::str::FromStr;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Adapter;
use crate::message::without_bom;

/// The parsed file of a scripted provider: one record per inference, played in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The adapter of the protocol that all records are in; none if there is no record.
    pub adapter: Option<Adapter>,
    /// The records, in the file's order.
    pub records: Vec<ScriptRecord>,
}

/// One canned response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptRecord {
    /// With [`ScriptFault::Reset`] and [`ScriptFault::Hang`]: bytes of the response that arrive before it; none
    /// if the fault comes before any answer.
    pub after_bytes: Option<u64>,
    /// Milliseconds that pass before anything of the answer arrives.
    pub delay_ms: u64,
    /// The failure, if there is one.
    pub fault: Option<ScriptFault>,
    /// Response headers, names in lower case, in the file's order.
    pub headers: Vec<(String, String)>,
    /// The line of the file, from 1.
    pub line: usize,
    /// The raw body.
    pub response: String,
    /// The HTTP status.
    pub status: u16,
    /// True if the body arrives event by event.
    pub stream: bool,
}

/// A transport fault that a script asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptFault {
    /// The connection is refused.
    Refused,
    /// The connection is reset.
    Reset,
    /// No further byte ever arrives.
    Hang,
}

/// A line of a script that breaks a rule: the script's author is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("script line {line}: {rule}")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// The rule it breaks.
    pub rule: ScriptRule,
}

/// The rules of a script's line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptRule {
    /// It is not one JSON object with fields of the recorded format's types.
    #[error("not a record: {0}")]
    Shape(String),
    /// Its protocol is not one that this build plays.
    #[error("proto {0:?} is unknown; this build plays {known}", known = known())]
    Proto(String),
    /// Its protocol is not that of the lines before it, and a provider speaks one.
    #[error(
        "proto {got:?}, but the lines before it are {expected:?}; a provider speaks one protocol"
    )]
    OtherProto {
        /// The protocol of the lines before it.
        expected: &'static str,
        /// The protocol of this line.
        got: &'static str,
    },
    /// Its status is no HTTP status.
    #[error("status {0} is not between 200 and 599")]
    Status(u16),
    /// It has neither a response nor a fault.
    #[error("it has neither a response nor a fault")]
    Silent,
    /// The response is neither text nor a JSON object.
    #[error("response is neither a string nor an object")]
    Response,
    /// `after_bytes` is set for an answer that does not break off.
    #[error("after_bytes needs fault \"reset\" or \"hang\"")]
    AfterBytes,
}

/// One line as it is written. Fields about the origin of a recording are ignored.
#[derive(Deserialize)]
struct WireRecord<'a> {
    after_bytes: Option<u64>,
    #[serde(default)]
    delay_ms: u64,
    fault: Option<ScriptFault>,
    #[serde(default)]
    headers: serde_json::Map<String, Value>,
    #[serde(default = "openai_chat")]
    proto: String,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    stream: bool,
}

fn openai_chat() -> String {
    "openai-chat".to_owned()
}

const fn ok() -> u16 {
    200
}

impl FromStr for Script {
    type Err = ScriptError;

    /// Reads one record per line; blank lines count as lines and hold none.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = without_bom(text);
        let mut script = Self::default();
        for (line, text) in (1..).zip(text.lines()) {
            if !text.trim().is_empty() {
                let fail = |rule| ScriptError { line, rule };
                let (adapter, record) = record(line, text).map_err(fail)?;
                let first = *script.adapter.get_or_insert(adapter);
                if first != adapter {
                    return Err(fail(ScriptRule::OtherProto {
                        expected: first.proto(),
                        got: adapter.proto(),
                    }));
                }
                script.records.push(record);
            }
        }
        Ok(script)
    }
}

fn known() -> String {
    let quoted = Adapter::all().map(|adapter| format!("{:?}", adapter.proto()));
    quoted.collect::<Vec<_>>().join(", ")
}

fn record(line: usize, text: &str) -> Result<(Adapter, ScriptRecord), ScriptRule> {
    // A derived struct would read an array by position.
    if !text.trim_start().starts_with('{') {
        return Err(ScriptRule::Shape("it is no JSON object".to_owned()));
    }
    let wire: WireRecord<'_> =
        serde_json::from_str(text).map_err(|error| ScriptRule::Shape(error.to_string()))?;
    let Some(adapter) = Adapter::by_proto(&wire.proto) else {
        return Err(ScriptRule::Proto(wire.proto));
    };
    if !(200..600).contains(&wire.status) {
        return Err(ScriptRule::Status(wire.status));
    }
    if wire.after_bytes.is_some()
        && !matches!(wire.fault, Some(ScriptFault::Reset | ScriptFault::Hang))
    {
        return Err(ScriptRule::AfterBytes);
    }
    let mut headers = Vec::with_capacity(wire.headers.len());
    for (name, value) in wire.headers {
        let Value::String(value) = value else {
            return Err(ScriptRule::Shape(format!("header {name:?} is no string")));
        };
        headers.push((name.to_ascii_lowercase(), value));
    }
    let response = match wire.response.map(RawValue::get) {
        None if wire.fault.is_some() => String::new(),
        None => return Err(ScriptRule::Silent),
        Some(object) if object.starts_with('{') => object.to_owned(),
        Some(text) if text.starts_with('"') => {
            serde_json::from_str(text).map_err(|error| ScriptRule::Shape(error.to_string()))?
        }
        Some(_) => return Err(ScriptRule::Response),
    };
    let record = ScriptRecord {
        after_bytes: wire.after_bytes,
        delay_ms: wire.delay_ms,
        fault: wire.fault,
        headers,
        line,
        response,
        status: wire.status,
        stream: wire.stream,
    };
    Ok((adapter, record))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_line_is_played_byte_for_byte() {
        let text = concat!(
            "\u{feff}\n",
            r#"{"id":"x","proto":"openai-chat","stream":true,"status":429,"finish":["stop"],"#,
            r#""headers":{"Retry-After":"3"},"request":null,"response":"data: {}\n\n","delay_ms":5}"#,
            "\r\n\n",
            r#"{"fault":"reset","after_bytes":7,"response":{"choices": [ ]}}"#,
        );
        let script: Script = text.parse().unwrap();
        assert_eq!(
            script.records,
            [
                ScriptRecord {
                    after_bytes: None,
                    delay_ms: 5,
                    fault: None,
                    headers: vec![("retry-after".to_owned(), "3".to_owned())],
                    line: 2,
                    response: "data: {}\n\n".to_owned(),
                    status: 429,
                    stream: true,
                },
                ScriptRecord {
                    after_bytes: Some(7),
                    delay_ms: 0,
                    fault: Some(ScriptFault::Reset),
                    headers: Vec::new(),
                    line: 4,
                    response: r#"{"choices": [ ]}"#.to_owned(),
                    status: 200,
                    stream: false,
                },
            ]
        );
    }

    #[test]
    fn an_error_names_the_line_and_the_rule() {
        let check = |line: &str, expect: &str| {
            let text = format!("{{\"fault\":\"hang\"}}\n\n{line}\n");
            let error = text.parse::<Script>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("script line 3: {expect}")),
                "{line}: {error}"
            );
        };
        check("nonsense", "not a record: it is no JSON object");
        check("[1]", "not a record: it is no JSON object");
        check(r#"{"response":"x""#, "not a record: EOF while parsing");
        check(
            r#"{"response":"x","status":"200"}"#,
            "not a record: invalid type",
        );
        check(
            r#"{"response":"x","fault":"explode"}"#,
            "not a record: unknown variant `explode`",
        );
        check(
            r#"{"response":"x","headers":{"a":1}}"#,
            "not a record: header \"a\" is no string",
        );
        check(
            r#"{"proto":"gopher","response":"x"}"#,
            "proto \"gopher\" is unknown; this build plays \"anthropic-messages\", ",
        );
        check(
            r#"{"response":"x","status":99}"#,
            "status 99 is not between",
        );
        check(
            r#"{"proto":"gemini","response":"x"}"#,
            "proto \"gemini\", but the lines before it are \"openai-chat\"",
        );
        check("{}", "it has neither a response nor a fault");
        check(
            r#"{"response":[1]}"#,
            "response is neither a string nor an object",
        );
        check(
            r#"{"response":"x","after_bytes":1}"#,
            "after_bytes needs fault",
        );
        check(
            r#"{"fault":"refused","after_bytes":1}"#,
            "after_bytes needs fault",
        );
    }
}
