//! Looks for a change of the program under which a case of the corpus fails, and each assertion that carries a sentence.
//!
//! `scripts/mutate-cases` looks for one for each of them: it takes a quarter of an hour, so that the tests only see that
//! the changes can be made. A change is a switch in a copy of the package: one copy holds all of them, and a case is played
//! with one switch after the other.

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

use serde_json::Value;

use self::copy::{Copy, rust_files};
use self::edits::{Edits, edited};
use super::corpus::root;

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
#[test]
fn each_case_has_a_change_that_it_does_not_survive() {
    let Some(folder) = std::env::var_os("MONOLITH_MUTANTS") else {
        println!("skipped: scripts/mutate-cases looks for the changes");
        return;
    };
    let folder = Path::new(&folder);
    let mut copy = Copy::of(root(), folder.join("copy"));
    let program = copy.compile(root());
    let out = folder.join("cases.jsonl");
    let status = Command::new(program)
        .args([
            "--exact",
            "search::each_case_has_a_mutant_that_it_does_not_survive",
        ])
        .current_dir(folder.join("copy"))
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
    let mut survivors = Vec::new();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for line in std::fs::read_to_string(&out).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let id = line["id"].as_str().unwrap();
        match name(&line["killer"]) {
            Some(place) => println!("{id}: {place}"),
            None => survivors.push(id.to_owned()),
        }
        for (carrier, number) in line["found"].as_object().unwrap() {
            *kinds.entry("assertions").or_default() += 1;
            println!("  {carrier}: {}", name(number).unwrap());
        }
        for carrier in line["survived"].as_array().unwrap() {
            survivors.push(format!("{id}: {}", carrier.as_str().unwrap()));
        }
        *kinds.entry("cases").or_default() += 1;
    }
    println!("{kinds:?}, {} mutants", copy.mutants.len());
    assert!(survivors.is_empty(), "{survivors:#?}");
}
