//! Two verifiers, one judgement: `verifier/verify.py`, written from docs/transcript-format.md alone, and the library, on every
//! golden transcript and on damaged ones.
//!
//! Without python3, pip or a package registry the cases are skipped, and counted; where `CI` is set, python3 has to be there.

mod damage;
mod forge;
mod python;

use std::path::Path;
use std::{fmt, fs};

use monolith::transcript::{
    Chain, Checkpoint, LineReader, Record, SecretKey, VerifyOptions, checkpoint_line, verify_lines,
};

use self::damage::Case;

/// Goldens that between them have every kind of line and every way of naming a blob.
const DAMAGED: [&str; 4] = [
    "core.valid_call",
    "core.oversized_result",
    "gate.text_beside_a_call",
    "resume.lost_call",
];

/// What a verifier says about a file.
struct Verdict {
    holds: bool,
    line: Option<u64>,
    said: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {}", self.line, self.said)
    }
}

fn goldens() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("replay/v1");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn golden(name: &str) -> Vec<u8> {
    let path = format!("{}/replay/v1/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    fs::read(path).unwrap()
}

fn library(case: &Case, open: bool) -> Verdict {
    let options = VerifyOptions {
        open,
        ..VerifyOptions::default()
    };
    let report = verify_lines(case.bytes.split_inclusive(|b| *b == b'\n'), options);
    Verdict {
        holds: report.holds(),
        line: report.first_bad.as_ref().and_then(|bad| bad.line),
        said: format!("{:?}", report.first_bad),
    }
}

/// Both verifiers say of every case what it expects, and the same line where both name one.
fn check(cases: &[Case], open: bool) {
    let Some(others) = python::verdicts(cases, open) else {
        return;
    };
    let mut wrong = Vec::new();
    for (case, python) in cases.iter().zip(others) {
        let library = library(case, open);
        let same_line = match (library.line, python.line) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        let expected = |verdict: &Verdict| {
            verdict.holds == case.holds && (case.line.is_none() || verdict.line == case.line)
        };
        if !same_line || !expected(&library) || !expected(&python) {
            wrong.push(format!(
                "{}: expected {} in line {:?}\n  library: {library}\n  verify.py: {python}",
                case.name,
                if case.holds { "whole" } else { "damaged" },
                case.line
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} cases:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

#[test]
fn golden_transcripts_hold_for_both_verifiers() {
    let cases: Vec<Case> = goldens()
        .into_iter()
        .map(|(name, bytes)| Case::whole(&name, bytes))
        .collect();
    assert!(cases.len() >= 20, "{}", cases.len());
    check(&cases, false);
    check(&cases, true);
}

#[test]
fn a_changed_byte_is_found_in_its_line_by_both_verifiers() {
    let cases: Vec<Case> = DAMAGED
        .iter()
        .flat_map(|name| damage::changed_bytes(name, &golden(name)))
        .collect();
    assert!(cases.len() >= 500, "{}", cases.len());
    check(&cases, false);
}

#[test]
fn moved_lines_are_found_by_both_verifiers() {
    let mut cases = Vec::new();
    for name in DAMAGED {
        let bytes = golden(name);
        cases.extend(damage::cut(name, &bytes));
        cases.extend(damage::swapped(name, &bytes));
        cases.extend(damage::extended(name, &bytes));
        for other in DAMAGED.iter().filter(|other| **other != name) {
            cases.extend(damage::spliced(name, &bytes, &golden(other)));
        }
    }
    assert!(cases.len() >= 100, "{}", cases.len());
    check(&cases, false);
}

#[test]
fn a_second_way_to_write_the_same_is_found_by_both_verifiers() {
    let cases: Vec<Case> = DAMAGED
        .iter()
        .flat_map(|name| damage::rewritten(name, &golden(name)))
        .collect();
    assert!(cases.len() >= 100, "{}", cases.len());
    check(&cases, false);
}

#[test]
fn missing_and_changed_blobs_are_found_by_both_verifiers() {
    let cases: Vec<Case> = DAMAGED
        .iter()
        .flat_map(|name| damage::blobs(name, &golden(name)))
        .collect();
    assert!(cases.len() >= 10, "{}", cases.len());
    check(&cases, false);
}

/// What no hash shows, because whoever changed it computed all hashes anew.
#[test]
fn what_was_forged_and_hashed_anew_breaks_a_rule_for_both_verifiers() {
    let cases = forge::cases(&golden("core.valid_call"));
    assert!(cases.len() >= 40, "{}", cases.len());
    check(&cases, false);
}

#[test]
fn unusual_numbers_and_keys_in_a_contract_hold_for_both_verifiers() {
    check(&forge::unusual_contracts(&golden("core.valid_call")), false);
}

#[test]
fn a_run_in_progress_holds_only_where_that_is_asked_for() {
    let name = "core.valid_call";
    let cases = damage::in_progress(name, &golden(name));
    check(&cases, true);
    let closed: Vec<Case> = cases
        .into_iter()
        .map(|case| Case {
            holds: false,
            ..case
        })
        .collect();
    check(&closed, false);
}

/// The text of the signed checkpoint of a golden's seal.
fn checkpoint_of(bytes: &[u8]) -> String {
    let mut reader = LineReader::new();
    let (mut header, mut checkpoint) = (None, None);
    for line in damage::lines(bytes) {
        match reader.read(line).unwrap() {
            Record::Header(found) => {
                let contract = monolith::contract::ExecutionContract::decode(found.contract);
                header = Some((contract.unwrap().contract_hash(), found.run_id));
            }
            Record::Entry(entry) => {
                let (contract, run_id) = header.as_ref().unwrap();
                let chain = Chain::resumed(*contract, entry.hash, entry.seq + 1);
                let outcome = entry.decoded_action.outcome;
                checkpoint = Some(Checkpoint::of(&chain, run_id, outcome));
            }
            Record::Blob(_) | Record::Checkpoint(_) => {}
        }
    }
    let key = SecretKey::from_seed("local", &[5; 32]).unwrap();
    checkpoint.unwrap().sign(&key).to_string()
}

#[test]
fn checkpoints_are_held_against_the_chain_by_both_verifiers() {
    let mut cases = Vec::new();
    for name in DAMAGED {
        let bytes = golden(name);
        let note = checkpoint_of(&bytes);
        let with = |note: &str| [bytes.as_slice(), checkpoint_line(note).as_bytes()].concat();
        cases.push(Case::whole(name, with(&note)));
        let line = damage::lines(&bytes).len() as u64 + 1;
        let twice = [with(&note).as_slice(), checkpoint_line(&note).as_bytes()].concat();
        cases.push(Case::damaged(format!("{name}: twice"), twice, line + 1));
        let (text, signatures) = note.split_once("\n\n").unwrap();
        // The text alone: to find a changed signature takes its key.
        for at in 0..text.len() {
            let mut changed = text.as_bytes().to_vec();
            changed[at] ^= 1;
            let changed = String::from_utf8(changed).unwrap();
            let changed = with(&format!("{changed}\n\n{signatures}"));
            cases.push(Case::damaged(format!("{name}: {at}"), changed, line));
        }
        let unsigned = with(&format!("{text}\n\n"));
        cases.push(Case::damaged(format!("{name}: unsigned"), unsigned, line));
        let first = damage::lines(&with(&note)).last().unwrap().to_vec();
        let mut lines = damage::lines(&bytes);
        lines.insert(lines.len() - 1, &first);
        cases.push(Case::damaged(
            format!("{name}: early"),
            lines.concat(),
            None,
        ));
    }
    check(&cases, false);
}
