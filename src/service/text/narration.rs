//! The words for people about an entry: a transition, its effects and the reason. Reads the view; prints nothing.

use crate::text::escape::{brief, line};
use crate::text::numbers::{counted, grouped, seconds};
use monolith_core::contract::{ExecutionContract, FlowAction, TextProfile, ToolPolicy};
use monolith_core::kernel::{
    Action, ClosingReason, EffectRecord, EntryKind, EventKind, InferenceFailed, InferenceReturned,
    Interrupter, LostEffect, Predicate, PredicateName, State,
};
use monolith_core::message::{EnvelopeStatus, InputAnswer, InputExchange, ToolInvocation};
use monolith_core::view::{CallEnd, Entry, ReportFault, RequestPurpose, RunView};
use monolith_host::telemetry::words_of_note;

/// The most tags that a line names.
const MOST_WARNINGS: usize = 4;

/// A transition of the machine in words. Everything in it is escaped.
#[derive(Debug, PartialEq, Eq)]
pub struct Transition {
    /// Milliseconds since the run began.
    pub at_ms: u64,
    /// State before the entry.
    pub from: State,
    /// State after the entry.
    pub to: State,
    /// Details in words.
    pub detail: String,
    /// The number of the predicate that decided, where the detail begins with its words.
    pub rule: Option<u8>,
}

impl Transition {
    /// The transition that the entry is, where it is one, or the calls that it starts beside; `view` has taken it already.
    pub fn of(view: &RunView, entry: Entry<'_>) -> Option<Self> {
        let action = entry.action;
        let detail = match action.kind {
            EntryKind::Transition => detail(view, entry),
            _ => started_beside(view, action)?,
        };
        Some(Self {
            at_ms: view.at_ms(),
            from: action.from,
            to: action.to,
            detail,
            rule: action
                .predicate
                .filter(|_| action.from == State::Commit && action.to != State::Terminate)
                .map(|predicate| predicate.item),
        })
    }

    /// The line as a run shows it.
    pub fn line(&self) -> String {
        self.line_with(&self.detail)
    }

    /// The same with the number of the predicate that decided.
    pub fn numbered_line(&self) -> String {
        self.line_with(&numbered(self.rule, &self.detail))
    }

    fn line_with(&self, detail: &str) -> String {
        let gap = if detail.is_empty() { "" } else { "   " };
        let at = seconds(self.at_ms);
        if self.from == self.to {
            return format!("{at}  {}{gap}{detail}", self.to);
        }
        format!("{at}  {} → {}{gap}{detail}", self.from, self.to)
    }
}

/// A detail behind the number of the predicate whose words it begins with.
pub fn numbered(rule: Option<u8>, detail: &str) -> String {
    match rule {
        Some(number) => format!("predicate {number}: {detail}"),
        None => detail.to_owned(),
    }
}

fn detail(view: &RunView, entry: Entry<'_>) -> String {
    let action = entry.action;
    let event = || event(view, entry);
    match (action.from, action.to) {
        (State::Precheck, State::Terminate) => failed_check(action)
            .or_else(|| Some(event()).filter(|event| !event.is_empty()))
            .or_else(|| Some(action.predicate?.name.describe().to_owned()))
            .unwrap_or_default(),
        (State::Precheck, _) => {
            let policy = match view.contract().tool_policy {
                ToolPolicy::Required => "required",
                ToolPolicy::Optional => "optional",
                ToolPolicy::Forbidden => "forbidden",
            };
            let checks = counted(action.checks.len(), "check");
            if !view.contract().asks_model() {
                return format!("{checks} passed");
            }
            let next = next_request(view.contract(), action);
            format!("{checks} passed, tools {policy}; {next}")
        }
        (State::ValidateCalls, State::Execute) => {
            let refused = action.note.as_deref().map(line);
            let parts = [Some(started(view, action)), refused];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            parts.join("; ")
        }
        (State::ValidateCalls, _) => {
            let note = action.note.as_deref();
            let note = note.map(|note| line(&words_of_note(note)));
            let report = || {
                let fault = report_fault(view.refused_report(action)?);
                Some(format!("the final report is refused{fault}"))
            };
            let nothing = if view.wants_a_tool() {
                "no call is started"
            } else {
                "nothing to execute"
            };
            note.or_else(report).unwrap_or_else(|| nothing.to_owned())
        }
        (State::Execute, _) => {
            let mut parts = results(view);
            parts.extend(Some(event()).filter(|event| !event.is_empty()));
            parts.join("; ")
        }
        (State::Observe, _) => action.context.as_ref().map_or_else(
            || "observed".to_owned(),
            |context| {
                let projected = grouped(context.projected);
                format!("context {projected} of {}", counted(context.limit, "token"))
            },
        ),
        (State::Commit, State::Terminate) => {
            let used = action.counters;
            format!(
                "{}, {}, {} executed, {}",
                counted(used.turns, "turn"),
                counted(used.inferences, "inference"),
                counted(used.executed, "call"),
                counted(used.tokens(), "token")
            )
        }
        (State::Commit, _) => {
            let words = action.predicate.map_or("", |p| p.name.describe());
            let failed = |p: Predicate| p.name == PredicateName::FinalReportFailed;
            let fault = action.predicate.filter(|p| failed(*p));
            let fault = fault.and_then(|_| view.report_fault());
            let fault = fault.map(report_fault).unwrap_or_default();
            format!("{words}{fault}; {}", next_request(view.contract(), action))
        }
        (State::Infer | State::Terminate, _) => event(),
    }
}

/// Describes the error of a final report, and its place.
fn report_fault(fault: &ReportFault) -> String {
    match fault {
        ReportFault::HeldBack => ": it came before a call had been validated".to_owned(),
        ReportFault::Form { pointer, rule } => {
            let place = if pointer.is_empty() { "it" } else { pointer };
            format!(": {} {}", line(place), brief(rule, 200))
        }
        ReportFault::Cut => ": it was cut at the output limit".to_owned(),
        ReportFault::Refused(note) => format!(": {}", brief(note, 200)),
    }
}

/// Describes the event that began the step; empty if the entry has none.
fn event(view: &RunView, entry: Entry<'_>) -> String {
    let action = entry.action;
    let Some(event) = entry.event else {
        return String::new();
    };
    let purpose = |inference| view.request(inference).map(|request| request.purpose);
    let is_summary = |inference| matches!(purpose(inference), Some(RequestPurpose::Summary(_)));
    let is_sampling = |inference| matches!(purpose(inference), Some(RequestPurpose::Sampling(_)));
    match &event.event {
        EventKind::CallStreamed(_) => "a call is whole before its message".to_owned(),
        EventKind::InferenceReturned(returned) if is_summary(returned.inference) => {
            "a summary came".to_owned()
        }
        EventKind::InferenceReturned(returned) if is_sampling(returned.inference) => {
            "a model answered the server".to_owned()
        }
        EventKind::InferenceReturned(returned) => message(&action.adapter_version, returned),
        EventKind::InferenceFailed(failed) if is_summary(failed.inference) => {
            format!("no summary: {}", fault(failed))
        }
        EventKind::InferenceFailed(failed) if is_sampling(failed.inference) => {
            format!("no model answered the server: {}", fault(failed))
        }
        EventKind::InferenceFailed(failed) => fault(failed),
        EventKind::TimerFired => "a deadline passed".to_owned(),
        EventKind::StopRequested => "stop requested".to_owned(),
        EventKind::Interrupted(Interrupter::Abort) => "aborted".to_owned(),
        EventKind::Interrupted(Interrupter::Shutdown) => "the process is being ended".to_owned(),
        EventKind::Interrupted(Interrupter::Parent) => "ended by the parent run".to_owned(),
        EventKind::ApprovalGiven(given) if given.content.is_some() => "answered".to_owned(),
        EventKind::ApprovalGiven(_) => "approved".to_owned(),
        EventKind::ApprovalDenied(_) => "denied".to_owned(),
        EventKind::EffectLost(LostEffect::Call(_)) => "a call's result was lost".to_owned(),
        EventKind::EffectLost(_) => "the answer was lost".to_owned(),
        EventKind::Suspended => "suspended".to_owned(),
        EventKind::Resumed(_) => "resumed".to_owned(),
        EventKind::RunStarted(_) | EventKind::Probed(_) | EventKind::ToolReturned(_) => {
            String::new()
        }
    }
}

/// Describes the results of the turn's calls, in the order in which they came.
fn results(view: &RunView) -> Vec<String> {
    let returned = view.turns().last().map_or(&[][..], |turn| &turn.returned);
    let calls = returned.iter().filter_map(|call| view.call(*call));
    calls
        .filter_map(|call| {
            let asked: Vec<String> = call.exchanges().map(exchange).collect();
            let asked = asked.iter().map(|asked| format!(", {asked}"));
            Some(format!(
                "{} {}{}",
                line(&call.name),
                call_end(call.reported()?),
                asked.collect::<String>()
            ))
        })
        .collect()
}

/// The calls that an entry starts which is no transition; `None` if it starts none.
pub fn started_beside(view: &RunView, action: &Action) -> Option<String> {
    let started = started(view, action);
    (action.kind == EntryKind::Noted && !started.is_empty()).then_some(started)
}

/// The calls that the entry starts, and whether one of them waits.
fn started(view: &RunView, action: &Action) -> String {
    let started = action.effects.iter().filter_map(|effect| match effect {
        EffectRecord::Execute { call, name, .. } | EffectRecord::Delegate { call, name, .. } => {
            let arguments = view.call(*call).map_or("", |call| &call.arguments);
            Some(format!("{} {}", line(name), brief(arguments, 80)))
        }
        EffectRecord::AwaitApproval { asked_by, .. } => {
            let rule = asked_by.map_or_else(String::new, |rule| format!(", by {rule}"));
            Some(format!("waits for an approval{rule}"))
        }
        _ => None,
    });
    // What is denied stands in the entry's note.
    let asked = action.flow.iter();
    let asked = asked.filter(|flow| flow.action == FlowAction::Ask);
    let asked = asked.map(|flow| line(&flow.sentence()));
    started.chain(asked).collect::<Vec<String>>().join("; ")
}

/// Describes the adapter's reading of a response, and the tags in it that it warns of.
fn message(adapter: &str, returned: &InferenceReturned) -> String {
    let warnings = &returned.result.tag_warnings;
    let more = warnings.len().saturating_sub(MOST_WARNINGS);
    let named = warnings.iter().take(MOST_WARNINGS).map(ToString::to_string);
    let more = (more > 0).then(|| format!("{more} more"));
    let named: Vec<String> = named.chain(more).collect();
    let verdict = verdict(adapter, returned);
    if named.is_empty() {
        return verdict;
    }
    format!("{verdict}; warning: {}", line(&named.join(", ")))
}

/// The verdict on a response, and what the message holds.
fn verdict(adapter: &str, returned: &InferenceReturned) -> String {
    let result = &returned.result;
    if let Some(code) = result.failure_code {
        let pointer = result.pointer.as_deref().unwrap_or_default();
        return match pointer {
            "" => format!("rejected: {code}"),
            pointer => format!("rejected: {code} at {:?}", line(pointer)),
        };
    }
    let canonical = result.canonical_message.as_ref();
    let has_calls = canonical.is_some_and(|message| !message.tool_calls.is_empty());
    let verdict = if result.repair.is_some() {
        "recovered"
    } else if has_calls && TextProfile::of_version(adapter).is_some() {
        "text"
    } else {
        "native"
    };
    let Some(message) = &result.canonical_message else {
        return verdict.to_owned();
    };
    let mut said = Vec::new();
    if !message.tool_calls.is_empty() {
        // One that could not be read looks like a call without arguments, and was never run.
        let with_fault = |call: &ToolInvocation| match call.fault {
            Some(fault) => format!("{} ({fault})", line(&call.name)),
            None => line(&call.name),
        };
        let names: Vec<String> = message.tool_calls.iter().map(with_fault).collect();
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

/// Describes a server's question during a call, and the answer.
pub fn exchange(exchange: &InputExchange) -> String {
    let asked = format!("its server asked {:?}", brief(&exchange.message, 120));
    let at = exchange.url.as_deref();
    let at = at.map_or_else(String::new, |url| format!(" at {}", brief(url, 200)));
    match (exchange.answer, &exchange.content) {
        (InputAnswer::Accept, content) => {
            let content = content.as_deref().unwrap_or_default();
            format!("{asked}{at} and got {}", brief(content, 120))
        }
        (InputAnswer::Decline, _) => format!("{asked}{at}, declined"),
    }
}

/// Describes the end of a call.
pub fn call_end(end: &CallEnd) -> String {
    match end {
        CallEnd::Returned(result) => {
            let status = match (result.status, &result.error) {
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
            let cut = if result.cut { ", cut" } else { "" };
            let bytes = counted(result.bytes_out, "byte");
            format!("{status}, {bytes}{cut} in {} ms", result.duration_ms)
        }
        CallEnd::Malformed { detail } => format!("malformed: {}", brief(detail, 120)),
        CallEnd::TimedOut => "timed out".to_owned(),
        CallEnd::ConnectionLost { detail } => {
            format!("connection lost: {}", brief(detail, 120))
        }
        CallEnd::Cancelled | CallEnd::GivenUp => "cancelled".to_owned(),
        CallEnd::RestartInProgress => "not started: the server is being restarted".to_owned(),
        CallEnd::RestartFailed { detail } => {
            format!("not started: the server is down: {}", brief(detail, 120))
        }
        CallEnd::ToolChanged { detail } => {
            let joint = if detail.is_empty() { "" } else { ": " };
            let detail = brief(detail, 400);
            format!("not started: the tool is not the pinned one{joint}{detail}")
        }
        CallEnd::NotBegun { detail } => format!("no run was begun: {}", brief(detail, 400)),
        CallEnd::Lost { .. } => "lost with its process".to_owned(),
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

/// `provider/model` of a target; of a model that is named by a path, the last part of the path.
pub fn target_name(contract: &ExecutionContract, target: u32) -> String {
    let index = usize::try_from(target).unwrap_or(usize::MAX);
    contract.targets.get(index).map_or_else(String::new, |t| {
        let last = t.model.rsplit('/').next().unwrap_or_default();
        let model = if t.model.starts_with('/') && !last.is_empty() {
            format!("…/{last}")
        } else {
            t.model.clone()
        };
        format!("{}/{}", line(&t.provider), line(&model))
    })
}

const fn closing(reason: ClosingReason) -> &'static str {
    match reason {
        ClosingReason::MaxTurns => "the last turn",
        ClosingReason::Context => "the context is used up",
        ClosingReason::Stop => "stop requested",
        ClosingReason::FinalReportFailed => "the final report failed",
        ClosingReason::PlainText => "plain text twice in a row",
    }
}

#[cfg(test)]
mod tests;
