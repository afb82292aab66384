//! The shared helpers of the response tests: decoding, and one line with the result.

use std::fmt::Write as _;

use super::{Fold, VERSION};
use crate::adapter::decoder::Decoder;
use crate::adapter::fixture::fault_line;
use crate::adapter::push_decoder::PushDecoder;
use crate::adapter::{Decoded, ResponseMeta};
use crate::message::{AgentMessage, ProtocolAdapterResult};

pub(super) fn new_decoder(meta: ResponseMeta) -> Box<dyn PushDecoder> {
    Box::new(Decoder::<Fold>::new(VERSION, meta, "asked"))
}

pub(super) fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    let meta = ResponseMeta {
        status: 200,
        ..ResponseMeta::default()
    };
    let mut decoder = new_decoder(meta);
    for piece in pieces {
        decoder.push(piece);
    }
    decoder.finish()
}

pub(super) fn result(body: &str) -> ProtocolAdapterResult {
    match decode([body.as_bytes()]) {
        Decoded::Message(result) => *result,
        Decoded::Fault { fault, .. } => panic!("{fault:?} for {body}"),
    }
}

pub(super) fn message(body: &str) -> AgentMessage {
    let result = result(body);
    result.canonical_message.unwrap_or_else(|| {
        panic!(
            "{:?} at {:?} for {body}",
            result.failure_code, result.pointer
        )
    })
}

/// One line: what became of the response.
pub(super) fn verdict(decoded: &Decoded) -> String {
    match decoded {
        Decoded::Fault { fault, .. } => fault_line(fault),
        Decoded::Message(result) => match (&result.canonical_message, result.failure_code) {
            (Some(message), None) => {
                let mut line = format!("{:?}: {}", result.stop, message.content);
                for call in &message.tool_calls {
                    let _ = write!(line, " [{} {} {}]", call.id, call.name, call.arguments);
                }
                line
            }
            (None, Some(code)) => format!("{code} {}", result.pointer.as_deref().unwrap_or("-")),
            other => panic!("neither native nor rejected: {other:?}"),
        },
    }
}

pub(super) fn check(body: &str, expect: &str) {
    assert_eq!(verdict(&decode([body.as_bytes()])), expect, "{body}");
    let single = verdict(&decode(body.as_bytes().chunks(1)));
    assert_eq!(single, expect, "byte by byte: {body}");
}

/// A blocking body with that message and a finish reason.
pub(super) fn whole(message: &str, finish: &str) -> String {
    format!(
        r#"{{"id":"1","model":"m","choices":[{{"index":0,"message":{message},"finish_reason":"{finish}"}}]}}"#
    )
}

/// A stream of those deltas, a finish reason, `[DONE]`.
pub(super) fn stream(deltas: &[&str], finish: &str) -> String {
    let chunk = |delta: &str, finish: &str| {
        format!(
            "data: {{\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    };
    let mut text: String = deltas.iter().map(|delta| chunk(delta, "null")).collect();
    text.push_str(&chunk("{}", &format!("\"{finish}\"")));
    text + "data: [DONE]\n\n"
}

pub(super) fn call(arguments: &str) -> String {
    format!(
        r#"{{"content":null,"tool_calls":[{{"id":"a","type":"function","function":{{"name":"f","arguments":{arguments}}}}}]}}"#
    )
}
