//! What models say in the tests of this module, and what the adapter makes of it.

use crate::message::{
    AdapterStatus, AgentMessage, Digest, FailureCode, ObjectText, ProtocolAdapterResult, Role,
    StopReason, ToolInvocation,
};

pub(super) fn native(message: AgentMessage) -> ProtocolAdapterResult {
    ProtocolAdapterResult {
        adapter_version: "openai-chat/1".to_owned(),
        canonical_message: Some(message),
        excerpt: None,
        failure_code: None,
        pointer: None,
        raw_hash: Digest::ZERO,
        repair: None,
        status: AdapterStatus::Native,
        stop: StopReason::End,
        served_by: None,
        tag_warnings: Vec::new(),
        usage: None,
        withheld: None,
    }
}

pub(super) fn rejected(code: FailureCode) -> ProtocolAdapterResult {
    ProtocolAdapterResult {
        canonical_message: None,
        failure_code: Some(code),
        pointer: Some("/choices/0".to_owned()),
        status: AdapterStatus::Rejected,
        ..native(text(""))
    }
}

pub(super) fn text(content: &str) -> AgentMessage {
    AgentMessage::text(Role::Assistant, content, 0)
}

/// A message with one call for each name, ids `c1`, `c2`, …, arguments `{"path":"a"}`.
pub(super) fn calls(names: &[&str]) -> AgentMessage {
    AgentMessage {
        tool_calls: (1..)
            .zip(names)
            .map(|(n, name)| call(&format!("c{n}"), name, "{\"path\":\"a\"}"))
            .collect(),
        ..text("")
    }
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> ToolInvocation {
    ToolInvocation {
        arguments: ObjectText::parse(arguments).expect("an object"),
        id: id.to_owned(),
        name: name.to_owned(),
        fault: None,
        raw_payload: None,
        source_model: "script".to_owned(),
    }
}
