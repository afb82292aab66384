//! Terms and a conversation for the tests of encoders.

use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Decoded, RequestEncoder, RequestShape, ResponseMeta};
use crate::adapter::Adapter;
use crate::contract::Terms;
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, Digest, ObjectText, Role, StateTarget, ToolInvocation};

/// A contract's terms but its tools.
const TERMS: &str = r#"{
        "adapter_version": "openai-chat/1", "allowed_tools": null, "approval_timeout_ms": 1,
        "checkpoint_every": 256, "completion": "message",
        "context_budget": {
            "buffer": 0, "context_window": 1, "force_synthesis_at_ratio": 0.85, "minimum_loop_margin": 0,
            "reserved_synthesis": 0, "reserved_system": 0
        },
        "cycle_forbid": [], "format": "monolith-contract/1", "grammar": null, "grammar_profile": null,
        "idempotent": [], "llm_timeout_ms": 1, "logits_mask": null, "max_attempts_per_turn": 3,
        "max_calls": {"per_tool": {}, "run": null}, "max_cost_micro_usd": null, "max_format_retries": 1,
        "max_identical_calls": null, "max_inferences": 1, "max_invalid_turns": 3, "max_resumes": 1, "max_tokens_consumed": 1,
        "max_tool_calls_per_turn": 10, "max_turns": 10, "metadata": {"cycle_exceptions": []},
        "model_profile_id": "p", "page": null, "parallel_tool_calls": false, "parallel_safe": [],
        "parent_contract_hash": null,
        "policy_decision": {
            "grounds": "default", "policy": "optional", "rules_hash": "0000000000000000000000000000000000000000000000000000000000000000", "rules_version": 1
        },
        "providers": {"p": {
            "api_key_env": null, "base_url": "http://localhost/v1", "file": null, "header_names": [], "type": "openai"
        }},
        "require_approval": [], "semantics_version": 1, "servers": {}, "speculative_exec": false,
        "step_timeout_ms": 1, "strict_mode": true, "system": "",
        "targets": [{
            "adapter_version": "openai-chat/1", "context_window": 1, "model": "gpt \"x\"", "model_fingerprint": "f",
            "model_profile_id": "p", "provider": "p",
            "sampling": {
                "caching": "full", "max_output_tokens": 4096, "reasoning": null, "reasoning_tokens": null,
                "repeat_penalty": 1.1, "seed": 7, "stream": false, "temperature": 0.7, "top_p": null
            }
        }],
        "token_gate": false, "tokenizer": null,
        "tool_output_budget": {"max_bytes_per_call": 1, "summarizer_model": null, "truncation_marker": ""},
        "tool_policy": "optional", "tool_proof": "executed", "tool_timeout_ms": 1, "tool_transport": "native",
        "total_timeout_ms": 1}"#;

/// Terms with one openai target and two tools; `change` bends them.
pub(super) fn terms(change: impl FnOnce(&mut Value)) -> Terms {
    let tool = |name: &str, schema: Value| {
        json!({
            "annotations": null, "description": format!("does {name}"), "input_schema": schema, "name": name,
            "origin": "builtin", "pin": Digest::ZERO, "schema_tokens": 1,
        })
    };
    let mut value: Value = serde_json::from_str(TERMS).unwrap();
    value["tools"] = json!([
        tool(
            "read",
            json!({"type": "object", "properties": {"path": {"type": "string"}}, "a": 1})
        ),
        tool("write", json!({"type": "object"})),
    ]);
    change(&mut value);
    serde_json::from_value(value).unwrap()
}

pub(super) fn encode(
    terms: &Terms,
    conversation: &[Arc<AgentMessage>],
    tools: ToolExposure,
) -> String {
    let mut encoder = RequestEncoder::new(terms, 0).unwrap();
    let shape = RequestShape {
        closing: false,
        without_state: false,
        xml: None,
        notices: &[],
        tools,
    };
    String::from_utf8(encoder.encode(conversation, &shape).to_vec()).unwrap()
}

pub(super) fn text_message(role: Role, text: &str) -> Arc<AgentMessage> {
    Arc::new(AgentMessage::text(role, text, 1))
}

pub(super) fn conversation() -> Vec<Arc<AgentMessage>> {
    let call = |id: &str, arguments: &str| ToolInvocation {
        arguments: ObjectText::parse(arguments).unwrap(),
        id: id.to_owned(),
        name: "read".to_owned(),
        fault: None,
        raw_payload: None,
        source_model: "m".to_owned(),
    };
    vec![
        text_message(Role::System, "Be \"brief\"."),
        text_message(Role::User, "Grüße\n"),
        Arc::new(AgentMessage {
            reasoning: Some("never sent".to_owned()),
            tool_calls: vec![
                call("a", "{ \"path\": \"x\\u0000\", \"n\": 1.0e2 }"),
                call("b", "{}"),
            ],
            ..AgentMessage::text(Role::Assistant, "", 5)
        }),
        Arc::new(AgentMessage::observation("a", "ok", 2)),
        text_message(Role::Assistant, ""),
    ]
}

/// Terms whose target has that adapter, model `m`; `sampling` replaces parameters.
pub(super) fn terms_of(version: &str, sampling: &Value) -> Terms {
    terms(|v| {
        v["targets"][0]["adapter_version"] = json!(version);
        v["targets"][0]["model"] = json!("m");
        for (key, value) in sampling.as_object().unwrap() {
            v["targets"][0]["sampling"][key] = value.clone();
        }
    })
}

/// A request's body as JSON.
pub(super) fn body(terms: &Terms, talk: &[Arc<AgentMessage>], tools: ToolExposure) -> Value {
    serde_json::from_str(&encode(terms, talk, tools)).unwrap()
}

/// Decodes a response of status 200.
pub(super) fn decode<'a>(version: &str, pieces: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
    decoded_answer(version, 200, pieces)
}

pub(super) fn decoded_answer<'a>(
    version: &str,
    status: u16,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Decoded {
    let meta = ResponseMeta {
        status,
        ..ResponseMeta::default()
    };
    let mut decoder = Adapter::by_version(version).unwrap().decoder(meta, "m");
    for piece in pieces {
        decoder.push(piece);
    }
    decoder.finish()
}

/// One line: the class of a fault, or the code of one that names where the response is no whole message.
pub(super) fn fault_line(fault: &crate::message::ProviderFault) -> String {
    let named = fault.message.strip_suffix(')');
    let named = named.and_then(|text| text.rsplit_once(" ("));
    match named.filter(|(what, _)| what.starts_with("the response ")) {
        Some((_, named)) => {
            let (code, pointer) = named.split_once(" at ").unwrap_or((named, ""));
            format!("fault {code} {pointer}")
        }
        None => format!("fault {}", fault.class.as_str()),
    }
}

/// One line: what became of a response.
pub(super) fn verdict(decoded: &Decoded) -> String {
    match decoded {
        Decoded::Fault { fault, .. } => fault_line(fault),
        Decoded::Message(result) => match (&result.canonical_message, result.failure_code) {
            (Some(message), None) => {
                let mut line = format!("{:?}: {}", result.stop, message.content);
                if let Some(reasoning) = &message.reasoning {
                    let _ = write!(line, " <{reasoning}>");
                }
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

/// Checks a response's verdict, in one piece and byte by byte.
pub(super) fn check(version: &str, body: impl AsRef<[u8]>, expect: &str) {
    let bytes = body.as_ref();
    let shown = String::from_utf8_lossy(bytes);
    let whole = decode(version, [bytes]);
    assert_eq!(verdict(&whole), expect, "{shown}");
    assert_eq!(
        decode(version, bytes.chunks(1)),
        whole,
        "byte by byte: {shown}"
    );
}

/// The text of a message as far as it has arrived, after each piece.
pub(super) fn arriving(version: &str, body: &str, piece: usize) -> Vec<String> {
    let meta = ResponseMeta {
        status: 200,
        ..ResponseMeta::default()
    };
    let mut decoder = Adapter::by_version(version).unwrap().decoder(meta, "m");
    let texts = body.as_bytes().chunks(piece).map(|bytes| {
        decoder.push(bytes);
        decoder.text().unwrap_or_default().to_owned()
    });
    texts.collect()
}

/// The message of a response.
pub(super) fn message(version: &str, body: &str) -> AgentMessage {
    match decode(version, [body.as_bytes()]) {
        Decoded::Message(result) => {
            let mut message = result.canonical_message.unwrap();
            if let Some(state) = &mut message.state {
                // As a session does for the target of `terms_of`.
                state.target = StateTarget {
                    adapter_version: version.to_owned(),
                    model: "m".to_owned(),
                    provider: "p".to_owned(),
                };
            }
            message
        }
        Decoded::Fault { fault, .. } => panic!("{fault:?}"),
    }
}

/// Events as `data:` lines.
pub(super) fn events(data: &[&str]) -> String {
    data.iter().fold(String::new(), |mut text, data| {
        let _ = write!(text, "data: {data}\n\n");
        text
    })
}

/// Decodes a body that arrives in pieces of that many bytes.
pub(super) fn decoded_in_pieces(version: &str, body: &str, strict: bool, piece: usize) -> Decoded {
    let meta = ResponseMeta {
        status: 200,
        ..ResponseMeta::default()
    };
    let adapter = Adapter::by_version(version).unwrap().under(strict);
    let mut decoder = adapter.decoder(meta, "m");
    for bytes in body.as_bytes().chunks(piece) {
        decoder.push(bytes);
    }
    decoder.finish()
}

const PIECES: [&str; 30] = [
    "<",
    ">",
    "\\",
    "/",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<tools>",
    "</tools>",
    "<think>",
    "</think>",
    "tool_call>",
    "<|python_tag|>",
    "<|im_end|>",
    "|eot_id|>",
    "{\"name\":",
    "\"parameters\":{}}",
    "{\"name\":\"f\",\"arguments\":{}}",
    "{",
    "}",
    "\"",
    "\n",
    " ",
    "é",
    "\u{2028}",
    "a",
    "<ai-agent-",
    "0a1b2c3d-",
    "```json\n",
];

/// Any text, markup more often than not.
pub(super) fn marked_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => proptest::sample::select(PIECES.as_slice()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}
