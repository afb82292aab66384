use std::path::Path;

use super::{folder, open, write};
use crate::message::{Digest, RunId};
use crate::store::{
    Erasure, ImportError, Imported, RunFilter, StoreError, StoreReader, erase, import, wait,
};
use crate::transcript::sample::SampleRun;
use crate::transcript::{SecretKey, Trust, WithheldBlobs};

const NOW: u64 = 1_800_000_000_000;

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
        key: &SecretKey::from_seed("local", &[1; 32]).unwrap(),
    };
    erase(&from, &asked).unwrap();
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
        already: false,
    };
    assert_eq!(import(&path, &given, false, NOW), Ok(imported.clone()));
    assert_eq!(exported(&path, &run.run_id), file);
    let mut reader = StoreReader::open(&path).unwrap();
    let report = reader.verify_run(&run.run_id, false).unwrap();
    assert_eq!(report.first_bad, None);
    assert_eq!(reader.verify_log(&Trust::default()).unwrap().size, 1);
    let row = reader.list_runs(1, RunFilter::Sealed).unwrap().remove(0);
    assert!(row.is_imported());
    assert!(row.created_unix_ms <= NOW);
    let again = Imported {
        already: true,
        ..imported
    };
    assert_eq!(import(&path, &given, false, NOW), Ok(again));
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
    import(&path, &given, false, NOW).unwrap();
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
        let refused = import(&path, &given, open, NOW);
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
        // The end of a tombstone's line is somebody's signature, which nobody here knows.
        if !line.starts_with("{\"tombstone\"") {
            refuse(changed, false);
        }
    }
    let open_part = lines[..4].concat();
    refuse(open_part.clone(), false);
    std::fs::write(&given, open_part).unwrap();
    assert_eq!(
        import(&path, &given, true, NOW).map(|done| done.entries),
        Ok(3)
    );
    std::fs::write(&given, &file).unwrap();
    let other = import(&path, &given, false, NOW).map_err(|fault| fault.to_string());
    let head = run.entries[10].hash;
    let here = run.entries[2].hash;
    let said = format!(
        "import run r-1: there is one of that name with another history: 3 entries with head {here}, not 11 with {head}"
    );
    assert_eq!(other.map(|_| ()), Err(said));
    let mut reader = StoreReader::open(&path).unwrap();
    assert!(reader.verify_run(&run.run_id, true).unwrap().holds());
}
