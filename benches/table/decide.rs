//! What an entry costs: the machine's step and the chain, against the floor of writing and hashing the same bytes.
//!
//! `cargo bench` prints ratios, not times: machines are noisy, a ratio within one run is not. Two things should hold: an entry costs a
//! small multiple of its floor, and an entry late in a long run costs what one early in it does.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a bench that is set up wrongly has nothing to measure"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use monolith::door::{
    AdapterStatus, Chain, Effect, Event, InferenceReturned, ProtocolAdapterResult, StopReason,
    ToolReturned, Usage, Validators,
};
use monolith::{
    AgentMessage, CallSeq, CapabilityManifest, ContentBlock, ContractFactory, ContractSpec, Digest,
    EntryDraft, EnvelopeStatus, EventKind, InferenceSeq, ObjectText, Probed, ProbedTarget, Role,
    Run, RunId, RunStarted, ServerCapability, ServerKind, TargetCapability, ToolCapability,
    ToolEnvelope, ToolInvocation, ToolOutcome,
};

const TURNS: u64 = 20_000;
/// Turns that are measured at the beginning and at the end of the run.
const WINDOW: u64 = 2_000;
const CONTRACT: &str = r"
tool_policy: optional
targets: [{provider: demo, model: script, context_window: 9000000000}]
providers: {demo: {type: scripted, file: none.jsonl}}
tools: {builtin: [read_file]}
max_turns: 4000000
max_tokens_consumed: 9000000000000
context_budget: {context_window: 9000000000}
total_timeout_ms: 9000000000
";

fn main() {
    let mut bench = Bench::new();
    let mut early = Cost::default();
    let mut late = Cost::default();
    for turn in 0..TURNS {
        let cost = bench.turn();
        if turn < WINDOW {
            early.add(cost);
        } else if turn >= TURNS - WINDOW {
            late.add(cost);
        }
    }
    let report = |line: String| {
        use std::io::Write as _;
        // A bench that cannot print has nobody to tell.
        drop(writeln!(std::io::stdout(), "{line}"));
    };
    report(format!(
        "{TURNS} turns, {} entries each",
        early.entries / WINDOW
    ));
    report(format!(
        "early: step and seal cost {:.2} × floor",
        early.ratio()
    ));
    report(format!(
        "late:  step and seal cost {:.2} × floor",
        late.ratio()
    ));
    report(format!(
        "late / early: {:.2} (1 means that nothing grows with the turns)",
        late.spent.as_secs_f64() / early.spent.as_secs_f64()
    ));
}

/// Time spent by us, and by the floor: serialising and hashing the same entries.
#[derive(Clone, Copy, Default)]
struct Cost {
    entries: u64,
    floor: Duration,
    spent: Duration,
}

impl Cost {
    fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.floor += other.floor;
        self.spent += other.spent;
    }

    fn ratio(&self) -> f64 {
        self.spent.as_secs_f64() / self.floor.as_secs_f64()
    }
}

struct Bench {
    chain: Chain,
    run: Run,
}

impl Bench {
    fn new() -> Self {
        let spec = ContractSpec::parse("bench.yaml", CONTRACT, &[]).expect("a contract file");
        let tool = ToolCapability {
            annotations: serde_json::Value::Null,
            description: "reads".to_owned(),
            input_schema: serde_json::json!({"type": "object"}),
            name: "read_file".to_owned(),
            schema_tokens: 10,
        };
        let builtin = ServerCapability {
            available: true,
            kind: ServerKind::Builtin,
            tools: vec![tool],
        };
        let manifest = CapabilityManifest {
            servers: [("builtin".to_owned(), builtin)].into(),
            targets: vec![TargetCapability::default()],
        };
        let contract = ContractFactory
            .make(&spec, &manifest, None)
            .expect("a contract");
        let run_id = RunId::try_from("bench".to_owned()).expect("an id");
        let chain = Chain::genesis(contract.contract_hash(), &run_id);
        let started = RunStarted {
            addresses: Vec::new(),
            bring_up: Vec::new(),
            contract_hash: contract.rehash(),
            intent_words: Vec::new(),
            messages: RunStarted::opening("You read.", "Read it all."),
            parent: None,
            run_id,
            started_unix_ms: 0,
            tokenizer_fault: None,
            tool_servers: Vec::new(),
            workspace: None,
        };
        let validators = Arc::new(Validators::compile(&contract));
        let (run, effects) = Run::start(Arc::new(contract), validators, started);
        let mut bench = Self { chain, run };
        bench.seal(&entries(effects));
        let responsive = ProbedTarget {
            detail: "script".to_owned(),
            responsive: true,
            ..ProbedTarget::default()
        };
        bench.step(EventKind::Probed(Probed {
            targets: vec![responsive],
        }));
        bench
    }

    /// One turn: a call and its result.
    fn turn(&mut self) -> Cost {
        let inference = InferenceSeq(self.run.counters().inferences);
        let mut cost = self.step(called(inference));
        let call = CallSeq(self.run.counters().calls);
        cost.add(self.step(answered(call)));
        cost
    }

    fn step(&mut self, event: EventKind) -> Cost {
        let event = Event { at_ms: 1, event };
        let began = Instant::now();
        let drafts = entries(self.run.step(event));
        self.seal(&drafts);
        let spent = began.elapsed();
        let began = Instant::now();
        for draft in &drafts {
            let action = serde_json::to_vec(&draft.action).expect("plain data");
            let event = serde_json::to_vec(&draft.event).expect("plain data");
            black_box((Digest::of(&action), Digest::of(&event)));
        }
        Cost {
            entries: drafts.len() as u64,
            floor: began.elapsed(),
            spent,
        }
    }

    fn seal(&mut self, drafts: &[EntryDraft]) {
        for draft in drafts {
            black_box(self.chain.seal(draft));
        }
    }
}

fn entries(effects: Vec<Effect>) -> Vec<EntryDraft> {
    match effects.into_iter().next() {
        Some(Effect::Append(entries)) => entries,
        other => panic!("entries come first: {other:?}"),
    }
}

fn called(inference: InferenceSeq) -> EventKind {
    let call = ToolInvocation {
        arguments: ObjectText::parse(r#"{"path":"a/file/somewhere.txt"}"#).expect("an object"),
        id: "call_1".to_owned(),
        name: "read_file".to_owned(),
        fault: None,
        raw_payload: None,
        source_model: "script".to_owned(),
    };
    let message = AgentMessage {
        tool_calls: vec![call],
        ..AgentMessage::text(Role::Assistant, "", 0)
    };
    EventKind::InferenceReturned(Box::new(InferenceReturned {
        gate_breached: false,
        gated: false,
        inference,
        redacted: false,
        request_hash: Digest::ZERO,
        result: ProtocolAdapterResult {
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
        },
        server_headers: Vec::new(),
        usage: Usage {
            input: 100,
            output: 20,
            ..Usage::default()
        },
    }))
}

fn answered(call: CallSeq) -> EventKind {
    EventKind::ToolReturned(Box::new(ToolReturned {
        call,
        outcome: ToolOutcome::Returned(ToolEnvelope {
            bytes_in: 30,
            bytes_out: 600,
            content: vec![ContentBlock::Text("a line of text\n".repeat(40))],
            duration_ms: 1,
            error: None,
            full: None,
            started_at_ms: 1,
            status: EnvelopeStatus::Ok,
            tokens: 150,
            tool: "read_file".to_owned(),
            tool_call_id: "call_1".to_owned(),
        }),
    }))
}
