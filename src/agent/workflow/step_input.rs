//! What a step run is given: its templates, filled. Knows nothing of where a walk is.

use super::StepInput;
use crate::contract::{Part, Template, Work};

/// The most bytes that a step is given.
pub(super) const MAX_INPUT_BYTES: usize = 4 << 20;

/// What a step run is given; none where that has too many bytes.
pub(super) fn input_of(work: &Work, fill: &dyn Fn(&Part) -> String) -> Option<StepInput> {
    let text = |text: &str| Template::parse(text).ok()?.filled(MAX_INPUT_BYTES, fill);
    match work {
        Work::Prompt(prompt) => Some(StepInput::Prompt(text(prompt)?)),
        Work::Tool(call) => {
            let arguments = filled(&call.arguments, &text)?;
            let arguments = serde_json_canonicalizer::to_string(&arguments).ok()?;
            (arguments.len() <= MAX_INPUT_BYTES).then(|| StepInput::Tool {
                arguments,
                tool: call.tool.clone(),
            })
        }
        Work::Delegate(delegate) => Some(StepInput::Delegate {
            agent: delegate.agent.clone(),
            agent_digest: delegate.agent_digest,
            task: text(&delegate.task)?,
        }),
        Work::If(_) | Work::ForEach(_) | Work::While(_) | Work::Parallel(_) => None,
    }
}

fn filled(
    value: &serde_json::Value,
    text: &dyn Fn(&str) -> Option<String>,
) -> Option<serde_json::Value> {
    Some(match value {
        serde_json::Value::String(template) => serde_json::Value::String(text(template)?),
        serde_json::Value::Array(items) => {
            let items: Option<Vec<_>> = items.iter().map(|item| filled(item, text)).collect();
            serde_json::Value::Array(items?)
        }
        serde_json::Value::Object(members) => {
            let members: Option<serde_json::Map<_, _>> = members
                .iter()
                .map(|(key, value)| Some((key.clone(), filled(value, text)?)))
                .collect();
            serde_json::Value::Object(members?)
        }
        other => other.clone(),
    })
}

/// Every part of every template of a step run.
pub(super) fn parts_of(work: &Work) -> Vec<Part> {
    let parts = std::cell::RefCell::new(Vec::new());
    // Filling a template asks for each of its parts.
    let _ = input_of(work, &|part| {
        parts.borrow_mut().push(part.clone());
        String::new()
    });
    parts.into_inner()
}
