//! The input of a step run: its templates, filled. Does not know the position of a walk.

use super::StepInput;
use crate::contract::{Part, Template, Work};

/// The most bytes that a step is given.
pub(super) const MAX_INPUT_BYTES: usize = 4 << 20;

/// Returns the input of a step run; `None` if it has too many bytes.
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
            task: task_of(&delegate.task, fill)?,
        }),
        Work::If(_) | Work::ForEach(_) | Work::While(_) | Work::Parallel(_) => None,
    }
}

/// The task of an agent. One that is JSON before it is filled is JSON behind it, with the same members: what an earlier step came to stands in
/// its texts alone.
fn task_of(task: &str, fill: &dyn Fn(&Part) -> String) -> Option<String> {
    let template = Template::parse(task).ok()?;
    let json = serde_json::from_str(task);
    if !matches!(
        json,
        Ok(serde_json::Value::Object(_) | serde_json::Value::Array(_))
    ) {
        return template.filled(MAX_INPUT_BYTES, fill);
    }
    template.filled(MAX_INPUT_BYTES, &|part| {
        let quoted = serde_json::Value::String(fill(part)).to_string();
        let bare = quoted
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        bare.unwrap_or_default().to_owned()
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Text from a model becomes no member of the input of an agent, and no error of its form.
    #[test]
    fn an_output_stays_a_text_in_a_task_that_is_json() {
        let check = |task: &str, output: &str, expect: &str| {
            let found = task_of(task, &|_| output.to_owned());
            assert_eq!(found.as_deref(), Some(expect), "{task}");
        };
        let task = r#"{"topic": "about ${steps.a.output}"}"#;
        check(task, "cats", r#"{"topic": "about cats"}"#);
        let more = r#"x","mode":"delete"#;
        let expect = r#"{"topic": "about x\",\"mode\":\"delete"}"#;
        check(task, more, expect);
        check(task, "two\nlines", r#"{"topic": "about two\nlines"}"#);
        check("${steps.a.output}", more, more);
        // The author wants a number there.
        check(r#"{"n": ${steps.a.output}}"#, "7", r#"{"n": 7}"#);
    }
}
