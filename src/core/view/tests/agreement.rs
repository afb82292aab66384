//! 002 Invariant D: a view that was given something else than the run reports it, and never shows another run in silence.

use std::sync::Arc;

use super::{Golden, goldens};
use crate::kernel::{Action, Counters, Event, RandomRun, random_run};
use crate::message::{Digest, Usage};
use crate::view::tree_usage::UsageTotals;
use crate::view::{Entry, RunView};
use monolith_testkit::depth::bound;

type Given = Vec<(Action, Option<Event>)>;

impl Golden {
    fn given(&self) -> Given {
        let entries = self.entries.iter().map(|entry| {
            let entry = entry.entry();
            (entry.action.clone(), entry.event.cloned())
        });
        entries.collect()
    }

    fn view_of(&self, given: &Given) -> RunView {
        let entries = given.iter().map(|(action, event)| Entry {
            action,
            event: event.as_ref(),
            hash: Digest::ZERO,
        });
        let mut view = RunView::of(Arc::clone(&self.contract), entries);
        view.pause();
        view
    }

    /// The number of the entry from which on the view of these departs, and why.
    fn departure(&self, given: &Given) -> Option<(u64, String)> {
        let view = self.view_of(given);
        let departure = view.departure()?;
        Some((departure.seq, departure.to_string()))
    }
}

/// As a forger who knows the format numbers them: each entry follows the one before.
fn numbered(mut given: Given) -> Given {
    let length = u64::try_from(given.len()).unwrap();
    for (seq, (action, _)) in (0..).zip(&mut given) {
        action.seq = seq;
        action.length = action.length.map(|_| length);
    }
    given
}

/// Shows 002/3.display.1, 002/6.outcomes.4.
#[test]
fn the_view_of_every_golden_run_is_the_machines_at_every_entry() {
    for golden in goldens() {
        let given = golden.given();
        assert_eq!(golden.departure(&given), None, "{}", golden.name);
        let view = golden.view_of(&given);
        let state: serde_json::Value = serde_json::from_str(&view.state_text().unwrap()).unwrap();
        let outcome = serde_json::to_value(view.outcome()).unwrap();
        assert_eq!(state["outcome"], outcome, "{}", golden.name);
        assert_eq!(state["at_ms"], view.at_ms(), "{}", golden.name);
    }
}

/// Shows 002/3.display.1, 002/8.modify.4.
#[test]
fn entries_out_of_order_missing_or_twice_are_reported_whatever_numbers_they_have() {
    let (mut forged, mut unnoticed) = (0, Vec::new());
    for golden in goldens() {
        let whole = golden.given();
        let last = whole.len() - 1;
        for at in (0..=last).rev().step_by(bound(4, 1)) {
            let mut without = whole.clone();
            without.remove(at);
            let mut twice = whole.clone();
            twice.insert(at, whole[at].clone());
            let mut swapped = whole.clone();
            swapped.swap(at, last.min(at + 1));
            let name = format!("{}, entry {at}", golden.name);
            if at < last {
                let (seq, why) = golden.departure(&without).expect(&name);
                let due = u64::try_from(at).unwrap();
                assert_eq!(seq, due + 1, "{name}: {why}");
                assert_eq!(why, format!("entry {seq} came where {due} was due"));
                assert!(golden.departure(&swapped).is_some(), "{name} and the next");
                forged += 1;
                for changed in [without, swapped] {
                    // An order that the machine comes to as well is no other story.
                    let changed = numbered(changed);
                    if golden.departure(&changed).is_none() && changed != whole {
                        unnoticed.push(name.clone());
                    }
                }
            } else {
                // Without its seal a run has not ended: the machine has written one.
                let (_, why) = golden.departure(&without).expect(&name);
                assert_eq!(why, format!("the run continued after entry {}", at - 1));
            }
            assert!(golden.departure(&twice).is_some(), "{name} twice");
            assert!(golden.departure(&numbered(twice)).is_some(), "{name} twice");
        }
    }
    assert!(forged > bound(50, 200), "{forged}");
    assert_eq!(unnoticed, Vec::<String>::new());
}

/// Shows 002/3.display.1.
#[test]
fn an_entry_that_states_something_else_is_reported_by_its_digest_or_as_a_whole() {
    let golden = Golden::of("core.valid_call");
    let check = |change: &dyn Fn(&mut Given), expect: (u64, &str)| {
        let mut given = golden.given();
        change(&mut given);
        let (seq, why) = golden.departure(&given).unwrap();
        assert_eq!(seq, expect.0, "{why}");
        assert!(why.starts_with(expect.1), "{why}");
    };
    check(
        &|given| given[3].0.state_digest = Digest::of(b"another state"),
        (3, "entry 3 has the state digest "),
    );
    check(
        &|given| given[3].0.counters.turns += 1,
        (3, "entry 3 states something else than the machine"),
    );
    // An event that changes nothing but when something happened.
    check(
        &|given| {
            if let Some(event) = &mut given[4].1 {
                event.at_ms += 1;
            }
        },
        (4, "entry 4 has the state digest "),
    );
}

#[test]
fn a_display_that_was_not_given_the_end_is_held_against_the_run_itself() {
    let golden = Golden::of("core.valid_call");
    let given = golden.given();
    let whole = golden.view_of(&given);
    let run = whole.machine().unwrap();
    let check = |count: usize, expect: Option<&str>| {
        let mut view = golden.view(count);
        view.end(run);
        let why = view.departure().map(ToString::to_string);
        assert_eq!(why.as_deref(), expect, "{count} entries");
    };
    check(given.len(), None);
    check(2, Some("the run continued after entry 1"));
}

/// The entries of a random run, numbered.
fn given(run: &RandomRun) -> Given {
    let drafts = run.entries.iter();
    drafts
        .map(|draft| (draft.action.clone(), draft.event.clone()))
        .collect()
}

/// Builds the view of these entries, checked against the run's own machine or a folded one.
fn viewed(run: &RandomRun, given: &Given, follows: bool) -> RunView {
    let contract = Arc::clone(run.run.contract());
    let mut view = if follows {
        RunView::following(contract)
    } else {
        RunView::new(contract)
    };
    for (action, event) in given {
        view.take(Entry {
            action,
            event: event.as_ref(),
            hash: Digest::ZERO,
        });
    }
    view.end(&run.run);
    view
}

fn departs(run: &RandomRun, given: &Given, follows: bool) -> Option<String> {
    let view = viewed(run, given, follows);
    view.departure().map(ToString::to_string)
}

/// The runs of the kernel's own random test: any events in any order, late ones and those of a past moment too.
fn random_runs() -> impl Iterator<Item = (u64, RandomRun)> {
    (1..=bound(100, 400)).map(|seed| (seed, random_run(seed).unwrap()))
}

/// Shows 002/3.display.1.
#[test]
fn the_view_of_a_run_under_any_events_is_the_machines() {
    let mut entries = 0;
    for (seed, run) in random_runs() {
        let given = given(&run);
        entries += given.len();
        for follows in [false, true] {
            let view = viewed(&run, &given, follows);
            assert_eq!(view.departure(), None, "seed {seed}");
            assert_eq!(view.counted_ms(), run.run.run_ms(), "seed {seed}");
        }
    }
    assert!(entries > bound(375, 1_500), "{entries}");
}

/// Shows 002/3.display.1, 002/8.modify.4.
#[test]
fn an_entry_that_a_run_under_any_events_lacks_has_twice_or_elsewhere_is_reported() {
    let mut counts = 0;
    for (seed, run) in random_runs() {
        let whole = given(&run);
        let last = whole.len() - 1;
        for at in [last / 3, last / 2, last] {
            let mut without = whole.clone();
            without.remove(at);
            let mut twice = whole.clone();
            twice.insert(at, whole[at].clone());
            let mut swapped = whole.clone();
            swapped.swap(at, at.saturating_sub(1));
            for (what, changed) in [("without", without), ("twice", twice), ("swapped", swapped)] {
                if changed == whole {
                    continue;
                }
                let name = format!("seed {seed}, {what} {at}");
                assert!(departs(&run, &changed, false).is_some(), "{name}");
                assert!(departs(&run, &changed, true).is_some(), "{name}, followed");
                let numbered = numbered(changed);
                assert!(
                    departs(&run, &numbered, false).is_some(),
                    "{name}, numbered"
                );
                // Where numbers tell nothing, the counts of a run that is followed do.
                let why = departs(&run, &numbered, true);
                counts += u32::from(why.is_some_and(|why| why.contains("are not those of")));
            }
        }
    }
    assert!(counts > bound(12, 50), "{counts}");
}

/// Shows 002/6.commit.6.
#[test]
fn what_a_view_counts_otherwise_than_the_machine_is_reported() {
    let golden = Golden::of("core.valid_call");
    let run = golden.whole();
    let check = |change: &dyn Fn(&mut Counters), expect: &str| {
        let mut given = golden.given();
        change(&mut given.last_mut().unwrap().0.counters);
        let mut view = RunView::following(Arc::clone(&golden.contract));
        for (action, event) in &given {
            view.take(Entry {
                action,
                event: event.as_ref(),
                hash: Digest::ZERO,
            });
        }
        assert_eq!(view.departure(), None, "the step may go on");
        view.end(run.machine().unwrap());
        let why = view.departure().map(ToString::to_string);
        let seq = given.len() - 1;
        let expect = format!("after entry {seq} the {expect} are not those of the machine");
        assert_eq!(why, Some(expect));
    };
    check(&|counters| counters.inferences += 1, "requests");
    check(&|counters| counters.turns -= 1, "turns");
    check(&|counters| counters.tokens_out += 1, "tokens");
    check(&|counters| counters.cost_micro_usd += 1, "costs");
    check(&|counters| counters.executed += 1, "executed calls");
}

/// A provider may report more than a counter holds: the sums of both end there.
#[test]
fn sums_end_where_those_of_the_machine_end() {
    let usage = Usage {
        cache_read: u64::MAX,
        input: u64::MAX,
        output: u64::MAX,
        ..Usage::default()
    };
    let mut sums = UsageTotals::default();
    sums.add(&usage, Some(u64::MAX));
    let most = 9_007_199_254_740_991;
    assert_eq!(
        (
            sums.cache_read,
            sums.input,
            sums.output,
            sums.cost_micro_usd
        ),
        (most, most, most, most)
    );
}
