//! Importing: what verifies enters as it is, and nothing else does.

use std::path::Path;
use std::sync::Arc;

use super::{NOW, folder, open, terms, write};
use crate::store::{
    Change, Erasure, ImportError, Imported, RunFilter, StoreError, StoreReader, import, wait,
};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{
    Chain, Link, SealedEntry, SecretKey, Trust, WithheldBlobs, blob_line, entry_line,
};
use monolith_testkit::sample::SampleRun;

fn key() -> SecretKey {
    SecretKey::from_seed("local", &[1; 32]).unwrap()
}

/// Trust in the key that erased the blob of [`scene`].
fn trust() -> Arc<Trust> {
    Arc::new(Trust {
        keys: vec![key().public()],
        ..Trust::default()
    })
}

fn exported(path: &Path, run_id: &RunId) -> Vec<u8> {
    let mut out = Vec::new();
    let mut reader = StoreReader::open(path).unwrap();
    let run = reader.read_run(run_id).unwrap();
    run.export(&mut out, WithheldBlobs::Needed).unwrap();
    out
}

/// A run with a tombstone as a file, and where an import of it goes.
fn scene() -> (tempfile::TempDir, std::path::PathBuf, SampleRun, Vec<u8>) {
    let (folder, path) = folder();
    let run = SampleRun::new("r-1");
    let from = folder.path().join("from.db");
    write(&open(&from), &run, 1);
    let asked = Erasure {
        run_id: run.run_id.clone(),
        blob: Digest::of(b"the whole of a long file").to_string(),
        reason: String::new(),
        at_unix_ms: 5,
        all_runs: false,
        key: &key(),
    };
    open(&from).erase(&asked).unwrap();
    let file = exported(&from, &run.run_id);
    std::fs::write(folder.path().join("run.jsonl"), &file).unwrap();
    (folder, path, run, file)
}

#[test]
fn an_imported_run_is_verified_logged_and_exported_byte_for_byte() {
    let (folder, path, run, file) = scene();
    let given = folder.path().join("run.jsonl");
    let imported = Imported {
        run_id: run.run_id.clone(),
        entries: 11,
        change: Change::New,
    };
    assert_eq!(
        import(&path, &given, terms(false), &trust()),
        Ok(imported.clone())
    );
    assert_eq!(exported(&path, &run.run_id), file);
    let mut reader = StoreReader::open(&path).unwrap();
    let report = reader.verify_run(&run.run_id, false).unwrap();
    assert_eq!(report.first_bad, None);
    assert_eq!(reader.verify_log(&Trust::default()).unwrap().size, 1);
    let row = reader.list_runs(1, RunFilter::Sealed).unwrap().remove(0);
    assert!(row.is_imported());
    assert!(row.created_unix_ms <= NOW);
    let again = Imported {
        change: Change::Nothing,
        ..imported
    };
    assert_eq!(import(&path, &given, terms(false), &trust()), Ok(again));
    assert_eq!(reader.verify_log(&Trust::default()).unwrap().size, 1);
    let store = open(&path);
    let driven = wait(store.claim_run(&run.run_id)).map(|_| ());
    let refused = StoreError::Imported {
        run_id: run.run_id.clone(),
    };
    assert_eq!(driven, Err(refused));
}

#[test]
fn what_the_token_gate_held_back_may_be_left_out_of_a_file_that_is_imported() {
    let (folder, path) = folder();
    let run = SampleRun::new("r-1");
    let from = folder.path().join("from.db");
    write(&open(&from), &run, 1);
    let mut file = Vec::new();
    let mut reader = StoreReader::open(&from).unwrap();
    let stored = reader.read_run(&run.run_id).unwrap();
    assert!(stored.export(&mut file, WithheldBlobs::MayLack).unwrap() > 0);
    let given = folder.path().join("run.jsonl");
    std::fs::write(&given, &file).unwrap();
    import(&path, &given, terms(false), &trust()).unwrap();
    assert_eq!(exported(&path, &run.run_id), file);
    let mut reader = StoreReader::open(&path).unwrap();
    let report = reader.verify_run(&run.run_id, false).unwrap();
    assert_eq!(report.first_bad, None);
    assert!(
        report
            .not_checked
            .iter()
            .any(|note| note.starts_with("withheld: "))
    );
}

#[test]
fn nothing_of_a_file_that_does_not_verify_or_of_another_history_enters() {
    let (folder, path, run, file) = scene();
    let given = folder.path().join("run.jsonl");
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let refuse = |bytes: Vec<u8>, open: bool| {
        std::fs::write(&given, bytes).unwrap();
        let refused = import(&path, &given, terms(open), &trust());
        assert!(
            matches!(refused, Err(ImportError::NotVerified { .. })),
            "{refused:?}"
        );
        assert!(!path.exists());
    };
    refuse(Vec::new(), true);
    for at in 0..lines.len() {
        let mut cut = lines.clone();
        cut.remove(at);
        // Without a request's body or a text that the token gate held back, the file is another whole one.
        let line = String::from_utf8_lossy(lines[at]).into_owned();
        let needed = Digest::of(b"response 2").to_string();
        if !line.starts_with("{\"blob\"") || line.contains(&needed) {
            refuse(cut.concat(), false);
        }
        let mut changed = file.clone();
        let end: usize = lines[..=at].iter().map(|line| line.len()).sum();
        changed[end - 10] ^= 1;
        // The end of a tombstone's line is a signature by a key that is not known here.
        if !line.starts_with("{\"tombstone\"") {
            refuse(changed, false);
        }
    }
    let open_part = lines[..4].concat();
    refuse(open_part.clone(), false);
    std::fs::write(&given, open_part).unwrap();
    assert_eq!(
        import(&path, &given, terms(true), &trust()).map(|done| done.entries),
        Ok(3)
    );
    let mut reader = StoreReader::open(&path).unwrap();
    assert!(reader.verify_run(&run.run_id, true).unwrap().holds());
}

/// The lines of a file, as a part of them.
fn lines(file: &[u8]) -> Vec<&[u8]> {
    file.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The same entry a millisecond later, sealed to the same head.
fn later(entry: &SealedEntry, head: Digest, run: &SampleRun) -> SealedEntry {
    let event = entry.event.replacen("\"at_ms\":40", "\"at_ms\":41", 1);
    assert_ne!(event, entry.event);
    let action = entry.decode_action().unwrap();
    let mut chain = Chain::resumed(run.contract.contract_hash(), head, entry.seq);
    let hash = chain.extend(&Link {
        event: &event,
        ..Link::of(entry, &action)
    });
    SealedEntry {
        event,
        hash,
        ..entry.clone()
    }
}

#[test]
fn an_imported_beginning_is_extended_by_the_rest_and_by_nothing_else() {
    let (folder, path) = folder();
    let (run, given) = (SampleRun::new("r-1"), folder.path().join("run.jsonl"));
    let (lines, file) = (run.lines(), run.lines().concat());
    let take = |bytes: &[u8], open: bool| {
        std::fs::write(&given, bytes).unwrap();
        import(&path, &given, terms(open), &trust()).map(|done| (done.entries, done.change))
    };
    let beginning = lines[..4].concat();
    assert_eq!(take(&beginning, true), Ok((3, Change::New)));
    // Entry 4 names bytes that no file may leave out.
    let bytes = b"the whole of a long file";
    let blob = blob_line(Digest::of(bytes), bytes).into_bytes();
    let more = [lines[..6].concat(), blob.clone()].concat();
    assert_eq!(take(&more, true), Ok((5, Change::Extended { from: 3 })));
    // A shorter file of the same history has nothing to add.
    assert_eq!(take(&beginning, true), Ok((3, Change::Nothing)));
    let other = later(&run.entries[4], run.entries[3].hash, &run);
    let line = entry_line(&other).into_bytes();
    let forked = take(&[lines[..5].concat(), line, blob].concat(), true);
    let fork = ImportError::OtherHistory {
        run_id: run.run_id.clone(),
        seq: 4,
        here: run.entries[4].hash,
        given: other.hash,
    };
    assert_eq!(forked, Err(fork));
    assert_eq!(take(&file, false), Ok((11, Change::Extended { from: 5 })));
    assert_eq!(exported(&path, &run.run_id), file);
    let mut reader = StoreReader::open(&path).unwrap();
    let report = reader.verify_run(&run.run_id, false).unwrap();
    assert_eq!(report.first_bad, None);
    let log = reader.verify_log(&Trust::default()).unwrap();
    assert_eq!((log.size, log.first_bad), (1, None));
    assert_eq!(take(&file, false), Ok((11, Change::Nothing)));
}

#[test]
fn a_run_that_was_begun_here_is_never_changed_by_a_file() {
    let (folder, path, run, file) = scene();
    let given = folder.path().join("run.jsonl");
    let store = open(&path);
    let mut handle = super::create(&store, &run, 1);
    let first = run.entries[..3].to_vec();
    wait(store.append(&mut handle, first, Vec::new())).unwrap();
    let held = exported(&path, &run.run_id);
    let refused = import(&path, &given, terms(false), &trust());
    let own = ImportError::OwnRun {
        run_id: run.run_id.clone(),
        here: 3,
        given: 4,
    };
    assert_eq!(refused, Err(own));
    let beginning = lines(&file)[..3].concat();
    std::fs::write(&given, beginning).unwrap();
    let done = import(&path, &given, terms(true), &trust()).unwrap();
    assert_eq!((done.entries, done.change), (2, Change::Nothing));
    assert_eq!(exported(&path, &run.run_id), held);
    // It can still be driven.
    let next = vec![run.entries[3].clone()];
    wait(store.append(&mut handle, next, Vec::new())).unwrap();
}

#[test]
fn bytes_are_missing_only_where_a_known_key_says_so_and_come_back() {
    let (folder, path, run, file) = scene();
    let given = folder.path().join("run.jsonl");
    let blob = Digest::of(b"the whole of a long file");
    // A key that is not known here left the bytes out.
    let refused = import(&path, &given, terms(false), &Arc::default());
    let signers = vec![format!("local+{}", key().public().id())];
    let unknown = ImportError::Tombstone {
        run_id: run.run_id.clone(),
        blob,
        signers,
    };
    assert_eq!(refused, Err(unknown));
    assert!(!path.exists());
    // It is in the store by the word of a key that is known no more: then no known key vouches for the tombstone.
    import(&path, &given, terms(false), &trust()).unwrap();
    let whole = folder.path().join("whole.db");
    write(&open(&whole), &run, 1);
    let genuine = exported(&whole, &run.run_id);
    assert_ne!(genuine, file);
    std::fs::write(&given, &genuine).unwrap();
    let done = import(&path, &given, terms(false), &trust()).unwrap();
    assert_eq!(done.change, Change::Nothing, "who is known erased them");
    let done = import(&path, &given, terms(false), &Arc::default()).unwrap();
    assert_eq!(done.change, Change::Restored { blobs: 1 });
    assert_eq!(exported(&path, &run.run_id), genuine);
    let mut reader = StoreReader::open(&path).unwrap();
    let report = reader.verify_run(&run.run_id, false).unwrap();
    assert_eq!(report.first_bad, None);
    // And no tombstone takes away what is here, whichever key has signed it.
    std::fs::write(&given, &file).unwrap();
    let done = import(&path, &given, terms(false), &trust()).unwrap();
    assert_eq!(done.change, Change::Nothing);
    assert_eq!(exported(&path, &run.run_id), genuine);
}
