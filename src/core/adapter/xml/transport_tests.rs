//! The XML transport over whole conversations and answers.

use std::sync::Arc;

use serde_json::json;

use super::{XmlTransport, transported};
use crate::adapter::Adapter;
use crate::adapter::fixture::terms;
use crate::contract::{FINAL_REPORT, FinalReportTerms, ReportFormat, Terms, session_tools};
use crate::kernel::XmlOffer;
use crate::kernel::tags::{offer_tokens, quotation_tokens};
use crate::message::{
    AdapterStatus, AgentMessage, Digest, FailureCode, ObjectText, Observed, ObservedStatus,
    ProtocolAdapterResult, Role, StopReason, TagFlaw, ToolInvocation, estimate_tokens,
};

fn reporting(transport: &str) -> Terms {
    let terms = terms(|value| {
        value["tool_transport"] = json!(transport);
    });
    let report = FinalReportTerms {
        format: ReportFormat::Text,
        schema: None,
    };
    Terms {
        session_tools: session_tools(Some(&report), true, false, &crate::message::BytesPerToken),
        final_report: Some(report),
        ..terms
    }
}

fn offer() -> XmlOffer {
    XmlOffer {
        closing: false,
        first_slot: 1,
        genesis: "0a1b2c3d".repeat(8).parse().unwrap(),
        slots: 2,
    }
}

fn returned(content: &str, calls: Vec<ToolInvocation>, stop: StopReason) -> ProtocolAdapterResult {
    ProtocolAdapterResult {
        adapter_version: "openai-chat/1".to_owned(),
        canonical_message: Some(AgentMessage {
            tool_calls: calls,
            ..AgentMessage::text(Role::Assistant, content, 0)
        }),
        excerpt: None,
        failure_code: None,
        pointer: None,
        raw_hash: Digest::ZERO,
        repair: None,
        status: AdapterStatus::Native,
        stop,
        stop_word: None,
        served_by: None,
        tag_warnings: Vec::new(),
        usage: None,
        withheld: None,
    }
}

fn call(id: &str, name: &str, arguments: &str) -> ToolInvocation {
    ToolInvocation {
        arguments: ObjectText::parse(arguments).unwrap(),
        id: id.to_owned(),
        name: name.to_owned(),
        fault: None,
        raw_payload: None,
        source_model: "m".to_owned(),
    }
}

fn validated(
    result: ProtocolAdapterResult,
    offer: Option<&XmlOffer>,
    terms: &Terms,
) -> ProtocolAdapterResult {
    let adapter = Adapter::of_target(terms, 0).unwrap();
    transported(result, offer, terms, (0, adapter))
}

/// The text, and each call as `id name arguments`; or the code and place of the rejection.
fn check(transport: &str, content: &str, native: Vec<ToolInvocation>, expect: &str) {
    let content = content.replace("N-", "ai-agent-0a1b2c3d-");
    let result = returned(&content, native, StopReason::End);
    let offer = XmlOffer {
        slots: if transport == "xml" { 2 } else { 0 },
        ..offer()
    };
    let read = validated(result, Some(&offer), &reporting(transport));
    let found = match (&read.canonical_message, read.failure_code) {
        (Some(message), _) => {
            let calls = message.tool_calls.iter();
            let calls = calls.map(|c| format!(" [{} {} {}]", c.id, c.name, c.arguments.as_str()));
            format!("{:?}{}", message.content, calls.collect::<String>())
        }
        (None, code) => {
            assert_eq!(read.status, AdapterStatus::Rejected);
            let code = code.map_or("", FailureCode::as_str);
            format!("{code} {}", read.pointer.unwrap_or_default())
        }
    };
    assert_eq!(found.replace("0a1b2c3d", "N"), expect, "{content}");
}

#[test]
fn tags_of_an_answer_become_calls_and_the_rest_stays_text() {
    check(
        "xml",
        "I look. <N-0001 tool=\"read\"> {\"path\": \"x86\", \"n\": 1e400} </N-0001>",
        vec![],
        "\"I look.\" [N-0001 read  {\"path\": \"x86\", \"n\": 1e400} ]",
    );
    check(
        "xml",
        "<N-FINAL tool=\"agent__final_report\" format=\"text\">\r\n two\nlines\r\n</N-FINAL>",
        vec![],
        "\"\" [N-FINAL agent__final_report {\"format\":\"text\",\"report_content\":\" two\\nlines\"}]",
    );
    check(
        "xml",
        "<N-PROGRESS tool=\"agent__progress_report\"> half way </N-PROGRESS>",
        vec![],
        "\"\" [N-PROGRESS agent__progress_report {\"progress\":\"half way\"}]",
    );
    check(
        "xml",
        "<ai-agent-ffffffff-0001 tool=\"read\">{}</ai-agent-ffffffff-0001>",
        vec![],
        "\"<ai-agent-ffffffff-0001 tool=\\\"read\\\">{}</ai-agent-ffffffff-0001>\"",
    );
    check(
        "xml",
        "<N-0002 tool=\"read\">[1]</N-0002>",
        vec![],
        "ARGS_NOT_OBJECT N-0002",
    );
    check(
        "xml",
        "",
        vec![call("c1", "read", "{}")],
        "CALL_UNEXPECTED /tool_calls/0",
    );
    check(
        "xml-final",
        "<N-FINAL tool=\"agent__final_report\">done</N-FINAL><N-0001 tool=\"read\">{}</N-0001>",
        vec![call("c1", "read", "{}")],
        "\"\" [c1 read {}] [N-FINAL agent__final_report {\"report_content\":\"done\"}]",
    );
    let untouched = returned("<N-0001>", vec![], StopReason::End);
    assert_eq!(
        validated(untouched.clone(), None, &reporting("xml")),
        untouched
    );
}

fn conversation() -> Vec<Arc<AgentMessage>> {
    let asks = |calls: Vec<ToolInvocation>| AgentMessage {
        tool_calls: calls,
        ..AgentMessage::text(Role::Assistant, "Hm.", 1)
    };
    let observation = |id: &str, text: &str| AgentMessage {
        observed: Some(Observed {
            duration_ms: 3,
            status: ObservedStatus::Ok,
        }),
        ..AgentMessage::observation(id, text, 5)
    };
    let report = "{\"report_content\":\" \"}";
    let messages = vec![
        AgentMessage::text(Role::System, "s", 1),
        AgentMessage::text(Role::User, "u", 1),
        asks(vec![
            call("0a1b2c3d-0001", "read", "{\"path\":\"a\"}"),
            call("0a1b2c3d-0002", "read", "{\"path\":\"b\"}"),
        ]),
        observation("0a1b2c3d-0001", "one"),
        observation("0a1b2c3d-0002", "two"),
        asks(vec![
            call("c1", "read", "{}"),
            call("0a1b2c3d-FINAL", FINAL_REPORT, report),
        ]),
        observation("c1", "three"),
        observation("0a1b2c3d-FINAL", "(tool failed: no)"),
        AgentMessage::text(Role::User, "go on", 1),
    ];
    messages.into_iter().map(Arc::new).collect()
}

#[test]
fn a_conversation_is_rendered_as_tags_and_each_turns_results_as_one_message() {
    let of = |transport: &str| XmlTransport::of(&reporting(transport)).unwrap();
    let lines = |plain: &[Arc<AgentMessage>]| -> String {
        let line = |m: &Arc<AgentMessage>| {
            let calls: Vec<&str> = m.tool_calls.iter().map(|c| c.id.as_str()).collect();
            format!("{:?} {calls:?} {:?} {}\n", m.role, m.content, m.tokens)
        };
        plain.iter().map(line).collect()
    };
    let whole = conversation();
    let shown = ["xml", "xml-final"].map(|transport| lines(of(transport).plain(&whole)));
    insta::assert_snapshot!(shown.join("=====\n"));
    assert!(XmlTransport::of(&reporting("native")).is_none());
}

#[test]
fn earlier_renderings_change_nothing() {
    let whole = conversation();
    for transport in ["xml", "xml-final"] {
        let fresh = |end: usize| {
            let mut encoder = XmlTransport::of(&reporting(transport)).unwrap();
            encoder.plain(&whole[..end]).to_vec()
        };
        let mut encoder = XmlTransport::of(&reporting(transport)).unwrap();
        for end in (0..=whole.len()).chain((0..whole.len()).rev()) {
            assert_eq!(
                encoder.plain(&whole[..end]),
                fresh(end),
                "{transport} {end}"
            );
        }
    }
}

#[test]
fn a_report_of_xml_final_in_the_providers_own_form_was_not_offered() {
    let check = |name: &str, expect: Option<FailureCode>| {
        let terms = reporting("xml-final");
        let native = vec![call("c0", "f", "{}"), call("c1", name, "{}")];
        let validated = validated(
            returned("", native, StopReason::End),
            Some(&offer()),
            &terms,
        );
        assert_eq!(validated.failure_code, expect, "{name}");
        let pointer = expect.map(|_| "/tool_calls/1".to_owned());
        assert_eq!(validated.pointer, pointer);
    };
    let unexpected = Some(FailureCode::CallUnexpected);
    check(FINAL_REPORT, unexpected);
    check("g", None);
}

/// Shows 000/11.unclosed.3, 000/11.calls.2.
#[test]
fn tags_that_are_ignored_and_a_report_that_is_not_closed_are_recorded() {
    let check = |content: &str, stop: StopReason, expect: &[&str]| {
        let content = content.replace("N-", "ai-agent-0a1b2c3d-");
        let result = returned(&content, vec![], stop);
        let read = validated(result, Some(&offer()), &reporting("xml"));
        let warnings: Vec<String> = read.tag_warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, expect, "{content}");
    };
    check(
        "none, <ai-agent-ffffffff-0001 tool=\"f\">",
        StopReason::End,
        &[],
    );
    check(
        "<N-0001 tool=\"f\">{}</N-0001></N-0002>",
        StopReason::End,
        &["tag 0002 ignored: unopened"],
    );
    check(
        "<N-PROGRESS tool=\"f\">x</N-PROGRESS><N-evil>x</N-evil><N-12345678901 tool=\"f\">x</N-12345678901>",
        StopReason::End,
        &[
            "tag PROGRESS ignored: wrong tool",
            "tag ignored: unknown slot",
            "tag ignored: unknown slot",
        ],
    );
    let report = "<N-FINAL tool=\"agent__final_report\">MIT";
    for (stop, expect) in [
        (StopReason::End, "tag FINAL accepted: unclosed report"),
        (StopReason::Unknown, "tag FINAL accepted: unclosed report"),
        (StopReason::Length, "tag FINAL ignored: unclosed"),
    ] {
        check(report, stop, &[expect]);
    }
    // A word that is in no table is no end.
    let read = validated(
        ProtocolAdapterResult {
            stop_word: Some("weather".to_owned()),
            ..returned(
                &report.replace("N-", "ai-agent-0a1b2c3d-"),
                vec![],
                StopReason::Unknown,
            )
        },
        Some(&offer()),
        &reporting("xml"),
    );
    assert_eq!(
        read.tag_warnings[0].to_string(),
        "tag FINAL ignored: unclosed"
    );
    assert_eq!(read.canonical_message.unwrap().tool_calls, []);
    // A rejected answer keeps what was read of its tags.
    check(
        "<N-0001 tool=\"f\">[1]</N-0001><N-0002>{}</N-0002>",
        StopReason::End,
        &["tag 0002 ignored: no tool"],
    );
    // As many as are read, and one for all the others.
    let many = "</N-0001><N-0009>{}</N-0009>".repeat(300);
    let read = validated(
        returned(
            &many.replace("N-", "ai-agent-0a1b2c3d-"),
            vec![],
            StopReason::End,
        ),
        Some(&offer()),
        &reporting("xml"),
    );
    assert_eq!(read.tag_warnings.len(), 129);
    assert_eq!(read.tag_warnings[128].flaw, TagFlaw::TooMany);
}

#[test]
fn the_machine_counts_what_a_request_says_about_its_tags() {
    let check = |transport: &str, slots: u32, closing: bool| {
        let mut terms = reporting(transport);
        for tool in &mut terms.tools {
            let parts = [
                &tool.name,
                &tool.description,
                &tool.input_schema.to_string(),
            ];
            tool.schema_tokens = parts.map(|part| estimate_tokens(part)).iter().sum();
        }
        let offer = XmlOffer {
            closing,
            slots,
            ..offer()
        };
        let native: u64 = terms.native_tools(closing).map(|t| t.schema_tokens).sum();
        let counted = offer_tokens(&terms, terms.offered_to(0, closing), &offer) - native;
        let notice = XmlTransport::of(&terms).unwrap().next(&offer);
        let sent = estimate_tokens(&notice.content);
        // Each part of a definition is rounded up by itself.
        let most = sent + 3 * u64::try_from(terms.tools.len()).unwrap();
        assert!(
            (sent..=most).contains(&counted),
            "{counted}: {}",
            notice.content
        );
    };
    check("xml", 2, false);
    check("xml", 0, true);
    check("xml-final", 0, false);
    check("xml-final", 0, true);
}

#[test]
fn the_machine_counts_the_arguments_that_results_quote() {
    let long = format!(r#"{{"path":"{}"}}"#, "x".repeat(4_000));
    let calls = [
        call("0a1b2c3d-0001", "read", &long),
        call("0a1b2c3d-0002", "read", "{}"),
    ];
    let said = AgentMessage {
        tool_calls: calls.to_vec(),
        ..AgentMessage::text(Role::Assistant, "", 0)
    };
    let observed = calls.each_ref().map(|call| AgentMessage {
        observed: Some(Observed {
            duration_ms: 12_345,
            status: ObservedStatus::Ok,
        }),
        ..AgentMessage::observation(call.id.as_str(), "MIT", estimate_tokens("MIT"))
    });
    let conversation: Vec<_> = [said].into_iter().chain(observed).map(Arc::new).collect();
    let mut transport = XmlTransport::of(&reporting("xml")).unwrap();
    let sent = estimate_tokens(&transport.plain(&conversation)[1].content);
    let quoted: u64 = calls.iter().map(quotation_tokens).sum();
    let results: u64 = conversation.iter().map(|message| message.tokens).sum();
    assert!((sent..=sent + 4).contains(&(quoted + results)), "{sent}");
}
