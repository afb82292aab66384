//! Names under which a person asks for outcomes of runs: a class, a code, or a family of classes.

use serde::Deserialize as _;
use serde::de::value::{self, StrDeserializer};

use monolith_core::kernel::{AgentOutcome, OutcomeCode};

/// Families of classes: how a class begins, or what failed.
pub const FAMILIES: [&str; 9] = [
    "completed",
    "failed",
    "preflight",
    "protocol",
    "validation",
    "budget",
    "timeout",
    "contract",
    "interrupted",
];

/// Returns the families of a class: `failed` and `budget` for FAILED_BUDGET_EXHAUSTED.
pub fn families_of(class: &str) -> impl Iterator<Item = &str> {
    let mut words = class.split('_');
    let first = words.next();
    let second = words.next().filter(|_| first == Some("FAILED"));
    first.into_iter().chain(second)
}

/// True if a run that ended so is among those that `asked` names.
pub(crate) fn is_of_outcome((class, code): (&str, &str), asked: &str) -> bool {
    let mut names = [class, code].into_iter().chain(families_of(class));
    names.any(|name| asked.eq_ignore_ascii_case(name))
}

/// True if a text names a class, a code or a family of classes.
#[must_use]
pub fn is_outcome(text: &str) -> bool {
    names().any(|name| name.eq_ignore_ascii_case(text))
}

/// Returns every name: families, codes and classes.
pub fn names() -> impl Iterator<Item = String> {
    let classes = AgentOutcome::ALL.map(|class| class.as_str().to_owned());
    let families = FAMILIES.map(str::to_owned).into_iter();
    families.chain(codes()).chain(classes)
}

/// Every code.
fn codes() -> Vec<String> {
    let none = OutcomeCode::deserialize(StrDeserializer::<value::Error>::new(""));
    let fault = none.err().map(|fault| fault.to_string());
    let fault = fault.unwrap_or_default();
    let (_, codes) = fault.split_once("expected one of ").unwrap_or_default();
    let codes = codes.split(", ").map(|code| code.trim_matches('`'));
    codes.map(str::to_owned).collect()
}
