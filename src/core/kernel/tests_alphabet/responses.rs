//! The messages of a model, as an adapter gives them.

use super::*;
use crate::kernel::CallStreamed;

const REPORT: &str = r#"{"format":"markdown","report_content":"MIT"}"#;
const REPORT_BAD: &str = r#"{"format":"markdown","report_content":" "}"#;
const PROGRESS: &str = r#"{"progress":"half way"}"#;

fn read_and(last: ToolInvocation) -> AgentMessage {
    let mut message = calls(&["read"]);
    message.tool_calls.push(last);
    message
}

/// A call whose arguments the adapter could not read. They would do, so that nothing but the fault keeps it from running.
fn unreadable(id: &str, name: &str) -> ToolInvocation {
    let arguments = if name == FINAL_REPORT {
        REPORT
    } else {
        r#"{"path":"a"}"#
    };
    ToolInvocation {
        fault: Some(FailureCode::ArgsInvalidJson),
        ..call(id, name, arguments)
    }
}

fn batched(names: [&str; 2]) -> String {
    let parts = names.map(|name| format!(r#"{{"tool":"{name}","arguments":{{"path":"a"}}}}"#));
    format!(r#"{{"calls":[{}]}}"#, parts.join(","))
}

pub(super) fn response(kind: Response) -> ProtocolAdapterResult {
    let call_of = |id: &str, name: &str, arguments: &str| AgentMessage {
        tool_calls: vec![call(id, name, arguments)],
        ..text("")
    };
    let stopped = |message, stop| ProtocolAdapterResult {
        stop,
        ..native(message)
    };
    let recovered = |message| ProtocolAdapterResult {
        status: AdapterStatus::Recovered,
        ..native(message)
    };
    match kind {
        Response::Text | Response::Breached => native(text("MIT")),
        Response::Blank => native(text(" \n")),
        Response::Reasoning => native(AgentMessage {
            reasoning: Some("hm".to_owned()),
            ..text("")
        }),
        Response::Cut => stopped(text("MI"), StopReason::Length),
        Response::Unended => stopped(text("MI"), StopReason::Unknown),
        Response::Refused => stopped(text("no"), StopReason::Refusal),
        Response::Filtered => stopped(text(""), StopReason::ContentFilter),
        Response::RefusedRead => stopped(calls(&["read"]), StopReason::Refusal),
        Response::Read => native(calls(&["read"])),
        Response::ReadB => native(call_of("c1", "read", "{\"path\":\"b\"}")),
        Response::CutRead => stopped(calls(&["read"]), StopReason::Length),
        Response::Write => native(calls(&["write"])),
        Response::ReadWrite => native(calls(&["read", "write"])),
        Response::ReadRead => native(calls(&["read", "read"])),
        Response::WriteRead => native(calls(&["write", "read"])),
        Response::Three => native(calls(&["read", "read", "write"])),
        Response::TextRead => native(AgentMessage {
            content: "I read.".to_owned(),
            ..calls(&["read"])
        }),
        Response::Unknown | Response::BreachedUnknown => native(calls(&["fly"])),
        Response::ReportUnknown => native(AgentMessage {
            tool_calls: vec![call("f", FINAL_REPORT, REPORT), call("c1", "fly", "{}")],
            ..text("")
        }),
        Response::ProgressUnknown => native(AgentMessage {
            tool_calls: vec![
                call("p", PROGRESS_REPORT, PROGRESS),
                call("c1", "fly", "{}"),
            ],
            ..text("")
        }),
        Response::Outside => native(calls(&["outside"])),
        Response::Invalid => native(call_of("c1", "read", "{\"path\":1}")),
        Response::ReadUnknown => native(calls(&["read", "fly"])),
        Response::ReadOutside => native(calls(&["read", "outside"])),
        Response::ReadInvalid => native(AgentMessage {
            tool_calls: vec![
                call("c1", "read", "{\"path\":\"a\"}"),
                call("c2", "write", "{}"),
            ],
            ..text("")
        }),
        Response::ReadUnreadable => recovered(read_and(unreadable("c2", "write"))),
        Response::OutsideReadRead => native(calls(&["outside", "read", "read"])),
        Response::Rejected => ProtocolAdapterResult {
            excerpt: Some("{\\\"path\\\": a".to_owned()),
            ..rejected(FailureCode::ArgsInvalidJson)
        },
        Response::RecoveredText => recovered(text("MIT")),
        Response::RecoveredRead => recovered(calls(&["read"])),
        Response::Report => native(call_of("f", FINAL_REPORT, REPORT)),
        Response::ReportBad => native(call_of("f", FINAL_REPORT, REPORT_BAD)),
        Response::ReportCut => stopped(call_of("f", FINAL_REPORT, REPORT), StopReason::Length),
        Response::ReadReport => native(read_and(call("f", FINAL_REPORT, REPORT))),
        Response::ReadReportBad => native(read_and(call("f", FINAL_REPORT, REPORT_BAD))),
        Response::ReadReportUnreadable => recovered(read_and(unreadable("f", FINAL_REPORT))),
        Response::Progress => native(call_of("p", PROGRESS_REPORT, PROGRESS)),
        Response::ReadProgress => native(read_and(call("p", PROGRESS_REPORT, PROGRESS))),
        Response::Batch => native(call_of("b", BATCH, &batched(["read", "write"]))),
        Response::BatchUnknown => native(call_of("b", BATCH, &batched(["read", "fly"]))),
    }
}

/// The event of a call of that response that is whole before the response is.
pub(super) fn streamed(kind: Response, at: usize, inference: InferenceSeq) -> Option<EventKind> {
    let message = response(kind).canonical_message?;
    Some(EventKind::CallStreamed(Box::new(CallStreamed {
        index: at as u64,
        inference,
        invocation: message.tool_calls.get(at)?.clone(),
    })))
}
