//! The bodies of the fuzz targets, one function per target. `tests/it/fuzz.rs` runs the seeds through the same functions in
//! every test run.
//!
//! A function fails by panicking: in monolith, or here where something does not hold that must hold for any bytes.

use monolith_conformance::RecordLines;
use monolith_core::adapter::ResponseMeta;
use monolith_core::adapter::{Adapter, Decoded, Script};
use monolith_core::contract::{ContractSpec, ExecutionContract};
use monolith_core::message::AdapterStatus;
use monolith_core::transcript::{LineReader, VerifyOptions, verify_lines};

/// The body of a fuzz target.
type Target = fn(&[u8]);

/// The targets by name. One for each protocol is called `decode_` and the protocol.
pub const TARGETS: [(&str, Target); 12] = [
    ("contract", contract),
    ("decode_anthropic_messages", |data| {
        decode("anthropic-messages", data);
    }),
    ("decode_bedrock_converse", |data| {
        decode("bedrock-converse", data);
    }),
    ("decode_gemini", |data| decode("gemini", data)),
    ("decode_local_hermes", |data| decode("local-hermes", data)),
    ("decode_ollama_chat", |data| decode("ollama-chat", data)),
    ("decode_openai_chat", |data| decode("openai-chat", data)),
    ("decode_openai_responses", |data| {
        decode("openai-responses", data);
    }),
    ("decode_openrouter_chat", |data| {
        decode("openrouter-chat", data);
    }),
    ("records", records),
    ("split", split),
    ("transcript", transcript),
];

/// A response body, judged by the decoder of that protocol: the first byte chooses the status.
///
/// Under strict mode and without it: a message comes exactly with a verdict that is no rejection, a failure code exactly with
/// a rejection, a repair exactly with a recovery, which strict mode has none of; the arguments of every call are an object; and
/// a second look says the same.
pub fn decode(proto: &str, data: &[u8]) {
    let adapter = Adapter::by_proto(proto).expect("a protocol of this build");
    let Some((first, body)) = data.split_first() else {
        return;
    };
    let status = [200, 200, 200, 400, 429, 500][usize::from(*first) % 6];
    for strict in [true, false] {
        let adapter = adapter.under(strict);
        let decoded = judge(adapter, status, [body]);
        assert_eq!(decoded, judge(adapter, status, [body]));
        let Decoded::Message(result) = decoded else {
            continue;
        };
        let rejected = result.status == AdapterStatus::Rejected;
        let recovered = result.status == AdapterStatus::Recovered;
        assert_eq!(rejected, result.canonical_message.is_none());
        assert_eq!(rejected, result.failure_code.is_some());
        assert_eq!(recovered, result.repair.is_some());
        assert!(!(strict && recovered));
        for call in result.canonical_message.iter().flat_map(|m| &m.tool_calls) {
            assert!(call.arguments.to_value().is_object());
            assert!(!call.name.is_empty() && !call.id.is_empty());
            assert!(recovered || call.fault.is_none());
        }
        // What cannot be read is kept only beside a call that can.
        let mut calls = result.canonical_message.iter().flat_map(|m| &m.tool_calls);
        let has_calls = calls.clone().next().is_some();
        assert!(!has_calls || calls.any(|call| call.fault.is_none()));
    }
}

/// A stream that arrives in pieces: the first bytes choose the adapter and where it is cut. The verdict is that over the whole.
pub fn split(data: &[u8]) {
    let [which, size, cut, body @ ..] = data else {
        return;
    };
    let adapters: Vec<Adapter> = Adapter::all().collect();
    let adapter = adapters[usize::from(*which) % adapters.len()];
    let whole = judge(adapter, 200, [body]);
    let size = usize::from(*size).max(1);
    assert_eq!(
        judge(adapter, 200, body.chunks(size)),
        whole,
        "{}",
        adapter.proto()
    );
    let (head, tail) = body.split_at(usize::from(*cut).min(body.len()));
    assert_eq!(
        judge(adapter, 200, [head, tail]),
        whole,
        "{}",
        adapter.proto()
    );
}

fn judge<'b>(adapter: Adapter, status: u16, pieces: impl IntoIterator<Item = &'b [u8]>) -> Decoded {
    let meta = ResponseMeta {
        status,
        ..ResponseMeta::default()
    };
    let mut decoder = adapter.decoder(meta, "model");
    for piece in pieces {
        decoder.push(piece);
    }
    decoder.finish()
}

/// A contract file, and the same text as a finished contract and as a script of a model.
pub fn contract(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Err(errors) = ContractSpec::parse("fuzz.yaml", text, &[]) {
        assert!(!errors.errors.is_empty());
        assert!(!errors.to_string().is_empty());
    }
    if let Ok(contract) = ExecutionContract::decode(text) {
        let again = ExecutionContract::decode(&contract.canonical_text());
        assert_eq!(again.map(|c| c.rehash()).ok(), Some(contract.rehash()));
    }
    drop(text.parse::<Script>());
}

/// A transcript file: what the verifier accepts, the reader reads to its end.
pub fn transcript(data: &[u8]) {
    let lines = || data.split_inclusive(|byte| *byte == b'\n');
    let report = verify_lines(lines(), VerifyOptions::default());
    let mut reader = LineReader::new();
    let read = lines().try_for_each(|line| reader.read(line).map(drop));
    if report.first_bad.is_none() && report.holds() {
        assert!(read.is_ok(), "{read:?}");
    }
}

/// A file of recorded responses, plain or compressed: every item is a verdict or names its line, and there is an end.
pub fn records(data: &[u8]) {
    let Ok(lines) = RecordLines::of(data, data.len().is_multiple_of(2)) else {
        return;
    };
    for line in lines {
        match line {
            Ok(Ok(record)) => drop(serde_json::to_string(&record).expect("a row is JSON")),
            Ok(Err(fault)) => assert!(fault.line > 0),
            // What is compressed may be damaged anywhere, and nothing follows.
            Err(_) => {}
        }
    }
}
