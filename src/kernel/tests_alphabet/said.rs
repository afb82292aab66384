//! The messages of a model, as an adapter gives them.

use super::*;

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

pub(super) fn says(said: Said) -> ProtocolAdapterResult {
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
    match said {
        Said::Text | Said::Breached => native(text("MIT")),
        Said::Blank => native(text(" \n")),
        Said::Reasoning => native(AgentMessage {
            reasoning: Some("hm".to_owned()),
            ..text("")
        }),
        Said::Cut => stopped(text("MI"), StopReason::Length),
        Said::Refused => stopped(text("no"), StopReason::Refusal),
        Said::Filtered => stopped(text(""), StopReason::ContentFilter),
        Said::RefusedRead => stopped(calls(&["read"]), StopReason::Refusal),
        Said::Read => native(calls(&["read"])),
        Said::ReadB => native(call_of("c1", "read", "{\"path\":\"b\"}")),
        Said::CutRead => stopped(calls(&["read"]), StopReason::Length),
        Said::Write => native(calls(&["write"])),
        Said::ReadWrite => native(calls(&["read", "write"])),
        Said::ReadRead => native(calls(&["read", "read"])),
        Said::WriteRead => native(calls(&["write", "read"])),
        Said::Three => native(calls(&["read", "read", "write"])),
        Said::TextRead => native(AgentMessage {
            content: "I read.".to_owned(),
            ..calls(&["read"])
        }),
        Said::Unknown | Said::BreachedUnknown => native(calls(&["fly"])),
        Said::ReportUnknown => native(AgentMessage {
            tool_calls: vec![call("f", FINAL_REPORT, REPORT), call("c1", "fly", "{}")],
            ..text("")
        }),
        Said::ProgressUnknown => native(AgentMessage {
            tool_calls: vec![
                call("p", PROGRESS_REPORT, PROGRESS),
                call("c1", "fly", "{}"),
            ],
            ..text("")
        }),
        Said::Outside => native(calls(&["outside"])),
        Said::Invalid => native(call_of("c1", "read", "{\"path\":1}")),
        Said::ReadUnknown => native(calls(&["read", "fly"])),
        Said::ReadOutside => native(calls(&["read", "outside"])),
        Said::ReadInvalid => native(AgentMessage {
            tool_calls: vec![
                call("c1", "read", "{\"path\":\"a\"}"),
                call("c2", "write", "{}"),
            ],
            ..text("")
        }),
        Said::ReadUnreadable => recovered(read_and(unreadable("c2", "write"))),
        Said::OutsideReadRead => native(calls(&["outside", "read", "read"])),
        Said::Rejected => ProtocolAdapterResult {
            excerpt: Some("{\\\"path\\\": a".to_owned()),
            ..rejected(FailureCode::ArgsInvalidJson)
        },
        Said::RecoveredText => recovered(text("MIT")),
        Said::RecoveredRead => recovered(calls(&["read"])),
        Said::Report => native(call_of("f", FINAL_REPORT, REPORT)),
        Said::ReportBad => native(call_of("f", FINAL_REPORT, REPORT_BAD)),
        Said::ReportCut => stopped(call_of("f", FINAL_REPORT, REPORT), StopReason::Length),
        Said::ReadReport => native(read_and(call("f", FINAL_REPORT, REPORT))),
        Said::ReadReportBad => native(read_and(call("f", FINAL_REPORT, REPORT_BAD))),
        Said::ReadReportUnreadable => recovered(read_and(unreadable("f", FINAL_REPORT))),
        Said::Progress => native(call_of("p", PROGRESS_REPORT, PROGRESS)),
        Said::ReadProgress => native(read_and(call("p", PROGRESS_REPORT, PROGRESS))),
        Said::Batch => native(call_of("b", BATCH, &batched(["read", "write"]))),
        Said::BatchUnknown => native(call_of("b", BATCH, &batched(["read", "fly"]))),
    }
}
