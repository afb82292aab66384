//! Every recorded contract is made again from its own author's form.

use std::fs;
use std::path::Path;

use super::bring_up::{BringUp, bring_up};
use super::case::{Base, Case};
use super::source::Corpus;
use crate::contract::{AuthorForm, Changed, ChangedError, ExecutionContract};
use crate::kernel::{EventKind, RunStarted};
use crate::message::NoTokenizers;
use crate::replay::first_difference;
use crate::transcript::{LineReader, Record, SealedEntry};

fn changed(
    contract: &ExecutionContract,
    task: Option<&str>,
    sets: &[&str],
) -> Result<Changed, ChangedError> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    AuthorForm::of(contract, "its contract", task)?.changed(&sets, &NoTokenizers)
}

/// Where the contract that is made again differs, where it does.
fn difference(contract: &ExecutionContract, task: Option<&str>) -> Option<String> {
    let made = match changed(contract, task, &[]) {
        Ok(made) => made.contract,
        Err(fault) => return Some(format!("{fault:?}")),
    };
    let same = made.contract_hash() == contract.contract_hash();
    let (was, is) = (contract.canonical_text(), made.canonical_text());
    (!same).then(|| format!("{:?}", first_difference("", &was, &is)))
}

#[test]
fn every_case_that_gives_a_contract_gives_it_again_from_the_contract_alone() {
    let corpus = Corpus::built_in();
    let base = Base::parse(&corpus.base).unwrap();
    let (mut made, mut by_hand, mut differ) = (0, 0, Vec::new());
    for source in &corpus.cases {
        let case = Case::parse(&source.id, &source.text).unwrap();
        let Ok(BringUp::Made(brought_up)) = bring_up(&source.id, &base, &case) else {
            continue;
        };
        // What was changed in the document is what no factory makes.
        if case.document.is_some() {
            by_hand += 1;
            continue;
        }
        made += 1;
        let task = RunStarted::intent(&brought_up.started.messages);
        let found = difference(&brought_up.contract, task.as_deref());
        differ.extend(found.map(|found| format!("{}: {found}", source.id)));
    }
    assert!(differ.is_empty(), "{} of {made}: {differ:#?}", differ.len());
    assert_eq!((made, by_hand), (0, 0));
}

#[test]
fn every_golden_transcripts_contract_is_made_again_from_the_transcript_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("replay/v1");
    let (mut made, mut differ) = (0, Vec::new());
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let text = fs::read(&path).unwrap();
        let mut reader = LineReader::new();
        let (mut contract, mut task) = (None, None);
        for line in text.split_inclusive(|byte| *byte == b'\n').take(2) {
            match reader.read(line).unwrap() {
                Record::Header(found) => {
                    contract = Some(ExecutionContract::decode(found.contract).unwrap());
                }
                Record::Entry(entry) => {
                    let entry = SealedEntry::from(&*entry);
                    if let Some(event) = entry.decode_event().unwrap()
                        && let EventKind::RunStarted(started) = event.event
                    {
                        task = RunStarted::intent(&started.messages);
                    }
                }
                _ => {}
            }
        }
        made += 1;
        let found = difference(&contract.unwrap(), task.as_deref());
        differ.extend(found.map(|found| format!("{}: {found}", path.display())));
    }
    assert!(differ.is_empty(), "{} of {made}: {differ:#?}", differ.len());
    assert_eq!(made, 0);
}
