//! Any events in any order: nothing panics, every property holds, and folding the same events gives the same bytes.

use super::testing::*;
use super::tests_alphabet::{Letter, When};
use super::tests_explore::Watched;
use super::tests_variants::{VARIANTS, Variant};
use super::{Effect, EntryDraft, Event, EventKind, InferenceReturned, Run, State};
use crate::contract::ToolPolicy;
use crate::message::{
    CallSeq, EnvelopeFields, InferenceSeq, ProviderFault, ProviderFaultClass, ToolEnvelope,
    ToolOutcome, Usage,
};
use monolith_testkit::depth::bound;

/// SplitMix64: small, seeded, the same everywhere.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.roll() % n as u64).expect("below a usize")
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Returns an event with arbitrary numbers and time, or one that fits the run.
fn any_event(dice: &mut Dice, letters: &[Letter], node: &Watched) -> Option<Event> {
    // One sequence in four goes through a moment past a deadline; more would end every run at once.
    let letter = dice.pick(letters);
    let late = matches!(letter, Letter::Timer(when) | Letter::ReturnsAt(_, when) | Letter::ToolAt(_, when) if when != When::AtDeadline);
    if late && dice.below(4) > 0 {
        return None;
    }
    let mut event = letter.event(&node.run, &node.ledger)?;
    let n = dice.roll() % 6;
    if dice.below(8) == 0 {
        match &mut event.event {
            EventKind::InferenceReturned(r) => r.inference = InferenceSeq(n),
            EventKind::InferenceFailed(f) => f.inference = InferenceSeq(n),
            EventKind::ToolReturned(r) => r.call = CallSeq(n),
            EventKind::ApprovalGiven(a) | EventKind::ApprovalDenied(a) => a.call = CallSeq(n),
            _ => {}
        }
    }
    event.at_ms = match dice.below(16) {
        0 => dice.roll() % 2_000,
        1 => event.at_ms + dice.roll() % 5_000,
        _ => event.at_ms,
    };
    Some(event)
}

fn text_of(entries: &[EntryDraft]) -> String {
    let lines = entries.iter().map(|entry| {
        serde_json::to_string(&(&entry.action, &entry.event)).expect("entries serialise")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn entries_of(effects: &[Effect]) -> &[EntryDraft] {
    match effects.first() {
        Some(Effect::Append(entries)) => entries,
        _ => &[],
    }
}

/// A run that was given any events in any order.
pub(crate) struct RandomRun {
    /// All entries, from the first to the seal.
    pub entries: Vec<EntryDraft>,
    /// Number of events it took, some of them after its end.
    pub events: usize,
    /// The machine after them.
    pub run: Run,
}

fn fold(variant: &Variant, events: &[Event]) -> RandomRun {
    let (contract, validators) = variant.sealed();
    let (mut run, first) = Run::start(contract, validators, variant.started());
    let mut entries = entries_of(&first).to_vec();
    for event in events {
        entries.extend_from_slice(entries_of(&run.step(event.clone())));
    }
    RandomRun {
        entries,
        events: events.len(),
        run,
    }
}

/// One run under random events until it has ended and some more.
pub(crate) fn random_run(seed: u64) -> Result<RandomRun, String> {
    let mut dice = Dice(seed);
    let variant = &VARIANTS[dice.below(VARIANTS.len())];
    let letters: Vec<Letter> = VARIANTS
        .iter()
        .flat_map(|v| v.letters.iter().copied().flatten().copied())
        .collect();
    let mut node = Watched::new(variant);
    let mut events = Vec::new();
    let mut entries = Vec::new();
    let mut after_end = 0;
    while after_end < 3 {
        let Some(event) = any_event(&mut dice, &letters, &node) else {
            continue;
        };
        let effects = node
            .push(&event)
            .map_err(|words| format!("{}: {words} at {event:?}", variant.name))?;
        entries.extend_from_slice(entries_of(&effects));
        events.push(event);
        after_end += usize::from(node.run.state() == State::Terminate);
    }
    let folded = fold(variant, &events);
    // Entry 0 was written before the first event.
    if text_of(&entries) == text_of(&folded.entries[1..]) {
        Ok(folded)
    } else {
        Err(format!(
            "{}: folding the same events gives other entries",
            variant.name
        ))
    }
}

/// `MONOLITH_RANDOM_EVENTS` sets how many events; `MONOLITH_RANDOM_SEED` where the seeds begin.
#[test]
fn any_sequence_of_events_keeps_every_property() {
    let number =
        |name, default| std::env::var(name).map_or(default, |n| n.parse().expect("a number"));
    let wanted = number("MONOLITH_RANDOM_EVENTS", bound(8_000, 30_000));
    let mut seed = number("MONOLITH_RANDOM_SEED", 1);
    let mut events = 0;
    while events < wanted {
        let run = random_run(seed).unwrap_or_else(|words| panic!("seed {seed}: {words}"));
        events += run.events as u64;
        seed += 1;
    }
}

#[test]
fn numbers_at_their_limits_do_not_panic() {
    let huge = Usage {
        cache_read: u64::MAX,
        cache_write: u64::MAX,
        cost_fault: false,
        cost_micro_usd: Some(u64::MAX),
        estimated: false,
        input: u64::MAX,
        output: u64::MAX,
    };
    let with_usage = |event: EventKind| match event {
        EventKind::InferenceReturned(r) => {
            EventKind::InferenceReturned(Box::new(InferenceReturned { usage: huge, ..*r }))
        }
        other => other,
    };
    let mut h = Harness::inferring(terms(ToolPolicy::Optional));
    let late = with_usage(returned(InferenceSeq(u64::MAX), native(text("late"))));
    h.push(late.clone()).push(late).answer(calls(&["read"]));
    assert_eq!(h.end(), "FAILED_BUDGET_EXHAUSTED (max_tokens)");

    let mut h = Harness::inferring(terms(ToolPolicy::Optional));
    let mut fault = ProviderFault::new(ProviderFaultClass::RateLimit, "slow down");
    fault.retry_after_ms = Some(u64::MAX);
    let mut event = failed(h.inference(), ProviderFaultClass::RateLimit);
    if let EventKind::InferenceFailed(f) = &mut event {
        f.fault = fault;
    }
    h.push(event);
    // The wait passes every deadline: it is not begun, and the first one counts.
    assert_eq!(h.end(), "FAILED_TIMEOUT (step_timeout)");

    let mut h = Harness::inferring(terms(ToolPolicy::Optional));
    h.answer(calls(&["read"]));
    let result = ToolEnvelope::new(EnvelopeFields {
        bytes_out: u64::MAX,
        tokens: u64::MAX,
        ..envelope("c1", "read", "x").into_fields()
    });
    h.push(tool(CallSeq(1), ToolOutcome::Returned(result)));
    assert_eq!(
        h.observations(),
        ["(tool failed: context window budget exceeded)"]
    );
}
