//! Hand-made runs for tests: a contract, drafts, blobs and the file they make.

use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{
    Action, AgentOutcome, Counters, EntryDraft, EntryKind, Event, EventKind, InferenceFailed,
    InferenceReturned, Outcome, OutcomeCode, Probed, ProbedTarget, RunStarted, State, ToolReturned,
};
use monolith_core::message::{
    AdapterStatus, AgentMessage, CallSeq, ContentBlock, Digest, DigestContext, EnvelopeFields,
    EnvelopeStatus, FailureCode, FileChanges, InferenceSeq, ObjectText, ProtocolAdapterResult,
    ProviderFault, ProviderFaultClass, Role, RunId, SamplingRequest, StopReason, ToolEnvelope,
    ToolInvocation, ToolOutcome, Usage, Withheld,
};
use monolith_core::transcript::{Chain, SealedEntry, blob_line, entry_line, header_line};

/// A finished run as it is stored.
pub struct SampleRun {
    /// The contract of the run.
    pub contract: ExecutionContract,
    /// The id of the run.
    pub run_id: RunId,
    /// The sealed entries, from entry 0.
    pub entries: Vec<SealedEntry>,
    /// The bytes that entries name by hash.
    pub blobs: Vec<Vec<u8>>,
}

impl SampleRun {
    /// Inference with a withheld text and a call, a tool result kept in full, an answer, the seal.
    pub fn new(run_id: &str) -> Self {
        Self::of(run_id, drafts, BLOBS.iter().map(|b| b.to_vec()).collect())
    }

    /// The shortest run with every kind of line: one inference that fails.
    pub fn short(run_id: &str) -> Self {
        Self::of(
            run_id,
            short_drafts,
            vec![REQUEST.to_vec(), ANSWER.to_vec()],
        )
    }

    /// [`Self::new`], under a contract whose policy demands tools that it does not have.
    pub fn without_tools(run_id: &str) -> Self {
        let mut terms: serde_json::Value = serde_json::from_str(TERMS).unwrap();
        terms["tool_policy"] = "required".into();
        terms["policy_decision"]["policy"] = "required".into();
        let blobs = BLOBS.iter().map(|b| b.to_vec()).collect();
        Self::under(sealed(terms), run_id, drafts, blobs)
    }

    fn of(
        run_id: &str,
        drafts: fn(&ExecutionContract, &RunId) -> Vec<EntryDraft>,
        blobs: Vec<Vec<u8>>,
    ) -> Self {
        Self::under(contract(), run_id, drafts, blobs)
    }

    fn under(
        contract: ExecutionContract,
        run_id: &str,
        drafts: fn(&ExecutionContract, &RunId) -> Vec<EntryDraft>,
        blobs: Vec<Vec<u8>>,
    ) -> Self {
        let run_id = run_id_of(run_id);
        let mut chain = Chain::genesis(contract.contract_hash(), &run_id);
        let drafts = drafts(&contract, &run_id);
        let entries = drafts.iter().map(|draft| chain.seal(draft)).collect();
        Self {
            contract,
            run_id,
            entries,
            blobs,
        }
    }

    /// The lines of the file, each with its line feed.
    pub fn lines(&self) -> Vec<Vec<u8>> {
        let mut lines = vec![header_line(&self.contract.canonical_text(), &self.run_id)];
        lines.extend(self.entries.iter().map(entry_line));
        let mut blobs: Vec<_> = self.blobs.iter().map(|b| (Digest::of(b), b)).collect();
        blobs.sort();
        lines.extend(blobs.into_iter().map(|(hash, b)| blob_line(hash, b)));
        lines.into_iter().map(String::into_bytes).collect()
    }
}

const BLOBS: [&[u8]; 6] = [
    b"request 1",
    b"response 1: Let me look.",
    b"Let me look.",
    b"the whole of a long file",
    b"request 2",
    b"response 2",
];

/// The terms of [`contract`], without id and hash.
const TERMS: &str = r#"{
    "adapter_version": "openai-chat/1", "allowed_tools": ["read_file"],
    "approval_timeout_ms": 1000, "checkpoint_every": 256, "completion": "message",
    "context_budget": {"buffer": 256, "context_window": 8192, "force_synthesis_at_ratio": 0.85,
        "minimum_loop_margin": 512, "reserved_synthesis": 4096, "reserved_system": 0},
    "cycle_forbid": [], "format": "monolith-contract/1", "grammar": null,
    "grammar_profile": null, "idempotent": [], "llm_timeout_ms": 600000, "logits_mask": null,
    "max_attempts_per_turn": 3, "max_calls": {"per_tool": {}, "run": null},
    "max_cost_micro_usd": null, "max_format_retries": 1, "max_identical_calls": null,
    "max_inferences": 10, "max_invalid_turns": 3, "max_resumes": 3, "max_tokens_consumed": 1000000,
    "max_tool_calls_per_turn": 10, "max_turns": 6, "metadata": {"cycle_exceptions": []},
    "model_profile_id": "plain", "page": null, "parallel_tool_calls": false,
    "parallel_safe": [], "parent_contract_hash": null,
    "policy_decision": {"grounds": "given", "policy": "optional",
        "rules_hash": "0000000000000000000000000000000000000000000000000000000000000000",
        "rules_version": 1},
    "providers": {"demo": {"api_key_env": null, "base_url": null, "file": "demo.jsonl",
        "header_names": [], "type": "scripted"}},
    "require_approval": [], "semantics_version": 1, "servers": {}, "speculative_exec": false,
    "step_timeout_ms": 1800000, "strict_mode": true, "system": "Answer. é€",
    "targets": [{"adapter_version": "openai-chat/1", "context_window": 8192, "model": "script",
        "model_fingerprint": "scripted/script", "model_profile_id": "plain",
        "provider": "demo", "sampling": {"caching": "full", "max_output_tokens": 4096,
            "reasoning": null, "reasoning_tokens": null, "repeat_penalty": 1.1, "seed": 0,
            "stream": false, "temperature": 0.7, "top_p": 1}}],
    "token_gate": false, "tokenizer": null,
    "tool_output_budget": {"max_bytes_per_call": 12288, "summarizer_model": null,
        "truncation_marker": "[TRUNCATED]"},
    "tool_policy": "optional", "tool_proof": "executed", "tool_timeout_ms": 300000,
    "tool_transport": "native", "tools": [], "total_timeout_ms": 3600000
}"#;

const REQUEST: &[u8] = b"{\"model\":\"script\"}";
const ANSWER: &[u8] = b"busy";

/// Returns the run id of a text.
pub fn run_id_of(text: &str) -> RunId {
    RunId::try_from(text.to_owned()).unwrap()
}

/// A small contract, made as a document: the factory belongs to another module.
pub fn contract() -> ExecutionContract {
    sealed(serde_json::from_str(TERMS).unwrap())
}

fn sealed(mut terms: serde_json::Value) -> ExecutionContract {
    let digest = |v: &serde_json::Value| {
        Digest::of(serde_json_canonicalizer::to_string(v).unwrap().as_bytes())
    };
    let id = format!("c-{}", digest(&terms).short(16));
    terms["contract_id"] = id.into();
    let hash = digest(&terms).to_string();
    terms["contract_hash"] = hash.into();
    ExecutionContract::decode(&terms.to_string()).unwrap()
}

/// Returns an action from its parts.
pub fn action(seq: u64, kind: EntryKind, from: State, to: State) -> Action {
    Action {
        adapter_version: "openai-chat/1".to_owned(),
        attempt: u32::from(seq > 0),
        blocked: Vec::new(),
        checks: Vec::new(),
        closing: None,
        context: None,
        conversation_digest: DigestContext::new("sample").rolled(Digest::ZERO, &seq.to_le_bytes()),
        counters: Counters::default(),
        discarded: Vec::new(),
        dropped_targets: Vec::new(),
        flow: Vec::new(),
        effects: Vec::new(),
        from,
        kind,
        length: None,
        model_fingerprint: "scripted/script".to_owned(),
        model_profile_id: "plain".to_owned(),
        note: None,
        outcome: None,
        policy: None,
        predicate: None,
        report: None,
        seq,
        state_digest: Digest::of(&seq.to_le_bytes()),
        step_id: u32::from(seq > 1),
        target: 0,
        to,
    }
}

/// Returns an event at a time.
pub const fn event(at_ms: u64, event: EventKind) -> Event {
    Event { at_ms, event }
}

pub(super) const DONE: Outcome =
    Outcome::new(AgentOutcome::CompletedWithTools, OutcomeCode::FinalMessage);

fn drafts(contract: &ExecutionContract, run_id: &RunId) -> Vec<EntryDraft> {
    use State::{Commit, Execute, Infer, Observe, Precheck, Terminate, ValidateCalls};
    let transition = EntryKind::Transition;
    let returned = |n: u64, text: &str| {
        let call = (n == 1).then(|| call("LICENSE"));
        let mut result = verdict(AgentMessage {
            tool_calls: call.into_iter().collect(),
            ..AgentMessage::text(Role::Assistant, text, 3)
        });
        result.raw_hash = Digest::of(BLOBS[if n == 1 { 1 } else { 5 }]);
        result.withheld = (n == 1).then(|| Withheld {
            blank: false,
            bytes: 12,
            hash: Digest::of(BLOBS[2]),
            report_bytes: None,
        });
        EventKind::InferenceReturned(Box::new(InferenceReturned {
            gate_breached: false,
            gated: n == 1,
            inference: InferenceSeq(n),
            provider_state: None,
            redacted: false,
            request_hash: Digest::of(BLOBS[if n == 1 { 0 } else { 4 }]),
            result,
            server_headers: Vec::new(),
            usage: Usage::default(),
        }))
    };
    let tool = EventKind::ToolReturned(Box::new(ToolReturned {
        call: CallSeq(1),
        child: None,
        exchanges: Vec::new(),
        outcome: ToolOutcome::Returned(ToolEnvelope::new(EnvelopeFields {
            full: Some(Digest::of(BLOBS[3])),
            ..envelope().into_fields()
        })),
    }));
    let steps = [
        (
            EntryKind::Start,
            Precheck,
            Precheck,
            Some(started(contract, run_id)),
        ),
        (transition, Precheck, Infer, Some(probed())),
        (transition, Infer, ValidateCalls, Some(returned(1, ""))),
        (transition, ValidateCalls, Execute, None),
        (transition, Execute, Observe, Some(tool)),
        (transition, Observe, Commit, None),
        (transition, Commit, Infer, None),
        (transition, Infer, ValidateCalls, Some(returned(2, "MIT."))),
        (transition, ValidateCalls, Commit, None),
        (transition, Commit, Terminate, None),
        (EntryKind::Seal, Terminate, Terminate, None),
    ];
    drafted(steps.into(), DONE)
}

fn short_drafts(contract: &ExecutionContract, run_id: &RunId) -> Vec<EntryDraft> {
    use State::{Commit, Infer, Precheck, Terminate};
    let failed = EventKind::InferenceFailed(InferenceFailed {
        fault: ProviderFault {
            raw_hash: Some(Digest::of(ANSWER)),
            status: Some(503),
            ..ProviderFault::new(ProviderFaultClass::Model, "overloaded")
        },
        gated: false,
        inference: InferenceSeq(1),
        redacted: false,
        request_hash: Some(Digest::of(REQUEST)),
        usage: None,
    });
    let transition = EntryKind::Transition;
    let steps = vec![
        (
            EntryKind::Start,
            Precheck,
            Precheck,
            Some(started(contract, run_id)),
        ),
        (transition, Precheck, Infer, Some(probed())),
        (transition, Infer, Commit, Some(failed)),
        (transition, Commit, Terminate, None),
        (EntryKind::Seal, Terminate, Terminate, None),
    ];
    let used_up = Outcome::new(
        AgentOutcome::FailedBudgetExhausted,
        OutcomeCode::AttemptsExhausted,
    );
    drafted(steps, used_up)
}

type Step = (EntryKind, State, State, Option<EventKind>);

fn drafted(steps: Vec<Step>, outcome: Outcome) -> Vec<EntryDraft> {
    let mut drafts = Vec::new();
    for (seq, (kind, from, to, raised)) in (0_u64..).zip(steps) {
        let mut action = action(seq, kind, from, to);
        action.outcome = (to == State::Terminate).then_some(outcome);
        action.length = (kind == EntryKind::Seal).then_some(seq + 1);
        drafts.push(EntryDraft {
            action,
            event: raised.map(|kind| event(seq * 10, kind)),
        });
    }
    drafts
}

fn started(contract: &ExecutionContract, run_id: &RunId) -> EventKind {
    EventKind::RunStarted(Box::new(RunStarted {
        addresses: Vec::new(),
        bring_up: Vec::new(),
        confinement: Vec::new(),
        contract_hash: contract.contract_hash(),
        inherited: None,
        intent_words: Vec::new(),
        messages: vec![AgentMessage::text(Role::User, "Which licence?", 4)],
        parent: None,
        provider_states: Vec::new(),
        run_id: run_id.clone(),
        started_unix_ms: 1_790_000_000_000,
        tokenizer_fault: None,
        tool_servers: Vec::new(),
        workspace: None,
    }))
}

fn probed() -> EventKind {
    EventKind::Probed(Probed {
        targets: vec![ProbedTarget {
            detail: "HTTP 200".to_owned(),
            responsive: true,
            ..ProbedTarget::default()
        }],
    })
}

pub(super) fn call(path: &str) -> ToolInvocation {
    ToolInvocation {
        arguments: ObjectText::parse(format!("{{\"path\":\"{path}\"}}")).unwrap(),
        id: "call_1".to_owned(),
        name: "read_file".to_owned(),
        fault: None,
        raw_payload: None,
        source_model: "script".to_owned(),
    }
}

pub(super) fn verdict(message: AgentMessage) -> ProtocolAdapterResult {
    ProtocolAdapterResult {
        adapter_version: "openai-chat/1".to_owned(),
        canonical_message: Some(message),
        excerpt: None,
        failure_code: None,
        pointer: None,
        raw_hash: Digest::of(b"raw"),
        repair: None,
        status: AdapterStatus::Native,
        stop: StopReason::End,
        stop_word: None,
        served_by: None,
        tag_warnings: Vec::new(),
        usage: None,
        withheld: None,
    }
}

/// A response that holds this message, or one that was rejected for its arguments.
pub fn returned(inference: u64, message: Option<AgentMessage>, usage: Usage) -> InferenceReturned {
    let rejected = ProtocolAdapterResult {
        canonical_message: None,
        failure_code: Some(FailureCode::ArgsInvalidJson),
        pointer: Some("/choices/0".to_owned()),
        status: AdapterStatus::Rejected,
        ..verdict(AgentMessage::text(Role::Assistant, "", 0))
    };
    InferenceReturned {
        gate_breached: false,
        gated: false,
        inference: InferenceSeq(inference),
        provider_state: None,
        redacted: false,
        request_hash: Digest::ZERO,
        result: message.map_or(rejected, verdict),
        server_headers: Vec::new(),
        usage,
    }
}

pub(super) fn envelope() -> ToolEnvelope {
    ToolEnvelope::new(EnvelopeFields {
        bytes_in: 18,
        bytes_out: 24,
        changes: FileChanges::default(),
        content: vec![ContentBlock::Text("the whole".to_owned())],
        duration_ms: 3,
        error: None,
        full: None,
        started_at_ms: 21,
        status: EnvelopeStatus::Ok,
        tokens: 7,
        tool: "read_file".to_owned(),
        tool_call_id: "call_1".to_owned(),
    })
}

/// A call whose server wants a model to be asked.
pub fn sampling(resume: Option<&str>) -> ToolOutcome {
    ToolOutcome::SamplingRequired(SamplingRequest {
        bytes: 9,
        max_tokens: 7,
        prompt: Digest::ZERO,
        resume: resume.map(str::to_owned),
    })
}
