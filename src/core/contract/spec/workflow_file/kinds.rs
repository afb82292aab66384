//! The kinds of steps, and that a step has the keys of its kind and no other. Does not read their values.

use crate::contract::spec::section::Section;

/// The kinds of steps: the key that makes one, and the keys that go with it, each with whether it is needed.
const KINDS: [(&str, &[(&str, bool)]); 7] = [
    ("prompt", &[("compensate", false)]),
    ("tool", &[("arguments", false), ("compensate", false)]),
    ("delegate", &[("task", true), ("compensate", false)]),
    ("if", &[("then", true), ("else", false)]),
    ("for_each", &[("steps", true), ("max_iterations", true)]),
    ("while", &[("steps", true), ("max_iterations", true)]),
    (
        "parallel",
        &[("max_concurrency", false), ("on_failure", false)],
    ),
];

/// Keys of every step.
const ALWAYS: [&str; 2] = ["id", "depends_on"];

/// Which kind of step it is, where it has the keys of one.
pub(super) fn kind(section: &Section<'_, '_>) -> Option<&'static str> {
    let made: Vec<_> = KINDS.iter().filter(|(key, _)| section.has(key)).collect();
    let all = || KINDS.map(|(key, _)| key).join(", ");
    let (kind, own) = match made.as_slice() {
        [] => {
            let rule = "nothing says what the step does";
            section.refuse(rule, Some(format!("one of {}", all())));
            return None;
        }
        [(kind, own)] => (*kind, *own),
        [_, (second, _), ..] => {
            let rule = "a step does one thing";
            section.refuse_key(second, rule, Some(format!("one of {}", all())));
            return None;
        }
    };
    for (needed, _) in own.iter().filter(|(_, needed)| *needed) {
        if !section.has(needed) {
            section.refuse(format!("the key `{needed}` is missing"), None);
        }
    }
    let others = KINDS.iter().flat_map(|(_, keys)| keys.iter());
    let goes_with = |key: &str| own.iter().any(|(known, _)| *known == key);
    let mut strange: Vec<&str> = others.map(|(key, _)| *key).collect();
    strange.sort_unstable();
    strange.dedup();
    for key in strange {
        // `steps` of a loop is no key of an `if`.
        if section.has(key) && !goes_with(key) && !ALWAYS.contains(&key) {
            section.refuse_key(key, format!("a step with `{kind}` has no `{key}`"), None);
        }
    }
    Some(kind)
}
