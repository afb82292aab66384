//! The selection of cases to play, and the report on them.

use serde::Serialize;

use super::CaseError;
use super::case::{Base, Case};
use super::case_row::{CaseRow, Tried, attempt, faulty, row_of};
use super::metrics::{Metrics, Tally};
use super::profiles::{ProfileRow, play_profiles};
use super::source::Corpus;

/// The results of the played cases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CorpusReport {
    /// One for each case, in the order of ids; then one for each case of 002 §9 as each profile plays it.
    pub rows: Vec<CaseRow>,
    /// The six cases of 002 §9, a row for each profile in each protocol.
    pub profiles: Vec<ProfileRow>,
    /// The metrics of 002 Phase 1 over all runs.
    pub metrics: Metrics,
    /// The numbers of cases.
    pub totals: CorpusTotals,
}

/// Counts of cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CorpusTotals {
    /// Played.
    pub cases: usize,
    /// As expected.
    pub passed: usize,
    /// Otherwise.
    pub failed: usize,
}

/// Plays the built-in cases whose id contains `filter` or that show a sentence of that beginning, and the six cases of 002 §9 for every profile; of a `profile` that is
/// named only those.
#[must_use]
pub fn run_corpus(filter: Option<&str>, profile: Option<&str>) -> CorpusReport {
    let corpus = Corpus::built_in();
    let chosen = profile.map_or(Chosen::Everything, Chosen::Profile);
    run(&corpus, filter, chosen)
}

/// Plays the cases of `corpus` whose id contains `filter`, or that show a sentence of that beginning.
#[must_use]
pub fn run_cases(corpus: &Corpus, filter: Option<&str>) -> CorpusReport {
    run(corpus, filter, Chosen::AsWritten)
}

/// The part of a corpus to play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chosen<'p> {
    /// The cases as they are written.
    AsWritten,
    /// All cases as written, and the six cases as every profile plays them.
    Everything,
    /// The six cases as this profile plays them.
    Profile(&'p str),
}

fn run(corpus: &Corpus, filter: Option<&str>, chosen: Chosen<'_>) -> CorpusReport {
    let (as_written, cast_too, profile) = match chosen {
        Chosen::AsWritten => (true, false, None),
        Chosen::Everything => (true, true, None),
        Chosen::Profile(id) => (false, true, Some(id)),
    };
    let mut tally = Tally::default();
    let base = Base::parse(&corpus.base);
    let mut rows = Vec::new();
    for source in corpus.cases.iter().filter(|_| as_written) {
        let case = Case::parse(&source.id, &source.text);
        if !filter.is_none_or(|filter| is_meant(filter, &source.id, case.as_ref().ok())) {
            continue;
        }
        rows.push(match &base {
            Ok(base) => row_of(base, &source.id, case, &mut tally),
            Err(fault) => faulty(&source.id, None, fault),
        });
    }
    let mut cast = Vec::new();
    if let (true, Ok(base)) = (cast_too, &base) {
        let (more, table) = play_profiles(corpus, base, profile, filter, &mut tally);
        rows.extend(more);
        cast = table;
    }
    let passed = rows.iter().filter(|row| row.ok).count();
    let totals = CorpusTotals {
        cases: rows.len(),
        passed,
        failed: rows.len() - passed,
    };
    CorpusReport {
        rows,
        profiles: cast,
        metrics: tally.metrics(),
        totals,
    }
}

/// True if a filter is part of a case's id, or a prefix of the id of a sentence that the case shows.
fn is_meant(filter: &str, id: &str, case: Option<&Case>) -> bool {
    let shown = case.map(|case| case.session.keys().chain(case.machine.keys()));
    let mut sentences = shown.into_iter().flatten();
    id.contains(filter) || sentences.any(|sentence| sentence.starts_with(filter))
}

impl Corpus {
    /// The transcripts of the cases that ask for one, by id: what `replay/` keeps.
    ///
    /// # Errors
    /// [`CaseError`] of the first such case that cannot be played.
    pub fn golden_transcripts(&self) -> Result<Vec<(String, String)>, CaseError> {
        let base = Base::parse(&self.base)?;
        let mut transcripts = Vec::new();
        for source in &self.cases {
            let case = Case::parse(&source.id, &source.text)?;
            if !case.golden {
                continue;
            }
            if let Tried::Played(played) = attempt(&base, &source.id, &case)? {
                transcripts.push((source.id.clone(), played.transcript()));
            }
        }
        Ok(transcripts)
    }
}
