//! The cost of an entry: the machine's decision against a bare transition of statig, and its seal against hashing the same
//! bytes.
//!
//! Two things should hold: an entry costs a small multiple of its floor, and an entry late in a long run costs what one early in it does.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use monolith_core::contract::Validators;
use monolith_core::contract::{ContractFactory, ContractSpec};
use monolith_core::kernel::{Effect, Event, InferenceReturned, ToolReturned};
use monolith_core::kernel::{EntryDraft, EventKind, Probed, ProbedTarget, Run, RunStarted};
use monolith_core::message::{AdapterStatus, ProtocolAdapterResult, StopReason, Usage};
use monolith_core::message::{
    AgentMessage, CallSeq, ContentBlock, Digest, EnvelopeFields, EnvelopeStatus, FileChanges,
    InferenceSeq, ObjectText, Role, RunId, ToolEnvelope, ToolInvocation, ToolOutcome,
};
use monolith_core::transcript::Chain;

use crate::allocations;
use crate::bare_machine::transition;
use crate::memory::with_read_file;
use crate::process::timed;
use crate::ratio::{Limit, Row, time};

/// Turns that are measured together.
const WINDOW: u64 = 1_000;
const CONTRACT: &str = r"
tool_policy: optional
targets: [{provider: demo, model: script, context_window: 9000000000}]
providers: {demo: {type: scripted, file: none.jsonl}}
tools: {builtin: [read_file]}
max_turns: 4000000
max_calls: 4000000
max_tokens_consumed: 9000000000000
context_budget: {context_window: 9000000000}
total_timeout_ms: 9000000000
";

/// The rows: an event's decision, an entry's seal.
pub fn rows() -> Vec<Row> {
    let mut bench = Bench::new();
    bench.turns(WINDOW);
    let mut seals = Vec::new();
    let decide = Row::of(
        ("deciding an event", "a bare transition of statig"),
        Some(Limit::AtMost(30.0)),
        || {
            let cost = bench.turns(WINDOW);
            let each = |time: Duration, by: u64| time.as_secs_f64() / by as f64;
            seals.push((each(cost.seal, cost.entries), each(cost.hash, cost.entries)));
            (each(cost.decide, cost.events), transition())
        },
        time,
    );
    let mut seals = seals.into_iter();
    let seal = Row::of(
        ("sealing an entry", "BLAKE3 of the same bytes"),
        Some(Limit::AtMost(3.0)),
        || seals.next().expect("as many pairs"),
        time,
    );
    vec![decide, seal]
}

/// Returns the counts of a turn, early and late in a run of so many windows of turns: entries, bytes of entries, allocations.
pub fn counts(turns: u64, windows: u64) -> [[f64; 3]; 2] {
    let mut bench = Bench::new();
    let early = bench.turns(turns);
    for _ in 2..windows {
        bench.turns(turns);
    }
    [early, bench.turns(turns)].map(|cost| cost.of_a_turn(turns))
}

/// The cost of a window of turns.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    allocations: u64,
    bytes: u64,
    decide: Duration,
    entries: u64,
    events: u64,
    hash: Duration,
    seal: Duration,
}

impl Cost {
    /// Of one turn: entries, bytes of entries, allocations.
    fn of_a_turn(&self, turns: u64) -> [f64; 3] {
        [self.entries, self.bytes, self.allocations].map(|all| all as f64 / turns as f64)
    }
}

struct Bench {
    chain: Chain,
    run: Run,
}

impl Bench {
    fn new() -> Self {
        let spec = ContractSpec::parse("bench.yaml", CONTRACT, &[]).expect("a contract file");
        let manifest = with_read_file();
        let contract = ContractFactory
            .make(&spec, &manifest, None)
            .expect("a contract");
        let run_id = RunId::try_from("bench".to_owned()).expect("an id");
        let chain = Chain::genesis(contract.contract_hash(), &run_id);
        let opening = RunStarted::opening(&contract.system, "Read it all.");
        let started = RunStarted::new(&contract, run_id, opening, 0);
        let validators = Arc::new(Validators::compile(&contract));
        let (run, effects) = Run::start(Arc::new(contract), validators, started);
        let mut bench = Self { chain, run };
        bench.seal(effects);
        let responsive = ProbedTarget {
            detail: "script".to_owned(),
            responsive: true,
            ..ProbedTarget::default()
        };
        let probed = EventKind::Probed(Probed {
            targets: vec![responsive],
        });
        let effects = bench.run.step(Event {
            at_ms: 1,
            event: probed,
        });
        bench.seal(effects);
        bench
    }

    fn seal(&mut self, effects: Vec<Effect>) {
        for draft in entries(effects) {
            self.chain.seal(&draft);
        }
    }

    /// So many turns, each a call and its result: all are decided, then all entries sealed, then all texts hashed.
    fn turns(&mut self, turns: u64) -> Cost {
        let counters = self.run.counters();
        let events: Vec<Event> = (0..turns)
            .flat_map(|turn| {
                let inference = InferenceSeq(counters.inferences + turn);
                let call = CallSeq(counters.calls + turn + 1);
                [called(inference), answered(call)]
            })
            .map(|event| Event { at_ms: 1, event })
            .collect();
        let number = events.len() as u64;
        let mut decided = Vec::with_capacity(events.len());
        let asked = allocations::count();
        let ((), decide) = timed(|| {
            for event in events {
                decided.push(self.run.step(event));
            }
        });
        let drafts: Vec<EntryDraft> = decided.into_iter().flat_map(entries).collect();
        let mut sealed = Vec::with_capacity(drafts.len());
        let ((), seal) = timed(|| sealed.extend(drafts.iter().map(|d| self.chain.seal(d))));
        let allocations = allocations::count() - asked;
        let ((), hash) = timed(|| {
            for entry in &sealed {
                let action = Digest::of(entry.action.as_bytes());
                black_box((action, Digest::of(entry.event.as_bytes())));
            }
        });
        let calls = self.run.counters().executed_ok - counters.executed_ok;
        assert_eq!(calls, turns, "every call was taken");
        let bytes = sealed.iter().map(|e| e.action.len() + e.event.len());
        Cost {
            allocations,
            bytes: bytes.sum::<usize>() as u64,
            decide,
            entries: sealed.len() as u64,
            events: number,
            hash,
            seal,
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
            stop_word: None,
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
        child: None,
        call,
        exchanges: Vec::new(),
        outcome: ToolOutcome::Returned(ToolEnvelope::new(EnvelopeFields {
            bytes_in: 30,
            bytes_out: 600,
            changes: FileChanges::default(),
            content: vec![ContentBlock::Text("a line of text\n".repeat(40))],
            duration_ms: 1,
            error: None,
            full: None,
            started_at_ms: 1,
            status: EnvelopeStatus::Ok,
            tokens: 150,
            tool: "read_file".to_owned(),
            tool_call_id: "call_1".to_owned(),
        })),
    }))
}
