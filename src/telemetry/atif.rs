//! A run as a trajectory of the Agent Trajectory Interchange Format, version 1.8.
//!
//! A step is one message: of the contract (system), of the task (user), or of the model (agent), with the calls that it asked
//! for and what came back. A rejected or failed inference is a step without a message, so that the metrics add up. What the format has no
//! place for stands under `extra`: the number and hash of the entry, and what identifies the run.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::contract::ExecutionContract;
use crate::kernel::{
    Action, EffectRecord, EntryKind, Event, EventKind, InferenceReturned, Interrupter, LostEffect,
    Outcome, RunStarted, ToolReturned,
};
use crate::message::{
    AgentMessage, CallSeq, Digest, InferenceSeq, Role, RunId, ToolOutcome, Usage, rfc3339,
};
use crate::transcript::Tombstone;

mod step;

use step::{add_result, calls_of, contract_model, dollars, drop_nulls, extra};

/// The version of the format, as a trajectory names it.
pub(crate) const ATIF_VERSION: &str = "ATIF-v1.8";

/// Follows a run entry by entry and makes its trajectory.
#[derive(Clone, Debug, Default)]
pub(crate) struct AtifTrajectory {
    /// The step in which the model asked last for the call of that id.
    asked: BTreeMap<String, usize>,
    at_ms: u64,
    /// Where each started call was asked for.
    calls: BTreeMap<CallSeq, AskedCall>,
    counters: Option<Value>,
    cost_micro_usd: u64,
    entries: u64,
    erased: Vec<Value>,
    head: Option<Digest>,
    outcome: Option<Outcome>,
    parent: Option<Value>,
    run_id: Option<RunId>,
    started_unix_ms: u64,
    steps: Vec<Map<String, Value>>,
    /// Requests for summaries: of which call, and to which target.
    summaries: BTreeMap<InferenceSeq, (CallSeq, u32)>,
    totals: Usage,
}

/// Where a started call was asked for.
#[derive(Clone, Debug)]
struct AskedCall {
    /// The id that the model gave the call, or the batch that holds it.
    id: String,
    /// The call inside a batch, for which the format has no place of its own: its id and its tool.
    part: Option<Value>,
    step: usize,
}

impl AtifTrajectory {
    /// A trajectory before entry 0.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next entry: what the machine did, the event that began the step where the entry carries it, and the hash
    /// that the entry got.
    pub(crate) fn take(
        &mut self,
        contract: &ExecutionContract,
        action: &Action,
        event: Option<&Event>,
        hash: Digest,
    ) {
        if let Some(event) = event {
            self.at_ms = event.at_ms;
            let inference = match &event.event {
                EventKind::InferenceReturned(returned) => Some(returned.inference),
                EventKind::InferenceFailed(failed) => Some(failed.inference),
                _ => None,
            };
            let summary = inference.and_then(|inference| self.summaries.get(&inference).copied());
            if let Some((call, target)) = summary {
                // Not the attempt's target was asked, but the one that makes summaries.
                let asked = Action {
                    target,
                    ..action.clone()
                };
                self.event(contract, &asked, &event.event, hash);
                if let Some(step) = self.steps.last_mut() {
                    extra(step, "summary_of_call", json!(call));
                }
            } else {
                self.event(contract, action, &event.event, hash);
            }
        }
        for effect in &action.effects {
            // A call may start long after it was asked for: when it was approved, or again after a process died.
            if let EffectRecord::Summarise {
                call,
                inference,
                target,
            } = effect
            {
                self.summaries.insert(*inference, (*call, *target));
            }
            if let EffectRecord::Execute { call, id, name, .. } = effect
                && let Some(asked) = self.asked_for(id, name)
            {
                self.calls.insert(*call, asked);
            }
        }
        self.counters = serde_json::to_value(action.counters).ok();
        self.entries = self.entries.saturating_add(1);
        self.head = Some(hash);
        self.outcome = action.outcome;
    }

    /// Takes note of bytes that were erased by design, which the hashes in the steps may still name.
    pub(crate) fn erased(&mut self, stone: &Tombstone) {
        self.erased.push(json!({
            "blob": stone.blob,
            "reason": stone.reason,
            "timestamp": rfc3339(stone.at_unix_ms),
        }));
    }

    /// The document.
    #[must_use]
    pub(crate) fn finish(self, contract: &ExecutionContract) -> Value {
        let model = contract.targets.first().map(|target| &target.model);
        let tools = contract.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            }})
        });
        let totals = self.totals;
        let cost = (self.cost_micro_usd > 0).then(|| dollars(self.cost_micro_usd));
        let steps = self.steps.len();
        let mut document = json!({
            "schema_version": ATIF_VERSION,
            "session_id": self.run_id,
            "trajectory_id": self.run_id,
            "agent": {
                "name": "monolith",
                "version": env!("CARGO_PKG_VERSION"),
                "model_name": model,
                "tool_definitions": tools.collect::<Vec<_>>(),
                "extra": {
                    "contract_id": contract.contract_id(),
                    "contract_hash": contract.contract_hash(),
                },
            },
            "steps": self.steps,
            "final_metrics": {
                "total_prompt_tokens": totals.input.saturating_add(totals.cache_read),
                "total_completion_tokens": totals.output,
                "total_cached_tokens": totals.cache_read,
                "total_cost_usd": cost,
                "total_steps": steps,
                "extra": {"counters": self.counters, "elapsed_ms": self.at_ms},
            },
            "extra": {
                "transcript_format": "monolith-transcript/1",
                "run_id": self.run_id,
                "contract_hash": contract.contract_hash(),
                "entries": self.entries,
                "erased": (!self.erased.is_empty()).then_some(self.erased),
                "head": self.head,
                "outcome": self.outcome,
                "parent": self.parent,
            },
        });
        drop_nulls(&mut document);
        document
    }

    fn event(
        &mut self,
        contract: &ExecutionContract,
        action: &Action,
        event: &EventKind,
        hash: Digest,
    ) {
        let mut call = None;
        let said = match event {
            EventKind::RunStarted(started) => {
                self.start(started, action, hash);
                return;
            }
            EventKind::InferenceReturned(returned) => {
                self.answer(contract, action, returned, hash);
                return;
            }
            EventKind::InferenceFailed(failed) => {
                let model = contract_model(contract, action);
                let mut step = self.step("agent", "", action, hash);
                step.insert("model_name".to_owned(), json!(model));
                step.insert("llm_call_count".to_owned(), json!(1));
                if let Some(usage) = failed.usage {
                    step.insert("metrics".to_owned(), self.charge(contract, action, &usage));
                }
                let fault = &failed.fault;
                let told = json!({"class": fault.class, "message": fault.message});
                extra(&mut step, "inference_failed", told);
                if failed.redacted {
                    extra(&mut step, "redacted", json!(true));
                }
                self.steps.push(step);
                return;
            }
            EventKind::ToolReturned(returned) => {
                self.observe(returned, action, hash);
                return;
            }
            EventKind::Interrupted(by) => match by {
                Interrupter::Abort => "The run was aborted.",
                Interrupter::Shutdown => "The process of the run was ended.",
                Interrupter::Parent => "The parent run ended this one.",
            },
            EventKind::StopRequested => "Somebody asked the run to stop.",
            EventKind::ApprovalGiven(given) => {
                call = Some(given.call);
                "A person approved the call."
            }
            EventKind::ApprovalDenied(denied) => {
                call = Some(denied.call);
                "A person denied the call."
            }
            EventKind::EffectLost(LostEffect::Call(lost)) => {
                call = Some(*lost);
                self.lose(*lost, action, hash);
                "The call was lost with its process."
            }
            EventKind::EffectLost(LostEffect::Inference(_)) => {
                "The inference was lost with its process."
            }
            EventKind::EffectLost(LostEffect::Probe | LostEffect::Wait) => {
                "What was under way was lost with its process."
            }
            EventKind::Resumed(_) => "Another process went on with the run.",
            EventKind::Probed(_) | EventKind::TimerFired => return,
        };
        let mut step = self.step("system", said, action, hash);
        if let Some(call) = call {
            extra(&mut step, "call", json!(call));
        }
        self.steps.push(step);
    }

    fn start(&mut self, started: &RunStarted, action: &Action, hash: Digest) {
        self.started_unix_ms = started.started_unix_ms;
        self.run_id = Some(started.run_id.clone());
        self.parent = serde_json::to_value(&started.parent).ok();
        for message in &started.messages {
            if message.role == Role::Tool && self.observe_copy(message) {
                continue;
            }
            let source = match message.role {
                Role::System | Role::Tool => "system",
                Role::User => "user",
                Role::Assistant => "agent",
            };
            let mut step = self.step(source, &message.content, action, hash);
            if message.role == Role::Assistant {
                step.insert("is_copied_context".to_owned(), json!(true));
                calls_of(&mut step, message);
                self.ask(message);
            }
            self.steps.push(step);
        }
    }

    /// Notes that the step which comes next asks for these calls.
    fn ask(&mut self, message: &AgentMessage) {
        let step = self.steps.len();
        let ids = message.tool_calls.iter().map(|call| call.id.clone());
        self.asked.extend(ids.map(|id| (id, step)));
    }

    /// Where the call of that id was asked for: by itself, or in a batch, whose id stands before its own.
    fn asked_for(&self, id: &str, name: &str) -> Option<AskedCall> {
        if let Some(step) = self.asked.get(id) {
            return Some(AskedCall {
                id: id.to_owned(),
                part: None,
                step: *step,
            });
        }
        let (batch, _) = id.rsplit_once('/')?;
        Some(AskedCall {
            id: batch.to_owned(),
            part: Some(json!({"tool_call_id": id, "function_name": name})),
            step: *self.asked.get(batch)?,
        })
    }

    /// What a tool said before the run began, of a fork or a conversation that was given, stands with its call; false where
    /// no step asked for it.
    fn observe_copy(&mut self, message: &AgentMessage) -> bool {
        let id = message.tool_call_id.as_ref();
        let step = id.and_then(|id| self.asked.get(id));
        let Some(step) = step.and_then(|step| self.steps.get_mut(*step)) else {
            return false;
        };
        add_result(
            step,
            json!({"source_call_id": id, "content": message.content}),
        );
        true
    }

    /// A call that was lost and is not started again has a result, too: nobody knows it.
    fn lose(&mut self, lost: CallSeq, action: &Action, hash: Digest) {
        let again = action
            .effects
            .iter()
            .any(|effect| matches!(effect, EffectRecord::Execute { call, .. } if *call == lost));
        let Some(AskedCall { id, part, step }) = self.calls.get(&lost) else {
            return;
        };
        if again || action.kind == EntryKind::Ignored {
            return;
        }
        if let Some(step) = self.steps.get_mut(*step) {
            let told = json!({
                "entry": action.seq,
                "hash": hash,
                "call": lost,
                "part": part,
                "status": "unknown",
            });
            let content = "lost with its process: whether it was executed is not known";
            add_result(
                step,
                json!({"source_call_id": id, "content": content, "extra": told}),
            );
        }
    }

    fn answer(
        &mut self,
        contract: &ExecutionContract,
        action: &Action,
        returned: &InferenceReturned,
        hash: Digest,
    ) {
        let result = &returned.result;
        let message = result.canonical_message.as_ref();
        let text = message.map_or("", |message| message.content.as_str());
        let mut step = self.step("agent", text, action, hash);
        let model = contract_model(contract, action);
        step.insert("model_name".to_owned(), json!(model));
        step.insert("llm_call_count".to_owned(), json!(1));
        if let Some(message) = message {
            if let Some(reasoning) = &message.reasoning {
                step.insert("reasoning_content".to_owned(), json!(reasoning));
            }
            calls_of(&mut step, message);
            self.ask(message);
        }
        step.insert(
            "metrics".to_owned(),
            self.charge(contract, action, &returned.usage),
        );
        extra(&mut step, "status", json!(result.status));
        extra(&mut step, "raw_hash", json!(result.raw_hash));
        if returned.redacted {
            // A secret was taken out of the answer: the hash is keyed, and names no bytes that are kept.
            extra(&mut step, "redacted", json!(true));
        }
        if let Some(code) = result.failure_code {
            extra(&mut step, "failure_code", json!(code));
            extra(&mut step, "pointer", json!(result.pointer));
        }
        if let Some(repair) = &result.repair {
            extra(&mut step, "repair", json!(repair.steps));
        }
        if let Some(withheld) = result.withheld {
            // The text itself is behind the token gate.
            extra(&mut step, "withheld_bytes", json!(withheld.bytes));
        }
        self.steps.push(step);
    }

    fn observe(&mut self, returned: &ToolReturned, action: &Action, hash: Digest) {
        let Some(AskedCall { id, part, step }) = self.calls.get(&returned.call) else {
            return;
        };
        let Some(step) = self.steps.get_mut(*step) else {
            return;
        };
        let envelope = match &returned.outcome {
            ToolOutcome::Returned(envelope) => Some(envelope),
            _ => None,
        };
        let told = json!({
            "entry": action.seq,
            "hash": hash,
            "call": returned.call,
            "part": part,
            "status": envelope.map(|envelope| envelope.status),
            "duration_ms": envelope.map(|envelope| envelope.duration_ms),
            "bytes_out": envelope.map(|envelope| envelope.bytes_out),
            "truncated": envelope.map(|envelope| envelope.full.is_some()),
            "error": envelope.and_then(|envelope| envelope.error.as_ref()),
        });
        let content = match &returned.outcome {
            ToolOutcome::Returned(envelope) => envelope.text(),
            ToolOutcome::Malformed { detail, .. } => format!("malformed: {detail}"),
            ToolOutcome::ConnectionLost { detail } => format!("connection lost: {detail}"),
            ToolOutcome::TimedOut => "timed out".to_owned(),
            ToolOutcome::Cancelled => "cancelled".to_owned(),
            ToolOutcome::ToolChanged => "the tool is not the pinned one".to_owned(),
        };
        add_result(
            step,
            json!({"source_call_id": id, "content": content, "extra": told}),
        );
    }

    fn step(
        &self,
        source: &str,
        message: &str,
        action: &Action,
        hash: Digest,
    ) -> Map<String, Value> {
        let at = rfc3339(self.started_unix_ms.saturating_add(self.at_ms));
        let mut step = Map::new();
        step.insert(
            "step_id".to_owned(),
            json!(self.steps.len().saturating_add(1)),
        );
        step.insert("timestamp".to_owned(), json!(at));
        step.insert("source".to_owned(), json!(source));
        step.insert("message".to_owned(), json!(message));
        extra(&mut step, "entry", json!(action.seq));
        extra(&mut step, "hash", json!(hash));
        step
    }

    /// Adds up what was used, and tells it as the metrics of a step.
    fn charge(&mut self, contract: &ExecutionContract, action: &Action, usage: &Usage) -> Value {
        let target = usize::try_from(action.target).ok();
        let cost = contract.cost_micro_usd(target, usage);
        let totals = &mut self.totals;
        totals.input = totals.input.saturating_add(usage.input);
        totals.output = totals.output.saturating_add(usage.output);
        totals.cache_read = totals.cache_read.saturating_add(usage.cache_read);
        self.cost_micro_usd = self.cost_micro_usd.saturating_add(cost.unwrap_or(0));
        json!({
            "prompt_tokens": usage.input.saturating_add(usage.cache_read),
            "completion_tokens": usage.output,
            "cached_tokens": usage.cache_read,
            "cost_usd": cost.map(dollars),
            "extra": {"estimated": usage.estimated},
        })
    }
}
