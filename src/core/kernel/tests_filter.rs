//! Effects of a provider's tool filter: the size of a request, and the handling of a call that its model was not offered.

use serde_json::Value;

use super::testing::*;
use super::{Approval, DropReason, Effect, InferenceFailed, ToolExposure};
use crate::contract::{ApprovalAction, ApprovalRule, BATCH, ProviderTerms, Terms, ToolPolicy};
use crate::kernel::EventKind;
use crate::message::{AgentMessage, ProviderFault, ProviderFaultClass};

/// Two targets, of which the first is not offered `write`.
fn filtered(strict_mode: bool) -> Terms {
    let mut terms = terms(ToolPolicy::Optional);
    let first = terms.providers["demo"].clone();
    let narrow = ProviderTerms {
        tools_denied: vec!["WRITE".to_owned()],
        ..first
    };
    terms.providers.insert("narrow".to_owned(), narrow);
    let mut narrow = target("script");
    narrow.provider = "narrow".to_owned();
    terms.targets.insert(0, narrow);
    Terms {
        strict_mode,
        ..terms
    }
}

#[test]
fn a_request_weighs_the_tools_that_its_target_is_offered() {
    let mut h = Harness::inferring(filtered(true));
    let of_narrow = h.request().map(|r| (r.target, r.expected_tokens));
    h.fail(ProviderFaultClass::Network);
    let of_other = h.request().map(|r| (r.target, r.expected_tokens));
    let (Some((0, narrow)), Some((1, other))) = (of_narrow, of_other) else {
        panic!("{of_narrow:?} {of_other:?}");
    };
    assert_eq!(other - narrow, 10, "the definition of one tool");
}

#[test]
fn a_call_that_the_model_was_not_offered_is_refused_and_the_other_target_may_make_it() {
    let write = || calls(&["write"]);
    let mut strict = Harness::inferring(filtered(true));
    strict.answer(write());
    assert_eq!(strict.end(), "FAILED_CONTRACT_VIOLATION (tool_not_allowed)");
    let mut h = Harness::inferring(filtered(false));
    h.answer(write());
    assert_eq!(h.started_calls(), []);
    assert_eq!(h.observations(), ["(tool failed: TOOL_NOT_ALLOWED: write)"]);
    assert_eq!(h.end(), "INFER");
    h.fail(ProviderFaultClass::Network).answer(write());
    assert_eq!(h.started_calls().len(), 1);
    h.run_tools().answer(text("done"));
    assert_eq!(h.end(), "COMPLETED_WITH_TOOLS (final_message)");
}

/// The same with `files/` before the name of each tool; every tool may be called.
fn in_folder(mut terms: Terms) -> Terms {
    for tool in &mut terms.tools {
        tool.name = format!("files/{}", tool.name);
    }
    Terms {
        allowed_tools: None,
        ..terms
    }
}

/// 17 §6: the machine knows own names, and the model is told wire names.
#[test]
fn texts_to_the_model_have_wire_names() {
    let mut terms = in_folder(filtered(false));
    let narrow = terms.providers.get_mut("narrow").unwrap();
    narrow.tools_denied = vec!["files/write".to_owned()];
    let mut h = Harness::inferring(terms);
    h.answer(calls(&["files/write"]));
    h.answer(calls(&["files_rad"]));
    let said = h.observations();
    assert_eq!(said[0], "(tool failed: TOOL_NOT_ALLOWED: files_write)");
    let nearest = "(tool failed: TOOL_NOT_FOUND: files_rad (nearest: files_read, files_outside))";
    assert_eq!(said[1], nearest);
}

/// 17 §6: a model writes the names of a batch's parts itself.
#[test]
fn the_parts_of_a_batch_are_read_by_their_wire_names() {
    let mut h = Harness::inferring(reporting(in_folder(terms(ToolPolicy::Optional))));
    let part = r#"{"calls":[{"id":"1","tool":"files_write","arguments":{"path":"a"}}]}"#;
    h.answer(AgentMessage {
        tool_calls: vec![call("b", BATCH, part)],
        ..text("")
    });
    let started = h.effects.iter().find_map(|effect| match effect {
        Effect::Execute(order) => Some(order.invocation.name.clone()),
        _ => None,
    });
    assert_eq!(
        started.as_deref(),
        Some("files/write"),
        "{:?}",
        h.observations()
    );
    h.run_tools();
    let said = h.observations();
    assert!(said[0].contains(r#""tool":"files_write""#), "{said:?}");
}

/// 17 §6: what the requests to one target leave out, another target is offered.
#[test]
fn a_tool_that_requests_leave_out_is_outside_for_that_target_alone() {
    let mut terms = filtered(false);
    let narrow = terms.providers.get_mut("narrow").unwrap();
    narrow.tools_denied = Vec::new();
    terms.targets[0]
        .left_out
        .insert("write".to_owned(), "x".to_owned());
    let mut h = Harness::inferring(terms);
    h.answer(calls(&["write"]));
    assert_eq!(h.observations(), ["(tool failed: TOOL_NOT_ALLOWED: write)"]);
    h.fail(ProviderFaultClass::Network)
        .answer(calls(&["write"]));
    assert_eq!(h.started_calls().len(), 1);
}

#[test]
fn a_target_without_a_tool_is_asked_for_text() {
    let mut terms = filtered(true);
    if let Some(narrow) = terms.providers.get_mut("narrow") {
        narrow.tools_denied = vec!["*".to_owned()];
    }
    let mut h = Harness::inferring(terms);
    let exposure = |h: &Harness| h.request().map(|request| request.tools);
    assert_eq!(exposure(&h), Some(ToolExposure::Withheld));
    h.fail(ProviderFaultClass::Network);
    assert_eq!(exposure(&h), Some(ToolExposure::Auto));
}

/// Faults P16: what would fail again is not asked again.
#[test]
fn a_permanent_fault_drops_its_target_for_the_run() {
    let permanent = |h: &Harness| {
        EventKind::InferenceFailed(InferenceFailed {
            fault: ProviderFault {
                permanent: true,
                status: Some(404),
                ..ProviderFault::new(ProviderFaultClass::Model, "no such page")
            },
            gated: false,
            inference: h.inference(),
            redacted: false,
            request_hash: None,
            usage: None,
        })
    };
    let mut alone = Harness::inferring(terms(ToolPolicy::Optional));
    alone.push(permanent(&alone));
    assert_eq!(alone.end(), "FAILED_PREFLIGHT (model_unavailable)");
    assert_eq!(alone.run.counters().inferences, 1);
    let dropped = alone.entries.iter().flat_map(|e| &e.action.dropped_targets);
    let reasons: Vec<DropReason> = dropped.map(|dropped| dropped.reason).collect();
    assert_eq!(reasons, [DropReason::PermanentFault]);

    let mut two = Harness::inferring(filtered(true));
    two.push(permanent(&two));
    assert_eq!(two.request().map(|request| request.target), Some(1));
    two.fail(ProviderFaultClass::Network);
    assert!(matches!(two.effects[..], [Effect::Wait { .. }]));
}

/// The ruling on a call.
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

/// True if an answer comes from one of those whose answers count.
pub(super) fn counts(terms: &Terms, answer: &Approval) -> bool {
    let by = answer.answerer.as_ref().map(|answerer| &answerer.key);
    terms.approvers.is_empty() || by.is_some_and(|key| terms.approvers.contains(key))
}
