//! The evidence in a transcript: a changed byte is found at its entry, by `replay` even where the hashes were made to fit, and
//! the same file is the same contract wherever it lies.

use std::fs;
use std::path::Path;

use monolith_core::replay::Attribution;
use monolith_core::transcript::SealedEntry;

use crate::fixture::{Left, monolith};
use crate::golden::Golden;

/// A run whose tool result and task both stand in it.
const GOLDEN: &str = "core.valid_call";

/// Changes `from` to `to` in the event of the one entry that holds it; returns that entry's number.
fn change(transcript: &mut Golden, from: &str, to: &str) -> u64 {
    let holds = |entry: &&mut SealedEntry| entry.event.contains(from);
    let mut found: Vec<&mut SealedEntry> = transcript.entries.iter_mut().filter(holds).collect();
    assert_eq!(found.len(), 1, "{from} stands in one event");
    found[0].event = found[0].event.replace(from, to);
    found[0].seq
}

#[test]
fn one_changed_byte_of_task_or_result_is_the_first_difference_at_its_entry() {
    let whole = Golden::of(GOLDEN);
    assert!(whole.replayed().same);
    let task = whole.entries[0].decode_event().unwrap().unwrap();
    let task = serde_json::to_value(&task).unwrap();
    let task = task["event"]["value"]["messages"][1]["content"]
        .as_str()
        .unwrap();
    for (from, to) in [
        (task, format!("X{}", &task[1..])),
        ("\"value\":\"MIT\"", "\"value\":\"MIX\"".to_owned()),
    ] {
        let mut transcript = whole.clone();
        let changed = change(&mut transcript, from, &to);
        let first = transcript.replayed().first_difference.unwrap();
        assert_eq!(
            (first.seq, first.attribution),
            (changed, Attribution::Tampered),
            "{from}"
        );
        // With every hash made to fit, only the machine can tell; and it tells at the same entry.
        transcript.chain_anew();
        let first = transcript.replayed().first_difference.unwrap();
        assert_eq!(
            (first.seq, first.attribution),
            (changed, Attribution::Kernel),
            "{from}"
        );
    }
}

/// Shows 002/6.factory.1.
#[test]
fn the_same_file_is_the_same_contract_in_every_folder_and_at_every_time() {
    let hash_in = |folder: &Path, extra: &[&str]| {
        fs::create_dir_all(folder.join("workspace")).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for file in ["demo.yaml", "demo.jsonl"] {
            fs::copy(root.join("contracts").join(file), folder.join(file)).unwrap();
        }
        let run = ["run", "--json", "--contract", "../demo.yaml"];
        let mut command = monolith(&folder.join("workspace"), &run);
        let left = Left::from(command.args(extra).output().unwrap());
        left.document()["contract_hash"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let deeper = there.path().join("some/where/else");
    let first = hash_in(here.path(), &[]);
    assert_eq!(first, hash_in(&deeper, &[]));
    assert_ne!(first, hash_in(&deeper, &["--set", "max_turns=5"]));
}
