//! What a transcript is evidence of: a changed byte is found at its entry, by `replay` even where the hashes were made to fit,
//! and the same file is the same contract wherever it lies.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use monolith::{
    Attribution, Chain, Digest, ExecutionContract, LineReader, Link, Record, ReplayReport,
    Replayer, SealedEntry,
};
use serde_json::Value;

/// A run whose tool result and task both stand in it.
const GOLDEN: &str = "replay/v1/core.valid_call.jsonl";

struct Transcript {
    contract: ExecutionContract,
    entries: Vec<SealedEntry>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    run_id: monolith::RunId,
}

fn golden() -> Transcript {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(GOLDEN);
    let text = fs::read(path).unwrap();
    let mut reader = LineReader::new();
    let (mut header, mut entries, mut blobs) = (None, Vec::new(), BTreeMap::new());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match reader.read(line).unwrap() {
            Record::Header(found) => {
                let contract = ExecutionContract::decode(found.contract).unwrap();
                header = Some((contract, found.run_id));
            }
            Record::Entry(found) => entries.push(SealedEntry::from(&*found)),
            Record::Checkpoint(_) | Record::Tombstone(_) => {}
            Record::Blob(found) => {
                blobs.insert(found.hash, found.bytes.to_vec());
            }
        }
    }
    let (contract, run_id) = header.unwrap();
    Transcript {
        contract,
        entries,
        blobs,
        run_id,
    }
}

/// Changes `from` to `to` in the event of the one entry that holds it; returns that entry's number.
fn change(transcript: &mut Transcript, from: &str, to: &str) -> u64 {
    let holds = |entry: &&mut SealedEntry| entry.event.contains(from);
    let mut found: Vec<&mut SealedEntry> = transcript.entries.iter_mut().filter(holds).collect();
    assert_eq!(found.len(), 1, "{from} stands in one event");
    found[0].event = found[0].event.replace(from, to);
    found[0].seq
}

/// What a forger does who knows the format: every hash is made anew, and the chain is whole again.
fn chain_anew(transcript: &mut Transcript) {
    let mut chain = Chain::genesis(transcript.contract.contract_hash(), &transcript.run_id);
    for entry in &mut transcript.entries {
        let action = entry.decode_action().unwrap();
        entry.hash = chain.extend(&Link {
            action: &entry.action,
            adapter_version: &action.adapter_version,
            event: &entry.event,
            model_fingerprint: &action.model_fingerprint,
            model_profile_id: &action.model_profile_id,
            state: action.to.as_str(),
        });
    }
}

fn replay(transcript: &Transcript) -> ReplayReport {
    let mut replayer = Replayer::new(transcript.contract.clone(), &transcript.run_id);
    for entry in &transcript.entries {
        replayer.take(entry, &transcript.blobs);
    }
    replayer.finish(false)
}

#[test]
fn one_changed_byte_of_task_or_result_is_the_first_difference_at_its_entry() {
    assert!(replay(&golden()).same);
    let task = golden().entries[0].decode_event().unwrap().unwrap();
    let task = serde_json::to_value(&task).unwrap();
    let task = task["event"]["value"]["messages"][1]["content"]
        .as_str()
        .unwrap();
    for (from, to) in [
        (task, format!("X{}", &task[1..])),
        ("\"value\":\"MIT\"", "\"value\":\"MIX\"".to_owned()),
    ] {
        let mut transcript = golden();
        let changed = change(&mut transcript, from, &to);
        let first = replay(&transcript).first_difference.unwrap();
        assert_eq!(
            (first.seq, first.attribution),
            (changed, Attribution::Tampered),
            "{from}"
        );
        // With every hash made to fit, only the machine can tell; and it tells at the same entry.
        chain_anew(&mut transcript);
        let first = replay(&transcript).first_difference.unwrap();
        assert_eq!(
            (first.seq, first.attribution),
            (changed, Attribution::Kernel),
            "{from}"
        );
    }
}

#[test]
fn the_same_file_is_the_same_contract_in_every_folder_and_at_every_time() {
    let hash_in = |folder: &Path, extra: &[&str]| {
        fs::create_dir_all(folder.join("workspace")).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for file in ["demo.yaml", "demo.jsonl"] {
            fs::copy(root.join("contracts").join(file), folder.join(file)).unwrap();
        }
        let output = Command::cargo_bin("monolith")
            .unwrap()
            .current_dir(folder.join("workspace"))
            .env("MONOLITH_HOME", folder.join("state"))
            .args(["run", "--json", "--contract", "../demo.yaml"])
            .args(extra)
            .output()
            .unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        result["contract_hash"].as_str().unwrap().to_owned()
    };
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let deeper = there.path().join("some/where/else");
    let first = hash_in(here.path(), &[]);
    assert_eq!(first, hash_in(&deeper, &[]));
    assert_ne!(first, hash_in(&deeper, &["--set", "max_turns=5"]));
}
