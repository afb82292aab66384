//! The keys of front matter (001 §2), and which key of a contract file each of them is.

use super::profile::AgentForm;
use crate::contract::spec::keys::{FILE, FINAL_REPORT};

/// Keys of front matter, and of `defaults` in a layer of configuration, with their paths in a contract file.
pub const KNOBS: [(&str, &str); 18] = [
    ("caching", "sampling.caching"),
    ("contextWindowBufferTokens", "context_budget.buffer"),
    ("llmTimeout", "llm_timeout_ms"),
    ("maxDepth", "max_delegation_depth"),
    ("maxOutputTokens", "sampling.max_output_tokens"),
    ("maxRetries", "max_attempts_per_turn"),
    ("maxToolCallsPerTurn", "max_tool_calls_per_turn"),
    ("maxToolTurns", "max_turns"),
    ("maxTurns", "max_turns"),
    ("parallelToolCalls", "parallel_tool_calls"),
    ("reasoning", "sampling.reasoning"),
    ("reasoningTokens", "sampling.reasoning_tokens"),
    ("repeatPenalty", "sampling.repeat_penalty"),
    ("stream", "sampling.stream"),
    ("temperature", "sampling.temperature"),
    (
        "toolResponseMaxBytes",
        "tool_output_budget.max_bytes_per_call",
    ),
    ("toolTimeout", "tool_timeout_ms"),
    ("topP", "sampling.top_p"),
];

/// The other keys of front matter.
pub(super) const OWN: [&str; 7] = [
    "agents", "input", "models", "output", "toolName", "tools", "usage",
];

/// The path in a contract file of a key that is one there.
pub(super) fn contract_path(key: &str) -> Option<&'static str> {
    let known = KNOBS.iter().find(|(name, _)| *name == key);
    known.map(|(_, path)| *path)
}

/// What an agent's file calls the value at a path of a contract file: `temperature` for `sampling.temperature` in front matter.
pub(in crate::contract::spec) fn shown_path(path: &str, form: AgentForm) -> String {
    if form == AgentForm::Profile {
        return path.to_owned();
    }
    let mut parts = path.split('.');
    let (first, second) = (parts.next().unwrap_or_default(), parts.next());
    if first == FILE.targets.name {
        return match second {
            Some(index) => format!("models.{index}"),
            None => "models".to_owned(),
        };
    }
    if first == FILE.final_report.name && second.is_none_or(|key| key == FINAL_REPORT.format.name) {
        return "output.format".to_owned();
    }
    if first == FILE.final_report.name {
        return path.replacen(first, "output", 1);
    }
    let known = KNOBS.iter().find(|(_, known)| *known == path);
    known.map_or(path, |(name, _)| name).to_owned()
}

/// Which of the keys that are that one of a contract file stands before a value.
pub(in crate::contract::spec) fn knob_before(
    text: &str,
    offset: usize,
    path: &str,
) -> Option<&'static str> {
    let before = text.get(..offset)?.lines().next_back()?;
    let key = before.trim_end().strip_suffix(':')?.trim();
    let key = key.trim_matches(['"', '\'']);
    let mut knobs = KNOBS.iter();
    let found = knobs.find(|(name, known)| *known == path && *name == key);
    found.map(|(name, _)| *name)
}
