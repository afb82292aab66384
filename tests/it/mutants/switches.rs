//! The switches of the mutants: one thread plays one mutant at a time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// Maximum number of switches that a case may pass under a mutant: one that never ends panics instead of taking all memory.
const MOST_STEPS: u32 = 20_000_000;

/// Maximum distance of a switch from [`activate`] on the stack: a recursion that never ends panics before the stack overflows.
const MOST_DEPTH: usize = STACK_BYTES / 2;

/// Stack of a thread that plays a mutant.
pub const STACK_BYTES: usize = 16 << 20;

thread_local! {
    static ACTIVE: Cell<u32> = const { Cell::new(u32::MAX) };
    /// Address of a local variable of `activate`.
    static BASE: Cell<usize> = const { Cell::new(0) };
    static STEPS: Cell<u32> = const { Cell::new(0) };
    static REACHED: RefCell<Option<BTreeSet<u32>>> = const { RefCell::new(None) };
}

/// Plays with that mutant.
pub fn activate(mutant: u32) {
    BASE.set(here());
    ACTIVE.set(mutant);
}

/// The address of a local variable.
#[inline(never)]
fn here() -> usize {
    let local = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&local)).addr()
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
        assert!(
            here().abs_diff(BASE.get()) < MOST_DEPTH,
            "it recurses without end"
        );
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
