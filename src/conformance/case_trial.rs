//! The record of the last search for a change of the program under which each case fails
//! (corpus/mutants.jsonl, derived by scripts/mutate-cases). Knows no sentence, and changes no program.

use std::collections::{BTreeMap, BTreeSet};

use monolith_core::message::DigestBuilder;
use serde::{Deserialize, Serialize};

use super::CaseError;
use super::source::Corpus;

/// Hex digits of a digest in the record. It tells a case from its earlier form; nobody gains by forging one.
const DIGITS: usize = 16;

/// The last search over one case.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CaseTrial {
    /// The case's id.
    pub id: String,
    /// Digest of the case as it was searched, see [`Corpus::case_digest`].
    pub digest: String,
    /// True if the case fails under some change.
    pub fails: bool,
    /// The assertions that carry a sentence and differ under some change.
    pub broken: BTreeSet<String>,
    /// The assertions that carry a sentence and differ under no change.
    pub survived: BTreeSet<String>,
}

/// The result of the last search for one assertion that carries a sentence, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// No change of the program breaks it.
    Survived,
    /// The case has changed since the search, or is newer.
    Untried,
    /// Some change of the program breaks it.
    Broken,
}

impl CaseTrial {
    /// True if the case and each of its assertions that carries a sentence failed under some change.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.fails && self.survived.is_empty()
    }

    pub(super) fn proof_of(&self, assertion: &str) -> Proof {
        if self.broken.contains(assertion) {
            Proof::Broken
        } else if self.survived.contains(assertion) {
            Proof::Survived
        } else {
            Proof::Untried
        }
    }
}

impl Corpus {
    /// Returns the digest of a case: of its text, and of the base that it starts from.
    #[must_use]
    pub fn case_digest(&self, text: &str) -> String {
        let mut digest = DigestBuilder::new();
        for part in [self.base.as_bytes(), b"\0".as_slice(), text.as_bytes()] {
            digest.update(part);
        }
        digest.digest().short(DIGITS)
    }

    /// Returns the record of each case that has not changed since it was searched, by the case's id.
    ///
    /// # Errors
    /// [`CaseError`] with the first line of `mutants.jsonl` that is not a record.
    pub fn trials(&self) -> Result<BTreeMap<String, CaseTrial>, CaseError> {
        let mut trials = BTreeMap::new();
        for (line, at) in self.mutants.lines().zip(1_u64..) {
            let trial: CaseTrial = serde_json::from_str(line).map_err(|error| {
                let rule = format!("a line is the record of a case: {error}");
                CaseError::new("mutants.jsonl", Some(at), rule)
            })?;
            trials.insert(trial.id.clone(), trial);
        }
        let digests: BTreeMap<&str, String> = self
            .cases
            .iter()
            .map(|case| (case.id.as_str(), self.case_digest(&case.text)))
            .collect();
        trials.retain(|id, trial| digests.get(id.as_str()) == Some(&trial.digest));
        Ok(trials)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The built-in corpus with a record of one case; its only assertion with a sentence is `outcome`.
    fn corpus(digest: Option<&str>, broken: &[&str], survived: &[&str]) -> Corpus {
        let mut corpus = Corpus::built_in();
        corpus.cases.retain(|case| case.id == ID);
        let [case] = corpus.cases.as_slice() else {
            panic!("no case {ID}");
        };
        let digest = digest.map_or_else(|| corpus.case_digest(&case.text), str::to_owned);
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let trial = CaseTrial {
            id: ID.to_owned(),
            digest,
            fails: true,
            broken: set(broken),
            survived: set(survived),
        };
        corpus.mutants = serde_json::to_string(&trial).unwrap() + "\n";
        corpus
    }

    const ID: &str = "abort/before_timeout";
    const SENTENCE: &str = "002/5.predicates.2";

    /// Checks the coverage of the case's sentence: its proof, and whether it is a gap or untried.
    fn check(corpus: &Corpus, proof: Proof, gap: bool, untried: bool) {
        let coverage = corpus.coverage().unwrap();
        let mut sentences = coverage.subjects.iter().flat_map(|s| &s.sentences);
        let sentence = sentences.find(|s| s.id == SENTENCE).unwrap();
        let proofs: Vec<Proof> = sentence.cases.iter().map(|case| case.proof).collect();
        assert_eq!(proofs, [proof]);
        let said = format!("{SENTENCE} is unproven: its cases survive every change of the program");
        assert_eq!(coverage.gaps.contains(&said), gap, "{:?}", coverage.gaps);
        let is_untried = coverage.untried.iter().any(|id| id == SENTENCE);
        assert_eq!(is_untried, untried, "{:?}", coverage.untried);
    }

    #[test]
    fn a_sentence_is_proven_if_a_change_of_the_program_breaks_its_assertion() {
        check(
            &corpus(None, &["outcome"], &[]),
            Proof::Broken,
            false,
            false,
        );
    }

    #[test]
    fn a_sentence_whose_case_survives_every_change_is_unproven() {
        check(
            &corpus(None, &[], &["outcome"]),
            Proof::Survived,
            true,
            false,
        );
    }

    #[test]
    fn the_record_of_a_case_that_has_changed_proves_nothing() {
        let earlier = "0123456789abcdef";
        let corpus = corpus(Some(earlier), &["outcome"], &[]);
        assert!(corpus.trials().unwrap().is_empty());
        check(&corpus, Proof::Untried, false, true);
    }

    #[test]
    fn the_base_is_part_of_a_case() {
        let mut corpus = corpus(None, &["outcome"], &[]);
        corpus.base.push_str("# A comment.\n");
        check(&corpus, Proof::Untried, false, true);
    }

    #[test]
    fn a_line_that_is_no_record_is_named() {
        let mut corpus = Corpus::built_in();
        corpus.mutants = "{\"id\": \"a/b\"}\n".to_owned();
        let fault = corpus.trials().unwrap_err().to_string();
        assert!(fault.starts_with("mutants.jsonl:1: "), "{fault}");
    }
}
