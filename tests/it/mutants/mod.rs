//! Looks for a change of the program under which a case of the corpus fails, and each assertion that carries a sentence.
//!
//! `scripts/mutate-cases` looks for one for each of them: it takes a quarter of an hour, so that the tests only see that
//! the changes can be made. A change is a switch in a copy of the package: one copy holds all of them, and a case is played
//! with one switch after the other. The result is corpus/mutants.jsonl, which `monolith corpus coverage`
//! reads; `MONOLITH_BLESS=1` writes the file, and otherwise it must already hold the result.

mod copy;
mod edits;
// Compiled in the copy only; named here so that they are formatted as all else is.
#[cfg(any())]
mod search;
#[cfg(any())]
mod switches;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use monolith_conformance::{CaseTrial, Corpus};
use serde_json::Value;

use self::copy::{Copy, rust_files};
use self::edits::{Edits, edited};
use super::corpus::{root, same_file};

#[test]
fn a_switch_is_laid_around_code_without_breaking_its_syntax() {
    let none = BTreeSet::new();
    let mut all = 0;
    for path in rust_files(&root().join("src/core/kernel")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let (mutants, unconst) = Edits::of(&text, &none).mutants();
        all += mutants.len();
        let numbered: Vec<_> = (0..).zip(mutants).collect();
        let edited = edited(&text, &numbered, &unconst);
        assert_eq!(edited.lines().count(), text.lines().count(), "{path:?}");
        if let Err(fault) = syn::parse_file(&edited) {
            panic!("{}: {fault} at {:?}", path.display(), fault.span().start());
        }
    }
    assert!(all > 1000, "{all}");
}

/// Shows what its name says where `MONOLITH_MUTANTS` names the folder for the copy; else it looks at nothing.
/// With `MONOLITH_MUTANTS_CHANGED` it searches only the cases that the record does not prove.
#[test]
fn each_case_has_a_change_that_it_does_not_survive() {
    let Some(folder) = std::env::var_os("MONOLITH_MUTANTS") else {
        println!("skipped: scripts/mutate-cases looks for the changes");
        return;
    };
    let folder = Path::new(&folder);
    let corpus = Corpus::read(&root().join("corpus")).unwrap();
    let mut record = corpus.trials().unwrap();
    let mut wanted: Vec<&str> = corpus.cases.iter().map(|case| case.id.as_str()).collect();
    if std::env::var_os("MONOLITH_MUTANTS_CHANGED").is_some() {
        wanted.retain(|id| !record.get(*id).is_some_and(CaseTrial::is_proven));
    }
    if wanted.is_empty() {
        println!("each case has failed under a change since it was last edited");
        return;
    }
    let mut copy = Copy::of(root(), folder.join("copy"));
    let program = copy.compile(root());
    let out = folder.join("cases.jsonl");
    let status = Command::new(program)
        .args([
            "--exact",
            "search::each_case_has_a_mutant_that_it_does_not_survive",
        ])
        .current_dir(folder.join("copy"))
        .env("MONOLITH_MUTANTS_CASES", wanted.join(" "))
        .env("MONOLITH_MUTANTS_OUT", &out)
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let name = |number: &Value| {
        let number = u32::try_from(number.as_u64()?).ok()?;
        let (file, mutant) = copy.mutants.get(&number)?;
        Some(format!("{file}:{} {:?}", mutant.line, mutant.change))
    };
    let texts = corpus.cases.iter();
    let texts: BTreeMap<_, _> = texts.map(|case| (case.id.as_str(), &case.text)).collect();
    let mut survivors = Vec::new();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for line in std::fs::read_to_string(&out).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let id = line["id"].as_str().unwrap();
        match name(&line["killer"]) {
            Some(place) => println!("{id}: {place}"),
            None => survivors.push(id.to_owned()),
        }
        let found = line["found"].as_object().unwrap();
        let survived = line["survived"].as_array().unwrap();
        let text_of = |carrier: &Value| carrier.as_str().unwrap().to_owned();
        let trial = CaseTrial {
            id: id.to_owned(),
            digest: corpus.case_digest(texts[id]),
            fails: !line["killer"].is_null(),
            broken: found.keys().cloned().collect(),
            survived: survived.iter().map(text_of).collect(),
        };
        record.insert(id.to_owned(), trial);
        for (carrier, number) in found {
            *kinds.entry("assertions").or_default() += 1;
            println!("  {carrier}: {}", name(number).unwrap());
        }
        let named = |carrier: &Value| format!("{id}: {}", text_of(carrier));
        survivors.extend(survived.iter().map(named));
        *kinds.entry("cases").or_default() += 1;
    }
    println!("{kinds:?}, {} mutants", copy.mutants.len());
    println!("survivors: {survivors:#?}");
    let lines = record.values();
    let lines = lines.map(|trial| serde_json::to_string(trial).unwrap() + "\n");
    same_file(
        &root().join("corpus/mutants.jsonl"),
        &lines.collect::<String>(),
    );
    assert!(survivors.is_empty(), "no change breaks {survivors:#?}");
}
