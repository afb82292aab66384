//! A run as a trajectory of the Agent Trajectory Interchange Format, version 1.8.
//!
//! A step is one message: of the contract (system), of the task (user), or of the model (agent), with the calls that it asked
//! for and what came back. A rejected or failed inference is a step without a message, so that the metrics add up. What the format has no
//! place for stands under `extra`: the number and hash of the entry, and what identifies the run.

use std::collections::BTreeMap;

use monolith_core::kernel::{
    EntryKind, EventKind, InferenceReturned, Interrupter, LostEffect, RunStarted, ToolReturned,
};
use monolith_core::message::{
    AgentMessage, CallSeq, InferenceSeq, Role, ToolOutcome, Usage, rfc3339,
};
use monolith_core::transcript::Tombstone;
use monolith_core::view::{Call, Entry, Request, RequestPurpose, RunView};
use serde_json::{Map, Value, json};

/// The version of the format, as a trajectory names it.
pub(crate) const ATIF_VERSION: &str = "ATIF-v1.8";

/// Makes the trajectory of a run, entry by entry beside its view.
#[derive(Clone, Debug, Default)]
pub struct AtifTrajectory {
    /// The step of each response.
    message_steps: BTreeMap<InferenceSeq, usize>,
    erased: Vec<Value>,
    /// The step in which the conversation before the run asked last for the call of that id.
    opening: BTreeMap<String, usize>,
    parent: Option<Value>,
    steps: Vec<Map<String, Value>>,
}

impl AtifTrajectory {
    /// A trajectory before entry 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next entry; `view` has taken it already.
    pub fn take(&mut self, view: &RunView, entry: Entry<'_>) {
        let Some(event) = entry.event else {
            return;
        };
        let mut call = None;
        let text = match &event.event {
            EventKind::RunStarted(started) => return self.start(view, entry, started),
            EventKind::InferenceReturned(returned) => {
                return self.message_step(view, entry, returned);
            }
            EventKind::InferenceFailed(failed) => {
                let request = view.request(failed.inference);
                let mut step = self.request_step(view, entry, request, "");
                if let Some(usage) = &failed.usage {
                    step.insert("metrics".to_owned(), metrics(usage, request));
                }
                let fault = &failed.fault;
                let fault = json!({"class": fault.class, "message": fault.message});
                extra(&mut step, "inference_failed", fault);
                if failed.redacted {
                    extra(&mut step, "redacted", json!(true));
                }
                summary_of(&mut step, request);
                self.steps.push(step);
                return;
            }
            EventKind::ToolReturned(returned) => return self.observe(view, entry, returned),
            EventKind::Interrupted(by) => match by {
                Interrupter::Abort => "The run was aborted.",
                Interrupter::Shutdown => "The process of the run was ended.",
                Interrupter::Parent => "The parent run ended this one.",
            },
            EventKind::StopRequested => "Somebody asked the run to stop.",
            EventKind::ApprovalGiven(given) => {
                call = Some(given.call);
                if given.content.is_some() {
                    "A person answered what the server of the call asked for."
                } else {
                    "A person approved the call."
                }
            }
            EventKind::ApprovalDenied(denied) => {
                call = Some(denied.call);
                "A person denied the call."
            }
            EventKind::EffectLost(LostEffect::Call(lost)) => {
                call = Some(*lost);
                self.lose(view, entry, *lost);
                "The call was lost with its process."
            }
            EventKind::EffectLost(LostEffect::Inference(_)) => {
                "The inference was lost with its process."
            }
            EventKind::EffectLost(LostEffect::Probe | LostEffect::Wait) => {
                "What was under way was lost with its process."
            }
            EventKind::Suspended => "The process of the run left it, to be resumed.",
            EventKind::Resumed(_) => "Another process went on with the run.",
            EventKind::Probed(_) | EventKind::CallStreamed(_) | EventKind::TimerFired => return,
        };
        let mut step = self.step(view, entry, "system", text);
        if let Some(call) = call {
            extra(&mut step, "call", json!(call));
        }
        self.steps.push(step);
    }

    /// Takes note of bytes that were erased by design, which the hashes in the steps may still name.
    pub fn erased(&mut self, stone: &Tombstone) {
        self.erased.push(json!({
            "blob": stone.blob,
            "reason": stone.reason,
            "timestamp": rfc3339(stone.at_unix_ms),
        }));
    }

    /// The document of the run that the view shows.
    #[must_use]
    pub fn finish(self, view: &RunView) -> Value {
        let contract = view.contract();
        let model = contract.targets.first().map(|target| &target.model);
        let tools = contract.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            }})
        });
        let totals = view.usage();
        let cost = (totals.cost_micro_usd > 0).then(|| dollars(totals.cost_micro_usd));
        let counters = (view.entries() > 0).then(|| view.counters());
        let steps = self.steps.len();
        let mut document = json!({
            "schema_version": ATIF_VERSION,
            "session_id": view.run_id(),
            "trajectory_id": view.run_id(),
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
                "extra": {"counters": counters, "elapsed_ms": view.at_ms()},
            },
            "extra": {
                "transcript_format": "monolith-transcript/1",
                "run_id": view.run_id(),
                "contract_hash": contract.contract_hash(),
                "entries": view.entries(),
                "erased": (!self.erased.is_empty()).then_some(self.erased),
                "head": view.head(),
                "outcome": view.outcome(),
                "parent": self.parent,
            },
        });
        drop_nulls(&mut document);
        document
    }

    fn start(&mut self, view: &RunView, entry: Entry<'_>, started: &RunStarted) {
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
            let mut step = self.step(view, entry, source, &message.content);
            if message.role == Role::Assistant {
                if view.contract().asks_model() {
                    step.insert("is_copied_context".to_owned(), json!(true));
                }
                calls_of(&mut step, message);
                let ids = message.tool_calls.iter().map(|call| call.id.clone());
                let at = self.steps.len();
                self.opening.extend(ids.map(|id| (id, at)));
            }
            self.steps.push(step);
        }
    }

    /// Adds a tool's report from before the run, of a fork or a given conversation, to the step with its call; returns false if
    /// no step asked for it.
    fn observe_copy(&mut self, message: &AgentMessage) -> bool {
        let id = message.tool_call_id.as_ref();
        let step = id.and_then(|id| self.opening.get(id));
        let Some(step) = step.and_then(|step| self.steps.get_mut(*step)) else {
            return false;
        };
        add_result(
            step,
            json!({"source_call_id": id, "content": message.content}),
        );
        true
    }

    fn message_step(&mut self, view: &RunView, entry: Entry<'_>, returned: &InferenceReturned) {
        let request = view.request(returned.inference);
        let result = &returned.result;
        let message = result.canonical_message.as_ref();
        let text = message.map_or("", |message| message.content.as_str());
        let mut step = self.request_step(view, entry, request, text);
        if let Some(message) = message {
            if let Some(reasoning) = &message.reasoning {
                step.insert("reasoning_content".to_owned(), json!(reasoning));
            }
            calls_of(&mut step, message);
        }
        step.insert("metrics".to_owned(), metrics(&returned.usage, request));
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
        summary_of(&mut step, request);
        self.message_steps
            .insert(returned.inference, self.steps.len());
        self.steps.push(step);
    }

    fn observe(&mut self, view: &RunView, entry: Entry<'_>, returned: &ToolReturned) {
        let Some(call) = view.call(returned.call) else {
            return;
        };
        let envelope = match &returned.outcome {
            ToolOutcome::Returned(envelope) => Some(envelope),
            _ => None,
        };
        let result = json!({
            "entry": entry.action.seq,
            "hash": entry.hash,
            "call": returned.call,
            "part": part(call),
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
            ToolOutcome::InputRequired(asked) => format!("its server asks: {}", asked.question),
            ToolOutcome::SamplingRequired(_) => "its server wants a model to be asked".to_owned(),
            ToolOutcome::TimedOut => "timed out".to_owned(),
            ToolOutcome::Cancelled => "cancelled".to_owned(),
            ToolOutcome::ToolChanged { detail } if detail.is_empty() => {
                "the tool is not the pinned one".to_owned()
            }
            ToolOutcome::ToolChanged { detail } => {
                format!("the tool is not the pinned one: {detail}")
            }
            ToolOutcome::RestartInProgress => "the server is being restarted".to_owned(),
            ToolOutcome::RestartFailed { detail } => format!("the server is down: {detail}"),
        };
        self.add_result(call, &content, &result);
    }

    /// A call that was lost and is not started again has a result, too: that it is not known.
    fn lose(&mut self, view: &RunView, entry: Entry<'_>, lost: CallSeq) {
        let ignored = entry.action.kind == EntryKind::Ignored;
        let Some(call) = view
            .call(lost)
            .filter(|call| !call.is_running() && !ignored)
        else {
            return;
        };
        let result = json!({
            "entry": entry.action.seq,
            "hash": entry.hash,
            "call": lost,
            "part": part(call),
            "status": "unknown",
        });
        let content = "lost with its process: whether it was executed is not known";
        self.add_result(call, content, &result);
    }

    /// A result stands with the step that asked for its call, however much later the call ran.
    fn add_result(&mut self, call: &Call, content: &str, result: &Value) {
        let step = match call.requested_in {
            Some(inference) => self.message_steps.get(&inference),
            // The call is an input of the run.
            None => self.opening.get(&call.id),
        };
        if let Some(step) = step.and_then(|step| self.steps.get_mut(*step)) {
            let id = call.batch.as_ref().unwrap_or(&call.id);
            add_result(
                step,
                json!({"source_call_id": id, "content": content, "extra": result}),
            );
        }
    }

    fn request_step(
        &self,
        view: &RunView,
        entry: Entry<'_>,
        request: Option<&Request>,
        message: &str,
    ) -> Map<String, Value> {
        let mut step = self.step(view, entry, "agent", message);
        let target = request.and_then(|request| usize::try_from(request.target).ok());
        let target = target.and_then(|target| view.contract().targets.get(target));
        let model = target.map(|target| &target.model);
        step.insert("model_name".to_owned(), json!(model));
        step.insert("llm_call_count".to_owned(), json!(1));
        step
    }

    fn step(
        &self,
        view: &RunView,
        entry: Entry<'_>,
        source: &str,
        message: &str,
    ) -> Map<String, Value> {
        let at = rfc3339(view.unix_ms(view.at_ms()));
        let mut step = Map::new();
        step.insert(
            "step_id".to_owned(),
            json!(self.steps.len().saturating_add(1)),
        );
        step.insert("timestamp".to_owned(), json!(at));
        step.insert("source".to_owned(), json!(source));
        step.insert("message".to_owned(), json!(message));
        extra(&mut step, "entry", json!(entry.action.seq));
        extra(&mut step, "hash", json!(entry.hash));
        step
    }
}

/// Returns the call inside a batch, for which the format has no separate place: its id and its tool.
fn part(call: &Call) -> Option<Value> {
    call.batch.as_ref()?;
    Some(json!({"tool_call_id": call.id, "function_name": call.name}))
}

/// Returns the usage of a request, as the metrics of its step.
fn metrics(usage: &Usage, request: Option<&Request>) -> Value {
    let cost = request.and_then(|request| request.cost_micro_usd);
    json!({
        "prompt_tokens": usage.input.saturating_add(usage.cache_read),
        "completion_tokens": usage.output,
        "cached_tokens": usage.cache_read,
        "cost_usd": cost.map(dollars),
        "extra": {"estimated": usage.estimated},
    })
}

/// Marks the step of a request beside the turns with the call that it is for.
fn summary_of(step: &mut Map<String, Value>, request: Option<&Request>) {
    match request.map(|request| request.purpose) {
        Some(RequestPurpose::Summary(call)) => extra(step, "summary_of_call", json!(call)),
        Some(RequestPurpose::Sampling(call)) => extra(step, "sampling_of_call", json!(call)),
        Some(RequestPurpose::Attempt) | None => {}
    }
}

fn calls_of(step: &mut Map<String, Value>, message: &AgentMessage) {
    if message.tool_calls.is_empty() {
        return;
    }
    let calls = message.tool_calls.iter().map(|call| {
        json!({
            "tool_call_id": call.id,
            "function_name": call.name,
            "arguments": call.arguments.to_value(),
        })
    });
    step.insert("tool_calls".to_owned(), calls.collect());
    // The format has no extra for a call. The arguments of these could not be read, and they were never run.
    let faults = message.tool_calls.iter().filter_map(|call| {
        let fault = call.fault?;
        Some((call.id.clone(), json!(fault)))
    });
    let faults: Map<String, Value> = faults.collect();
    if !faults.is_empty() {
        extra(step, "faults", json!(faults));
    }
}

fn add_result(step: &mut Map<String, Value>, result: Value) {
    let observation = step
        .entry("observation")
        .or_insert_with(|| json!({"results": []}));
    if let Some(results) = observation.get_mut("results").and_then(Value::as_array_mut) {
        results.push(result);
    }
}

fn extra(step: &mut Map<String, Value>, key: &str, value: Value) {
    let place = step.entry("extra").or_insert_with(|| json!({}));
    if let Some(place) = place.as_object_mut() {
        place.insert(key.to_owned(), value);
    }
}

/// An optional field of the format is left out rather than null. What tools and models wrote stays as it is.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            for (key, member) in members {
                if key != "arguments" && key != "parameters" {
                    drop_nulls(member);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "exact up to nine thousand million dollars, and for people only"
)]
fn dollars(micro: u64) -> f64 {
    micro as f64 / 1_000_000.0
}
