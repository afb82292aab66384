use std::collections::{BTreeMap, BTreeSet};

use super::escape::{brief, line};
use super::numbers::{counted, grouped, seconds};
use crate::contract::{ExecutionContract, ToolPolicy};
use crate::kernel::{
    Action, ClosingReason, EffectRecord, EntryKind, Event, EventKind, InferenceFailed,
    InferenceReturned, Interrupter, LostEffect, State, ToolReturned,
};
use crate::message::{CallSeq, EnvelopeStatus, InferenceSeq, ToolInvocation, ToolOutcome};

/// Turns entries into lines for people, one for each transition. Everything in a line is escaped.
#[derive(Debug, Default)]
pub(super) struct Narrator {
    at_ms: u64,
    /// Argument texts of the message judged last, by call id.
    arguments: BTreeMap<String, String>,
    /// Names of calls that were started and have not been told of.
    calls: BTreeMap<CallSeq, String>,
    /// What the event that began the step came to.
    heard: String,
    /// What the calls of the batch came to, in the order in which they ended.
    results: Vec<String>,
    /// Requests for summaries.
    summaries: BTreeSet<InferenceSeq>,
}

/// What there is to say of a transition.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// Milliseconds since the run began.
    pub(super) at_ms: u64,
    pub(super) from: State,
    pub(super) to: State,
    pub(super) detail: String,
}

impl Told {
    /// The line as a run shows it.
    pub(super) fn line(&self) -> String {
        let gap = if self.detail.is_empty() { "" } else { "   " };
        format!(
            "{}  {} → {}{gap}{}",
            seconds(self.at_ms),
            self.from,
            self.to,
            self.detail
        )
    }
}

impl Narrator {
    /// Takes the next entry; a transition gives something to tell.
    pub(super) fn take(
        &mut self,
        contract: &ExecutionContract,
        action: &Action,
        event: Option<&Event>,
    ) -> Option<Told> {
        if let Some(event) = event {
            self.at_ms = event.at_ms;
            self.hear(&event.event);
        }
        let started = action.effects.iter().filter_map(|effect| match effect {
            EffectRecord::Execute { call, name, .. } => Some((*call, name.clone())),
            _ => None,
        });
        self.calls.extend(started);
        let asked = action.effects.iter().filter_map(|effect| match effect {
            EffectRecord::Summarise { inference, .. } => Some(*inference),
            _ => None,
        });
        self.summaries.extend(asked);
        if action.kind != EntryKind::Transition {
            return None;
        }
        Some(Told {
            at_ms: self.at_ms,
            from: action.from,
            to: action.to,
            detail: self.detail(contract, action),
        })
    }

    /// Milliseconds since the run began, as of the last event.
    pub(super) const fn at_ms(&self) -> u64 {
        self.at_ms
    }

    fn hear(&mut self, event: &EventKind) {
        self.heard = match event {
            EventKind::InferenceReturned(returned)
                if self.summaries.contains(&returned.inference) =>
            {
                "a summary came".to_owned()
            }
            EventKind::InferenceReturned(returned) => {
                self.arguments = arguments(returned);
                message(returned)
            }
            EventKind::InferenceFailed(failed) if self.summaries.contains(&failed.inference) => {
                format!("no summary: {}", fault(failed))
            }
            EventKind::InferenceFailed(failed) => fault(failed),
            EventKind::ToolReturned(returned) => {
                let told = self.result(returned);
                self.results.push(told);
                String::new()
            }
            EventKind::TimerFired => "a deadline passed".to_owned(),
            EventKind::StopRequested => "stop requested".to_owned(),
            EventKind::Interrupted(Interrupter::Abort) => "aborted".to_owned(),
            EventKind::Interrupted(Interrupter::Shutdown) => {
                "the process is being ended".to_owned()
            }
            EventKind::Interrupted(Interrupter::Parent) => "ended by the parent run".to_owned(),
            EventKind::ApprovalGiven(_) => "approved".to_owned(),
            EventKind::ApprovalDenied(_) => "denied".to_owned(),
            EventKind::EffectLost(LostEffect::Call(_)) => "a call's result was lost".to_owned(),
            EventKind::EffectLost(_) => "the answer was lost".to_owned(),
            EventKind::Resumed(_) => "resumed".to_owned(),
            EventKind::RunStarted(_) | EventKind::Probed(_) => String::new(),
        };
    }

    fn result(&mut self, returned: &ToolReturned) -> String {
        let name = self.calls.remove(&returned.call).unwrap_or_default();
        format!("{} {}", line(&name), outcome(&returned.outcome))
    }

    fn detail(&mut self, contract: &ExecutionContract, action: &Action) -> String {
        match (action.from, action.to) {
            (State::Precheck, State::Terminate) => {
                failed_check(action).unwrap_or_else(|| std::mem::take(&mut self.heard))
            }
            (State::Precheck, _) => {
                let policy = match contract.tool_policy {
                    ToolPolicy::Required => "required",
                    ToolPolicy::Optional => "optional",
                    ToolPolicy::Forbidden => "forbidden",
                };
                let checks = counted(action.checks.len(), "check");
                let next = next_request(contract, action);
                format!("{checks} passed, tools {policy}; {next}")
            }
            (State::ValidateCalls, State::Execute) => self.starting(action),
            (State::ValidateCalls, _) => action
                .note
                .as_deref()
                .map_or_else(|| "nothing to execute".to_owned(), line),
            (State::Execute, _) => {
                let mut told = std::mem::take(&mut self.results);
                if !self.heard.is_empty() {
                    told.push(std::mem::take(&mut self.heard));
                }
                told.join("; ")
            }
            (State::Observe, _) => action.context.as_ref().map_or_else(
                || "observed".to_owned(),
                |context| {
                    let projected = grouped(context.projected);
                    format!("context {projected} of {} tokens", grouped(context.limit))
                },
            ),
            (State::Commit, State::Terminate) => {
                let used = action.counters;
                format!(
                    "{}, {}, {} executed, {} tokens",
                    counted(used.turns, "turn"),
                    counted(used.inferences, "inference"),
                    counted(used.executed, "call"),
                    grouped(used.tokens())
                )
            }
            (State::Commit, _) => {
                let predicate = action.predicate.map(|p| p.to_string()).unwrap_or_default();
                format!("{predicate}; {}", next_request(contract, action))
            }
            (State::Infer | State::Terminate, _) => std::mem::take(&mut self.heard),
        }
    }

    fn starting(&self, action: &Action) -> String {
        let started: Vec<String> = action
            .effects
            .iter()
            .filter_map(|effect| match effect {
                EffectRecord::Execute { id, name, .. } => {
                    let arguments = self.arguments.get(id).map_or("", String::as_str);
                    Some(format!("{} {}", line(name), brief(arguments, 80)))
                }
                EffectRecord::AwaitApproval { .. } => Some("waits for an approval".to_owned()),
                _ => None,
            })
            .collect();
        started.join("; ")
    }
}

fn arguments(returned: &InferenceReturned) -> BTreeMap<String, String> {
    let message = returned.result.canonical_message.as_ref();
    message
        .into_iter()
        .flat_map(|message| &message.tool_calls)
        .map(|call| (call.id.clone(), call.arguments.as_str().to_owned()))
        .collect()
}

/// What the adapter made of a response.
fn message(returned: &InferenceReturned) -> String {
    let result = &returned.result;
    if let Some(code) = result.failure_code {
        let pointer = result.pointer.as_deref().unwrap_or_default();
        return format!("rejected: {code} at {:?}", line(pointer));
    }
    let verdict = if result.repair.is_some() {
        "recovered"
    } else {
        "native"
    };
    let Some(message) = &result.canonical_message else {
        return verdict.to_owned();
    };
    let mut said = Vec::new();
    if !message.tool_calls.is_empty() {
        // One that nobody could read looks like a call without arguments, and was never run.
        let told = |call: &ToolInvocation| match call.fault {
            Some(fault) => format!("{} ({fault})", line(&call.name)),
            None => line(&call.name),
        };
        let names: Vec<String> = message.tool_calls.iter().map(told).collect();
        let calls = counted(message.tool_calls.len(), "call");
        said.push(format!("{calls}: {}", brief(&names.join(", "), 120)));
    }
    if !message.is_blank() {
        said.push(counted(message.content.chars().count(), "character"));
    }
    if let Some(withheld) = result.withheld.filter(|withheld| !withheld.blank) {
        said.push(format!("{} held back", counted(withheld.bytes, "byte")));
    }
    if said.is_empty() {
        said.push(if message.has_reasoning() {
            "reasoning only".to_owned()
        } else {
            "empty".to_owned()
        });
    }
    format!("{verdict}, {}", said.join(", "))
}

fn fault(failed: &InferenceFailed) -> String {
    let fault = &failed.fault;
    let status = fault.status.map(|status| format!(" ({status})"));
    format!(
        "{}{}: {}",
        fault.class.as_str(),
        status.unwrap_or_default(),
        brief(&fault.message, 160)
    )
}

/// How a call ended.
pub(super) fn outcome(outcome: &ToolOutcome) -> String {
    match outcome {
        ToolOutcome::Returned(envelope) => {
            let status = match (envelope.status, &envelope.error) {
                (EnvelopeStatus::Ok, _) => "ok".to_owned(),
                (EnvelopeStatus::Error, Some(error)) => {
                    format!(
                        "error {}: {}",
                        line(&error.code),
                        brief(&error.message, 120)
                    )
                }
                (EnvelopeStatus::Error, None) => "error".to_owned(),
            };
            let cut = if envelope.full.is_some() { ", cut" } else { "" };
            let bytes = grouped(envelope.bytes_out);
            format!(
                "{status}, {bytes} bytes{cut} in {} ms",
                envelope.duration_ms
            )
        }
        ToolOutcome::Malformed { detail, .. } => format!("malformed: {}", brief(detail, 120)),
        ToolOutcome::TimedOut => "timed out".to_owned(),
        ToolOutcome::ConnectionLost { detail } => {
            format!("connection lost: {}", brief(detail, 120))
        }
        ToolOutcome::Cancelled => "cancelled".to_owned(),
        ToolOutcome::ToolChanged => "not started: the tool is not the pinned one".to_owned(),
    }
}

fn failed_check(action: &Action) -> Option<String> {
    let check = action.checks.iter().find(|check| !check.ok)?;
    let name = serde_json::to_value(check.name).ok()?;
    let name = name.as_str().unwrap_or_default();
    Some(format!("{name}: {}", brief(&check.detail, 400)))
}

/// The request that an entry sets going, or the wait before it.
fn next_request(contract: &ExecutionContract, action: &Action) -> String {
    let mut next: Vec<String> = action
        .effects
        .iter()
        .filter_map(|effect| match effect {
            EffectRecord::Infer { target, .. } => {
                Some(format!("asks {}", target_name(contract, *target)))
            }
            EffectRecord::Wait { until_ms } => Some(format!("waits until {}", seconds(*until_ms))),
            _ => None,
        })
        .collect();
    if action.to == State::Infer {
        if action.attempt > 1 {
            next.push(format!("attempt {}", action.attempt));
        } else {
            next.push(format!("turn {}", action.step_id));
        }
    }
    if let Some(reason) = action.closing {
        next.push(format!("closing: {}", closing(reason)));
    }
    next.join(", ")
}

/// `provider/model` of a target.
pub(super) fn target_name(contract: &ExecutionContract, target: u32) -> String {
    let index = usize::try_from(target).unwrap_or(usize::MAX);
    contract.targets.get(index).map_or_else(String::new, |t| {
        format!("{}/{}", line(&t.provider), line(&t.model))
    })
}

pub(super) const fn closing(reason: ClosingReason) -> &'static str {
    match reason {
        ClosingReason::MaxTurns => "the last turn",
        ClosingReason::Context => "the context is used up",
        ClosingReason::Stop => "stop requested",
        ClosingReason::FinalReportFailed => "the final report failed",
    }
}

#[cfg(test)]
mod tests;
