//! Variants of when a call may start: rules about calls, and calls that start before their message is complete.

use serde_json::json;

use super::*;

pub(super) const BY_RULE: Variant = Variant {
    name: "optional: rules about calls, signed answers",
    terms: ruled,
    letters: &[BASE, RULED],
};

pub(super) const EARLY: Variant = Variant {
    name: "optional: calls that start before their message is complete",
    terms: || {
        let mut terms = Terms {
            idempotent: vec!["read".to_owned()],
            max_turns: 3,
            parallel_safe: vec!["read".to_owned()],
            parallel_tool_calls: true,
            speculative_exec: true,
            ..loose(ToolPolicy::Optional)
        };
        for tool in &mut terms.tools {
            tool.annotations = json!({"readOnlyHint": tool.name == "read"});
        }
        terms
    },
    letters: &[BASE, EARLY_CALLS],
};
