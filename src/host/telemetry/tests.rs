//! Tests of accounting, results and trajectories over a view that is fed by hand.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{AccountingLine, AgentResult, reason, sentence};
use monolith_core::contract::{CapabilityManifest, ContractFactory, ContractSpec, Validators};
use monolith_core::kernel::{
    Action, AgentOutcome, Effect, EffectRecord, EntryKind, Event, EventKind, InferenceFailed,
    Interrupter, LostEffect, Outcome, OutcomeCode, Probed, ProbedTarget, Run, RunStarted, State,
    ToolReturned,
};
use monolith_core::message::{
    AgentMessage, CallSeq, ContentBlock, Digest, EnvelopeError, EnvelopeFields, EnvelopeStatus,
    FailureCode, FileChanges, InferenceSeq, ObjectText, ProviderFault, ProviderFaultClass, Role,
    ToolEnvelope, ToolInvocation, ToolOutcome, Usage,
};
use monolith_core::view::{Entry, RunView};
use monolith_testkit::sample;

mod attempts;

/// A view that is fed by hand; the contract has the one target `demo/script`.
struct Fixture {
    seq: u64,
    view: RunView,
}

impl Fixture {
    fn new() -> Self {
        Self {
            seq: 0,
            view: RunView::new(Arc::new(sample::contract())),
        }
    }

    fn take(&mut self, at_ms: u64, event: EventKind, effects: Vec<EffectRecord>) -> &mut Self {
        let action = Action {
            effects,
            ..sample::action(self.seq, EntryKind::Noted, State::Infer, State::Infer)
        };
        self.take_action(&action, Some(&Event { at_ms, event }));
        self
    }

    fn take_action(&mut self, action: &Action, event: Option<&Event>) {
        let hash = Digest::ZERO;
        self.view.take(Entry {
            action,
            event,
            hash,
        });
        self.seq += 1;
    }

    fn lines(&self) -> Vec<AccountingLine> {
        AccountingLine::of_run(&self.view)
    }

    /// The only line, as other programs read it.
    fn line(&self) -> Value {
        let lines = self.lines();
        let [line] = &lines[..] else {
            panic!("one line, got {lines:?}");
        };
        serde_json::to_value(line).unwrap()
    }
}

fn infer() -> Vec<EffectRecord> {
    vec![EffectRecord::Infer {
        attempt: 1,
        inference: InferenceSeq(1),
        left_out: std::collections::BTreeSet::new(),
        notices: Vec::new(),
        target: 0,
        tools: true,
    }]
}

fn execute() -> Vec<EffectRecord> {
    vec![EffectRecord::Execute {
        arguments_hash: Digest::ZERO,
        call: CallSeq(1),
        id: "c1".to_owned(),
        name: "read_file".to_owned(),
    }]
}

fn usage() -> Usage {
    Usage {
        cache_read: 3,
        cache_write: 0,
        cost_fault: false,
        cost_micro_usd: Some(1_500_000),
        estimated: false,
        input: 10,
        output: 5,
    }
}

fn returned(message: Option<AgentMessage>) -> EventKind {
    EventKind::InferenceReturned(Box::new(sample::returned(1, message, usage())))
}

fn text(content: &str) -> AgentMessage {
    AgentMessage::text(Role::Assistant, content, 1)
}

fn tool(outcome: ToolOutcome) -> EventKind {
    let call = CallSeq(1);
    EventKind::ToolReturned(Box::new(ToolReturned {
        call,
        child: None,
        exchanges: Vec::new(),
        outcome,
    }))
}

fn envelope(error: Option<&str>) -> ToolOutcome {
    ToolOutcome::Returned(ToolEnvelope::new(EnvelopeFields {
        bytes_in: 12,
        bytes_out: 99_000,
        changes: FileChanges::default(),
        content: vec![ContentBlock::Text("MIT".to_owned())],
        duration_ms: 7,
        error: error.map(|message| EnvelopeError {
            code: "TOOL_ERROR".to_owned(),
            message: message.to_owned(),
        }),
        full: None,
        started_at_ms: 30,
        status: error.map_or(EnvelopeStatus::Ok, |_| EnvelopeStatus::Error),
        tokens: 1,
        tool: "read_file".to_owned(),
        tool_call_id: "c1".to_owned(),
    }))
}

#[test]
fn a_request_has_a_line_with_the_names_of_the_source_contract() {
    let mut fixture = Fixture::new();
    fixture.take(5, EventKind::TimerFired, infer());
    fixture.take(17, returned(Some(text("hi"))), Vec::new());
    let expect = json!({
        "type": "llm", "provider": "demo", "model": "script", "status": "ok", "latency": 12,
        "tokens": {"inputTokens": 10, "outputTokens": 5, "cachedTokens": 3, "totalTokens": 18},
        "timestamp": 5, "costUsd": 1.5, "stopReason": "end",
        "index": 0, "turn": 0, "attempt": 1, "cost_micro_usd": 1_500_000, "cost_source": "provider",
    });
    assert_eq!(fixture.line(), expect);
}

#[test]
fn a_request_without_a_canonical_message_has_failed_with_a_reason() {
    let check = |event: EventKind, error: &str, total: u64| {
        let mut fixture = Fixture::new();
        fixture.take(0, EventKind::TimerFired, infer());
        fixture.take(4, event, Vec::new());
        let line = fixture.line();
        assert_eq!(line["status"], "failed", "{error}");
        assert_eq!(line["error"], error);
        assert_eq!(line["latency"], 4, "{error}");
        assert_eq!(line["tokens"]["totalTokens"], total, "{error}");
    };
    check(returned(None), "ARGS_INVALID_JSON at \"/choices/0\"", 18);
    let fault = ProviderFault::new(ProviderFaultClass::RateLimit, "slow down");
    let failed = |usage| {
        EventKind::InferenceFailed(InferenceFailed {
            fault: fault.clone(),
            gated: false,
            inference: InferenceSeq(1),
            redacted: false,
            request_hash: None,
            usage,
        })
    };
    check(failed(None), "rate_limit: slow down", 0);
    check(failed(Some(usage())), "rate_limit: slow down", 18);
    let lost = EventKind::EffectLost(LostEffect::Inference(InferenceSeq(1)));
    check(lost, "lost: the process ended before the answer", 0);
}

#[test]
fn a_request_that_was_never_answered_still_has_a_line() {
    let mut fixture = Fixture::new();
    fixture.take(0, EventKind::TimerFired, infer());
    assert_eq!(fixture.line()["status"], "failed");
    assert_eq!(fixture.line()["error"], "no answer was recorded");
}

#[test]
fn a_cancelled_request_stays_failed_but_is_charged_for_a_late_answer() {
    let mut fixture = Fixture::new();
    fixture.take(0, EventKind::TimerFired, infer());
    let interrupted = EventKind::Interrupted(Interrupter::Abort);
    fixture.take(9, interrupted, vec![EffectRecord::Cancel]);
    fixture.take(20, returned(Some(text("late"))), Vec::new());
    let line = fixture.line();
    assert_eq!(line["status"], "failed");
    assert_eq!(line["error"], "cancelled");
    assert_eq!(line["latency"], 9);
    assert_eq!(line["tokens"]["totalTokens"], 18);
}

#[test]
fn a_call_has_a_line_with_the_sizes_that_the_tool_had_in_hand() {
    let mut fixture = Fixture::new();
    fixture.take(5, EventKind::TimerFired, execute());
    fixture.take(40, tool(envelope(None)), Vec::new());
    let expect = json!({
        "type": "tool", "mcpServer": "", "command": "read_file", "status": "ok", "latency": 7,
        "timestamp": 30, "charactersIn": 12, "charactersOut": 99_000, "index": 0, "turn": 0, "attempt": 0,
    });
    assert_eq!(fixture.line(), expect);
}

#[test]
fn a_call_without_success_has_failed_with_a_reason() {
    let check = |event: EventKind, error: &str| {
        let mut fixture = Fixture::new();
        let message = AgentMessage {
            tool_calls: vec![ToolInvocation {
                arguments: ObjectText::parse("{\"path\":\"a\"}").unwrap(),
                id: "c1".to_owned(),
                name: "read_file".to_owned(),
                fault: None,
                raw_payload: None,
                source_model: "script".to_owned(),
            }],
            ..text("")
        };
        fixture.take(0, returned(Some(message)), execute());
        fixture.take(3, event, Vec::new());
        let line = fixture.line();
        assert_eq!(line["status"], "failed", "{error}");
        assert_eq!(line["error"], error);
        assert_eq!(line["charactersIn"], 12, "{error}");
    };
    check(
        tool(envelope(Some("no such file"))),
        "TOOL_ERROR: no such file",
    );
    check(tool(ToolOutcome::TimedOut), "timeout");
    check(tool(ToolOutcome::Cancelled), "cancelled");
    let malformed = ToolOutcome::Malformed {
        detail: "no content".to_owned(),
        raw_hash: None,
    };
    check(tool(malformed), "malformed result: no content");
    let lost = EventKind::EffectLost(LostEffect::Call(CallSeq(1)));
    check(lost, "interrupted, effect unknown");
}

/// A run of one answer, driven by hand.
fn run_of(answers: &[EventKind]) -> (Run, RunView) {
    let spec = "task: hi\ntargets: [{provider: demo, model: script}]\n\
                providers: {demo: {type: scripted, file: x.jsonl}}\n";
    let spec = ContractSpec::parse("c.yaml", spec, &[]).unwrap();
    let manifest = CapabilityManifest {
        targets: vec![monolith_core::contract::TargetCapability::default()],
        ..CapabilityManifest::default()
    };
    let contract = Arc::new(ContractFactory.make(&spec, &manifest, None).unwrap());
    let started = RunStarted {
        addresses: Vec::new(),
        bring_up: Vec::new(),
        confinement: Vec::new(),
        contract_hash: contract.rehash(),
        inherited: None,
        intent_words: Vec::new(),
        messages: vec![AgentMessage::text(Role::User, "hi", 1)],
        parent: None,
        provider_states: Vec::new(),
        run_id: sample::run_id_of("r-1"),
        started_unix_ms: 1_000,
        tokenizer_fault: None,
        tool_servers: Vec::new(),
        workspace: None,
    };
    let validators = Arc::new(Validators::compile(&contract));
    let (mut run, effects) = Run::start(Arc::clone(&contract), validators, started);
    let mut view = RunView::new(Arc::clone(&contract));
    let mut take = |effects: Vec<Effect>| {
        for effect in effects {
            if let Effect::Append(entries) = effect {
                for draft in entries {
                    view.take(Entry::sealed(&draft, Digest::ZERO));
                }
            }
        }
    };
    take(effects);
    let probed = EventKind::Probed(Probed {
        targets: vec![ProbedTarget {
            detail: String::new(),
            responsive: true,
            ..ProbedTarget::default()
        }],
    });
    for (at_ms, event) in (10..).zip(std::iter::once(&probed).chain(answers)) {
        let event = event.clone();
        take(run.step(Event { at_ms, event }));
    }
    (run, view)
}

#[test]
fn a_successful_run_answers_with_the_last_message_and_no_error() {
    let (run, view) = run_of(&[returned(Some(text("Hello.")))]);
    let result = serde_json::to_value(AgentResult::of_run(&run, &view)).unwrap();
    assert_eq!(result["success"], true);
    assert_eq!(result["outcome"]["class"], "COMPLETED_CHAT_ONLY");
    assert_eq!(result["exit_code"], 0);
    assert_eq!(result["error"], Value::Null);
    let report = json!({
        "status": "success", "format": "markdown", "ts": 1_011, "content": "Hello.", "metadata": {},
    });
    assert_eq!(result["finalReport"], report);
    assert_eq!(result["counters"]["tokens_in"], 13);
    assert_eq!(result["conversation"][1]["content"], "Hello.");
    assert_eq!(result["accounting"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_failed_run_has_a_synthetic_report_that_names_the_code_and_the_cause() {
    let fault = ProviderFault::new(ProviderFaultClass::Auth, "bad key");
    let failed = EventKind::InferenceFailed(InferenceFailed {
        fault,
        gated: false,
        inference: InferenceSeq(1),
        redacted: false,
        request_hash: None,
        usage: None,
    });
    let (run, view) = run_of(&[failed]);
    let result = serde_json::to_value(AgentResult::of_run(&run, &view)).unwrap();
    assert_eq!(result["success"], false);
    assert_eq!(result["outcome"]["class"], "FAILED_PREFLIGHT");
    assert_eq!(result["finalReport"]["status"], "failure");
    assert_eq!(result["finalReport"]["metadata"]["reason"], "provider_auth");
    let error =
        "FAILED_PREFLIGHT (provider_auth): The provider did not accept the key. (auth: bad key)";
    assert_eq!(result["error"], error);
}

#[test]
fn a_run_in_progress_has_no_outcome_and_its_reason_is_that() {
    let (run, view) = run_of(&[]);
    let result = serde_json::to_value(AgentResult::of_run(&run, &view)).unwrap();
    assert_eq!(result["outcome"], Value::Null);
    assert_eq!(result["success"], false);
    assert_eq!(result["finalReport"]["metadata"]["reason"], "unfinished");
}

#[test]
fn arguments_keep_the_bytes_of_the_model() {
    let message = AgentMessage {
        tool_calls: vec![ToolInvocation {
            arguments: ObjectText::parse("{ \"n\":1.50,  \"big\":123456789012345678901234567890 }")
                .unwrap(),
            id: "c1".to_owned(),
            name: "nothing".to_owned(),
            fault: None,
            raw_payload: None,
            source_model: "script".to_owned(),
        }],
        ..text("")
    };
    let message = super::ResultMessage::from(&message);
    let text = serde_json::to_string(&message).unwrap();
    let kept = "\"arguments\":{ \"n\":1.50,  \"big\":123456789012345678901234567890 }";
    assert!(text.contains(kept), "{text}");
}

#[test]
fn without_a_run_only_the_authors_faults_have_an_outcome() {
    let check = |exit: u8, expect: Option<OutcomeCode>| {
        let result = AgentResult::without_run(exit, "r", "e".to_owned(), 0);
        assert_eq!(result.outcome.map(|o: Outcome| o.code), expect);
        assert_eq!(result.exit_code, exit);
        assert!(result.run_id.is_none() && !result.success && result.error.is_some());
    };
    check(4, Some(OutcomeCode::ContractInvalid));
    check(1, None);
}

#[test]
fn a_sentence_is_a_sentence() {
    for code in [
        OutcomeCode::FinalMessage,
        OutcomeCode::MaxCost,
        OutcomeCode::Parent,
    ] {
        let text = sentence(code);
        assert!(
            text.ends_with('.') && text.starts_with(char::is_uppercase),
            "{text}"
        );
    }
}

/// A run that ends with `code` after a message with `asked` calls, of which the first was started and came to `outcome`.
fn why(code: OutcomeCode, asked: usize, outcome: Option<ToolOutcome>) -> Option<String> {
    let mut fixture = Fixture::new();
    let call = ToolInvocation {
        arguments: ObjectText::parse("{}").unwrap(),
        id: "c1".to_owned(),
        name: "read_file".to_owned(),
        fault: None,
        raw_payload: None,
        source_model: "script".to_owned(),
    };
    let message = AgentMessage {
        tool_calls: vec![call; asked],
        ..text("")
    };
    fixture.take(0, EventKind::TimerFired, infer());
    fixture.take(1, returned(Some(message)), Vec::new());
    if let Some(outcome) = outcome {
        fixture.take(2, EventKind::TimerFired, execute());
        fixture.take(3, tool(outcome), Vec::new());
    }
    let action = Action {
        outcome: Some(Outcome::new(AgentOutcome::FailedProtocolNoTools, code)),
        ..sample::action(9, EntryKind::Transition, State::Infer, State::Terminate)
    };
    fixture.take_action(&action, None);
    reason::why(&fixture.view)
}

#[test]
fn a_run_without_an_executed_call_names_the_fate_of_the_requested_ones() {
    let check = |asked, outcome, expect: &str| {
        let why = why(OutcomeCode::NoCallResponse, asked, outcome);
        assert_eq!(why.as_deref(), Some(expect));
    };
    check(0, None, sentence(OutcomeCode::NoCallResponse));
    let rule = "The contract requires an executed tool call";
    check(
        1,
        None,
        &format!("{rule}: 1 was asked for and was not started."),
    );
    check(
        2,
        None,
        &format!("{rule}: 2 were asked for and none was started."),
    );
    let lost = ToolOutcome::ConnectionLost {
        detail: "server ended".to_owned(),
    };
    check(
        1,
        Some(lost),
        &format!(
            "{rule}: 1 was started and did not come back. (read_file: connection lost: server ended)"
        ),
    );
    check(
        1,
        Some(ToolOutcome::TimedOut),
        &format!("{rule}: 1 was started and did not come back. (read_file: timeout)"),
    );
    let down = ToolOutcome::RestartFailed {
        detail: "no such file".to_owned(),
    };
    check(
        1,
        Some(down),
        &format!(
            "{rule}: 1 was asked for and was not started. (read_file: mcp_restart_failed: no such file)"
        ),
    );
}

#[test]
fn a_run_whose_calls_all_failed_names_the_tool_and_its_words() {
    let why = why(
        OutcomeCode::ProofNotSucceeded,
        1,
        Some(envelope(Some("no such file"))),
    );
    let said = sentence(OutcomeCode::ProofNotSucceeded);
    let expect = format!("{said} (read_file: TOOL_ERROR: no such file)");
    assert_eq!(why, Some(expect));
}
