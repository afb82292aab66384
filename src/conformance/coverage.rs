//! The cases and tests that show each sentence of the source contracts, and the gaps. Plays nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::CaseError;
use super::case::Case;
use super::case_trial::Proof;
use super::sentences::{Sentence, SentenceKind, Subject, TestsById};
use super::source::Corpus;

/// Every sentence with what shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// By contract, section and subject.
    pub subjects: Vec<CoveredSubject>,
    /// The problems: a sentence that nothing shows or whose cases cannot fail, a name that is no sentence.
    pub gaps: Vec<String>,
    /// The sentences whose cases have changed since the last search for a change that breaks them.
    pub untried: Vec<String>,
}

/// The sentences of one subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CoveredSubject {
    /// `000` to `004`.
    pub contract: &'static str,
    /// `<section>.<subject>`.
    pub name: String,
    /// Its subject matter.
    pub title: String,
    /// In order.
    pub sentences: Vec<CoveredSentence>,
}

/// A sentence with what shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CoveredSentence {
    /// Its id.
    pub id: String,
    /// The kind of proof.
    pub kind: SentenceKind,
    /// The sentence: quoted, or in our words.
    pub says: String,
    /// The cases that show it.
    pub cases: Vec<ShowingCase>,
    /// The Rust tests that show it, `file: name`.
    pub tests: Vec<String>,
    /// Deliberate deviation of monolith, and its reason.
    pub differs: Option<String>,
    /// Reason if nothing shows it.
    pub why: Option<String>,
}

/// A case that shows a sentence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ShowingCase {
    /// The case's id.
    pub id: String,
    /// The assertion that carries the sentence, a pointer into `expect` or `script` of the case.
    pub by: String,
    /// The result of the last search for a change of the program that breaks this assertion.
    pub proof: Proof,
}

/// The cases that name a sentence, by its id.
type CasesById = BTreeMap<String, BTreeSet<ShowingCase>>;

impl Corpus {
    /// Returns the cases and tests that show each sentence.
    ///
    /// # Errors
    /// [`CaseError`] of the first list, record or case that cannot be read.
    pub fn coverage(&self) -> Result<Coverage, CaseError> {
        let trials = self.trials()?;
        let mut cases = CasesById::new();
        for source in &self.cases {
            let case = Case::parse(&source.id, &source.text)?;
            let trial = trials.get(&source.id);
            for (id, by) in case.session.into_iter().chain(case.machine) {
                let proof = trial.map_or(Proof::Untried, |trial| trial.proof_of(&by));
                let showing = ShowingCase {
                    id: source.id.clone(),
                    by,
                    proof,
                };
                cases.entry(id).or_default().insert(showing);
            }
        }
        Ok(cover(
            self.sentences.subjects()?,
            &cases,
            &self.sentences.tests()?,
        ))
    }
}

fn cover(
    contracts: impl IntoIterator<Item = (&'static str, Vec<Subject>)>,
    cases: &CasesById,
    tests: &TestsById,
) -> Coverage {
    let (mut subjects, mut gaps, mut untried) = (Vec::new(), Vec::new(), Vec::new());
    let mut known = BTreeSet::new();
    for (contract, of_contract) in contracts {
        for subject in of_contract {
            let mut sentences = Vec::new();
            for (sentence, n) in subject.sentences.into_iter().zip(1_u32..) {
                let expected = if contract == "003" {
                    format!("{contract}/INV-{}-{n:03}", subject.name)
                } else {
                    format!("{contract}/{}.{n}", subject.name)
                };
                let quoted = !matches!(contract, "000" | "001");
                let covered = covered(&sentence, cases, tests);
                let flaws = flaws(&expected, quoted, &sentence, &covered);
                gaps.extend(flaws.map(|flaw| format!("{} {flaw}", sentence.id)));
                if proof(&covered) == Some(Proof::Untried) {
                    untried.push(sentence.id.clone());
                }
                known.insert(sentence.id);
                sentences.push(covered);
            }
            subjects.push(CoveredSubject {
                contract,
                name: subject.name,
                title: subject.title,
                sentences,
            });
        }
    }
    let mut stray = |id: &String, by: &str| {
        if !known.contains(id) {
            gaps.push(format!("{by} names {id}, which is no sentence"));
        }
    };
    for (id, by) in cases {
        for case in by {
            stray(id, &case.id);
        }
    }
    for (id, by) in tests {
        for test in by {
            stray(id, test);
        }
    }
    Coverage {
        subjects,
        gaps,
        untried,
    }
}

/// Returns the best proof among the cases of a sentence; none if it has no case, or is shown otherwise.
fn proof(covered: &CoveredSentence) -> Option<Proof> {
    let cases = covered.cases.iter().map(|case| case.proof);
    cases.max().filter(|_| covered.kind == SentenceKind::Case)
}

fn covered(sentence: &Sentence, cases: &CasesById, tests: &TestsById) -> CoveredSentence {
    let says = sentence.quote.as_ref().or(sentence.says.as_ref());
    let by = cases.get(&sentence.id).into_iter().flatten();
    CoveredSentence {
        id: sentence.id.clone(),
        kind: sentence.kind,
        says: says.cloned().unwrap_or_default(),
        cases: by.cloned().collect(),
        tests: tests.get(&sentence.id).cloned().unwrap_or_default(),
        differs: sentence.differs.clone(),
        why: sentence.why.clone(),
    }
}

/// Everything that is wrong with a sentence and what shows it; empty is good.
fn flaws(
    expected_id: &str,
    quoted: bool,
    sentence: &Sentence,
    covered: &CoveredSentence,
) -> impl Iterator<Item = &'static str> {
    let unseen = matches!(
        sentence.kind,
        SentenceKind::None | SentenceKind::Later | SentenceKind::Open
    );
    let ends = |text: &Option<String>| text.as_ref().is_none_or(|text| text.ends_with('.'));
    let says = sentence.says.as_ref();
    let in_words = says.is_some_and(|says| says.ends_with(['.', ';'])) && sentence.quote.is_none();
    let in_its_words = sentence.says.is_none() && sentence.quote.is_some();
    let (cases, tests) = (!covered.cases.is_empty(), !covered.tests.is_empty());
    let shown = match sentence.kind {
        SentenceKind::Case => (cases, "is shown by no case"),
        SentenceKind::Test => (tests, "is named by no test"),
        SentenceKind::None => (!cases && !tests, "is shown: it is not unseen"),
        SentenceKind::Later => (!cases && !tests, "is shown: it is built"),
        SentenceKind::Open => (false, "is open"),
    };
    let rules = [
        (
            sentence.id == expected_id,
            "is not the next id of its subject",
        ),
        (in_its_words || (in_words && !quoted), "says no sentence"),
        (ends(&sentence.differs), "differs without a reason"),
        (
            sentence.why.is_some() == unseen,
            "says why exactly where nothing shows it",
        ),
        shown,
        (
            proof(covered) != Some(Proof::Survived),
            "is unproven: its cases survive every change of the program",
        ),
    ];
    let broken = rules.into_iter().filter(|(holds, _)| !holds);
    broken.map(|(_, what)| what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(contract: usize, sentence: &str, cases: &[&str], expect: &[&str]) {
        let text = format!("- subject: 1.a\n  title: a\n  sentences: [{{{sentence}}}]\n");
        let mut contracts = ["000", "002", "003"].map(|contract| (contract, Vec::new()));
        contracts[contract].1 = serde_saphyr::from_str(&text).unwrap();
        let named = |id: &&str| {
            let case = ShowingCase {
                id: "session/a".to_owned(),
                by: "outcome".to_owned(),
                proof: Proof::Broken,
            };
            ((*id).to_owned(), BTreeSet::from([case]))
        };
        let cases = cases.iter().map(named).collect();
        let covered = cover(contracts, &cases, &TestsById::new());
        assert_eq!(covered.gaps, expect, "{sentence}");
    }

    #[test]
    fn what_is_wrong_with_a_sentence_is_found() {
        let shown = &["000/1.a.1"][..];
        check(0, "id: 000/1.a.1, says: A.", shown, &[]);
        check(
            0,
            "id: 000/1.a.1, says: A.",
            &[],
            &["000/1.a.1 is shown by no case"],
        );
        check(
            0,
            "id: 000/1.a.1, says: A., kind: test",
            shown,
            &["000/1.a.1 is named by no test"],
        );
        check(
            0,
            "id: 000/1.a.2, says: A.",
            &["000/1.a.2"],
            &["000/1.a.2 is not the next id of its subject"],
        );
        check(0, "id: 000/1.a.1, quote: a", shown, &[]);
        for silent in ["says: a", "says: A., quote: A.", "kind: case"] {
            let sentence = format!("id: 000/1.a.1, {silent}");
            check(0, &sentence, shown, &["000/1.a.1 says no sentence"]);
        }
        check(
            0,
            "id: 000/1.a.1, says: A., differs: so",
            shown,
            &["000/1.a.1 differs without a reason"],
        );
        check(
            0,
            "id: 000/1.a.1, says: A., kind: none, why: so",
            shown,
            &["000/1.a.1 is shown: it is not unseen"],
        );
        check(
            0,
            "id: 000/1.a.1, says: A., kind: none",
            &[],
            &["000/1.a.1 says why exactly where nothing shows it"],
        );
        check(
            0,
            "id: 000/1.a.1, says: A., kind: open, why: later",
            &[],
            &["000/1.a.1 is open"],
        );
        check(
            0,
            "id: 000/1.a.1, says: A.",
            &["000/1.a.1", "000/1.b.1"],
            &["session/a names 000/1.b.1, which is no sentence"],
        );
    }

    #[test]
    fn what_is_built_later_is_shown_by_nothing() {
        let sentence = "id: 000/1.a.1, says: A., kind: later, why: so";
        check(0, sentence, &[], &[]);
        let gap = ["000/1.a.1 is shown: it is built"];
        check(0, sentence, &["000/1.a.1"], &gap);
    }

    #[test]
    fn a_sentence_of_the_machine_is_quoted() {
        let shown = &["002/1.a.1"][..];
        check(1, "id: 002/1.a.1, quote: interrupted", shown, &[]);
        check(
            1,
            "id: 002/1.a.1, says: A.",
            shown,
            &["002/1.a.1 says no sentence"],
        );
    }
}
