//! Fixtures for the tests of this module: a small contract, events in one line, and a run that is easy to push.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

pub(super) use super::tests_letters::{call, calls, native, rejected, text};
use super::{
    BringUpFault, DelegateOrder, Effect, EntryDraft, Event, EventKind, InferRequest,
    InferenceFailed, InferenceReturned, Outcome, Probed, ProbedTarget, Run, RunStarted, State,
    ToolReturned,
};
use crate::contract::{
    BigCount, CONTRACT_FORMAT, Completion, ContextBudget, ExecutionContract, FinalReportTerms,
    Grounds, PolicyDecision, ProviderTerms, ProviderType, ReportFormat, SEMANTICS_VERSION,
    Sampling, ServerTerms, TargetTerms, Terms, ToolOutputBudget, ToolPolicy, ToolProof, ToolTerms,
    ToolTransport, Validators, session_tools,
};
use crate::message::{
    AgentMessage, CallSeq, ContentBlock, DEFAULT_TRUNCATION_MARKER, Digest, EnvelopeError,
    EnvelopeFields, EnvelopeStatus, FileChanges, InferenceSeq, ProtocolAdapterResult,
    ProviderFault, ProviderFaultClass, Role, ToolEnvelope, ToolOutcome, Usage,
};

/// Terms of a contract with the tools `read`, `write` (schema: `{path: string}`) and `outside` (not allowed), one target.
pub(super) fn terms(policy: ToolPolicy) -> Terms {
    let tool = |name: &str| ToolTerms {
        annotations: serde_json::Value::Null,
        description: format!("{name} a file"),
        input_schema: json!({
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
            "additionalProperties": false,
        }),
        name: name.to_owned(),
        origin: "builtin".to_owned(),
        pin: Digest::of(name.as_bytes()),
        schema_tokens: 10,
    };
    Terms {
        adapter_version: "openai-chat/1".to_owned(),
        allowed_tools: Some(vec!["read".to_owned(), "write".to_owned()]),
        approval_timeout_ms: 1_000,
        checkpoint_every: 256,
        completion: Completion::Message,
        context_budget: ContextBudget {
            buffer: 0,
            context_window: 100_000,
            force_synthesis_at_ratio: 1.0,
            minimum_loop_margin: 512,
            reserved_synthesis: 1_000,
            reserved_system: 0,
        },
        format: CONTRACT_FORMAT.to_owned(),
        llm_timeout_ms: 600_000,
        max_attempts_per_turn: 3,
        max_format_retries: 1,
        max_inferences: 31,
        max_invalid_turns: 3,
        max_resumes: 8,
        max_tokens_consumed: BigCount(1_000_000),
        max_tool_calls_per_turn: 10,
        max_turns: 10,
        model_profile_id: "scripted".to_owned(),
        policy_decision: PolicyDecision {
            grounds: Grounds::Given,
            policy,
            rules_hash: Digest::ZERO,
            rules_version: 1,
        },
        providers: BTreeMap::from([(
            "demo".to_owned(),
            ProviderTerms {
                api_key_env: None,
                base_url: None,
                base_url_env: None,
                file: Some("demo.jsonl".to_owned()),
                header_names: Vec::new(),
                header_variables: BTreeMap::new(),
                provider_options: None,
                provider_type: ProviderType::Scripted,
                tools_allowed: None,
                tools_denied: Vec::new(),
            },
        )]),
        semantics_version: SEMANTICS_VERSION,
        servers: BTreeMap::from([(
            "builtin".to_owned(),
            ServerTerms {
                available: true,
                ..ServerTerms::builtin()
            },
        )]),
        step_timeout_ms: 1_800_000,
        strict_mode: true,
        system: "You help.".to_owned(),
        targets: vec![target("script")],
        token_gate: policy == ToolPolicy::Required,
        tool_output_budget: ToolOutputBudget {
            max_bytes_per_call: 12_288,
            summarizer_model: None,
            truncation_marker: DEFAULT_TRUNCATION_MARKER.to_owned(),
        },
        tool_policy: policy,
        tool_proof: ToolProof::Executed,
        tool_timeout_ms: 300_000,
        tool_transport: ToolTransport::Native,
        tools: vec![tool("outside"), tool("read"), tool("write")],
        total_timeout_ms: 3_600_000,
        ..Terms::default()
    }
}

/// The same where a run ends with a report in Markdown; progress and batches are offered, too.
pub(super) fn reporting(terms: Terms) -> Terms {
    let report = FinalReportTerms {
        format: ReportFormat::Markdown,
        schema: None,
    };
    Terms {
        completion: Completion::FinalReport,
        session_tools: session_tools(Some(&report), true, true, &crate::message::BytesPerToken),
        final_report: Some(report),
        ..terms
    }
}

/// A target of the scripted provider.
pub(super) fn target(model: &str) -> TargetTerms {
    TargetTerms {
        adapter_version: "openai-chat/1".to_owned(),
        context_window: 100_000,
        facts: None,
        left_out: BTreeMap::new(),
        model: model.to_owned(),
        model_fingerprint: format!("scripted:{model}"),
        model_profile_id: "scripted".to_owned(),
        prompt_layout: None,
        provider: "demo".to_owned(),
        sampling: Sampling {
            caching: "full".to_owned(),
            defaulted: Vec::new(),
            max_output_tokens: 1_000,
            max_output_tokens_unsent: false,
            reasoning: None,
            reasoning_tokens: None,
            reasoning_value: None,
            repeat_penalty: None,
            seed: Some(BigCount(0)),
            stop: Vec::new(),
            stream: false,
            temperature: None,
            top_p: None,
        },
        summarizer: false,
        vocabulary: None,
    }
}

/// A run under test: the machine, everything it has written, and what it has set going last.
#[derive(Clone)]
pub(super) struct Harness {
    pub(super) run: Run,
    pub(super) entries: Vec<EntryDraft>,
    pub(super) effects: Vec<Effect>,
    pub(super) at_ms: u64,
}

impl Harness {
    pub(super) fn new(terms: Terms) -> Self {
        Self::given(terms, None)
    }

    /// A run whose last message at the start is this one, where there is one.
    pub(super) fn given(terms: Terms, last: Option<AgentMessage>) -> Self {
        let contract = Arc::new(ExecutionContract::of_terms(terms));
        let validators = Arc::new(Validators::compile(&contract));
        let mut started = started(&contract);
        started.messages.extend(last);
        let (run, effects) = Run::start(contract, validators, started);
        let mut harness = Self {
            run,
            entries: Vec::new(),
            effects: Vec::new(),
            at_ms: 0,
        };
        harness.take(effects);
        harness
    }

    /// A run past PRECHECK, its first inference in flight.
    pub(super) fn inferring(terms: Terms) -> Self {
        let mut harness = Self::new(terms);
        harness.push(probed());
        harness
    }

    pub(super) fn push(&mut self, event: EventKind) -> &mut Self {
        let effects = self.run.step(Event {
            at_ms: self.at_ms,
            event,
        });
        self.take(effects);
        self
    }

    /// Moves the clock, then pushes.
    pub(super) fn push_at(&mut self, at_ms: u64, event: EventKind) -> &mut Self {
        self.at_ms = at_ms;
        self.push(event)
    }

    fn take(&mut self, effects: Vec<Effect>) {
        let mut effects = effects.into_iter();
        if let Some(first) = effects.next() {
            let Effect::Append(entries) = first else {
                panic!("entries come first, got {first:?}");
            };
            assert!(!entries.is_empty(), "a step writes at least one entry");
            self.entries.extend(entries);
        }
        self.effects = effects.collect();
    }

    pub(super) fn state(&self) -> State {
        self.run.state()
    }

    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.run.outcome()
    }

    /// Returns the class and the code as text, or the state while the run continues.
    pub(super) fn end(&self) -> String {
        self.outcome()
            .map_or_else(|| self.state().to_string(), |outcome| outcome.to_string())
    }

    /// The request that the last step issued.
    pub(super) fn request(&self) -> Option<&InferRequest> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Infer(request) => Some(request),
            _ => None,
        })
    }

    /// The inference in flight by the counters: each request is counted when it is issued.
    pub(super) fn inference(&self) -> InferenceSeq {
        InferenceSeq(self.run.counters().inferences)
    }

    /// The calls that the last step started.
    pub(super) fn started_calls(&self) -> Vec<CallSeq> {
        self.effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Execute(order) => Some(order.call),
                Effect::Delegate(asked) => Some(asked.order.call),
                _ => None,
            })
            .collect()
    }

    /// The awaited inference answers with a message.
    pub(super) fn answer(&mut self, message: AgentMessage) -> &mut Self {
        self.answer_with(native(message))
    }

    /// The awaited inference answers with this verdict; the token gate is applied as the driver does.
    pub(super) fn answer_with(&mut self, result: ProtocolAdapterResult) -> &mut Self {
        let event = returned(self.inference(), self.run.admit(result).result);
        self.push(event)
    }

    /// The awaited inference fails.
    pub(super) fn fail(&mut self, class: ProviderFaultClass) -> &mut Self {
        let event = failed(self.inference(), class);
        self.push(event)
    }

    /// The wait that the run is in ends.
    pub(super) fn wait(&mut self) -> &mut Self {
        let until = self.run.next_deadline().expect("a wait");
        self.push_at(until, EventKind::TimerFired)
    }

    /// Every call that the last step started returns ok, one after the other, until none is started.
    pub(super) fn run_tools(&mut self) -> &mut Self {
        while let Some(call) = self.started_calls().first().copied() {
            self.push(tool_ok(self, call));
        }
        self
    }

    /// The order of a started call.
    pub(super) fn order(&self, call: CallSeq) -> (String, String) {
        self.effects
            .iter()
            .find_map(|effect| match effect {
                Effect::Execute(order) | Effect::Delegate(DelegateOrder { order, .. })
                    if order.call == call =>
                {
                    Some((order.invocation.id.clone(), order.invocation.name.clone()))
                }
                _ => None,
            })
            .expect("the call was started by the last step")
    }

    /// The text of the last observations, newest last.
    pub(super) fn observations(&self) -> Vec<String> {
        self.run
            .conversation()
            .iter()
            .filter(|message| message.role == Role::Tool)
            .map(|message| message.content.clone())
            .collect()
    }
}

pub(super) fn started(contract: &ExecutionContract) -> RunStarted {
    started_under(contract.rehash())
}

/// The first event, under the contract of this hash.
pub(super) fn started_under(contract_hash: Digest) -> RunStarted {
    RunStarted {
        addresses: Vec::new(),
        bring_up: Vec::<BringUpFault>::new(),
        confinement: Vec::new(),
        contract_hash,
        inherited: None,
        intent_words: Vec::new(),
        messages: vec![
            AgentMessage::text(Role::System, "You help.", 3),
            AgentMessage::text(Role::User, "Which licence?", 4),
        ],
        parent: None,
        run_id: "r-1".to_owned().try_into().expect("a valid run id"),
        started_unix_ms: 0,
        tokenizer_fault: None,
        tool_servers: Vec::new(),
        workspace: None,
    }
}

pub(super) fn probed() -> EventKind {
    EventKind::Probed(Probed {
        targets: vec![ProbedTarget {
            detail: "scripted".to_owned(),
            responsive: true,
            ..ProbedTarget::default()
        }],
    })
}

pub(super) fn returned(inference: InferenceSeq, result: ProtocolAdapterResult) -> EventKind {
    EventKind::InferenceReturned(Box::new(InferenceReturned {
        gate_breached: false,
        gated: false,
        inference,
        redacted: false,
        request_hash: Digest::ZERO,
        result,
        server_headers: Vec::new(),
        usage: Usage {
            cache_read: 0,
            cache_write: 0,
            cost_fault: false,
            cost_micro_usd: None,
            estimated: false,
            input: 10,
            output: 5,
        },
    }))
}

pub(super) fn failed(inference: InferenceSeq, class: ProviderFaultClass) -> EventKind {
    EventKind::InferenceFailed(InferenceFailed {
        fault: ProviderFault::new(class, "synthetic"),
        gated: false,
        inference,
        redacted: false,
        request_hash: None,
        usage: None,
    })
}

pub(super) fn envelope(id: &str, name: &str, content: &str) -> ToolEnvelope {
    ToolEnvelope::new(EnvelopeFields {
        bytes_in: 12,
        bytes_out: content.len() as u64,
        changes: FileChanges::default(),
        content: vec![ContentBlock::Text(content.to_owned())],
        duration_ms: 1,
        error: None,
        full: None,
        started_at_ms: 0,
        status: EnvelopeStatus::Ok,
        tokens: 2,
        tool: name.to_owned(),
        tool_call_id: id.to_owned(),
    })
}

pub(super) fn error_envelope(id: &str, name: &str) -> ToolEnvelope {
    ToolEnvelope::new(EnvelopeFields {
        content: Vec::new(),
        error: Some(EnvelopeError {
            code: "TOOL_ERROR".to_owned(),
            message: "no such file".to_owned(),
        }),
        status: EnvelopeStatus::Error,
        ..envelope(id, name, "").into_fields()
    })
}

pub(super) fn tool(call: CallSeq, outcome: ToolOutcome) -> EventKind {
    EventKind::ToolReturned(Box::new(ToolReturned {
        call,
        child: None,
        exchanges: Vec::new(),
        outcome,
    }))
}

pub(super) fn tool_ok(harness: &Harness, call: CallSeq) -> EventKind {
    let (id, name) = harness.order(call);
    tool(call, ToolOutcome::Returned(envelope(&id, &name, "MIT")))
}
