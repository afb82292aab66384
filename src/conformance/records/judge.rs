//! The adapter's verdict on a recorded response, as a document.

use std::collections::BTreeMap;

use monolith_core::adapter::{Decoded, ResponseMeta};
use monolith_core::message::{AdapterStatus, FailureCode, ObjectText};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::RecordedResponse;

/// The adapter's verdict on one recorded response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JudgedRecord {
    /// The record's id.
    pub id: String,
    /// The verdict.
    pub status: RecordStatus,
    /// Reason for a missing message: the adapter's failure code, or the class of the provider's error. Null if there is a
    /// message.
    pub failure_code: Option<&'static str>,
    /// The calls of the message that could be run, in order.
    pub calls: Vec<JudgedCall>,
    /// The calls whose arguments could not be read, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedCall>,
    /// The repairs and omissions, step by step with their places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// The protocol, for the table.
    #[serde(skip)]
    pub protocol: String,
}

/// A verdict on a record. A provider's error is no message, so it is rejected too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordStatus {
    /// A canonical message as it came.
    Native,
    /// A canonical message after a recorded repair.
    Recovered,
    /// No canonical message.
    Rejected,
}

impl RecordStatus {
    /// The verdict as it is written in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Recovered => "recovered",
            Self::Rejected => "rejected",
        }
    }
}

/// A call as the adapter found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JudgedCall {
    /// The tool's name, byte for byte.
    pub name: String,
    /// The arguments, bit for bit; in JSON the object itself.
    #[serde(serialize_with = "object")]
    pub arguments: ObjectText,
}

/// A call that is answered and never run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DroppedCall {
    /// The tool's name, byte for byte.
    pub name: String,
    /// The error in its arguments.
    pub fault: FailureCode,
}

/// Writes the text as the object that it is; white space between its tokens may go.
fn object<S: Serializer>(arguments: &ObjectText, serializer: S) -> Result<S::Ok, S::Error> {
    let raw: &RawValue =
        serde_json::from_str(arguments.as_str()).map_err(serde::ser::Error::custom)?;
    // A document of one line stays one line.
    if raw.get().contains(['\n', '\r']) {
        return arguments.to_value().serialize(serializer);
    }
    raw.serialize(serializer)
}

impl RecordedResponse {
    /// Judges the body as if it had just arrived, by the rules of a contract that is `strict` or is not.
    #[must_use]
    pub fn judge(&self, strict: bool) -> JudgedRecord {
        let meta = ResponseMeta {
            headers: self.headers.clone(),
            received_unix_ms: 0,
            status: self.status,
        };
        let mut decoder = self.adapter.under(strict).decoder(meta, "");
        decoder.push(self.response.as_bytes());
        let mut steps = Vec::new();
        let (status, failure_code, message) = match decoder.finish() {
            Decoded::Fault { fault, .. } => {
                (RecordStatus::Rejected, Some(fault.class.as_str()), None)
            }
            Decoded::Message(result) => {
                steps = result.repair.map_or_else(Vec::new, |repair| repair.steps);
                let status = match result.status {
                    AdapterStatus::Native => RecordStatus::Native,
                    AdapterStatus::Recovered => RecordStatus::Recovered,
                    AdapterStatus::Rejected => RecordStatus::Rejected,
                };
                let code = result.failure_code.map(FailureCode::as_str);
                (status, code, result.canonical_message)
            }
        };
        let (mut calls, mut dropped) = (Vec::new(), Vec::new());
        for call in message.into_iter().flat_map(|message| message.tool_calls) {
            let name = call.name;
            match call.fault {
                Some(fault) => dropped.push(DroppedCall { name, fault }),
                None => calls.push(JudgedCall {
                    name,
                    arguments: call.arguments,
                }),
            }
        }
        JudgedRecord {
            id: self.id.clone(),
            status,
            failure_code,
            calls,
            dropped,
            steps,
            protocol: self.proto.clone(),
        }
    }
}

/// Number of records by protocol and verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerdictTable(BTreeMap<(String, RecordStatus, Option<&'static str>), u64>);

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerdictRow {
    /// The protocol.
    pub proto: String,
    /// The verdict.
    pub status: RecordStatus,
    /// Its code; null where there is a message.
    pub failure_code: Option<&'static str>,
    /// Count.
    pub records: u64,
}

impl VerdictTable {
    /// Counts one record.
    pub fn count(&mut self, record: &JudgedRecord) {
        let key = (record.protocol.clone(), record.status, record.failure_code);
        let count = self.0.entry(key).or_default();
        *count = count.saturating_add(1);
    }

    /// The rows, by protocol, verdict and code.
    #[must_use]
    pub fn rows(&self) -> Vec<VerdictRow> {
        let row = |((proto, status, failure_code), records): (&(String, _, _), &u64)| VerdictRow {
            proto: proto.clone(),
            status: *status,
            failure_code: *failure_code,
            records: *records,
        };
        self.0.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let judged = RecordedResponse::parse(1, text).unwrap().judge(true);
        assert_eq!(serde_json::to_string(&judged).unwrap(), expect);
    }

    #[test]
    fn a_message_shows_its_calls_as_the_model_wrote_them() {
        check(
            r#"{"id":"a","proto":"openai-chat","response":{"choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"add","arguments":"{\"x\": 1.50, \"y\":\n2}"}},{"id":"2","type":"function","function":{"name":"add","arguments":"{\"x\": 1.50}"}}]},"finish_reason":"tool_calls"}]}}"#,
            r#"{"id":"a","status":"native","failure_code":null,"calls":[{"name":"add","arguments":{"x":1.5,"y":2}},{"name":"add","arguments":{"x": 1.50}}]}"#,
        );
    }

    #[test]
    fn a_call_that_is_left_out_and_what_was_repaired_are_named() {
        let line = r#"{"id":"a","proto":"openai-chat","response":{"choices":[{"index":0,"message":{"tool_calls":[{"id":"1","function":{"name":"add","arguments":"{x:1}"}},{"id":"2","function":{"name":"sub","arguments":"[]"}}]},"finish_reason":"tool_calls"}]}}"#;
        let judged = RecordedResponse::parse(1, line).unwrap().judge(false);
        assert_eq!(
            serde_json::to_string(&judged).unwrap(),
            r#"{"id":"a","status":"recovered","failure_code":null,"calls":[{"name":"add","arguments":{"x":1}}],"dropped":[{"name":"sub","fault":"ARGS_NOT_OBJECT"}],"steps":["/choices/0/message/tool_calls/0/function/arguments: key_quoted","/choices/0/message/tool_calls/1/function/arguments: call_dropped"]}"#
        );
    }

    #[test]
    fn a_broken_message_and_an_error_are_rejected_with_their_codes() {
        check(
            r#"{"id":"a","proto":"openai-chat","response":{"choices":[{"index":0,"message":{"tool_calls":[{"id":"1","type":"function","function":{"name":"add","arguments":"{\"x\":"}}]},"finish_reason":"tool_calls"}]}}"#,
            r#"{"id":"a","status":"rejected","failure_code":"ARGS_INVALID_JSON","calls":[]}"#,
        );
        check(
            r#"{"id":"a","proto":"openai-chat","status":429,"response":{"error":{"message":"slow down"}}}"#,
            r#"{"id":"a","status":"rejected","failure_code":"rate_limit","calls":[]}"#,
        );
    }

    #[test]
    fn without_strict_mode_a_repair_recovers_and_one_call_does_not_lose_the_others() {
        let judged = |texts: &[&str]| {
            let call =
                |text: &&str| serde_json::json!({"function": {"name": "f", "arguments": text}});
            let calls: Vec<_> = texts.iter().map(call).collect();
            let body = serde_json::json!({"choices": [{"message": {"tool_calls": calls}, "finish_reason": "stop"}]});
            let line = serde_json::json!({"id": "a", "proto": "openai-chat", "response": body});
            let record = RecordedResponse::parse(1, &line.to_string()).unwrap();
            [true, false].map(|strict| {
                let judged = record.judge(strict);
                let calls = judged
                    .calls
                    .iter()
                    .map(|call| call.arguments.as_str().to_owned());
                (
                    judged.status,
                    judged.failure_code,
                    calls.collect::<Vec<_>>(),
                )
            })
        };
        let refused = (RecordStatus::Rejected, Some("ARGS_INVALID_JSON"), vec![]);
        let kept = (RecordStatus::Recovered, None, vec!["{\"a\":1}".to_owned()]);
        assert_eq!(judged(&["{a:1}"]), [refused.clone(), kept.clone()]);
        assert_eq!(judged(&["{\"a\":1}", "{"]), [refused.clone(), kept]);
        assert_eq!(judged(&["{\"a\":"]), [refused.clone(), refused]);
    }
}
