//! The six cases of 002 §9 for every model profile.

use std::collections::BTreeMap;

use serde::Serialize;

use super::CaseError;
use super::bring_up::{BringUp, bring_up};
use super::case::{Base, Case, bare};
use super::case_row::{CaseRow, row_of};
use super::casting::Casting;
use super::metrics::Tally;
use super::source::Corpus;
use monolith_core::contract::{ModelProfile, profile_faults};

/// The case that is played with one malformed answer more than the profile has format retries.
const MALFORMED: &str = "core/malformed";
/// The cases of repairable arguments: a profile that is not strict accepts them, and a strict one rejects them.
const REPAIRED: &str = "format/arguments_repaired_not_strict";
const NOT_REPAIRED: &str = "format/arguments_repaired_strict";

/// The six cases of 002 §9, each with the cases of the corpus that it consists of. Of the two that can be repaired a profile has
/// the one of its strictness.
const SIX: [(&str, &[&str]); 6] = [
    ("1 valid call", &["core/valid_call"]),
    ("2 malformed", &[MALFORMED, NOT_REPAIRED, REPAIRED]),
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

/// The results of the six cases for one profile in one protocol.
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
    /// Number of its corpus cases that were played.
    pub played: usize,
    /// Number of them that ended as required.
    pub passed: usize,
    /// Number of passed cases that ended before the first request, because no contract can run with the profile in this
    /// protocol.
    pub refused: usize,
}

/// Plays the six cases for every profile, or for the one of that id; those of them whose id contains `filter`.
pub(super) fn play_profiles(
    corpus: &Corpus,
    base: &Base,
    profile: Option<&str>,
    filter: Option<&str>,
    tally: &mut Tally,
) -> (Vec<CaseRow>, Vec<ProfileRow>) {
    let wanted = |casting: &Casting| profile.is_none_or(|wanted| casting.profile.id == wanted);
    let castings: Vec<Casting> = Casting::all().into_iter().filter(wanted).collect();
    play_castings(corpus, base, &castings, filter, tally)
}

fn play_castings(
    corpus: &Corpus,
    base: &Base,
    castings: &[Casting],
    filter: Option<&str>,
    tally: &mut Tally,
) -> (Vec<CaseRow>, Vec<ProfileRow>) {
    let texts: BTreeMap<&str, &str> = corpus
        .cases
        .iter()
        .map(|case| (case.id.as_str(), case.text.as_str()))
        .collect();
    let (mut rows, mut profiles) = (Vec::new(), Vec::new());
    for casting in castings {
        let mut cases = Vec::new();
        for (case, ids) in SIX {
            let (mut played, mut passed, mut refused) = (0, 0, 0);
            for id in ids.iter().filter(|id| is_for(id, casting.profile)) {
                let name = format!("{id}@{}", casting.name());
                let Some(text) = texts
                    .get(id)
                    .filter(|_| filter.is_none_or(|f| name.contains(f)))
                else {
                    continue;
                };
                let case = cast(base, &name, text, casting);
                let runs = case.as_ref().is_ok_and(|case| !case.script.is_empty());
                let row = row_of(base, &name, case, tally);
                played += 1;
                passed += usize::from(row.ok);
                refused += usize::from(row.ok && !runs);
                rows.push(row);
            }
            cases.push(ProfileCase {
                case,
                played,
                passed,
                refused,
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

/// True if a case applies to this profile: repairable arguments have one case for each strictness.
fn is_for(id: &str, profile: &ModelProfile) -> bool {
    match id {
        REPAIRED => !profile.strict_mode,
        NOT_REPAIRED => profile.strict_mode,
        _ => true,
    }
}

/// The case as this casting plays it, with the strictness and the format retries of its profile. A profile that the contract cannot be run with ends it before the first request: that
/// is the end that the case then must come to.
fn cast(base: &Base, id: &str, text: &str, casting: &Casting) -> Result<Case, CaseError> {
    let mut case = Case::parse(id, text)?;
    case.casting = Some(casting.clone());
    case.golden = false;
    case.expect.forget_wording();
    // Of these the contract says nothing, so that the profile does.
    if let Some(contract) = &mut case.contract {
        contract.value.remove("strict_mode");
    }
    if bare(id) == MALFORMED
        && let Some(answer) = case.script.first().cloned()
    {
        let retries = casting.profile.max_format_retries;
        case.script = (0..=retries).map(|_| answer.clone()).collect();
        case.expect.take_format_retries(retries);
    }
    if let BringUp::Made(made) = bring_up(id, base, &case)?
        && !profile_faults(&made.contract).is_empty()
    {
        case.script.clear();
        case.expect.become_incompatible();
    }
    Ok(case)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cell `2 malformed` of a profile of a contract's own.
    fn malformed(strict_mode: bool, max_format_retries: u32) -> (usize, usize, Vec<String>) {
        let known = ModelProfile::by_id("openai-chat-default").unwrap();
        let profile = ModelProfile {
            id: "our".to_owned(),
            strict_mode,
            max_format_retries,
            ..known.clone()
        };
        let casting = Casting::all()
            .into_iter()
            .find(|casting| casting.profile == known);
        let mut casting = casting.unwrap();
        casting.profile = Box::leak(Box::new(profile));
        let castings = [casting];
        let corpus = Corpus::built_in();
        let base = Base::parse(&corpus.base).unwrap();
        let mut tally = Tally::default();
        let (rows, profiles) = play_castings(&corpus, &base, &castings, None, &mut tally);
        let cell = &profiles[0].cases[1];
        let failed = rows.iter().filter(|row| !row.ok);
        let detail = failed.map(|row| format!("{}: {:?}", row.id, row.detail));
        (cell.played, cell.passed, detail.collect())
    }

    #[test]
    fn a_profile_is_held_to_its_own_strictness_and_its_own_retries() {
        for (strict, retries) in [(true, 0), (true, 1), (false, 1), (false, 2), (false, 3)] {
            let (played, passed, detail) = malformed(strict, retries);
            assert_eq!((played, passed), (2, 2), "{strict} {retries}: {detail:?}");
        }
        // Strict with two retries contradicts itself: its row says no.
        let (played, passed, _) = malformed(true, 2);
        assert!(passed < played);
    }
}
