//! The cost of an entry: its own bytes, the state under way, and a line of the checkpoint for each run that has ended.

use super::testing::*;
use super::*;
use crate::allocated;
use crate::contract::FailureStrategy::FailFast;
use crate::contract::{ForEach, Step, Work};
use crate::message::hashed;

/// Measures the bytes hashed and allocated for the end of a step of 10,000 bytes: the minimum of eight, so that a list that
/// grows at that moment does not count.
fn cost(driven: &mut Driven, first: u64) -> (u64, u64) {
    let output = "x".repeat(10_000);
    let costs = (first..first + 8).map(|number| {
        let event = WorkflowEvent {
            at_ms: 5,
            event: ended(number, result(number, &output, None)),
        };
        let before = (hashed::bytes(), allocated::bytes());
        driven.last = driven.machine.step(event);
        let after = (hashed::bytes(), allocated::bytes());
        assert_eq!(driven.begun().len(), 1, "{number}");
        (after.0 - before.0, after.1 - before.1)
    });
    let costs: Vec<(u64, u64)> = costs.collect();
    let least = |of: fn(&(u64, u64)) -> u64| costs.iter().map(of).min().unwrap();
    (least(|cost| cost.0), least(|cost| cost.1))
}

#[track_caller]
fn costs_the_same(mut driven: Driven, first: u64, last: u64) {
    let step = |driven: &mut Driven, number| {
        let output = "x".repeat(10_000);
        driven.last = driven.machine.step(WorkflowEvent {
            at_ms: 5,
            event: ended(number, result(number, &output, None)),
        });
    };
    for number in 1..first {
        step(&mut driven, number);
    }
    let early = cost(&mut driven, first);
    for number in first + 8..last {
        step(&mut driven, number);
    }
    let late = cost(&mut driven, last);
    // Names and numbers have a digit more, for which a buffer may double.
    assert!(late.0 <= early.0 + 64, "hashed: {early:?} {late:?}");
    // The checkpoint has a line for each run that has ended, and none of their outputs of ten thousand bytes.
    let lines = 1_024 * (last - first);
    assert!(
        late.1 <= early.1 + 4_096 + lines,
        "allocated: {early:?} {late:?}"
    );
    // Ten thousand bytes came in: more than a few copies of them is more than an entry needs.
    assert!(early.1 < 100_000 + 1_024 * first, "allocated: {early:?}");
}

fn long(steps: Vec<Step>) -> crate::contract::WorkflowDefinition {
    let mut definition = workflow(steps, vec![]);
    definition.max_steps = 2_000;
    definition
}

#[test]
fn an_entry_of_a_long_sequence_costs_what_its_new_bytes_cost() {
    // As many as a definition may hold.
    let many = (0..256).map(|n| given(&format!("s{n}"), "${input}"));
    let definition = long(many.collect());
    costs_the_same(Driven::new(definition, "go"), 20, 240);
}

#[test]
fn an_entry_of_a_long_loop_costs_what_its_new_bytes_cost() {
    let held = ForEach {
        items: "${input}".to_owned(),
        max_iterations: 600,
        steps: vec![given("x", "${item}"), given("y", "${index}")],
    };
    let definition = long(vec![step("each", Work::ForEach(held))]);
    let items: Vec<u32> = (0..600).collect();
    let items = serde_json::to_string(&items).unwrap();
    costs_the_same(Driven::new(definition, &items), 100, 1_000);
}

#[test]
fn an_entry_of_a_group_costs_what_its_members_take_in_the_digest() {
    let cost_of = |members: usize| {
        let steps = (0..members).map(|n| given(&format!("s{n}"), "${input}"));
        let held = group("g", 2, FailFast, steps.collect());
        let mut driven = Driven::new(long(vec![held]), "go");
        cost(&mut driven, 1)
    };
    let (few, many) = (cost_of(50), cost_of(250));
    // A word for each member, in a buffer that doubles, and the member in the checkpoint. What they wait for is known
    // since the group began.
    assert!(many.0 <= few.0 + 200 * 24, "hashed: {few:?} {many:?}");
    assert!(many.1 <= few.1 + 200 * 512, "allocated: {few:?} {many:?}");
}
