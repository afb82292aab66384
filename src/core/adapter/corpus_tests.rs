//! Every recorded response of every protocol, where the recordings are at hand.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::adapter::{Adapter, Decoded, ResponseMeta};
use crate::message::{AdapterStatus, AgentMessage, StopReason};
use monolith_testkit::depth::bound;
use monolith_testkit::skipped::skip;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
/// The number of recorded responses.
const RECORDED: usize = 3_677;
/// Bodies up to this size are also fed byte by byte.
const SHORT: usize = 3_000;

#[derive(Deserialize)]
struct Record {
    headers: BTreeMap<String, String>,
    id: String,
    proto: String,
    response: String,
    status: u16,
    stream: bool,
}

fn records() -> Vec<Record> {
    records_of(&format!("{CORPUS}/provider-responses.jsonl.gz")).unwrap_or_default()
}

/// Returns the recordings of the file; if it is missing, the number of cases skipped until now.
fn records_of(path: &str) -> Result<Vec<Record>, usize> {
    let Ok(file) = File::open(path) else {
        let why = format!("{path} is missing");
        return Err(skip(RECORDED, "recorded responses", &why));
    };
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    let records = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    let records: Vec<Record> = records.collect();
    assert_eq!(records.len(), RECORDED);
    Ok(records)
}

#[test]
fn recordings_that_are_missing_are_counted() {
    let skipped = records_of("no/such/folder/provider-responses.jsonl.gz").err();
    assert!(skipped.is_some_and(|skipped| skipped >= RECORDED));
}

fn decode<'a>(
    proto: &str,
    meta: ResponseMeta,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Decoded {
    let adapter = Adapter::by_proto(proto).unwrap();
    let mut decoder = adapter.decoder(meta, "asked");
    for piece in pieces {
        decoder.push(piece);
    }
    decoder.finish()
}

impl Record {
    fn decode<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
        let meta = ResponseMeta {
            headers: self.headers.clone().into_iter().collect(),
            received_unix_ms: 0,
            status: self.status,
        };
        decode(&self.proto, meta, pieces)
    }

    fn whole(&self) -> Decoded {
        self.decode([self.response.as_bytes()])
    }
}

fn verdict(decoded: &Decoded) -> String {
    match decoded {
        Decoded::Message(result) => match result.failure_code {
            None => "native".to_owned(),
            Some(code) => format!("rejected {code}"),
        },
        Decoded::Fault { fault, .. } => format!("fault {}", fault.class.as_str()),
    }
}

fn message(decoded: &Decoded) -> Option<(&AgentMessage, StopReason)> {
    match decoded {
        Decoded::Message(result) => Some((result.canonical_message.as_ref()?, result.stop)),
        Decoded::Fault { .. } => None,
    }
}

/// Asserts the invariants of every verdict.
fn is_sound(record: &Record, decoded: &Decoded) {
    let Decoded::Message(result) = decoded else {
        return;
    };
    let native = result.status == AdapterStatus::Native;
    assert_eq!(native, result.canonical_message.is_some(), "{}", record.id);
    assert_eq!(native, result.failure_code.is_none(), "{}", record.id);
    let adapter = Adapter::by_proto(&record.proto).unwrap();
    assert_eq!(result.adapter_version, adapter.version());
    let hash = blake3::hash(record.response.as_bytes());
    assert_eq!(result.raw_hash.to_string(), hash.to_hex().as_str());
    for call in result.canonical_message.iter().flat_map(|m| &m.tool_calls) {
        assert!(call.arguments.to_value().is_object(), "{}", record.id);
        assert!(
            !call.name.is_empty() && !call.id.is_empty(),
            "{}",
            record.id
        );
    }
}

/// Shows 002/6.adapter.7.
#[test]
fn every_recorded_response_gets_one_verdict_however_it_is_split() {
    let mut rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut table: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut verdicts = String::new();
    for record in records() {
        let whole = record.whole();
        let bytes = record.response.as_bytes();
        assert_eq!(record.whole(), whole, "{}", record.id);
        for _ in 0..2 {
            let size = 1 + rng.random_range(0..97_usize);
            assert_eq!(record.decode(bytes.chunks(size)), whole, "{}", record.id);
        }
        if bytes.len() <= SHORT {
            assert_eq!(record.decode(bytes.chunks(1)), whole, "{}", record.id);
        }
        is_sound(&record, &whole);
        let verdict = verdict(&whole);
        let _ = writeln!(verdicts, "{} {verdict}", record.id);
        let form = if record.stream { "stream" } else { "whole " };
        let stop = message(&whole).map_or_else(String::new, |(_, stop)| format!(" {stop:?}"));
        let row = format!("{:<18} {form} {verdict}{stop}", record.proto);
        table.entry(row).or_default().push(record.id);
    }
    for (row, ids) in &table {
        println!(
            "{:5}  {row}  {}",
            ids.len(),
            ids[..ids.len().min(3)].join(" ")
        );
    }
    if !table.is_empty() {
        insta::assert_snapshot!("verdicts", verdicts);
    }
}

/// Without strict mode a record is validated as under it, or its calls that can be read are kept; what was cut is never among them.
#[test]
fn without_strict_mode_only_the_whole_calls_of_one_recording_are_won() {
    let mut won = Vec::new();
    for record in records() {
        let meta = ResponseMeta {
            headers: record.headers.clone().into_iter().collect(),
            received_unix_ms: 0,
            status: record.status,
        };
        let adapter = Adapter::by_proto(&record.proto).unwrap().under(false);
        let mut decoder = adapter.decoder(meta, "asked");
        decoder.push(record.response.as_bytes());
        let lenient = decoder.finish();
        let strict = record.whole();
        if lenient == strict {
            continue;
        }
        assert!(
            verdict(&strict).starts_with("rejected ARGS_"),
            "{}",
            record.id
        );
        let (message, stop) = message(&lenient).unwrap();
        let faults: Vec<_> = message.tool_calls.iter().map(|call| call.fault).collect();
        won.push(format!("{} {faults:?} {stop:?}", record.id));
    }
    // DeepSeek, two calls, the second one cut at the limit of the output.
    let expect = "312ea3efdb994752 [None, Some(ArgsInvalidJson)] Length";
    assert!(won.is_empty() || won == [expect], "{won:?}");
}

#[test]
fn a_recorded_stream_that_is_cut_gives_the_whole_message_or_none() {
    let mut cuts = 0;
    for record in records().into_iter().filter(|record| record.stream) {
        // The protocol has no end mark, and where the provider runs code it ends every section: a cut between two of
        // them shows in the transport only.
        if record.proto == "gemini" && record.response.matches("finishReason").count() > 1 {
            println!("skipped {}: several finish reasons", record.id);
            continue;
        }
        let whole = record.whole();
        let Some((expect, _)) = message(&whole) else {
            continue;
        };
        let bytes = record.response.as_bytes();
        // A prime step: over all recordings the cuts fall everywhere in a line.
        for end in (0..bytes.len().min(20_000)).step_by(bound(389, 97)) {
            let cut = record.decode([&bytes[..end]]);
            if let Some((got, _)) = message(&cut) {
                assert_eq!(got, expect, "{} cut at {end}", record.id);
            }
            cuts += 1;
        }
    }
    println!("{cuts} cuts");
}

/// The stream with the content of a blocking body, as its provider would send it.
fn twin(proto: &str, body: &Value) -> Option<String> {
    let event = |value: Value| format!("data: {value}\n\n");
    Some(match proto {
        "anthropic-messages" => anthropic_twin(body)?,
        "gemini" if body.is_object() => format!("[{body}\n]"),
        "ollama-chat" => {
            let mut begun = body.clone();
            begun["done"] = json!(false);
            begun["done_reason"] = Value::Null;
            let mut ended = body.clone();
            ended["message"] = json!({"role": "assistant", "content": ""});
            format!("{begun}\n{ended}\n")
        }
        "openai-chat" => {
            let mut chunk = body.clone();
            for choice in chunk["choices"].as_array_mut()? {
                let choice = choice.as_object_mut()?;
                let mut message = choice.remove("message")?;
                if let Some(calls) = message["tool_calls"].as_array_mut() {
                    for (index, call) in calls.iter_mut().enumerate() {
                        call["index"] = json!(index);
                    }
                }
                choice.insert("delta".to_owned(), message);
            }
            event(chunk) + "data: [DONE]\n\n"
        }
        "openai-responses" => {
            let items = body["output"].as_array()?.iter().zip(0..);
            let mut stream: String = items
                .map(|(item, index)| {
                    let item = json!({"type": "response.output_item.done", "output_index": index, "item": item});
                    event(item)
                })
                .collect();
            let mut ended = body.clone();
            ended["output"] = json!([]);
            stream.push_str(&event(
                json!({"type": "response.completed", "response": ended}),
            ));
            stream
        }
        _ => return None,
    })
}

fn anthropic_twin(body: &Value) -> Option<String> {
    let event = |value: Value| format!("event: x\ndata: {value}\n\n");
    let mut start = body.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let mut stream = event(json!({"type": "message_start", "message": start}));
    for (block, index) in body["content"].as_array()?.iter().zip(0..) {
        let mut begun = block.clone();
        let mut deltas = Vec::new();
        for (field, delta) in [
            ("text", "text_delta"),
            ("thinking", "thinking_delta"),
            ("signature", "signature_delta"),
        ] {
            if let Some(text) = block[field].as_str() {
                let (one, two) = text.split_at(text.char_indices().nth(3).map_or(0, |(at, _)| at));
                deltas.extend([one, two].map(|text| json!({"type": delta, field: text})));
                begun[field] = json!("");
            }
        }
        if block["type"] == "tool_use" {
            begun["input"] = json!({});
            let text = block["input"].to_string();
            let text = if text == "{}" { "" } else { &text };
            let (one, two) = text.split_at(text.len().min(1));
            deltas.extend(
                [one, two].map(|text| json!({"type": "input_json_delta", "partial_json": text})),
            );
        }
        stream.push_str(&event(
            json!({"type": "content_block_start", "index": index, "content_block": begun}),
        ));
        for delta in deltas {
            stream.push_str(&event(
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        stream.push_str(&event(
            json!({"type": "content_block_stop", "index": index}),
        ));
    }
    stream.push_str(&event(
        json!({"type": "message_delta", "delta": {"stop_reason": body["stop_reason"]}}),
    ));
    Some(stream + &event(json!({"type": "message_stop"})))
}

/// A verdict without what may differ between twins: spaces inside arguments, and the bytes that a trace quotes.
fn summary(decoded: &Decoded) -> Value {
    let Decoded::Message(result) = decoded else {
        return json!(verdict(decoded));
    };
    let Some(message) = &result.canonical_message else {
        return json!(verdict(decoded));
    };
    let calls = message.tool_calls.iter().map(|call| {
        json!([
            call.id,
            call.name,
            call.arguments.to_value(),
            call.source_model
        ])
    });
    let members = message.state.as_ref().map(|state| state.members.len());
    json!([
        message.content,
        message.reasoning,
        calls.collect::<Vec<_>>(),
        members,
        result.stop,
        result.usage,
    ])
}

#[test]
fn a_recorded_body_and_its_stream_give_the_same_message() {
    let mut twins = BTreeMap::new();
    for record in records() {
        if record.stream || record.status != 200 {
            continue;
        }
        let Ok(body) = serde_json::from_str::<Value>(&record.response) else {
            continue;
        };
        let whole = record.whole();
        // A body without a message, or without an end, has no stream.
        let Some((_, stop)) = message(&whole) else {
            continue;
        };
        let ended = stop != StopReason::Unknown;
        let Some(stream) = twin(&record.proto, &body).filter(|_| ended) else {
            continue;
        };
        let twin = record.decode([stream.as_bytes()]);
        assert_eq!(summary(&twin), summary(&whole), "{}: {stream}", record.id);
        *twins.entry(record.proto).or_insert(0) += 1;
    }
    println!("twins: {twins:?}");
}

#[test]
fn raw_anthropic_streams_give_these_verdicts() {
    let folder = Path::new(CORPUS).join("anthropic-sse");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped 10 raw streams: {} is not there", folder.display());
        return;
    };
    let mut table = BTreeMap::new();
    for file in files {
        let path = file.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let meta = || ResponseMeta {
            status: 200,
            ..ResponseMeta::default()
        };
        let whole = decode("anthropic-messages", meta(), [bytes.as_slice()]);
        let single = decode("anthropic-messages", meta(), bytes.chunks(1));
        assert_eq!(single, whole, "{}", path.display());
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let calls = message(&whole).map_or(0, |(message, _)| message.tool_calls.len());
        let stop = message(&whole).map(|(_, stop)| stop);
        table.insert(name, format!("{} {stop:?} {calls} calls", verdict(&whole)));
    }
    insta::assert_debug_snapshot!("anthropic_sse", table);
}
