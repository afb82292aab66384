//! One case from its text to its row in the report.

use std::collections::BTreeMap;

use serde::Serialize;

use super::CaseError;
use super::bring_up::{BringUp, bring_up};
use super::case::{Base, Case};
use super::drive::play;
use super::invariants;
use super::metrics::Tally;
use super::played::Played;

/// The result of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaseRow {
    /// `<group>/<name>`, followed by `@<profile>:<protocol>` where a profile plays it.
    pub id: String,
    /// The folder that the case stands in.
    pub group: String,
    /// The shown behaviour, as a sentence; empty if the file cannot be read.
    pub name: String,
    /// Sections of docs/audit/semantics.md that it proves.
    pub proves: Vec<String>,
    /// Sentences of the session contract that it shows, by their ids in corpus/sentences.yaml.
    pub session: Vec<String>,
    /// Sentences of the machine's own contract that it shows, by their ids in corpus/sentences_002.yaml.
    pub machine: Vec<String>,
    /// The assertion that carries each sentence: a pointer into `expect` or `script` of the case.
    pub carried: BTreeMap<String, String>,
    /// The end that it expects.
    pub expected: String,
    /// The end that came.
    pub got: String,
    /// True if everything is as expected and every invariant holds.
    pub ok: bool,
    /// The differences; empty if `ok`.
    pub detail: Vec<String>,
}

/// The result of an attempt to play a case.
pub(super) enum Tried {
    Played(Box<Played>),
    Refused(String),
}

/// Plays one case, where its contract can be made.
pub(super) fn attempt(base: &Base, id: &str, case: &Case) -> Result<Tried, CaseError> {
    Ok(match bring_up(id, base, case)? {
        BringUp::Refused(reason) => Tried::Refused(reason),
        BringUp::Made(made) => Tried::Played(Box::new(play(id, case, *made)?)),
    })
}

/// Plays one case and judges what came of it.
pub(super) fn row_of(
    base: &Base,
    id: &str,
    case: Result<Case, CaseError>,
    tally: &mut Tally,
) -> CaseRow {
    let case = match case {
        Ok(case) => case,
        Err(fault) => return faulty(id, None, &fault),
    };
    let (got, detail) = match attempt(base, id, &case) {
        Err(fault) => return faulty(id, Some(&case), &fault),
        Ok(Tried::Played(played)) => {
            let mut detail = case.expect.differences(&played);
            detail.extend(invariants::broken(&played));
            tally.add(played.facts());
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
        ..unplayed(id)
    };
    row.describe(&case);
    row
}

/// The row of a case that cannot be played.
pub(super) fn faulty(id: &str, case: Option<&Case>, fault: &CaseError) -> CaseRow {
    let mut row = CaseRow {
        got: "the case is faulty".to_owned(),
        detail: vec![fault.to_string()],
        ..unplayed(id)
    };
    if let Some(case) = case {
        row.describe(case);
    }
    row
}

fn unplayed(id: &str) -> CaseRow {
    let group = id.split_once('/').map_or("", |(group, _)| group);
    CaseRow {
        id: id.to_owned(),
        group: group.to_owned(),
        name: String::new(),
        proves: Vec::new(),
        session: Vec::new(),
        machine: Vec::new(),
        carried: BTreeMap::new(),
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
        self.session = case.session.keys().cloned().collect();
        self.machine = case.machine.keys().cloned().collect();
        self.carried = [case.session.clone(), case.machine.clone()]
            .into_iter()
            .flatten()
            .collect();
        self.expected = case.expect.end();
    }
}
