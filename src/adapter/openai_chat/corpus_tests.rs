//! Every recorded response of this protocol, where the recordings are at hand.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde::Deserialize;

use super::test_support::new_decoder;
use crate::adapter::{Decoded, ResponseMeta};
use crate::message::AdapterStatus;

const RECORDS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../shared/corpus/provider-responses.jsonl.gz"
);

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
    let Ok(file) = File::open(RECORDS) else {
        println!("skipped 1546 recorded responses: {RECORDS} is not there");
        return Vec::new();
    };
    BufReader::new(GzDecoder::new(file))
        .lines()
        .map(|line| serde_json::from_str::<Record>(&line.unwrap()).unwrap())
        .filter(|record| record.proto == "openai-chat")
        .collect()
}

impl Record {
    fn decode<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Decoded {
        let meta = ResponseMeta {
            headers: self.headers.clone().into_iter().collect(),
            received_unix_ms: 0,
            status: self.status,
        };
        let mut decoder = new_decoder(meta);
        for piece in pieces {
            decoder.push(piece);
        }
        decoder.finish()
    }

    fn whole(&self) -> Decoded {
        self.decode([self.response.as_bytes()])
    }
}

fn verdict(decoded: &Decoded) -> String {
    match decoded {
        Decoded::Message(result) => match result.failure_code {
            None => format!("native {:?}", result.stop),
            Some(code) => format!(
                "rejected {code} at {:?} ({:?})",
                result.pointer.as_deref().unwrap_or_default(),
                result.stop
            ),
        },
        Decoded::Fault { fault, .. } => format!("fault {}", fault.class.as_str()),
    }
}

#[test]
fn every_recorded_response_gets_one_verdict_however_it_is_split() {
    let mut rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut table: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in records() {
        let whole = record.whole();
        let bytes = record.response.as_bytes();
        for _ in 0..3 {
            let size = 1 + rng.random_range(0..97_usize);
            assert_eq!(record.decode(bytes.chunks(size)), whole, "{}", record.id);
        }
        if let Decoded::Message(result) = &whole {
            assert_eq!(
                result.status == AdapterStatus::Native,
                result.canonical_message.is_some()
            );
            for call in result.canonical_message.iter().flat_map(|m| &m.tool_calls) {
                assert!(call.arguments.to_value().is_object(), "{}", record.id);
                assert!(!call.name.is_empty() && !call.id.is_empty());
            }
        }
        let row = format!(
            "{} {}",
            if record.stream { "stream" } else { "whole " },
            verdict(&whole)
        );
        table.entry(row).or_default().push(record.id);
    }
    for (row, ids) in table {
        println!(
            "{:5}  {row}  {}",
            ids.len(),
            ids.iter().take(4).cloned().collect::<Vec<_>>().join(" ")
        );
    }
}

#[test]
fn a_recorded_stream_that_is_cut_gives_the_whole_message_or_none() {
    let mut cuts = 0;
    for record in records().into_iter().filter(|record| record.stream) {
        let Decoded::Message(whole) = record.whole() else {
            continue;
        };
        let bytes = record.response.as_bytes();
        // A prime step: over all recordings the cuts fall everywhere in a line.
        for end in (0..bytes.len().min(20_000)).step_by(97) {
            if let Decoded::Message(cut) = record.decode([&bytes[..end]])
                && cut.canonical_message.is_some()
            {
                assert_eq!(
                    cut.canonical_message, whole.canonical_message,
                    "{} cut at {end}",
                    record.id
                );
            }
            cuts += 1;
        }
    }
    println!("{cuts} cuts");
}
