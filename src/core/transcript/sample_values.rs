//! An event of every kind, for tests of their text.

use super::sample::{DONE, call, envelope, event, run_id_of, sampling, verdict};
use crate::contract::Label;
use crate::kernel::{
    Answerer, Approval, BringUpCause, BringUpFault, CallStreamed, ChildEnd, Event, EventKind,
    InferenceFailed, InferenceReturned, Inherited, Interrupter, LostEffect, ParentRun, Probed,
    ProbedTarget, ProviderAddress, Resumed, RunStarted, ToolReturned,
};
use crate::message::{
    AgentMessage, CallSeq, Confinement, ContentBlock, Digest, EnvelopeError, EnvelopeFields,
    EnvelopeStatus, FailureCode, FileChange, FileChanges, InferenceSeq, InputAnswer, InputExchange,
    InputQuestion, MemoryScope, NamedText, ObjectText, Observed, ObservedStatus, OpeningState,
    Parameter, ProtocolAdapterResult, ProviderFault, ProviderFaultClass, ProviderState, Repair,
    Role, SandboxPart, SandboxStrength, ServedBy, ServerConfinement, StateMember, StateTarget,
    TagFlaw, TagWarning, ToolEnvelope, ToolInvocation, ToolOutcome, ToolServerStatement, Usage,
    Withheld,
};

/// An event of every kind, with every optional field once present and once absent, and text that JSON must escape.
pub(crate) fn every_event() -> Vec<Event> {
    let odd = "\u{0}\u{8}\t\n\u{c}\r\u{1f}\"\\/\u{7f}\u{80}\u{2028}\u{fffd}\u{1f600}<é€".to_owned();
    let digest = Digest::of(b"x");
    let fault = ProviderFault {
        raw_hash: Some(digest),
        retry_after_ms: Some(1000),
        status: Some(429),
        ..ProviderFault::new(ProviderFaultClass::RateLimit, odd.clone())
    };
    let usage = Usage {
        cache_read: 1,
        cache_write: 1,
        cost_fault: true,
        cost_micro_usd: Some(2),
        estimated: true,
        input: 3,
        output: (1 << 53) - 1,
    };
    let message = AgentMessage {
        content: odd.clone(),
        observed: Some(Observed {
            duration_ms: 7,
            status: ObservedStatus::Failed,
        }),
        reasoning: Some(odd.clone()),
        tool_call_id: Some("t".to_owned()),
        tool_calls: vec![ToolInvocation {
            fault: Some(FailureCode::ArgsInvalidJson),
            raw_payload: Some(odd.clone()),
            ..call("a\\u0000\\n")
        }],
        ..AgentMessage::text(Role::Assistant, "", 1)
    };
    let full_verdict = ProtocolAdapterResult {
        excerpt: Some(odd.clone()),
        pointer: Some("/choices/0".to_owned()),
        repair: Some(Repair {
            original: odd.clone(),
            repaired: "{}".to_owned(),
            steps: vec!["close".to_owned()],
        }),
        served_by: Some(ServedBy {
            model: Some(odd.clone()),
            system_fingerprint: Some(odd.clone()),
        }),
        stop_word: Some(odd.clone()),
        tag_warnings: vec![
            TagWarning {
                flaw: TagFlaw::UnclosedReport,
                slot: Some("FINAL".to_owned()),
            },
            TagWarning {
                flaw: TagFlaw::UnknownSlot,
                slot: None,
            },
        ],
        usage: Some(usage),
        withheld: Some(Withheld {
            blank: true,
            bytes: 1,
            hash: digest,
            report_bytes: Some(1),
        }),
        ..verdict(message.clone())
    };
    let at = |provider: &str, proxy| ProviderAddress {
        address: odd.clone(),
        provider: provider.to_owned(),
        proxy,
    };
    let moved = vec![at("demo", Some(odd.clone())), at("other", None)];
    let tool_servers = vec![
        ToolServerStatement::new("fs", Some((&odd, "1.2")), "2025-06-18", Some(&odd)),
        ToolServerStatement::new("web", None, "2025-06-18", None),
    ];
    let named = vec![NamedText::new("server", &odd)];
    let confined = |memory| {
        Confinement::Confined(SandboxStrength {
            landlock: 6,
            memory,
        })
    };
    let decisions = [
        confined(Some(MemoryScope::Group)),
        confined(None),
        Confinement::Off,
        Confinement::Unavailable(SandboxPart::UserNamespace),
    ];
    let confinement: Vec<ServerConfinement> = decisions
        .into_iter()
        .map(|is| ServerConfinement {
            is,
            server: "fs".to_owned(),
        })
        .collect();
    let started = |parent, workspace| RunStarted {
        addresses: moved.clone(),
        bring_up: vec![BringUpFault {
            cause: Some(BringUpCause::Login),
            scopes: vec!["files".to_owned()],
            ..BringUpFault::new("fs".to_owned(), odd.clone())
        }],
        confinement: confinement.clone(),
        contract_hash: digest,
        inherited: Some(Inherited {
            labels: Label::every(),
            messages: 1,
        }),
        intent_words: Vec::new(),
        messages: vec![message.clone()],
        parent,
        provider_states: vec![OpeningState {
            message: 0,
            provider_state: provider_state(&[]),
        }],
        run_id: run_id_of("r-1"),
        started_unix_ms: 0,
        tokenizer_fault: Some(odd.clone()),
        tool_servers: tool_servers.clone(),
        workspace,
    };
    let parent = |call| ParentRun {
        call,
        head: digest,
        run_id: run_id_of("r-0"),
    };
    let returned = |result| InferenceReturned {
        gate_breached: true,
        gated: true,
        inference: InferenceSeq(1),
        provider_state: Some(Box::new(provider_state(&["signature"]))),
        redacted: true,
        request_hash: digest,
        result,
        server_headers: named.clone(),
        usage,
    };
    let failed = |request_hash, usage| InferenceFailed {
        fault: fault.clone(),
        gated: true,
        inference: InferenceSeq(1),
        redacted: true,
        request_hash,
        usage,
    };
    let approval = Approval::to(CallSeq(1), digest);
    let changed = |before, after| FileChange {
        after,
        before,
        lines_added: 2,
        lines_removed: 1,
        path: odd.clone(),
    };
    let resource = ToolEnvelope::new(EnvelopeFields {
        changes: FileChanges {
            files: vec![changed(Some(digest), None), changed(None, Some(digest))],
            incomplete: true,
        },
        content: vec![
            ContentBlock::Text(odd.clone()),
            ContentBlock::Resource {
                blob: digest,
                bytes: 4,
                mime_type: "image/png".to_owned(),
            },
        ],
        error: Some(EnvelopeError {
            code: "TOOL_ERROR".to_owned(),
            message: odd.clone(),
        }),
        full: Some(digest),
        status: EnvelopeStatus::Error,
        ..envelope().into_fields()
    });
    let listed = ToolEnvelope::new(EnvelopeFields {
        changes: FileChanges {
            files: vec![changed(Some(digest), Some(Digest::ZERO))],
            incomplete: false,
        },
        ..envelope().into_fields()
    });
    let detail = odd.clone();
    let tool = |outcome| {
        EventKind::ToolReturned(Box::new(ToolReturned {
            call: CallSeq(1),
            child: None,
            exchanges: Vec::new(),
            outcome,
        }))
    };
    let delegated = |labels| {
        EventKind::ToolReturned(Box::new(ToolReturned {
            call: CallSeq(1),
            child: Some(Box::new(ChildEnd {
                cost_micro_usd: 5,
                entries: 11,
                head: digest,
                labels,
                outcome: DONE,
                run_id: run_id_of("r-1.1"),
                tokens: (1 << 53) - 1,
                tools_ok: 1,
            })),
            exchanges: Vec::new(),
            outcome: ToolOutcome::Returned(envelope()),
        }))
    };
    let reported = delegated(Some(Label::every()));
    let unlabelled = delegated(None);
    let exchange = |answer, content, requested_schema, url| InputExchange {
        answer,
        content,
        message: odd.clone(),
        method: "elicitation/create".to_owned(),
        requested_schema,
        url,
    };
    let text = || Some(odd.clone());
    let asked = EventKind::ToolReturned(Box::new(ToolReturned {
        call: CallSeq(1),
        child: None,
        exchanges: vec![
            exchange(InputAnswer::Accept, text(), text(), None),
            exchange(InputAnswer::Decline, None, None, text()),
        ],
        outcome: ToolOutcome::TimedOut,
    }));
    let kinds = vec![
        asked,
        EventKind::RunStarted(Box::new(started(None, None))),
        EventKind::RunStarted(Box::new(started(Some(parent(None)), Some(digest)))),
        EventKind::RunStarted(Box::new(started(Some(parent(Some(CallSeq(2)))), None))),
        reported,
        unlabelled,
        EventKind::Probed(Probed {
            targets: vec![ProbedTarget {
                detail: odd.clone(),
                properties: named.clone(),
                responsive: false,
                server_headers: named.clone(),
            }],
        }),
        EventKind::InferenceReturned(Box::new(returned(full_verdict))),
        EventKind::InferenceReturned(Box::new(returned(ProtocolAdapterResult {
            canonical_message: None,
            failure_code: Some(FailureCode::ArgsNotObject),
            ..verdict(message.clone())
        }))),
        EventKind::InferenceFailed(failed(Some(digest), Some(usage))),
        EventKind::InferenceFailed(failed(None, None)),
        tool(ToolOutcome::Returned(envelope())),
        tool(ToolOutcome::Returned(listed)),
        tool(ToolOutcome::Returned(resource)),
        tool(ToolOutcome::Malformed {
            detail: detail.clone(),
            raw_hash: Some(digest),
        }),
        tool(ToolOutcome::Malformed {
            detail: detail.clone(),
            raw_hash: None,
        }),
        tool(ToolOutcome::TimedOut),
        tool(ToolOutcome::InputRequired(InputQuestion {
            question: ObjectText::empty(),
            resume: Some(odd.clone()),
        })),
        tool(ToolOutcome::InputRequired(InputQuestion {
            question: ObjectText::empty(),
            resume: None,
        })),
        tool(sampling(Some(&odd))),
        tool(sampling(None)),
        tool(ToolOutcome::ConnectionLost {
            detail: detail.clone(),
        }),
        tool(ToolOutcome::RestartInProgress),
        tool(ToolOutcome::RestartFailed {
            detail: detail.clone(),
        }),
        tool(ToolOutcome::Cancelled),
        tool(ToolOutcome::ToolChanged { detail }),
        EventKind::CallStreamed(Box::new(CallStreamed {
            index: 1,
            inference: InferenceSeq(2),
            invocation: call("a\\u0000\\n"),
        })),
        EventKind::CallStreamed(Box::new(CallStreamed {
            index: 1,
            inference: InferenceSeq(2),
            invocation: ToolInvocation {
                fault: Some(FailureCode::ArgsInvalidJson),
                raw_payload: Some(odd.clone()),
                ..call("a")
            },
        })),
        EventKind::TimerFired,
        EventKind::Suspended,
        EventKind::StopRequested,
        EventKind::Interrupted(Interrupter::Shutdown),
        EventKind::ApprovalGiven(approval.clone()),
        EventKind::ApprovalGiven(Approval {
            answerer: Some(Answerer {
                key: odd.clone(),
                signature: odd.clone(),
            }),
            content: Some(ObjectText::empty()),
            reason: Some(odd.clone()),
            ..approval.clone()
        }),
        EventKind::ApprovalDenied(approval.clone()),
        EventKind::ApprovalDenied(Approval {
            answerer: Some(Answerer {
                key: odd.clone(),
                signature: odd.clone(),
            }),
            proposal: Some(ObjectText::empty()),
            reason: Some(odd.clone()),
            ..approval
        }),
        EventKind::EffectLost(LostEffect::Probe),
        EventKind::EffectLost(LostEffect::Inference(InferenceSeq(2))),
        EventKind::EffectLost(LostEffect::Wait),
        EventKind::EffectLost(LostEffect::Call(CallSeq(3))),
        EventKind::Resumed(Resumed {
            addresses: moved.clone(),
            bring_up: vec![BringUpFault::new("fs".to_owned(), odd.clone())],
            confinement,
            contract_hash: digest,
            tool_servers: tool_servers.clone(),
            elapsed_ms: 60_000,
            tools_changed: vec!["fs__read".to_owned()],
        }),
    ];
    kinds.into_iter().map(|kind| event(7, kind)).collect()
}

/// A state with a member in every place.
fn provider_state(left_out: &[&str]) -> ProviderState {
    ProviderState {
        left_out: left_out.iter().map(|name| (*name).to_owned()).collect(),
        members: vec![
            StateMember::message("reasoning".to_owned(), "\"r\"".to_owned()),
            StateMember::block("{}".to_owned()),
            StateMember::call(String::new()),
            StateMember::text(1, "{}".to_owned()),
        ],
        target: StateTarget {
            adapter_version: "anthropic-messages/1".to_owned(),
            model: "m".to_owned(),
            provider: "p".to_owned(),
        },
    }
}

/// Events of the kinds that may leave something out, without it.
pub(crate) fn sparse_events() -> Vec<Event> {
    let digest = Digest::of(b"z");
    let plain = AgentMessage::text(Role::Assistant, "", 1);
    let asking = AgentMessage {
        tool_calls: vec![call("{}")],
        ..plain.clone()
    };
    let returned = |message, provider_state| {
        EventKind::InferenceReturned(Box::new(InferenceReturned {
            gate_breached: false,
            gated: false,
            inference: InferenceSeq(1),
            provider_state,
            redacted: false,
            request_hash: digest,
            result: ProtocolAdapterResult {
                usage: Some(Usage::default()),
                withheld: Some(Withheld {
                    blank: true,
                    bytes: 1,
                    hash: digest,
                    report_bytes: None,
                }),
                served_by: Some(ServedBy {
                    model: None,
                    system_fingerprint: None,
                }),
                ..verdict(message)
            },
            server_headers: Vec::new(),
            usage: Usage::default(),
        }))
    };
    let kinds = vec![
        EventKind::Probed(Probed {
            targets: vec![ProbedTarget::default()],
        }),
        EventKind::RunStarted(Box::new(RunStarted {
            addresses: Vec::new(),
            bring_up: Vec::new(),
            confinement: Vec::new(),
            contract_hash: digest,
            inherited: None,
            intent_words: Vec::new(),
            messages: vec![asking.clone(), plain.clone()],
            parent: None,
            provider_states: Vec::new(),
            run_id: run_id_of("r-2"),
            started_unix_ms: 0,
            tokenizer_fault: None,
            tool_servers: Vec::new(),
            workspace: None,
        })),
        returned(asking, Some(Box::new(provider_state(&[])))),
        returned(plain, None),
        EventKind::InferenceFailed(InferenceFailed {
            fault: ProviderFault {
                parameters: Parameter::ALL.to_vec(),
                permanent: true,
                unknown_model: true,
                ..ProviderFault::new(ProviderFaultClass::RateLimit, String::new())
            },
            gated: false,
            inference: InferenceSeq(1),
            redacted: false,
            request_hash: None,
            usage: None,
        }),
        EventKind::Resumed(Resumed {
            addresses: Vec::new(),
            bring_up: Vec::new(),
            confinement: Vec::new(),
            contract_hash: digest,
            tool_servers: Vec::new(),
            elapsed_ms: 0,
            tools_changed: Vec::new(),
        }),
    ];
    kinds.into_iter().map(|kind| event(7, kind)).collect()
}
