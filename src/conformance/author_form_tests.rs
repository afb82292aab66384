//! Every recorded contract is made again from its own author's form.

use std::fs;
use std::path::Path;

use super::bring_up::{BringUp, bring_up};
use super::case::{Base, Case};
use super::source::Corpus;
use monolith_core::contract::{AuthorForm, ChangedError, ExecutionContract};
use monolith_core::kernel::{EventKind, RunStarted};
use monolith_core::message::NoTokenizers;
use monolith_core::replay::first_difference;
use monolith_core::transcript::{LineReader, Record, SealedEntry};
use monolith_testkit::depth::bound;

/// The contract with one change, where `form` is that of the recorded one.
fn changed(form: &AuthorForm<'_>, set: &str) -> Result<ExecutionContract, ChangedError> {
    Ok(form.changed(&[set.to_owned()], &NoTokenizers)?.contract)
}

/// Returns the first difference of the contract that is made again, if any.
fn difference(contract: &ExecutionContract, task: Option<&str>) -> Option<String> {
    let form = AuthorForm::of(contract, "its contract", task);
    let made = match form.and_then(|form| form.changed(&[], &NoTokenizers)) {
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
    let (mut made, mut by_hand, mut refused, mut differ) = (0, 0, 0, Vec::new());
    for source in &corpus.cases {
        let case = Case::parse(&source.id, &source.text).unwrap();
        refused += usize::from(case.expect.refused.is_some());
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
    assert_eq!(made + by_hand + refused, corpus.cases.len());
    assert!(made > 500 && by_hand > 0, "{made}, {by_hand}");
}

#[test]
fn every_golden_transcripts_contract_is_made_again_from_the_transcript_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../replay/v1");
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
    assert!(made >= 79, "{made} golden transcripts");
}

/// Changes whose effects reach other fields of the contract.
const CHANGES: &[(&str, &str)] = &[
    ("max_turns", "4"),
    ("max_attempts_per_turn", "2"),
    ("max_format_retries", "0"),
    ("strict_mode", "false"),
    ("tool_policy", "\"required\""),
    ("tool_policy", "\"forbidden\""),
    ("batch", "true"),
    ("tool_transport", "\"xml\""),
    ("completion", "\"final_report\""),
    ("allowed_tools", "[]"),
    ("model_profile_id", "\"hermes\""),
    ("tokenizer", "null"),
];

/// Cases in which the author said something that the contract does not hold, since another key led to the same or it had no effect.
const LOST: &[(&str, &str)] = &[
    // The window is that of the model's profile, too.
    ("budget/cost_unknown_price", "model_profile_id=hermes"),
    // The text profile has no effect where no tools are offered.
    ("text_profile/forbidden", "tool_policy=required"),
    ("text_profile/forbidden", "completion=final_report"),
    // The text profile is the one of the model's profile, too.
    ("text_profile/ollama_call", "tool_transport=xml"),
];

#[test]
fn a_change_does_to_the_recorded_contract_what_it_does_to_the_authors_file() {
    let corpus = Corpus::built_in();
    let base = Base::parse(&corpus.base).unwrap();
    let (mut cases, mut made, mut differ) = (0, 0, Vec::new());
    for (at, source) in corpus.cases.iter().enumerate() {
        let case = || Case::parse(&source.id, &source.text).unwrap();
        let Ok(BringUp::Made(brought_up)) = bring_up(&source.id, &base, &case()) else {
            continue;
        };
        if case().document.is_some() {
            continue;
        }
        let task = RunStarted::intent(&brought_up.started.messages);
        let form = AuthorForm::of(&brought_up.contract, "its contract", task.as_deref()).unwrap();
        cases += 1;
        // A part of the changes for each case: all of them with all cases take long.
        let parts = bound(CHANGES.len(), 4);
        for (key, value) in CHANGES.iter().skip(at % parts).step_by(parts) {
            let (mut base, mut case) = (Base::parse(&corpus.base).unwrap(), case());
            let members = match &mut case.contract {
                Some(contract) => &mut contract.value,
                None => &mut base.contract,
            };
            members.insert((*key).to_owned(), serde_json::from_str(value).unwrap());
            let of_file = match bring_up(&source.id, &base, &case) {
                Ok(BringUp::Made(brought_up)) => Some(brought_up.contract),
                Ok(BringUp::Refused(_)) | Err(_) => None,
            };
            let set = format!("{key}={}", value.trim_matches('"'));
            let of_contract = changed(&form, &set);
            made += 1;
            if LOST.contains(&(source.id.as_str(), set.as_str())) {
                continue;
            }
            let found = match (of_file, of_contract) {
                (Some(of_file), Ok(of_contract)) => {
                    let texts = (of_file.canonical_text(), of_contract.canonical_text());
                    first_difference("", &texts.0, &texts.1).map(|found| format!("{found:?}"))
                }
                (None, Err(_)) => None,
                (Some(_), Err(fault)) => Some(format!("only the file: {fault}")),
                (None, Ok(_)) => Some("only the contract".to_owned()),
            };
            differ.extend(found.map(|found| format!("{} {set}: {found}", source.id)));
        }
    }
    assert!(differ.is_empty(), "{} of {made}: {differ:#?}", differ.len());
    assert_eq!(made, cases * CHANGES.len() / bound(CHANGES.len(), 4));
    assert!(cases > 500, "{cases}");
}
