//! The switches of the mutants: one thread plays one mutant at a time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// Maximum number of switches that a case may pass under a mutant: one that never ends panics instead of taking all memory.
const MOST_STEPS: u32 = 20_000_000;

thread_local! {
    static ACTIVE: Cell<u32> = const { Cell::new(u32::MAX) };
    static STEPS: Cell<u32> = const { Cell::new(0) };
    static REACHED: RefCell<Option<BTreeSet<u32>>> = const { RefCell::new(None) };
}

/// Plays with that mutant.
pub fn activate(mutant: u32) {
    ACTIVE.set(mutant);
}

/// The mutants that `work` reaches, none of them active.
pub fn reached(work: impl FnOnce()) -> BTreeSet<u32> {
    REACHED.set(Some(BTreeSet::new()));
    work();
    REACHED.take().unwrap_or_default()
}

fn on(mutant: u32) -> bool {
    REACHED.with_borrow_mut(|reached| {
        if let Some(reached) = reached {
            reached.insert(mutant);
        }
    });
    let active = ACTIVE.get();
    if active != u32::MAX {
        STEPS.set(STEPS.get() + 1);
        assert!(STEPS.get() < MOST_STEPS, "it does not end");
    }
    active == mutant
}

pub fn flip(mutant: u32, holds: bool) -> bool {
    holds != on(mutant)
}

pub fn keep(mutant: u32) -> bool {
    !on(mutant)
}

pub fn text(mutant: u32, text: &'static str) -> &'static str {
    if on(mutant) { "mutant" } else { text }
}

pub fn number<T: From<bool> + std::ops::Add<Output = T>>(mutant: u32, number: T) -> T {
    if on(mutant) {
        number + T::from(true)
    } else {
        number
    }
}

pub fn either<T>(mutant: u32, variant: T, other: T) -> T {
    if on(mutant) { other } else { variant }
}
