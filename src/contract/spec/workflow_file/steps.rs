//! Reads a step: which kind it is, and that it has the keys of that kind and no other. Does not judge what it refers to.

use serde_json::Value;

use super::keys::WORKFLOW_STEP;
use crate::contract::spec::form::{Read, Schemas};
use crate::contract::spec::reporter::Reporter;
use crate::contract::spec::section::Section;
use crate::contract::spec::tree::{Kind, Node};
use crate::contract::{
    Delegate, FailureStrategy, ForEach, If, Parallel, Step, ToolUse, While, Work,
};
use crate::message::Digest;

/// A step.
pub(in crate::contract) struct AnyStep(pub(super) Step);

/// The arguments of a tool.
pub(in crate::contract) struct Arguments(Value);

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

impl Read for Arguments {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        if matches!(node.kind, Kind::Map(_)) {
            return Value::read(node, reporter).map(Self);
        }
        reporter.expected(node, "a mapping");
        None
    }

    fn schema(_: &mut Schemas) -> Value {
        serde_json::json!({"type": "object"})
    }
}

impl Read for AnyStep {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let keys = &WORKFLOW_STEP;
        Section::read(node, reporter, keys, |section| {
            // Every key is read, so that every fault is found.
            let id = section.get(&keys.id);
            let prompt = section.get(&keys.prompt);
            let tool = section.get(&keys.tool);
            let arguments = section.get(&keys.arguments);
            let delegate = section.get(&keys.delegate);
            let task = section.get(&keys.task);
            let if_ = section.get(&keys.if_);
            let then = steps(section.get(&keys.then));
            let otherwise = steps(section.get(&keys.else_));
            let for_each = section.get(&keys.for_each);
            let while_ = section.get(&keys.while_);
            let inside = steps(section.get(&keys.steps));
            let max_iterations = section.get(&keys.max_iterations);
            let parallel = steps(section.get(&keys.parallel));
            let max_concurrency = section.get(&keys.max_concurrency);
            let on_failure = section.get(&keys.on_failure);
            let depends_on = section.get(&keys.depends_on).unwrap_or_default();
            let compensate = section.get(&keys.compensate);
            let kind = kind(section)?;
            let work = match kind {
                "prompt" => Work::Prompt(prompt?),
                "tool" => Work::Tool(ToolUse {
                    arguments: arguments.map_or_else(|| serde_json::json!({}), |Arguments(a)| a),
                    tool: tool?,
                }),
                "delegate" => Work::Delegate(Delegate {
                    agent: delegate?,
                    // The caller reads the file.
                    agent_digest: Digest::ZERO,
                    task: task?,
                }),
                "if" => Work::If(If {
                    condition: if_?,
                    otherwise: otherwise.unwrap_or_default(),
                    then: then?,
                }),
                "for_each" => Work::ForEach(ForEach {
                    items: for_each?,
                    max_iterations: max_iterations?,
                    steps: inside?,
                }),
                "while" => Work::While(While {
                    condition: while_?,
                    max_iterations: max_iterations?,
                    steps: inside?,
                }),
                _ => Work::Parallel(Parallel {
                    max_concurrency: max_concurrency.unwrap_or(keys.max_concurrency.default_value),
                    on_failure: on_failure.unwrap_or(FailureStrategy::FailFast),
                    steps: parallel?,
                }),
            };
            Some(Self(Step {
                compensate,
                depends_on,
                id: id?,
                work,
            }))
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&WORKFLOW_STEP)
    }
}

fn steps(read: Option<Vec<AnyStep>>) -> Option<Vec<Step>> {
    Some(read?.into_iter().map(|AnyStep(step)| step).collect())
}

/// Which kind of step it is, where it has the keys of one.
fn kind(section: &Section<'_, '_>) -> Option<&'static str> {
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
