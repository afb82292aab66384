//! 002 Invariant D: a view that was given something else than the run says so, and never tells another story in silence.

use std::sync::Arc;

use super::{Golden, goldens};
use crate::kernel::{Action, Event};
use crate::message::Digest;
use crate::view::{Entry, RunView};

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
        for at in 0..=last {
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
                assert_eq!(why, format!("the run has gone on after entry {}", at - 1));
            }
            assert!(golden.departure(&twice).is_some(), "{name} twice");
            assert!(golden.departure(&numbered(twice)).is_some(), "{name} twice");
        }
    }
    assert!(forged > 200, "{forged}");
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
    check(2, Some("the run has gone on after entry 1"));
}
