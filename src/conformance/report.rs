use serde::Serialize;

use super::CaseError;
use super::bring_up::{BringUp, bring_up};
use super::case::{Base, Case};
use super::drive::play;
use super::invariants;
use super::played::Played;
use super::source::{CaseSource, Corpus};

/// What became of the cases that were played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CorpusReport {
    /// One for each case, in the order of ids.
    pub rows: Vec<CaseRow>,
    /// How many there are.
    pub totals: CorpusTotals,
}

/// What became of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaseRow {
    /// `<group>/<name>`.
    pub id: String,
    /// The folder that the case stands in.
    pub group: String,
    /// What it shows, as a sentence; empty where its file cannot be read.
    pub name: String,
    /// Sections of docs/semantics.md that it proves.
    pub proves: Vec<String>,
    /// The end that it expects.
    pub expected: String,
    /// The end that came.
    pub got: String,
    /// Whether everything is as expected and every invariant holds.
    pub ok: bool,
    /// What differs; empty where `ok`.
    pub detail: Vec<String>,
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

/// Plays the built-in cases whose id contains `filter`.
#[must_use]
pub fn run_corpus(filter: Option<&str>) -> CorpusReport {
    run_cases(&Corpus::built_in(), filter)
}

/// Plays the cases of `corpus` whose id contains `filter`.
#[must_use]
pub fn run_cases(corpus: &Corpus, filter: Option<&str>) -> CorpusReport {
    let base = Base::parse(&corpus.base);
    let chosen = |case: &&CaseSource| filter.is_none_or(|filter| case.id.contains(filter));
    let row = |source: &CaseSource| match &base {
        Ok(base) => row_of(base, source),
        Err(fault) => faulty(source, None, fault),
    };
    let rows: Vec<CaseRow> = corpus.cases.iter().filter(chosen).map(row).collect();
    let passed = rows.iter().filter(|row| row.ok).count();
    let totals = CorpusTotals {
        cases: rows.len(),
        passed,
        failed: rows.len() - passed,
    };
    CorpusReport { rows, totals }
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

enum Tried {
    Played(Box<Played>),
    Refused(String),
}

fn attempt(base: &Base, id: &str, case: &Case) -> Result<Tried, CaseError> {
    Ok(match bring_up(id, base, case)? {
        BringUp::Refused(reason) => Tried::Refused(reason),
        BringUp::Made(made) => Tried::Played(Box::new(play(id, case, *made)?)),
    })
}

fn row_of(base: &Base, source: &CaseSource) -> CaseRow {
    let case = match Case::parse(&source.id, &source.text) {
        Ok(case) => case,
        Err(fault) => return faulty(source, None, &fault),
    };
    let (got, detail) = match attempt(base, &source.id, &case) {
        Err(fault) => return faulty(source, Some(&case), &fault),
        Ok(Tried::Played(played)) => {
            let mut detail = case.expect.differences(&played);
            detail.extend(invariants::broken(&played));
            (played.end(), detail)
        }
        Ok(Tried::Refused(reason)) => {
            let expected = case.expect.refused.as_ref();
            let same = expected.is_some_and(|part| reason.contains(part));
            let detail = format!("no contract was made: {reason}");
            let detail = if same { Vec::new() } else { vec![detail] };
            (format!("no contract: {reason}"), detail)
        }
    };
    let mut row = CaseRow {
        got,
        ok: detail.is_empty(),
        detail,
        ..unplayed(source)
    };
    row.describe(&case);
    row
}

fn faulty(source: &CaseSource, case: Option<&Case>, fault: &CaseError) -> CaseRow {
    let mut row = CaseRow {
        got: "the case is faulty".to_owned(),
        detail: vec![fault.to_string()],
        ..unplayed(source)
    };
    if let Some(case) = case {
        row.describe(case);
    }
    row
}

fn unplayed(source: &CaseSource) -> CaseRow {
    let group = source.id.split_once('/').map_or("", |(group, _)| group);
    CaseRow {
        id: source.id.clone(),
        group: group.to_owned(),
        name: String::new(),
        proves: Vec::new(),
        expected: String::new(),
        got: String::new(),
        ok: false,
        detail: Vec::new(),
    }
}

impl CaseRow {
    fn describe(&mut self, case: &Case) {
        self.name.clone_from(&case.name);
        self.proves.clone_from(&case.proves);
        self.expected = case.expect.end();
    }
}
