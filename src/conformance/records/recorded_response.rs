//! One line of a file of records, and what is wrong with one.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use monolith_core::adapter::Adapter;

/// One response as somebody recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedResponse {
    /// The recording's id for it.
    pub id: String,
    /// The protocol, such as `openai-chat`.
    pub proto: String,
    /// The adapter of that protocol.
    pub adapter: Adapter,
    /// The HTTP status.
    pub status: u16,
    /// Response headers, in the record's order.
    pub headers: Vec<(String, String)>,
    /// The raw body.
    pub response: String,
}

/// A line that is no record that this build can judge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {rule}")]
pub struct RecordFault {
    /// The line of the file, from 1.
    pub line: u64,
    /// The rule that it breaks.
    pub rule: RecordRule,
}

/// The rules of a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordRule {
    /// It is longer than is read.
    #[error("longer than {0} bytes")]
    TooLong(u64),
    /// It is no text.
    #[error("not UTF-8 at byte {0}")]
    Encoding(usize),
    /// It is not one JSON object with fields of the format's types.
    #[error("not a record: {0}")]
    Shape(String),
    /// No adapter of this build speaks its protocol.
    #[error("proto {got:?} is unknown; this build judges {known}")]
    Proto {
        /// Its protocol, cut to 80 characters.
        got: String,
        /// Known protocols.
        known: String,
    },
    /// Its status is no HTTP status.
    #[error("status {0} is not between 100 and 599")]
    Status(u16),
    /// The response is neither text nor a JSON document.
    #[error("response is neither a string nor an object nor a list")]
    Response,
}

#[derive(Deserialize)]
struct WireRecord<'a> {
    #[serde(default)]
    headers: Map<String, Value>,
    id: Option<Value>,
    proto: String,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(default = "ok")]
    status: u16,
}

const fn ok() -> u16 {
    200
}

impl RecordedResponse {
    /// Reads line `line` of a file; a record without id is called by its line.
    ///
    /// # Errors
    /// `RecordRule` says which rule the line breaks.
    pub fn parse(line: u64, text: &str) -> Result<Self, RecordRule> {
        // A derived struct would read an array by position.
        if !text.trim_start().starts_with('{') {
            return Err(RecordRule::Shape("it is no JSON object".to_owned()));
        }
        let wire: WireRecord<'_> =
            serde_json::from_str(text).map_err(|fault| RecordRule::Shape(fault.to_string()))?;
        let id = match wire.id {
            None | Some(Value::Null) => format!("line {line}"),
            Some(Value::String(id)) => id,
            Some(Value::Number(id)) => id.to_string(),
            Some(_) => return Err(RecordRule::Shape("id is no string".to_owned())),
        };
        let adapter = adapter_of(&wire.proto)?;
        if !(100..600).contains(&wire.status) {
            return Err(RecordRule::Status(wire.status));
        }
        let mut headers = Vec::with_capacity(wire.headers.len());
        for (name, value) in wire.headers {
            let Value::String(value) = value else {
                let fault = format!("header {name:?} is no string");
                return Err(RecordRule::Shape(fault));
            };
            headers.push((name, value));
        }
        let response = match wire.response.map(RawValue::get) {
            Some(document) if document.starts_with(['{', '[']) => document.to_owned(),
            Some(text) if text.starts_with('"') => {
                serde_json::from_str(text).map_err(|fault| RecordRule::Shape(fault.to_string()))?
            }
            None | Some(_) => return Err(RecordRule::Response),
        };
        Ok(Self {
            id,
            proto: wire.proto,
            adapter,
            status: wire.status,
            headers,
            response,
        })
    }
}

fn adapter_of(proto: &str) -> Result<Adapter, RecordRule> {
    Adapter::by_proto(proto).ok_or_else(|| {
        let known: Vec<&str> = Adapter::all().map(Adapter::proto).collect();
        RecordRule::Proto {
            got: proto.chars().take(80).collect(),
            known: known.join(", "),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_stands_and_the_rest_read_over() {
        let check = |text: &str, id: &str, status: u16, response: &str| {
            let record = RecordedResponse::parse(7, text).unwrap();
            assert_eq!(record.id, id);
            assert_eq!(record.status, status);
            assert_eq!(record.response, response);
        };
        check(
            r#"{"id":"a","proto":"openai-chat","status":429,"response":"x\n","src":{"repo":"r"}}"#,
            "a",
            429,
            "x\n",
        );
        check(
            r#"{"proto":"openai-chat","response":{"choices": [ ]}}"#,
            "line 7",
            200,
            r#"{"choices": [ ]}"#,
        );
        check(
            r#"{"id":3,"proto":"openai-chat","response":[]}"#,
            "3",
            200,
            "[]",
        );
    }

    #[test]
    fn a_faulty_line_says_which_rule_it_breaks() {
        let check = |text: &str, expect: &str| {
            let fault = RecordedResponse::parse(1, text).unwrap_err().to_string();
            assert!(fault.starts_with(expect), "{text}: {fault}");
        };
        check("nonsense", "not a record: it is no JSON object");
        check("[1]", "not a record: it is no JSON object");
        check(r#"{"id":"a""#, "not a record: EOF while parsing");
        check(
            r#"{"id":"a","response":"x"}"#,
            "not a record: missing field `proto`",
        );
        check(
            r#"{"proto":"telex","response":"x"}"#,
            "proto \"telex\" is unknown; this build judges ",
        );
        check(
            r#"{"proto":"openai-chat","response":"x","status":42}"#,
            "status 42 is not between",
        );
        check(
            r#"{"id":[],"proto":"openai-chat","response":"x"}"#,
            "not a record: id is no string",
        );
        check(
            r#"{"proto":"openai-chat","response":"x","headers":{"a":1}}"#,
            "not a record: header \"a\" is no string",
        );
        for silent in ["", r#","response":null"#, r#","response":7"#] {
            check(
                &format!(r#"{{"proto":"openai-chat"{silent}}}"#),
                "response is neither",
            );
        }
    }
}
