//! Looks for a mutant that each case of the corpus does not survive, and each assertion that carries a sentence.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use super::case::{Base, Case};
use super::case_row::{Tried, attempt, row_of};
use super::expect::Expect;
use super::metrics::Tally;
use super::source::Corpus;
use monolith_core::mutants;

/// Time limit of a case under a mutant.
const PATIENCE: Duration = Duration::from_secs(60);

/// The task for one case.
struct Subject {
    id: String,
    text: String,
    /// Each assertion that carries a sentence.
    carriers: BTreeSet<String>,
    reached: BTreeSet<u32>,
}

/// The effect of a mutant on one case.
#[derive(Default)]
struct Effect {
    /// The case fails.
    fails: bool,
    /// Its script was played to the end, and these of its carriers differ alone.
    differs: BTreeSet<String>,
}

/// The expectation with one assertion left: what lies on the way to it, and lists whole.
fn only(expect: &Value, pointer: &str) -> Value {
    let (key, rest) = pointer
        .split_once('/')
        .map_or((pointer, None), |(key, rest)| (key, Some(rest)));
    match (&expect[key], rest) {
        (Value::Object(_), Some(rest)) => json!({key: only(&expect[key], rest)}),
        (value, _) => json!({key: value}),
    }
}

fn effect(base: &Base, subject: &Subject) -> Effect {
    let case = Case::parse(&subject.id, &subject.text);
    let row = row_of(base, &subject.id, case, &mut Tally::default());
    let case = Case::parse(&subject.id, &subject.text).unwrap();
    let tried = attempt(base, &subject.id, &case);
    let mut effect = Effect {
        fails: !row.ok,
        ..Effect::default()
    };
    let document: Value = serde_saphyr::from_str(&subject.text).unwrap();
    for carrier in &subject.carriers {
        let differs = match (&tried, carrier.strip_prefix("script/")) {
            // The adapter did not reject what it must, or with another code.
            (Err(fault), Some(_)) => fault.to_string().contains("reject"),
            (Ok(_), Some(_)) | (Err(_), None) => false,
            (Ok(Tried::Refused(reason)), None) => {
                let refused = document["expect"]["refused"].as_str();
                carrier == "refused" && !refused.is_some_and(|part| reason.contains(part))
            }
            (Ok(Tried::Played(played)), None) => {
                let expect = only(&document["expect"], carrier);
                match serde_json::from_value::<Expect>(expect) {
                    Ok(expect) if carrier == "verifies" => !expect.differences(played).is_empty(),
                    Ok(expect) => !expect.compared(played).is_empty(),
                    Err(fault) => panic!("{} {carrier}: {fault}", subject.id),
                }
            }
        };
        if differs {
            effect.differs.insert(carrier.clone());
        }
    }
    effect
}

/// Returns the effect of the mutant, found on a separate thread: it may panic, and it may never end.
fn under(mutant: u32, base: &'static Base, subject: &'static Subject) -> Option<Effect> {
    let (done, ended) = mpsc::channel();
    let thread = std::thread::Builder::new().stack_size(mutants::STACK_BYTES);
    let playing = thread.spawn(move || {
        mutants::activate(mutant);
        let _ = done.send(effect(base, subject));
    });
    playing.expect("a thread");
    ended.recv_timeout(PATIENCE).ok()
}

#[test]
fn each_case_has_a_mutant_that_it_does_not_survive() {
    std::panic::set_hook(Box::new(|_| {}));
    let corpus = Corpus::built_in();
    let base: &'static Base = Box::leak(Box::new(Base::parse(&corpus.base).unwrap()));
    let mut spread: BTreeMap<u32, usize> = BTreeMap::new();
    let mut subjects = Vec::new();
    for source in &corpus.cases {
        let case = Case::parse(&source.id, &source.text).unwrap();
        let carriers = case
            .session
            .values()
            .chain(case.machine.values())
            .cloned()
            .collect();
        let reached = mutants::reached(|| {
            let case = Case::parse(&source.id, &source.text);
            let row = row_of(base, &source.id, case, &mut Tally::default());
            assert!(row.ok, "{}: {:?}", row.id, row.detail);
        });
        for mutant in &reached {
            *spread.entry(*mutant).or_default() += 1;
        }
        let (id, text) = (source.id.clone(), source.text.to_string());
        subjects.push(&*Box::leak(Box::new(Subject {
            id,
            text,
            carriers,
            reached,
        })));
    }
    let mut out = String::new();
    // What broke an assertion of one case often breaks that of another: such mutants are tried first.
    let mut broke: BTreeMap<String, BTreeMap<u32, usize>> = BTreeMap::new();
    let wanted_cases = std::env::var("MONOLITH_MUTANTS_CASES").unwrap_or_default();
    let wanted_cases: Vec<&str> = wanted_cases.split_whitespace().collect();
    subjects.retain(|s| wanted_cases.is_empty() || wanted_cases.contains(&s.id.as_str()));
    for subject in subjects {
        let mut wanted = subject.carriers.clone();
        let mut killer = None;
        let mut tries: Vec<u32> = subject.reached.iter().copied().collect();
        let times = |mutant: &u32| {
            subject
                .carriers
                .iter()
                .filter_map(|c| broke.get(c)?.get(mutant))
                .sum::<usize>()
        };
        tries.sort_by_key(|mutant| (Reverse(times(mutant)), spread[mutant], *mutant));
        let mut found: BTreeMap<String, u32> = BTreeMap::new();
        for mutant in tries {
            if wanted.is_empty() && killer.is_some() {
                break;
            }
            let Some(effect) = under(mutant, base, subject) else {
                continue;
            };
            if effect.fails && killer.is_none() {
                killer = Some(mutant);
            }
            for carrier in effect.differs {
                if wanted.remove(&carrier) {
                    found.insert(carrier, mutant);
                }
            }
        }
        for (carrier, mutant) in &found {
            *broke
                .entry(carrier.clone())
                .or_default()
                .entry(*mutant)
                .or_default() += 1;
        }
        let line = json!({
            "id": subject.id, "killer": killer, "found": found, "survived": wanted,
        });
        writeln!(out, "{line}").unwrap();
        std::fs::write(std::env::var_os("MONOLITH_MUTANTS_OUT").unwrap(), &out).unwrap();
    }
}
