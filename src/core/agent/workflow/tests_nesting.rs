//! A group that gathers errors, below every other kind of step: the steps around it complete, and have not succeeded.

use super::testing::*;
use crate::contract::FailureStrategy::{ContinueOnError, FailFast, Rollback};
use crate::contract::{Step, Test};

/// What can stand around a step, each so that the step is done once.
const AROUND: [&str; 7] = [
    "if",
    "else",
    "for_each",
    "while",
    "failFast",
    "continueOnError",
    "rollback",
];

/// A step of that kind and name around another one.
fn around(kind: &str, name: &str, inside: Step) -> Step {
    let ran = |ran| condition("p", Test::Succeeded(ran));
    let inner = inside.id.to_string();
    let held = vec![inside];
    match kind {
        "if" => if_(name, ran(true), held, vec![]),
        "else" => {
            let other = vec![prompt(&format!("not-{name}"))];
            if_(name, ran(false), other, held)
        }
        "for_each" => each(name, "[1]", held),
        // Its output has the word once it was done.
        "while" => {
            let until = condition(&inner, Test::NotContains("done".to_owned()));
            while_(name, until, held)
        }
        "failFast" => group(name, 2, FailFast, held),
        "continueOnError" => group(name, 2, ContinueOnError, held),
        _ => group(name, 2, Rollback, held),
    }
}

/// 003/INV-PE-003
#[test]
fn what_stands_around_a_group_with_errors_completes_and_has_not_succeeded() {
    let gathers = || group("g", 2, ContinueOnError, vec![prompt("a"), prompt("b")]);
    let mut nestings: Vec<(String, Step)> = Vec::new();
    for outer in AROUND {
        nestings.push((outer.to_owned(), around(outer, "outer", gathers())));
        for middle in AROUND {
            let inside = around(middle, "middle", gathers());
            let nesting = format!("{outer} around {middle}");
            nestings.push((nesting, around(outer, "outer", inside)));
        }
    }
    for (nesting, step) in nestings {
        for fails in [false, true] {
            let succeeded = condition("outer", Test::Succeeded(true));
            let last = if_("q", succeeded, vec![prompt("yes")], vec![prompt("no")]);
            let steps = vec![prompt("p"), step.clone(), last];
            let mut driven = Driven::new(workflow(steps, vec![]), "");
            driven.ok(1, "");
            if fails {
                driven.fails(2);
            } else {
                driven.ok(2, "");
            }
            driven.ok(3, "done");
            let (place, expected) = if fails {
                ("q/no", "COMPLETED (with_errors)")
            } else {
                ("q/yes", "COMPLETED (all_steps)")
            };
            assert_eq!(driven.begun(), places(&[(4, place)]), "{nesting}");
            let outcome = driven.ok(4, "").outcome();
            assert_eq!(outcome.as_deref(), Some(expected), "{nesting}");
        }
    }
}
