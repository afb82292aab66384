//! What a contract's rules say of a call, read apart from the machine: a star at the end of a name, arguments by the one value that
//! their `path` must have. The contracts of the exploration have no other rules.

use serde_json::Value;

use super::Approval;
use crate::contract::{ApprovalAction, ApprovalRule, Terms};

/// What becomes of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RuleResult {
    Runs,
    Asks,
    /// Denied, and by which rule.
    Denies(String),
}

/// A rule that is about the calls of a tool, with that path alone where one is given.
pub(super) fn rule(tool: &str, path: Option<&str>, action: ApprovalAction) -> ApprovalRule {
    ApprovalRule {
        action,
        arguments: path.map(|path| serde_json::json!({"properties": {"path": {"const": path}}})),
        tool: tool.to_owned(),
    }
}

pub(super) fn rule_result(terms: &Terms, name: &str, arguments: &str) -> RuleResult {
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    for (n, rule) in terms.approval.iter().enumerate() {
        let named = match rule.tool.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == rule.tool,
        };
        let path = |schema: &Value| schema["properties"]["path"]["const"].clone();
        let meant = rule.arguments.as_ref().map(path);
        if !named || meant.is_some_and(|path| arguments["path"] != path) {
            continue;
        }
        return match rule.action {
            ApprovalAction::Allow => RuleResult::Runs,
            ApprovalAction::Ask => RuleResult::Asks,
            ApprovalAction::Deny => {
                RuleResult::Denies(format!("denied: approval: approval.{n} of the contract"))
            }
        };
    }
    if terms.require_approval.iter().any(|one| one == name) {
        RuleResult::Asks
    } else {
        RuleResult::Runs
    }
}

/// Whether an answer is of one of those whose answers count.
pub(super) fn counts(terms: &Terms, answer: &Approval) -> bool {
    let by = answer.answerer.as_ref().map(|answerer| &answerer.key);
    terms.approvers.is_empty() || by.is_some_and(|key| terms.approvers.contains(key))
}
