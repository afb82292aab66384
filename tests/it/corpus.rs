//! The conformance corpus against this build, and what is derived from it: the embedded list and the golden transcripts.
//!
//! `MONOLITH_BLESS=1` rewrites the derived files instead of comparing them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use monolith_conformance::{CaseRow, Corpus, CorpusReport, run_cases, run_corpus};
use monolith_core::contract::ExecutionContract;
use monolith_core::contract::ModelProfile;
use monolith_core::message::Digest;
use monolith_core::replay::{ReplayReport, Replayer};
use monolith_core::transcript::{LineReader, Record, SealedEntry, VerifyOptions, verify_lines};

pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn corpus() -> Corpus {
    Corpus::read(&root().join("corpus")).unwrap()
}

/// The whole corpus, played once for all tests.
pub(super) static REPORT: LazyLock<CorpusReport> = LazyLock::new(|| run_cases(&corpus(), None));

/// The golden transcripts and their paths; rewritten before anything reads them, if requested.
static GOLDEN: LazyLock<Vec<(PathBuf, String)>> = LazyLock::new(|| {
    let transcripts = corpus().golden_transcripts().unwrap();
    let place = |(id, transcript): (String, String)| {
        let name = format!("replay/v1/{}.jsonl", id.replace('/', "."));
        (root().join(name), transcript)
    };
    let golden: Vec<_> = transcripts.into_iter().map(place).collect();
    if blessing() {
        for (path, transcript) in &golden {
            same_file(path, transcript);
        }
    }
    golden
});

fn blessing() -> bool {
    std::env::var_os("MONOLITH_BLESS").is_some()
}

/// Compares a derived file with what it should hold, or writes it.
pub(super) fn same_file(path: &Path, expected: &str) {
    if blessing() && fs::read_to_string(path).ok().as_deref() != Some(expected) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, expected).unwrap();
        return;
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    let line = found
        .lines()
        .zip(expected.lines())
        .position(|(a, b)| a != b);
    assert!(
        found == expected,
        "{} is not what the corpus gives, first in line {:?}; MONOLITH_BLESS=1 writes it anew",
        path.display(),
        line.map(|n| n + 1)
    );
}

#[test]
fn every_case_ends_as_it_says() {
    let report = &*REPORT;
    let failed: Vec<String> = report
        .rows
        .iter()
        .filter(|row| !row.ok)
        .map(|row| format!("{}\n  {}", row.id, row.detail.join("\n  ")))
        .collect();
    assert!(failed.is_empty(), "\n{}\n", failed.join("\n"));
    assert!(report.totals.cases >= 70, "{:?}", report.totals);
}

/// 002 §9: the six cases for each model profile, in each protocol that it is asked in.
/// Shows 002/6.adapter.4, 002/6.open.3, 002/6.open.6, 002/9.corpus.7.
#[test]
fn the_six_cases_end_as_they_must_for_every_profile() {
    let report = run_corpus(Some("@"), None);
    let failed: Vec<String> = report
        .rows
        .iter()
        .filter(|row| !row.ok)
        .map(|row| format!("{}\n  {}", row.id, row.detail.join("\n  ")))
        .collect();
    assert!(failed.is_empty(), "\n{}\n", failed.join("\n"));
    let played: BTreeSet<&str> = report.profiles.iter().map(|p| p.profile.as_str()).collect();
    for profile in ModelProfile::all() {
        assert!(played.contains(profile.id.as_str()), "{}", profile.id);
    }
    for row in &report.profiles {
        assert_eq!(row.cases.len(), 6);
        assert!(row.cases.iter().all(|case| case.played > 0), "{row:?}");
    }
    assert_eq!(report.metrics.required_completed_without_tools, 0);
    assert_eq!(
        report.metrics.runs,
        u64::try_from(report.rows.len()).unwrap()
    );
}

#[test]
fn every_case_is_embedded() {
    let path = root().join("src/conformance/cases.rs");
    let text = fs::read_to_string(&path).unwrap();
    let (head, _) = text.split_once("corpus![\n").unwrap();
    let mut list = format!("{head}corpus![");
    let (mut group, mut line) = (String::new(), String::new());
    for case in corpus().cases {
        let (of, name) = case.id.split_once('/').unwrap();
        if of != group {
            let close = if group.is_empty() { "" } else { "\n    ]," };
            write!(list, "{line}{close}\n    \"{of}\": [").unwrap();
            of.clone_into(&mut group);
            "\n       ".clone_into(&mut line);
        }
        let item = format!(" \"{name}\",");
        // The line feed before it is no column.
        if line.len() - 1 + item.len() > 120 {
            list.push_str(&line);
            "\n       ".clone_into(&mut line);
        }
        line.push_str(&item);
    }
    write!(list, "{line}\n    ],\n").unwrap();
    list.push_str("];\n");
    same_file(&path, &list);
}

#[test]
fn what_a_case_proves_is_a_section_that_exists() {
    let text = fs::read_to_string(root().join("docs/audit/semantics.md")).unwrap();
    let exists = |section: &str| {
        let (number, part) = section.split_once('.').unwrap_or((section, ""));
        let heading = format!("\n## {number} ");
        let Some((_, body)) = text.split_once(&heading) else {
            return false;
        };
        let body = body.split_once("\n## ").map_or(body, |(body, _)| body);
        // A part is an item of the table of predicates, or of a numbered list.
        part.is_empty()
            || body.contains(&format!("\n| {part} | "))
            || body.contains(&format!("\n{part}. "))
    };
    for row in &REPORT.rows {
        for section in &row.proves {
            assert!(exists(section), "{} cites {section}", row.id);
        }
    }
}

/// Each outcome that a run of this version can come to is the end of some case.
/// Shows 002/2.goals.1.
#[test]
fn every_reachable_outcome_is_the_end_of_a_case() {
    let text = fs::read_to_string(root().join("docs/audit/semantics.md")).unwrap();
    let (_, section) = text.split_once("\n## §3").unwrap();
    let (section, _) = section.split_once("\n## §4").unwrap();
    let mut class = String::new();
    let mut documented = BTreeSet::new();
    for line in section.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, classes, code, _, meaning, _] = cells.as_slice() else {
            continue;
        };
        let Some(code) = code.strip_prefix('`').and_then(|c| c.strip_suffix('`')) else {
            continue;
        };
        if !classes.is_empty() {
            (*classes).clone_into(&mut class);
        }
        // A case plays a model; `kernel::tests_given` has the runs that ask none.
        if meaning.contains("not in this version") || meaning.contains("asks no model") {
            continue;
        }
        for class in class.split(", ") {
            documented.insert(format!("{class} ({code})"));
        }
    }
    let reached: BTreeSet<String> = REPORT.rows.iter().map(|row| row.got.clone()).collect();
    let missing: Vec<&String> = documented.difference(&reached).collect();
    assert!(!documented.is_empty());
    assert!(missing.is_empty(), "no case ends {missing:?}");
}

#[test]
fn a_broken_expectation_is_found() {
    let mut corpus = corpus();
    let spoil = |corpus: &mut Corpus, id: &str, from: &str, to: &str| {
        let case = corpus.cases.iter_mut().find(|case| case.id == id).unwrap();
        assert!(case.text.contains(from), "{id}");
        case.text = case.text.replace(from, to);
    };
    spoil(&mut corpus, "core/valid_call", "executed: 1", "executed: 2");
    let check = |corpus: &Corpus, expect: &str| {
        let report = run_cases(corpus, Some("core/valid_call"));
        let [row]: &[CaseRow] = report.rows.as_slice() else {
            panic!("{:?}", report.rows);
        };
        assert!(!row.ok);
        assert!(row.detail.join("\n").contains(expect), "{:?}", row.detail);
    };
    check(&corpus, "executed: expected 2, got 1");
    spoil(&mut corpus, "core/valid_call", "- ok: MIT", "");
    check(&corpus, "core/valid_call.yaml:");
    check(&corpus, "no inference is in flight");
}

#[test]
fn golden_transcripts_are_derived_byte_for_byte() {
    assert!(GOLDEN.len() >= 20, "{}", GOLDEN.len());
    for (path, transcript) in &*GOLDEN {
        same_file(path, transcript);
    }
    let expected: BTreeSet<PathBuf> = GOLDEN.iter().map(|(path, _)| path.clone()).collect();
    let found = fs::read_dir(root().join("replay/v1")).unwrap();
    let found: BTreeSet<PathBuf> = found
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
        .collect();
    let stray: Vec<&PathBuf> = found.difference(&expected).collect();
    assert!(stray.is_empty(), "no case gives {stray:?}");
}

/// A stranger could read the kept transcripts like this: nothing here knows the case. Shows 002/2.goals.4, 002/6.commit.5.
#[test]
fn kept_transcripts_verify_and_replay() {
    LazyLock::force(&GOLDEN);
    let mut kept = 0;
    for version in fs::read_dir(root().join("replay")).unwrap() {
        let version = version.unwrap().path();
        for file in fs::read_dir(&version).into_iter().flatten() {
            let path = file.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            let report = replay(&bytes);
            assert!(report.same, "{}: {:?}", path.display(), report.differences);
            kept += 1;
        }
    }
    assert!(kept >= 20, "{kept}");
}

fn replay(file: &[u8]) -> ReplayReport {
    let lines = || file.split_inclusive(|byte| *byte == b'\n');
    let verified = verify_lines(lines(), VerifyOptions::default());
    assert!(verified.first_bad.is_none(), "{:?}", verified.first_bad);
    let mut reader = LineReader::new();
    let (mut replayer, mut entries) = (None, Vec::new());
    let mut blobs: BTreeMap<Digest, Vec<u8>> = BTreeMap::new();
    for line in lines() {
        match reader.read(line).unwrap() {
            Record::Header(header) => {
                let contract = ExecutionContract::decode(header.contract).unwrap();
                replayer = Some(Replayer::new(contract, &header.run_id));
            }
            Record::Entry(entry) => entries.push(SealedEntry::from(&*entry)),
            Record::Checkpoint(_) | Record::Tombstone(_) | Record::MachineEntry(_) => {}
            Record::Blob(blob) => {
                blobs.insert(blob.hash, blob.bytes.to_owned());
            }
        }
    }
    let mut replayer = replayer.unwrap();
    for entry in &entries {
        replayer.take(entry, &blobs);
    }
    replayer.finish(false)
}
