//! Holds docs/audit/transcript-format.md against the code: its example is a file that this build writes and verifies.

use std::sync::Arc;

use super::chain::ENTRY_CONTEXT;
use super::checkpoint::EARLIER_CONTEXT;
use super::sample::SampleRun;
use super::{
    Chain, Checkpoint, LineVerifier, SecretKey, Tombstone, Trust, VerifyOptions, checkpoint_line,
    tombstone_line, verify_lines,
};
use crate::message::Digest;
use crate::message::GENESIS_CONTEXT;

const DOCUMENT: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/audit/transcript-format.md"
));

/// The fenced block of that language.
fn block(language: &str) -> &'static str {
    let start = format!("```{language}\n");
    let from = DOCUMENT.find(&start).expect("the block begins") + start.len();
    let rest = &DOCUMENT[from..];
    &rest[..rest.find("```").expect("the block ends")]
}

#[test]
fn the_example_of_the_document_is_what_this_build_writes_and_verifies() {
    let run = SampleRun::short("r-1");
    let file = String::from_utf8(run.lines().concat()).unwrap();
    let example = block("jsonl");
    assert!(example == file, "the example must read:\n{file}");
    let lines = example.split_inclusive('\n');
    let report = verify_lines(lines, VerifyOptions::default());
    assert_eq!(report.first_bad, None, "{report:#?}");
}

#[test]
fn the_numbers_of_the_document_are_those_of_its_example() {
    let run = SampleRun::short("r-1");
    let contract_hash = run.contract.contract_hash();
    let genesis = Chain::genesis(contract_hash, &run.run_id).head();
    let mut numbers = format!("contract_hash {contract_hash}\nH_0           {genesis}\n");
    for entry in &run.entries {
        let action = Digest::of(entry.action.as_bytes());
        let event = Digest::of(entry.event.as_bytes());
        let (name, hash) = (format!("H_{}", entry.seq + 1), entry.hash);
        let rows = [
            ("action_hash", action),
            ("result_hash", event),
            (&name, hash),
        ];
        numbers.extend(rows.map(|(name, hash)| format!("{name:13} {hash}\n")));
    }
    assert!(
        block("text numbers") == numbers,
        "the numbers must read:\n{numbers}"
    );
}

/// A verifier cannot be written from the document without these.
#[test]
fn the_document_describes_how_the_chain_is_computed() {
    let formulas = block("text");
    for hash in ["contract_hash", "contract_id", "H_0", "H_(seq+1)"] {
        let rule = formulas.lines().find(|line| line.starts_with(hash));
        assert!(rule.is_some_and(|rule| rule.contains(" = ")), "{hash}");
    }
    let checkpoints = block("text checkpoints");
    for (context, formulas) in [
        (GENESIS_CONTEXT.text(), formulas),
        (ENTRY_CONTEXT.text(), formulas),
        (EARLIER_CONTEXT.text(), checkpoints),
    ] {
        assert!(
            formulas.contains(&format!("K(\"{context}\", ")),
            "{context}"
        );
    }
}

#[test]
fn the_checkpoint_of_the_document_is_that_of_its_example() {
    let run = SampleRun::short("r-1");
    let last = run.entries.last().expect("a seal");
    let outcome = last.decode_action().expect("an action").outcome;
    let chain = Chain::resumed(run.contract.contract_hash(), last.hash, last.seq + 1);
    let key = SecretKey::from_seed("example", &[1; 32]).expect("a name");
    let note = Checkpoint::of(&chain, &run.run_id, outcome).sign(&key);
    let expect = format!("{note}\n{}\n", key.public());
    assert!(
        block("text checkpoint") == expect,
        "the checkpoint must read:\n{expect}"
    );
    let mut lines = run.lines();
    lines.push(checkpoint_line(&note.to_string()).into_bytes());
    let trust = Trust {
        keys: vec![key.public()],
        signature_required: true,
        ..Trust::default()
    };
    let mut verifier = LineVerifier::new(VerifyOptions::default()).trusting(Arc::new(trust));
    assert!(lines.iter().all(|line| verifier.line(line)));
    assert_eq!(verifier.finish().level, "L1");
}

#[test]
fn the_tombstone_of_the_document_is_that_of_its_example() {
    let run = SampleRun::short("r-1");
    let key = SecretKey::from_seed("example", &[1; 32]).expect("a name");
    let lines = run.lines();
    let (last, kept) = lines.split_last().expect("a blob");
    let (blobs, hash) = (run.blobs.iter(), last.get(9..73).expect("a hash"));
    let blob = blobs
        .map(|bytes| Digest::of(bytes))
        .find(|blob| blob.to_string().as_bytes() == hash);
    let stone = Tombstone {
        run_id: run.run_id.clone(),
        blob: blob.expect("the last blob"),
        reason: "asked for by the customer".to_owned(),
        at_unix_ms: 1_790_000_000_000,
    };
    let note = stone.sign(&key).to_string();
    let line = tombstone_line(&note);
    let expect = format!("{note}\n{line}");
    assert!(
        block("text tombstone") == expect,
        "the tombstone must read:\n{expect}"
    );
    let mut verifier = LineVerifier::new(VerifyOptions::default());
    assert!(kept.iter().all(|line| verifier.line(line)));
    assert!(verifier.line(line.as_bytes()));
    let report = verifier.finish();
    assert!(report.holds());
    let erased = report.checks.iter().find(|check| check.name == "erased");
    assert!(erased.is_some_and(|check| check.ok));
}

#[test]
fn the_document_names_every_key_that_a_file_can_hold() {
    fn keys(value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
            serde_json::Value::Object(map) => map.iter().for_each(|(key, item)| {
                found.push(key.clone());
                keys(item, found);
            }),
            _ => {}
        }
    }
    let mut found = Vec::new();
    let mut add = |text: &str| keys(&serde_json::from_str(text).unwrap(), &mut found);
    for event in super::sample_values::every_event() {
        add(&super::canonical::text_of(&event));
    }
    add(&super::canonical::text_of(
        &super::sample_actions::full_action(),
    ));
    for key in found {
        assert!(
            DOCUMENT.contains(&format!("`{key}`")),
            "{key} is not described"
        );
    }
}
