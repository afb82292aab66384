//! Counts, which are the same on any machine: what `cargo test` judges instead of times.

use crate::{append, decide, whole};

/// Turns of an early and of a late part of a run, and of how many such parts it is.
const SHORT: (u64, u64) = (200, 6);
const LONG: (u64, u64) = (1_000, 20);
/// Commits of a turn with tools: one for what the model asked for, one for what the tool returned.
const MOST_COMMITS: f64 = 2.0;
/// By how much a late turn may take more than an early one.
const MOST_GROWTH: f64 = 1.05;

/// Panics where a count is beyond its limit.
pub fn judge() {
    for (name, early, late) in decisions(SHORT) {
        assert!(
            late <= early * MOST_GROWTH,
            "{name} of a turn grow with the turns: {early:.2}, then {late:.2}"
        );
    }
    let [commits, pages] = whole::commits_and_pages();
    assert!(commits <= MOST_COMMITS, "{commits} commits a turn");
    // No more than that all of it can be measured.
    append::print(false);
    println!("counts of a turn hold: {commits} commits, {pages:.1} pages");
}

/// Returns the per-turn counts of the machine and the chain: the name, then early and late in a run.
fn decisions((turns, windows): (u64, u64)) -> impl Iterator<Item = (&'static str, f64, f64)> {
    let names = ["entries", "bytes of entries", "allocations"];
    let [early, late] = decide::counts(turns, windows);
    let both = names.into_iter().zip(early).zip(late);
    both.map(|((name, early), late)| (name, early, late))
}

/// Prints what a turn takes of the machine and the chain.
pub fn print_decisions() {
    println!("\n| a turn, decided and sealed | early | late |\n|---|---|---|");
    for (name, early, late) in decisions(LONG) {
        println!("| {name} | {early:.1} | {late:.1} |");
    }
}

/// Prints a turn's writes.
pub fn print_writes() {
    let [commits, pages] = whole::commits_and_pages();
    println!(
        "\nA turn with one call of a tool: {commits:.2} commits, {pages:.1} pages of the store's log."
    );
}

/// System calls of a turn, where strace can count them.
pub fn print_system_calls(turns: u64) {
    let Some(mut calls) = whole::system_calls(turns) else {
        println!("\nSystem calls are not counted: strace is not installed.");
        return;
    };
    calls.retain(|(_, each)| *each >= 0.5);
    println!("\n| system calls of a turn, run of {turns}, FULL | |\n|---|---|");
    for (name, each) in calls {
        println!("| {name} | {each:.1} |");
    }
}
