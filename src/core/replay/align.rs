//! Two runs side by side: which decisions they share, where they part, and what differs there.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::pointer::{cut, descend};
use crate::kernel::{
    Action, EffectRecord, EntryKind, Event, EventKind, Outcome, PredicateName, State,
};
use crate::message::{FailureCode, ToolOutcome};

/// Above so many pairs of entries the alignment is looked for near by instead of everywhere.
const MOST_CELLS: usize = 4_000_000;
/// Distance to look ahead for the next common decision then.
const WINDOW: usize = 64;
/// The longest text of a value that is shown.
const SHOWN_BYTES: usize = 200;
/// Members that are times, or that follow from something else that differs.
const FOLLOWING: [&str; 13] = [
    "at_ms",
    "contract_hash",
    "contract_id",
    "conversation_digest",
    "duration_ms",
    "hash",
    "raw_hash",
    "request_hash",
    "run_id",
    "seq",
    "started_at_ms",
    "started_unix_ms",
    "state_digest",
];

/// An entry's decision without its time and wording: the basis for comparing two runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DecisionShape {
    /// The state before.
    pub from: State,
    /// The state after.
    pub to: State,
    /// Kind of the entry.
    #[serde(skip)]
    kind: u8,
    /// Event, if the entry carries one.
    pub event: Option<&'static str>,
    /// The rule that decided.
    pub predicate: Option<PredicateName>,
    /// Reason for rejecting a response.
    pub failure: Option<FailureCode>,
    /// The names of the calls that were asked for or started.
    pub calls: Vec<String>,
    /// Outcome of the run.
    pub outcome: Option<Outcome>,
}

/// A pair of entries of the two runs, by their positions in the two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// The same decision.
    Both(usize, usize),
    /// Only in the left run.
    Left(usize),
    /// Only in the right run.
    Right(usize),
}

/// One member in which two documents differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldDifference {
    /// An RFC 6901 pointer.
    pub pointer: String,
    /// The left value, at most 200 characters; absent where there is none.
    pub left: Option<String>,
    /// The right value, likewise.
    pub right: Option<String>,
}

impl FieldDifference {
    /// True if the member says when, or follows from another difference: a hash, a time, the name of the run.
    #[must_use]
    pub fn follows(&self) -> bool {
        let last = self.pointer.rsplit('/').next().unwrap_or_default();
        FOLLOWING.contains(&last)
    }
}

impl DecisionShape {
    /// The shape of an entry.
    #[must_use]
    pub fn of(action: &Action, event: Option<&Event>) -> Self {
        let mut calls = Vec::new();
        let mut failure = None;
        if let Some(EventKind::InferenceReturned(returned)) = event.map(|event| &event.event) {
            failure = returned.result.failure_code;
            let message = returned.result.canonical_message.iter();
            calls.extend(
                message
                    .flat_map(|message| &message.tool_calls)
                    .map(|call| call.name.clone()),
            );
        }
        calls.extend(action.effects.iter().filter_map(|effect| match effect {
            EffectRecord::Execute { name, .. } | EffectRecord::Delegate { name, .. } => {
                Some(name.clone())
            }
            _ => None,
        }));
        Self {
            from: action.from,
            to: action.to,
            kind: match action.kind {
                EntryKind::Start => 0,
                EntryKind::Transition => 1,
                EntryKind::Noted => 2,
                EntryKind::Ignored => 3,
                EntryKind::Seal => 4,
            },
            event: event.map(|event| name_of(&event.event)),
            predicate: action.predicate.map(|predicate| predicate.name),
            failure,
            calls,
            outcome: action.outcome,
        }
    }
}

const fn name_of(event: &EventKind) -> &'static str {
    match event {
        EventKind::RunStarted(_) => "run_started",
        EventKind::Probed(_) => "probed",
        EventKind::CallStreamed(_) => "call_streamed",
        EventKind::InferenceReturned(_) => "inference_returned",
        EventKind::InferenceFailed(_) => "inference_failed",
        EventKind::ToolReturned(returned) => match returned.outcome {
            ToolOutcome::Returned(_) => "tool_returned",
            ToolOutcome::Malformed { .. } => "tool_malformed",
            ToolOutcome::ConnectionLost { .. } => "tool_connection_lost",
            ToolOutcome::InputRequired(_) => "tool_input_required",
            ToolOutcome::SamplingRequired(_) => "tool_sampling_required",
            ToolOutcome::TimedOut => "tool_timed_out",
            ToolOutcome::Cancelled => "tool_cancelled",
            ToolOutcome::ToolChanged { .. } => "tool_changed",
            ToolOutcome::RestartInProgress => "tool_restart_in_progress",
            ToolOutcome::RestartFailed { .. } => "tool_restart_failed",
        },
        EventKind::TimerFired => "timer_fired",
        EventKind::StopRequested => "stop_requested",
        EventKind::Interrupted(_) => "interrupted",
        EventKind::ApprovalGiven(_) => "approval_given",
        EventKind::ApprovalDenied(_) => "approval_denied",
        EventKind::EffectLost(_) => "effect_lost",
        EventKind::Suspended => "suspended",
        EventKind::Resumed(_) => "resumed",
    }
}

/// Aligns two runs by a longest common subsequence of their decisions. Where that would take more than four million
/// comparisons, the next common decision is looked for near by, and the alignment may miss one far away.
#[must_use]
pub fn align(left: &[DecisionShape], right: &[DecisionShape]) -> Vec<Pairing> {
    // Equal shapes get equal numbers, which are cheap to compare.
    let mut numbers: BTreeMap<&DecisionShape, usize> = BTreeMap::new();
    let mut number = |shape| {
        let next = numbers.len();
        *numbers.entry(shape).or_insert(next)
    };
    let left: Vec<usize> = left.iter().map(&mut number).collect();
    let right: Vec<usize> = right.iter().map(&mut number).collect();
    let same = left.iter().zip(&right).take_while(|(l, r)| l == r).count();
    let (left_rest, right_rest) = (
        left.get(same..).unwrap_or_default(),
        right.get(same..).unwrap_or_default(),
    );
    let mut pairs: Vec<Pairing> = (0..same).map(|at| Pairing::Both(at, at)).collect();
    let rest = if left_rest.len().saturating_mul(right_rest.len()) <= MOST_CELLS {
        longest(left_rest, right_rest)
    } else {
        near(left_rest, right_rest)
    };
    pairs.extend(rest.into_iter().map(|pair| match pair {
        Pairing::Both(l, r) => Pairing::Both(l + same, r + same),
        Pairing::Left(l) => Pairing::Left(l + same),
        Pairing::Right(r) => Pairing::Right(r + same),
    }));
    pairs
}

/// By the length of the longest common subsequence of each two ends.
fn longest(left: &[usize], right: &[usize]) -> Vec<Pairing> {
    let mut rows = vec![vec![0_u32; right.len() + 1]];
    for l in left.iter().rev() {
        let mut row = vec![0; right.len() + 1];
        if let Some(below) = rows.last() {
            let mut beside = 0;
            let cells = row.iter_mut().zip(right).zip(below.windows(2)).rev();
            for ((cell, r), behind) in cells {
                let (down, diagonal) = match behind {
                    [down, diagonal] => (*down, *diagonal),
                    _ => (0, 0),
                };
                beside = if l == r {
                    diagonal + 1
                } else {
                    down.max(beside)
                };
                *cell = beside;
            }
        }
        rows.push(row);
    }
    rows.reverse();
    let length = |l: usize, r: usize| rows.get(l).and_then(|row| row.get(r)).copied();
    walk(left, right, |l, r| length(l + 1, r) >= length(l, r + 1))
}

/// Takes what is equal, and else whichever side `left_first` names.
fn walk(
    left: &[usize],
    right: &[usize],
    left_first: impl Fn(usize, usize) -> bool,
) -> Vec<Pairing> {
    let (mut l, mut r) = (0, 0);
    let mut pairs = Vec::new();
    loop {
        match (left.get(l), right.get(r)) {
            (None, None) => return pairs,
            (Some(a), Some(b)) if a == b => {
                pairs.push(Pairing::Both(l, r));
                (l, r) = (l + 1, r + 1);
            }
            (Some(_), other) if other.is_none() || left_first(l, r) => {
                pairs.push(Pairing::Left(l));
                l += 1;
            }
            _ => {
                pairs.push(Pairing::Right(r));
                r += 1;
            }
        }
    }
}

/// By the nearest common decision ahead.
fn near(left: &[usize], right: &[usize]) -> Vec<Pairing> {
    let (mut l, mut r) = (0, 0);
    let mut pairs = Vec::new();
    while l < left.len() || r < right.len() {
        let ahead = (0..2 * WINDOW).find_map(|far| {
            (0..=far).find_map(|skip| {
                let (a, b) = (left.get(l + skip)?, right.get(r + far - skip)?);
                (a == b).then_some((skip, far - skip))
            })
        });
        // Without one, a whole window of both sides has no pair.
        let (left_alone, right_alone) = ahead.unwrap_or((WINDOW, WINDOW));
        let (left_end, right_end) = (
            left.len().min(l + left_alone),
            right.len().min(r + right_alone),
        );
        pairs.extend((l..left_end).map(Pairing::Left));
        pairs.extend((r..right_end).map(Pairing::Right));
        (l, r) = (left_end, right_end);
        if ahead.is_some() {
            pairs.push(Pairing::Both(l, r));
            (l, r) = (l + 1, r + 1);
        }
    }
    pairs
}

/// The members in which two documents differ, at most `most`. What follows from another difference (hashes, times)
/// is reported only if nothing else differs.
#[must_use]
pub fn field_differences(left: &Value, right: &Value, most: usize) -> Vec<FieldDifference> {
    let mut found = Vec::new();
    let mut following = Vec::new();
    let text = |side: Option<&Value>| side.map(|value| cut(&value.to_string(), SHOWN_BYTES));
    descend("", Some(left), Some(right), &mut |pointer, left, right| {
        let difference = FieldDifference {
            pointer: pointer.to_owned(),
            left: text(left),
            right: text(right),
        };
        let list = if difference.follows() {
            &mut following
        } else {
            &mut found
        };
        if list.len() < most {
            list.push(difference);
        }
    });
    if found.is_empty() { following } else { found }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Shapes that differ in the name of one call.
    fn shapes(letters: &str) -> Vec<DecisionShape> {
        let shape = |letter: char| DecisionShape {
            from: State::Infer,
            to: State::ValidateCalls,
            kind: 1,
            event: None,
            predicate: None,
            failure: None,
            calls: vec![letter.to_string()],
            outcome: None,
        };
        letters.chars().map(shape).collect()
    }

    /// Each pair as a letter: alone on the left in brackets, on the right in braces.
    fn rendered(left: &str, right: &str) -> String {
        let pairs = align(&shapes(left), &shapes(right));
        rendered_pairs(&pairs, left, right)
    }

    fn rendered_pairs(pairs: &[Pairing], left: &str, right: &str) -> String {
        let letter = |text: &str, at| text.chars().nth(at).unwrap();
        let each = |pair: &Pairing| match *pair {
            Pairing::Both(l, r) => {
                assert_eq!(letter(left, l), letter(right, r));
                letter(left, l).to_string()
            }
            Pairing::Left(l) => format!("[{}]", letter(left, l)),
            Pairing::Right(r) => format!("{{{}}}", letter(right, r)),
        };
        pairs.iter().map(each).collect()
    }

    #[test]
    fn runs_are_aligned_by_what_they_share() {
        let check =
            |left: &str, right: &str, expect: &str| assert_eq!(rendered(left, right), expect);
        check("", "", "");
        check("abc", "abc", "abc");
        check("abc", "", "[a][b][c]");
        check("abcd", "abxd", "ab[c]{x}d");
        check("abcabcz", "abcz", "abc[a][b][c]z");
        check("axbycz", "abc", "a[x]b[y]c[z]");
        check("abc", "xyz", "[a][b][c]{x}{y}{z}");
    }

    #[test]
    fn long_runs_find_the_next_common_decision_near_by() {
        let number = |text: &str| -> Vec<usize> { text.bytes().map(usize::from).collect() };
        let check = |left: &str, right: &str, expect: &str| {
            let pairs = near(&number(left), &number(right));
            assert_eq!(rendered_pairs(&pairs, left, right), expect);
        };
        check("abcd", "abxd", "ab[c]{x}d");
        check("axbycz", "abc", "a[x]b[y]c[z]");
        check("abc", "", "[a][b][c]");
        let long = "x".repeat(WINDOW * 3);
        check(&long, "", &"[x]".repeat(WINDOW * 3));
    }

    proptest! {
        #[test]
        fn every_entry_is_in_the_alignment_once_and_in_order(left in "[abc]{0,40}", right in "[abc]{0,40}") {
            let number = |text: &str| -> Vec<usize> { text.bytes().map(usize::from).collect() };
            let whole = align(&shapes(&left), &shapes(&right));
            let close = near(&number(&left), &number(&right));
            let shared = |pairs: &[Pairing]| pairs.iter().filter(|pair| matches!(pair, Pairing::Both(..))).count();
            prop_assert!(shared(&whole) >= shared(&close));
            for pairs in [whole, close] {
                let on = |side: fn(&Pairing) -> Option<usize>| pairs.iter().filter_map(side).collect::<Vec<_>>();
                let lefts = on(|pair| match *pair { Pairing::Both(l, _) | Pairing::Left(l) => Some(l), Pairing::Right(_) => None });
                let rights = on(|pair| match *pair { Pairing::Both(_, r) | Pairing::Right(r) => Some(r), Pairing::Left(_) => None });
                prop_assert_eq!(lefts, (0..left.len()).collect::<Vec<_>>());
                prop_assert_eq!(rights, (0..right.len()).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn consequences_of_a_difference_are_reported_only_alone() {
        let pointers = |left: Value, right: Value| -> Vec<String> {
            let found = field_differences(&left, &right, 9);
            found.into_iter().map(|found| found.pointer).collect()
        };
        let (left, right) = (json!({"a": 1, "hash": "x"}), json!({"a": 2, "hash": "y"}));
        assert_eq!(pointers(left, right), ["/a"]);
        let (left, right) = (
            json!({"a": [1], "hash": "x"}),
            json!({"a": [1], "hash": "y"}),
        );
        assert_eq!(pointers(left, right), ["/hash"]);
        let (left, right) = (json!({"a": [1]}), json!({"a": [1, {"b/": 2}]}));
        assert_eq!(pointers(left, right), ["/a/1"]);
    }
}
