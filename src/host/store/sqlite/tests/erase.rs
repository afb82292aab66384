//! Erasing: the bytes are gone from every file, and a tombstone says so.

use std::path::Path;

use super::{folder, open, write};
use crate::store::{EraseError, Erased, Erasure, StoreError, StoreReader, wait};
use monolith_core::message::Digest;
use monolith_core::transcript::{FlawKind, SecretKey, Trust, WithheldBlobs, verify_lines};
use monolith_testkit::sample::SampleRun;

fn key() -> SecretKey {
    SecretKey::from_seed("local", &[1; 32]).unwrap()
}

fn erase_from(
    path: &Path,
    run: &SampleRun,
    blob: &str,
    all_runs: bool,
) -> Result<Erased, EraseError> {
    open(path).erase(&Erasure {
        run_id: run.run_id.clone(),
        blob: blob.to_owned(),
        reason: "asked for".to_owned(),
        at_unix_ms: 5,
        all_runs,
        key: &key(),
    })
}

/// Returns true if any file of the store holds those bytes.
fn holds(path: &Path, bytes: &[u8]) -> bool {
    let folder = std::fs::read_dir(path.parent().unwrap()).unwrap();
    let mut files = folder.map(|file| file.unwrap().path());
    files.any(|file| {
        let held = file.is_file().then(|| std::fs::read(file).unwrap());
        let held = held.unwrap_or_default();
        held.windows(bytes.len()).any(|window| window == bytes)
    })
}

fn trust() -> std::sync::Arc<Trust> {
    std::sync::Arc::new(Trust {
        keys: vec![key().public()],
        ..Trust::default()
    })
}

#[test]
fn erased_bytes_are_in_no_file_and_a_tombstone_says_so() {
    // Text that only the blob holds, short enough for a page and too long for one.
    for length in [30, 500, 9_000, 200_000] {
        let (_folder, path) = folder();
        let run = SampleRun::new("r-1");
        let secret: Vec<u8> = (0..length)
            .map(|at| b'A' + u8::try_from(at % 23).unwrap())
            .collect();
        // The store as it is in use: pages that were split and freed hold old copies.
        {
            let store = open(&path);
            write(&store, &run, 1);
            for number in 0..40_u8 {
                wait(store.put_blob(vec![number; 700])).unwrap();
            }
            wait(store.put_blob(secret.clone())).unwrap();
            for number in 40..90_u8 {
                wait(store.put_blob(vec![number; 700])).unwrap();
            }
        }
        assert!(holds(&path, &secret[..30]), "{length}");
        let conn = rusqlite::Connection::open(&path).unwrap();
        conn.execute(
            "DELETE FROM blobs WHERE hash = ?1",
            [Digest::of(&secret).as_bytes()],
        )
        .unwrap();
        drop(conn);
        // Deleting alone clears nothing; erasing another blob of the run rewrites the files.
        let blob = Digest::of(b"the whole of a long file");
        let erased = erase_from(&path, &run, &blob.to_string(), false).unwrap();
        assert_eq!(erased.bytes, Some(24));
        assert!(!holds(&path, &secret[..30]), "{length}");
        assert!(!holds(&path, b"the whole of a long file"), "{length}");
        assert!(holds(&path, b"response 2"), "{length}");
    }
}

#[test]
fn a_run_with_a_tombstone_verifies_exports_and_says_that_it_was_by_design() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    write(&open(&path), &run, 1);
    let blob = Digest::of(b"the whole of a long file");
    let prefix = blob.short(10);
    let erased = erase_from(&path, &run, &prefix, false).unwrap();
    let expect = Erased {
        hash: blob,
        bytes: Some(24),
        runs: vec![run.run_id.clone()],
    };
    assert_eq!(erased, expect);
    let again = erase_from(&path, &run, &prefix, false).unwrap();
    assert_eq!(again.bytes, None);
    let mut reader = StoreReader::open(&path).unwrap();
    let report = reader
        .verify_run_trusting(&run.run_id, false, &trust())
        .unwrap();
    let check = report.checks.iter().find(|check| check.name == "erased");
    let detail = "1 blob erased by design, signed by local+";
    assert!(
        check.is_some_and(|c| c.ok && c.detail.starts_with(detail)),
        "{report:#?}"
    );
    assert!(report.holds());
    assert!(
        !report
            .not_checked
            .iter()
            .any(|note| note.starts_with("tombstones"))
    );
    let stranger = reader.verify_run(&run.run_id, false).unwrap();
    assert!(stranger.holds());
    assert!(
        stranger
            .not_checked
            .iter()
            .any(|note| note.starts_with("tombstones: 1 "))
    );
    let mut file = Vec::new();
    reader
        .read_run(&run.run_id)
        .unwrap()
        .export(&mut file, WithheldBlobs::Needed)
        .unwrap();
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    assert!(
        lines
            .last()
            .unwrap()
            .starts_with(b"{\"tombstone\":\"monolith tombstone v1\\nrun r-1\\n")
    );
    let report = verify_lines(&lines, monolith_core::transcript::VerifyOptions::default());
    assert_eq!(report.first_bad, None);
}

#[test]
fn what_is_no_blob_of_the_run_or_not_its_alone_is_refused() {
    let (_folder, path) = folder();
    let (one, two) = (SampleRun::new("r-1"), SampleRun::new("r-2"));
    {
        let store = open(&path);
        write(&store, &one, 1);
        write(&store, &two, 2);
    }
    let blob = Digest::of(b"the whole of a long file");
    let check = |asked: &str, expect: &str| {
        let refused = erase_from(&path, &one, asked, false).map_err(|fault| fault.to_string());
        assert_eq!(refused, Err(expect.to_owned()));
    };
    let other = Digest::of(b"something else").to_string();
    let none =
        |asked: &str| format!("erase {asked:?} of run r-1: no entry of the run names such a blob");
    check(&other, &none(&other));
    check("", &none(""));
    check("zz", &none("zz"));
    let shared = format!("erase {blob} of run r-1: runs that use the same bytes: r-2");
    check(&blob.to_string(), &shared);
    // One digit that two of the six names begin with.
    let mut names: Vec<String> = one
        .blobs
        .iter()
        .map(|b| Digest::of(b).to_string())
        .collect();
    names.sort();
    let twice = names.windows(2).find(|pair| pair[0][..1] == pair[1][..1]);
    let first = &twice.expect("two names that begin alike")[0];
    let refused = erase_from(&path, &one, &first[..1], true);
    assert!(
        matches!(refused, Err(EraseError::Ambiguous { .. })),
        "{refused:?}"
    );
    assert!(holds(&path, b"the whole of a long file"));
    let erased = erase_from(&path, &one, &blob.to_string(), true).unwrap();
    assert_eq!(erased.runs, [one.run_id.clone(), two.run_id.clone()]);
    assert!(!holds(&path, b"the whole of a long file"));
    let mut reader = StoreReader::open(&path).unwrap();
    for run in [&one, &two] {
        assert!(reader.verify_run(&run.run_id, false).unwrap().holds());
    }
}

#[test]
fn bytes_that_came_back_with_another_run_are_erased_for_all() {
    let (_folder, path) = folder();
    let (one, two) = (SampleRun::new("r-1"), SampleRun::new("r-2"));
    write(&open(&path), &one, 1);
    let blob = Digest::of(b"the whole of a long file").to_string();
    erase_from(&path, &one, &blob, false).unwrap();
    write(&open(&path), &two, 2);
    assert!(holds(&path, b"the whole of a long file"));
    let erased = erase_from(&path, &one, &blob, true).unwrap();
    assert_eq!(erased.runs, std::slice::from_ref(&two.run_id));
    assert!(!holds(&path, b"the whole of a long file"));
    let mut reader = StoreReader::open(&path).unwrap();
    for run in [&one, &two] {
        assert!(reader.verify_run(&run.run_id, false).unwrap().holds());
    }
}

#[test]
fn a_forged_tombstone_is_a_flaw_in_its_table() {
    let check = |sql: &str, kind: FlawKind, table: &str| {
        let (_folder, path) = folder();
        let run = SampleRun::new("r-1");
        write(&open(&path), &run, 1);
        let blob = Digest::of(b"the whole of a long file");
        erase_from(&path, &run, &blob.to_string(), false).unwrap();
        let conn = rusqlite::Connection::open(&path).unwrap();
        conn.pragma_update(None, "foreign_keys", false).unwrap();
        conn.execute_batch(sql).unwrap();
        assert!(conn.total_changes() > 0, "{sql}");
        let mut reader = StoreReader::open(&path).unwrap();
        let report = reader
            .verify_run_trusting(&run.run_id, false, &trust())
            .unwrap();
        let bad = report.first_bad.unwrap_or_else(|| panic!("{sql}"));
        assert_eq!((bad.kind, bad.table), (kind, Some(table)), "{sql}: {bad:?}");
    };
    let stone = "tombstones";
    check("DELETE FROM tombstones", FlawKind::MissingBlob, "entries");
    check(
        "UPDATE tombstones SET hash = zeroblob(32)",
        FlawKind::Tampered,
        stone,
    );
    check(
        "UPDATE tombstones SET note = replace(note, 'asked', 'never')",
        FlawKind::Tampered,
        stone,
    );
    check(
        "UPDATE tombstones SET note = replace(note, 'time 5', 'time 6')",
        FlawKind::Tampered,
        stone,
    );
    check(
        "UPDATE tombstones SET note = replace(note, 'run r-1', 'run r-2')",
        FlawKind::Tampered,
        stone,
    );
    check(
        "UPDATE tombstones SET note = 'gone'",
        FlawKind::Tampered,
        stone,
    );
    // The bytes are put back beside their tombstone.
    check(
        "INSERT INTO blobs SELECT hash, CAST('the whole of a long file' AS BLOB) FROM tombstones; \
         INSERT INTO run_blobs SELECT run, hash FROM tombstones",
        FlawKind::Tampered,
        stone,
    );
}

#[test]
fn a_driven_run_loses_nothing_and_one_that_lost_bytes_is_not_driven_on() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    let store = open(&path);
    let mut handle = super::create(&store, &run, 1);
    let begun = run.entries[..3].to_vec();
    wait(store.append(&mut handle, begun, super::bytes_of(&run))).unwrap();
    let blob = Digest::of(b"response 1: Let me look.").to_string();
    let lock = store.lock_run(&run.run_id).unwrap();
    let refused = erase_from(&path, &run, &blob, false);
    let in_use = matches!(refused, Err(EraseError::Store(StoreError::InUse { .. })));
    assert!(in_use, "{refused:?}");
    drop(lock);
    drop(store);
    erase_from(&path, &run, &blob, false).unwrap();
    let store = open(&path);
    let claimed = wait(store.claim_run(&run.run_id)).map(|_| ());
    let erased = StoreError::Erased {
        run_id: run.run_id.clone(),
        blobs: 1,
    };
    assert_eq!(claimed, Err(erased));
}
