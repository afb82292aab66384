use std::collections::BTreeMap;

use serde::Serialize;

use super::CaseError;
use super::bring_up::{BringUp, bring_up};
use super::case::{Base, Case};
use super::case_row::{CaseRow, row_of};
use super::casting::Casting;
use super::metrics::Tally;
use super::source::Corpus;
use crate::contract::profile_faults;

/// The six cases of 002 §9, each with the cases of the corpus that it consists of.
const SIX: [(&str, &[&str]); 6] = [
    ("1 valid call", &["core/valid_call"]),
    ("2 malformed", &["core/malformed"]),
    ("3 narration", &["core/narration"]),
    ("4 forbidden", &["core/forbidden_call"]),
    (
        "5 result",
        &["core/oversized_result", "core/malformed_envelope"],
    ),
    (
        "6 timeout",
        &[
            "core/step_timeout",
            "core/tool_timeout_then_call",
            "core/tool_timeout_then_prose",
        ],
    ),
];

/// What the six cases came to for one profile in one protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProfileRow {
    /// The profile's id.
    pub profile: String,
    /// The protocol it was asked in.
    pub proto: String,
    /// The six cases of 002 §9 in their order: what each is called, and whether it ended as it must.
    pub cases: Vec<ProfileCase>,
}

/// One of the six cases for one profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProfileCase {
    /// Its number and name.
    pub case: &'static str,
    /// How many cases of the corpus it consists of and were played.
    pub played: usize,
    /// How many of them ended as they must.
    pub passed: usize,
}

/// Plays the six cases for every profile, or for the one of that id; those of them whose id contains `filter`.
pub(super) fn play_profiles(
    corpus: &Corpus,
    base: &Base,
    profile: Option<&str>,
    filter: Option<&str>,
    tally: &mut Tally,
) -> (Vec<CaseRow>, Vec<ProfileRow>) {
    let texts: BTreeMap<&str, &str> = corpus
        .cases
        .iter()
        .map(|case| (case.id.as_str(), case.text.as_str()))
        .collect();
    let (mut rows, mut profiles) = (Vec::new(), Vec::new());
    for casting in Casting::all() {
        if profile.is_some_and(|wanted| casting.profile.id != wanted) {
            continue;
        }
        let mut cases = Vec::new();
        for (case, ids) in SIX {
            let (mut played, mut passed) = (0, 0);
            for id in ids {
                let name = format!("{id}@{}", casting.name());
                let Some(text) = texts
                    .get(id)
                    .filter(|_| filter.is_none_or(|f| name.contains(f)))
                else {
                    continue;
                };
                let row = row_of(base, &name, cast(base, &name, text, &casting), tally);
                played += 1;
                passed += usize::from(row.ok);
                rows.push(row);
            }
            cases.push(ProfileCase {
                case,
                played,
                passed,
            });
        }
        if cases.iter().any(|case| case.played > 0) {
            profiles.push(ProfileRow {
                profile: casting.profile.id.clone(),
                proto: casting.adapter.proto().to_owned(),
                cases,
            });
        }
    }
    (rows, profiles)
}

/// The case as this casting plays it. A profile that the contract cannot be run with ends it before the first request: that
/// is the end that the case then must come to.
fn cast(base: &Base, id: &str, text: &str, casting: &Casting) -> Result<Case, CaseError> {
    let mut case = Case::parse(id, text)?;
    case.casting = Some(casting.clone());
    case.golden = false;
    case.expect.forget_wording();
    if let BringUp::Made(made) = bring_up(id, base, &case)?
        && !profile_faults(&made.contract).is_empty()
    {
        case.script.clear();
        case.expect.become_incompatible();
    }
    Ok(case)
}
