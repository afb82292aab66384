//! The token gate on a real model, seed after seed: with the gate, and without it for comparison.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use monolith_core::adapter::{
    Adapter, Decoded, LocalLine, RequestEncoder, RequestShape, ResponseMeta,
};
use monolith_core::contract::{
    CALL_OPEN, CapabilityManifest, ContractFactory, ContractSpec, ExecutionContract,
    ServerCapability, ServerKind, TargetCapability, ToolCapability, Validators,
};
use monolith_core::kernel::{RunStarted, ToolExposure};
use monolith_host::inference::{Backend, Timeouts};

/// The contract of the trials; the tools' server is only described, never started.
const CONTRACT: &str = "\
system: You work in an office. Use the tools.
task: Find the tickets about printers that are open, and book a room for two hours to talk about them.
tool_policy: required
targets: [{provider: model, model: model, context_window: 4096}]
providers: {model: {type: local, file: model.gguf}}
tools: {mcp: {office: {command: office}}}
";
/// Time limit for one token.
const IDLE: Duration = Duration::from_secs(600);

/// One trial.
#[derive(Clone, Copy, Debug)]
pub struct GateTrial {
    /// True if the gate is closed.
    pub gate: bool,
    /// The seed.
    pub seed: u64,
    /// The temperature; at 1.5 a small model is all but at random.
    pub temperature: f64,
}

/// The result of one seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    /// A call first, with nothing before it, that fits its tool's schema.
    Valid,
    /// Text before any call.
    FreeText,
    /// Something that is no call of an offered tool with fitting arguments.
    Invalid(String),
    /// No answer.
    Failed(String),
}

/// The file and the contract that a trial is made under.
///
/// # Errors
/// What is wrong with it; the texts are part of the program, so nothing but a temperature out of range can be.
pub fn gate_contract(trial: GateTrial) -> Result<(ContractSpec, ExecutionContract), String> {
    let sets = [
        format!("sampling.temperature={}", trial.temperature),
        format!("sampling.seed={}", trial.seed),
        "sampling.max_output_tokens=640".to_owned(),
        format!("token_gate={}", trial.gate),
    ];
    let spec = ContractSpec::parse("gate.yaml", CONTRACT, &sets).map_err(|e| e.to_string())?;
    let manifest = CapabilityManifest {
        servers: [(
            "office".to_owned(),
            ServerCapability {
                available: true,
                kind: ServerKind::Stdio,
                tools: tools(),
            },
        )]
        .into(),
        targets: vec![TargetCapability::default()],
    };
    let contract = ContractFactory.make(&spec, &manifest, None);
    Ok((spec, contract.map_err(|fault| fault.to_string())?))
}

/// Asks the model once. Reading ends with the first byte of free text.
pub async fn try_gate(backend: &Backend, contract: &ExecutionContract, task: &str) -> GateVerdict {
    let failed = |fault: &dyn ToString| GateVerdict::Failed(fault.to_string());
    let made = Adapter::of_target(contract, 0)
        .and_then(|adapter| Ok((adapter, RequestEncoder::new(contract, 0)?)));
    let (adapter, mut encoder) = match made {
        Ok(made) => made,
        Err(fault) => return failed(&fault),
    };
    let tools = if contract.grammar.is_some() {
        ToolExposure::Forced
    } else {
        ToolExposure::Auto
    };
    let conversation = RunStarted::opening(&contract.system, task);
    let conversation: Vec<_> = conversation.into_iter().map(Arc::new).collect();
    let body = encoder.encode(
        &conversation,
        &RequestShape {
            closing: false,
            without_state: false,
            xml: None,
            notices: &[],
            tools,
        },
    );
    let timeouts = Timeouts {
        cancel: CancellationToken::new(),
        idle: IDLE,
    };
    let path = contract
        .targets
        .first()
        .map_or_else(Default::default, |target| adapter.path(target));
    let mut reply = match backend.send(&path, &[], body.bytes, &timeouts).await {
        Ok(reply) => reply,
        Err(fault) => return failed(&fault),
    };
    let meta = ResponseMeta {
        status: reply.head().status,
        ..ResponseMeta::default()
    };
    let mut decoder = adapter.decoder(meta, "model");
    let mut text = String::new();
    loop {
        match reply.chunk().await {
            Ok(Some(line)) => {
                decoder.push(&line);
                // A chunk of an embedded model is a line.
                if let Ok(LocalLine::Text { text: piece }) = serde_json::from_slice(&line) {
                    text.push_str(&piece);
                }
                if !text.starts_with(CALL_OPEN) && !CALL_OPEN.starts_with(&text) {
                    return GateVerdict::FreeText;
                }
            }
            Ok(None) => break,
            Err(fault) => return failed(&fault),
        }
    }
    judge(decoder.finish(), contract)
}

fn judge(decoded: Decoded, contract: &ExecutionContract) -> GateVerdict {
    let result = match decoded {
        Decoded::Message(result) => result,
        Decoded::Fault { fault, .. } => return GateVerdict::Failed(fault.message),
    };
    let Some(message) = result.canonical_message else {
        let code = result.failure_code.map_or("", |code| code.as_str());
        return GateVerdict::Invalid(code.to_owned());
    };
    if message.tool_calls.is_empty() || !message.content.is_empty() {
        return GateVerdict::FreeText;
    }
    let validators = Validators::compile(contract);
    for call in &message.tool_calls {
        if let Err(fault) = validators.validate(&call.name, &call.arguments) {
            return GateVerdict::Invalid(format!("{}: {fault}", call.name));
        }
    }
    GateVerdict::Valid
}

/// Three tools whose arguments hold objects in arrays in objects.
fn tools() -> Vec<ToolCapability> {
    let person = json!({
        "type": "object",
        "properties": {
            "mail": {"type": "string", "minLength": 3, "maxLength": 40},
            "name": {"type": "string", "maxLength": 40},
            "role": {"enum": ["guest", "host", "speaker"]},
        },
        "required": ["name", "role"],
        "additionalProperties": false,
    });
    let tool = |name: &str, description: &str, schema: Value| ToolCapability {
        annotations: Value::Null,
        description: description.to_owned(),
        input_schema: schema,
        name: name.to_owned(),
        schema_tokens: 0,
    };
    vec![
        tool(
            "book_room",
            "Books a meeting room.",
            json!({
                "type": "object",
                "properties": {
                    "hours": {"type": "integer", "minimum": 1, "maximum": 8},
                    "people": {"type": "array", "minItems": 1, "maxItems": 4, "items": person},
                    "room": {
                        "type": "object",
                        "properties": {
                            "equipment": {"type": "array", "maxItems": 3, "items": {"enum": ["screen", "phone", "board"]}},
                            "floor": {"type": "integer", "minimum": -1, "maximum": 12},
                        },
                        "required": ["floor"],
                        "additionalProperties": false,
                    },
                },
                "required": ["hours", "room"],
                "additionalProperties": false,
            }),
        ),
        tool(
            "search_tickets",
            "Searches the tickets.",
            json!({
                "type": "object",
                "properties": {
                    "filter": {
                        "type": "object",
                        "properties": {
                            "age_days": {"type": "number", "exclusiveMinimum": 0, "maximum": 365},
                            "owner": {"anyOf": [{"type": "null"}, person]},
                            "state": {"enum": ["open", "closed", "waiting"]},
                        },
                        "required": ["state"],
                        "additionalProperties": false,
                    },
                    "words": {"type": "array", "minItems": 1, "maxItems": 5, "items": {"type": "string", "minLength": 1, "maxLength": 20}},
                },
                "required": ["filter", "words"],
                "additionalProperties": false,
            }),
        ),
        tool(
            "write_note",
            "Writes a note.",
            json!({
                "type": "object",
                "properties": {
                    "parts": {
                        "type": "array",
                        "minItems": 1,
                        "maxItems": 3,
                        "items": {
                            "type": "object",
                            "properties": {
                                "text": {"type": "string", "maxLength": 120},
                                "urgent": {"type": "boolean"},
                            },
                            "required": ["text", "urgent"],
                            "additionalProperties": false,
                        },
                    },
                },
                "required": ["parts"],
                "additionalProperties": false,
            }),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract(gate: bool) -> ExecutionContract {
        let trial = GateTrial {
            gate,
            seed: 1,
            temperature: 1.5,
        };
        gate_contract(trial).unwrap().1
    }

    #[test]
    fn the_contract_of_a_trial_is_one_that_a_run_would_accept() {
        let faults = monolith_core::contract::profile_faults(&contract(true));
        assert_eq!(faults, []);
        assert!(contract(true).grammar.is_some());
        assert!(contract(false).grammar.is_none());
    }

    fn check(text: &str, expect: &GateVerdict) {
        assert_eq!(judge_text(text), *expect, "{text}");
    }

    #[test]
    fn only_a_call_that_fits_with_nothing_beside_it_is_valid() {
        let call = |name: &str, arguments: &str| {
            format!("<tool_call>\n{{\"name\":\"{name}\",\"arguments\":{arguments}}}\n</tool_call>")
        };
        let good = call("office__book_room", r#"{"hours":2,"room":{"floor":3}}"#);
        check(&good, &GateVerdict::Valid);
        check("Sure!", &GateVerdict::FreeText);
        check(&format!("Sure! {good}"), &GateVerdict::FreeText);
        let cut = good.get(..40).unwrap();
        check(cut, &GateVerdict::Invalid("ARGS_INVALID_JSON".to_owned()));
        for (name, arguments) in [
            ("office__book_room", r#"{"hours":9,"room":{"floor":3}}"#),
            ("office__open_door", "{}"),
        ] {
            let adapter_says = judge_text(&call(name, arguments));
            assert!(matches!(adapter_says, GateVerdict::Invalid(_)), "{name}");
        }
    }

    fn judge_text(text: &str) -> GateVerdict {
        let adapter = Adapter::by_version("local-hermes/1").unwrap();
        let meta = ResponseMeta {
            status: 200,
            ..ResponseMeta::default()
        };
        let mut decoder = adapter.decoder(meta, "model");
        let text = Value::from(text);
        let end = r#"{"stop":"end","usage":{"input":1,"output":1}}"#;
        decoder.push(format!("{{\"text\":{text}}}\n{end}\n").as_bytes());
        judge(decoder.finish(), &contract(true))
    }
}
