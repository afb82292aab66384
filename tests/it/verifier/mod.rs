//! Three verifiers, one judgement: `verifier/verify.py` and the verifier of the exported page, both written from
//! docs/audit/transcript-format.md alone, and the library, on every golden transcript and on damaged ones.
//!
//! Without python3, pip or a package registry the cases are skipped, and counted; where `CI` is set, python3 has to be there.

mod answers;
mod damage;
mod earlier;
mod evidence;
pub mod forge;
mod judged;
mod node;
mod notes;
pub mod python;
mod signed;
mod under_key;
mod unjudged;
mod weak;

use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs};

use monolith_core::transcript::{LineVerifier, PublicKey, Trust, VerifyOptions};

use crate::fixture::bound;

pub use self::damage::Case;

/// Goldens that between them have every kind of line and every way of naming a blob.
const DAMAGED: [&str; 4] = [
    "core.valid_call",
    "core.oversized_result",
    "gate.text_beside_a_call",
    "resume.lost_call",
];

/// The verdict of a verifier on a file.
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

fn library(case: &Case, open: bool, keys: &[PublicKey]) -> Verdict {
    let options = VerifyOptions {
        open,
        ..VerifyOptions::default()
    };
    let trust = Trust {
        keys: keys.to_vec(),
        signature_required: !keys.is_empty(),
        ..Trust::default()
    };
    let mut verifier = LineVerifier::new(options).trusting(Arc::new(trust));
    for line in damage::lines(&case.bytes) {
        if !verifier.line(line) {
            break;
        }
    }
    let report = verifier.finish();
    Verdict {
        holds: report.holds(),
        line: report.first_bad.as_ref().and_then(|bad| bad.line),
        said: format!("{:?}", report.first_bad),
    }
}

/// Both verifiers say of every case what it expects, and the same line where both name one.
fn check(cases: &[Case], open: bool) {
    compare(cases, open, &[]);
}

/// Both verifiers hold a file that another test has made.
pub(crate) fn both_hold(name: &str, bytes: Vec<u8>) {
    check(&[Case::whole(name, bytes)], false);
}

/// Cases of a test that the quick form judges at most.
const QUICK_CASES: usize = 150;

pub fn compare(cases: &[Case], open: bool, trusted: &[PublicKey]) {
    // The quick form takes cases from all parts of a long list.
    let step = bound(cases.len().div_ceil(QUICK_CASES), 1);
    let cases: Vec<Case> = cases.iter().step_by(step.max(1)).cloned().collect();
    let cases = cases.as_slice();
    let judged = cases.iter().map(|case| library(case, open, trusted));
    let judged: Vec<Verdict> = judged.collect();
    let keys: Vec<String> = trusted.iter().map(ToString::to_string).collect();
    if let Some(others) = node::verdicts(cases, &keys, open) {
        agree("the page", cases, &judged, &others);
    }
    let given: Vec<String> = trusted.iter().map(|key| format!("--key={key}")).collect();
    let mut options: Vec<&str> = given.iter().map(String::as_str).collect();
    options.extend(open.then_some("--open"));
    let Some(others) = python::verdicts(cases, &options) else {
        return;
    };
    agree("verify.py", cases, &judged, &others);
}

/// `judged` has what the library says of each case.
fn agree(name: &str, cases: &[Case], judged: &[Verdict], others: &[Verdict]) {
    assert_eq!((cases.len(), cases.len()), (judged.len(), others.len()));
    let mut wrong = Vec::new();
    for ((case, library), other) in cases.iter().zip(judged).zip(others) {
        let same_line = match (library.line, other.line) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        let expected = |verdict: &Verdict| {
            verdict.holds == case.holds && (case.line.is_none() || verdict.line == case.line)
        };
        if !same_line || !expected(library) || !expected(other) {
            wrong.push(format!(
                "{}: expected {} in line {:?}\n  library: {library}\n  {name}: {other}",
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

/// Shows 002/6.open.1.
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

/// Forgeries that no hash shows, because the forger recomputed all hashes.
#[test]
fn what_was_forged_and_hashed_anew_breaks_a_rule_for_both_verifiers() {
    let cases = forge::cases(&golden("core.valid_call"));
    assert!(cases.len() >= 40, "{}", cases.len());
    check(&cases, false);
}

/// The value under a key of an entry is of that key's type for all verifiers.
#[test]
fn values_of_another_type_are_judged_alike_by_all_verifiers() {
    let names = ["core.valid_call", "approval.given"];
    let cases = names
        .iter()
        .flat_map(|name| forge::retyped(name, &golden(name)));
    let mut cases: Vec<Case> = cases.collect();
    for case in &mut cases {
        // A word or an event that may be left out breaks no rule.
        case.holds = library(case, false, &[]).holds;
    }
    let refused = cases.iter().filter(|case| !case.holds).count();
    assert!(
        refused >= 400 && refused * 10 >= cases.len() * 9,
        "{refused} of {}",
        cases.len()
    );
    check(&cases, false);
}

#[test]
fn unusual_numbers_and_keys_in_a_contract_hold_for_both_verifiers() {
    check(&forge::unusual_contracts(&golden("core.valid_call")), false);
}

#[test]
fn signed_checkpoints_are_judged_alike_by_both_verifiers() {
    let cases = signed::cases(&golden("core.valid_call"));
    compare(&cases, false, &[signed::key().public()]);
    let by_others = signed::by_others(&golden("core.valid_call"));
    compare(&by_others, false, &[]);
    // Under a key, what others have signed is not signed.
    let by_others = by_others.into_iter();
    let refused = by_others.map(|case| Case {
        holds: false,
        ..case
    });
    let refused: Vec<Case> = refused.collect();
    compare(&refused, false, &[signed::key().public()]);
}

#[test]
fn signatures_that_a_lenient_verifier_takes_are_refused_by_all() {
    let cases = weak::cases(&golden("core.valid_call"));
    compare(&cases, false, &[signed::key().public()]);
}

/// A person's answer carries a signature over the run, the call, its arguments, the decision and what was written.
#[test]
fn signed_answers_are_judged_alike_by_all_verifiers() {
    check(&answers::cases(&golden("approval.given")), false);
}

#[test]
fn erased_blobs_are_judged_alike_by_both_verifiers() {
    let cases = signed::erased(&golden("core.valid_call"));
    assert!(cases.len() >= 30, "{}", cases.len());
    compare(&cases, false, &[signed::key().public()]);
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
