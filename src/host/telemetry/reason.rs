//! The sentence that says why a run ended. Reads a view; decides no outcome.

use std::collections::BTreeMap;

use monolith_core::contract::{ExecutionContract, ToolProof};
use monolith_core::kernel::{
    AgentOutcome, BringUpFault, Check, CheckName, OutcomeCode, ProbedTarget,
};
use monolith_core::message::{InferenceSeq, RunId, amount};
use monolith_core::view::{
    Activity, ApprovalEnd, Approvals, CallEnd, LastRequest, Offence, Preflight, Request,
    RequestEnd, RunView,
};

use super::failures;
use super::provider_refusal::{keyless, last_request, misled, of_address, unsure_key};
use super::sentence::sentence;
use super::server_log::with_short_log;

/// Maximum number of faults named.
const MOST_NAMED: usize = 3;
/// Characters of the arguments that are named.
const MOST_CHARS: usize = 120;
/// The proof that counts under `tool_proof: lineage`.
const OF_LINEAGE: &str =
    "an ok result of a tool that is no agent, in this run or one below it (tool_proof: lineage)";

/// The sentence for a run without the required call whose server took no larger request.
const UNPROVEN_AND_TOO_LARGE: &str = "The request did not fit the server's context, and a shorter one, without tools, could not bring the required tool call.";

/// Returns the reason why the run ended: the code's sentence, made exact by the facts of this run; none if it has no end.
#[must_use]
pub fn why(view: &RunView) -> Option<String> {
    if let Some((headline, rest)) = headline(view) {
        return Some(format!("{headline}. {rest}"));
    }
    let code = view.outcome()?.code;
    let request = last_request(view);
    let is_too_large = request == Some(LastRequest::TooLarge);
    let (sentence, cause) = match code {
        OutcomeCode::NoCallResponse if view.requested_calls() > 0 => {
            let refused = view.last_refusal().map(str::to_owned);
            let causes = [denied(view.approvals()), failed_calls(view), refused];
            let causes: Vec<String> = causes.into_iter().flatten().collect();
            let cause = (!causes.is_empty()).then(|| causes.join("; "));
            (not_executed(view), cause)
        }
        OutcomeCode::ProofNotSucceeded => {
            let wanted = match view.contract().tool_proof {
                _ if !view.contract().asks_model() => {
                    "The step is one call, and that call failed.".into()
                }
                ToolProof::Lineage => {
                    format!("The contract requires {OF_LINEAGE}, and there was none.")
                }
                ToolProof::Executed | ToolProof::Succeeded => sentence(code).to_owned(),
            };
            (wanted, failed_calls(view))
        }
        OutcomeCode::SynthesisWithoutTools if is_too_large => {
            (UNPROVEN_AND_TOO_LARGE.to_owned(), last_failures(view))
        }
        OutcomeCode::MaxTurnsExhausted | OutcomeCode::NoCallResponse
            if request == Some(LastRequest::Blank) =>
        {
            (
                sentence_of_blank(code).to_owned(),
                Some(blank_answers(view)),
            )
        }
        OutcomeCode::MaxTurnsExhausted => {
            let cause = match request {
                Some(LastRequest::CutAtLimit) => {
                    Some("the last answer was cut at max_output_tokens")
                }
                Some(LastRequest::CutByServer) => {
                    Some("the server cut the last answer at a server-side limit")
                }
                _ => None,
            };
            let cause = cause.map(str::to_owned).or_else(|| self::cause(view));
            (sentence(code).to_owned(), cause)
        }
        OutcomeCode::Context if is_too_large => (sentence(code).to_owned(), last_failures(view)),
        OutcomeCode::SynthesisWithoutTools => {
            let refused = || view.last_refusal().map(str::to_owned);
            (no_turn_left(view), failed_calls(view).or_else(refused))
        }
        OutcomeCode::ProviderAuth => (refused_key(view), cause(view)),
        OutcomeCode::StepTimeout | OutcomeCode::TotalTimeout if view.end_note().is_some() => (
            "The next request would have to wait longer than the run may take.".to_owned(),
            view.end_note().map(str::to_owned),
        ),
        _ => (sentence(code).to_owned(), cause(view)),
    };
    Some(match cause {
        Some(cause) => format!("{sentence} ({cause})"),
        None => sentence,
    })
}

/// Returns the last failure, if the class of the outcome names a budget and something else used it up: in foreign words; then
/// the rest of the reason.
#[must_use]
pub fn headline(view: &RunView) -> Option<(String, String)> {
    let code = view.outcome()?.code;
    // The last target was asked at an address that leads nowhere.
    let leads_nowhere = code == OutcomeCode::ModelUnavailable && misled(view).is_some();
    let (mut errors, targets) = failed_attempts(view);
    let of_targets = matches!(
        code,
        OutcomeCode::ModelUnavailable | OutcomeCode::ProfileIncompatible
    ) && targets > 1;
    if code != OutcomeCode::AttemptsExhausted && !leads_nowhere && !of_targets {
        return None;
    }
    let last = errors.pop()?;
    errors.retain(|error| *error != last);
    let before = if targets > 1 {
        (!errors.is_empty()).then(|| errors.join("; "))
    } else {
        brief(errors.into_iter())
    };
    let before = before.map(|before| format!(" (before it: {before})"));
    let rest = format!("{}{}", sentence(code), before.unwrap_or_default());
    Some((last.trim_end_matches('.').to_owned(), rest))
}

/// Returns the exact failure of a failed run: a check, or the last request or call. In foreign words, and not always known.
pub(super) fn cause(view: &RunView) -> Option<String> {
    let outcome = view.outcome()?;
    match outcome.class {
        AgentOutcome::FailedPreflight => {
            let failed = view.preflight().failed();
            let check = failed.map(|failed| failed_check(view, failed));
            check.or_else(|| last_failure(view))
        }
        AgentOutcome::FailedValidation if outcome.code == OutcomeCode::ToolEnvelope => {
            let (_, execution) = view.first_malformed()?;
            failures::of_execution(execution)
        }
        AgentOutcome::FailedValidation if outcome.code == OutcomeCode::Arguments => {
            view.refused().map(str::to_owned)
        }
        AgentOutcome::FailedValidation if outcome.code == OutcomeCode::FinalReportSchema => {
            if view.contract().final_report.is_some() && !view.has_reports() {
                return Some(no_report(view));
            }
            let fault = view.report_fault().and_then(failures::of_form);
            let note = || view.refused().map(failures::words_of_note);
            fault.or_else(|| last_failure(view)).or_else(note)
        }
        AgentOutcome::FailedProtocolMalformed | AgentOutcome::FailedValidation => {
            last_failure(view)
        }
        AgentOutcome::FailedBudgetExhausted => match outcome.code {
            OutcomeCode::AttemptsExhausted
            | OutcomeCode::ProviderAuth
            | OutcomeCode::ProviderQuota => last_failure(view),
            OutcomeCode::IdenticalCalls => offences(view),
            _ => None,
        },
        AgentOutcome::FailedContractViolation => offences(view),
        AgentOutcome::FailedTimeout => unanswered(view),
        AgentOutcome::CompletedWithTools
        | AgentOutcome::CompletedChatOnly
        | AgentOutcome::FailedProtocolNoTools
        | AgentOutcome::Interrupted => None,
    }
}

/// The calls that the run ended for, and the key of the contract that each breaks.
fn offences(view: &RunView) -> Option<String> {
    let offences = view.offences();
    let named = offences.iter().map(|offence| match offence {
        Offence::Forbidden(name) => format!("{name}, and tool_policy is forbidden"),
        Offence::NotAllowed(name) => format!("{name} is not in allowed_tools"),
        Offence::KeptByProvider(name) => format!("{name} is not offered to this provider"),
        Offence::Pair(from, to) => format!("{to} after {from}, which cycle_forbid has"),
        Offence::Repeated {
            name,
            arguments,
            times,
        } => {
            let limit = view.contract().max_identical_calls.unwrap_or_default();
            let shown: String = arguments.chars().take(MOST_CHARS).collect();
            let cut = if shown.len() < arguments.len() {
                "…"
            } else {
                ""
            };
            let times = self::times(*times);
            format!("{name} {shown}{cut}: asked for {times}, max_identical_calls: {limit}")
        }
    });
    brief(named)
}

/// The sentence of a run whose last answer was empty: it did not answer.
const fn sentence_of_blank(code: OutcomeCode) -> &'static str {
    match code {
        OutcomeCode::NoCallResponse => {
            "The contract requires a tool call, and the model answered with nothing."
        }
        code => sentence(code),
    }
}

/// Describes how many answers had neither text nor a call.
fn blank_answers(view: &RunView) -> String {
    let requests = view.requests().values();
    let answers = requests.filter(|request| request.is_ok() && !request.is_beside());
    let (blank, other): (Vec<_>, Vec<_>) = answers.partition(|request| request.is_blank());
    match (blank.len(), other.len()) {
        (1, _) => "the last answer was empty".to_owned(),
        (blank, 0) => format!("all {blank} answers were empty"),
        (blank, other) => format!("{blank} of {} answers were empty", blank + other),
    }
}

/// Returns the count in words.
fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// Describes the model's answers if no final report ever came.
fn no_report(view: &RunView) -> String {
    let requests = view.requests().values();
    let answers = requests.filter(|request| request.is_ok() && !request.is_beside());
    let (blank, text): (Vec<_>, Vec<_>) = answers.partition(|request| request.is_blank());
    match (blank.len() as u64, text.len() as u64) {
        (blank, 0) => format!(
            "no report came: the model answered with nothing, {}",
            times(blank)
        ),
        (0, text) => format!(
            "no report came: the model answered without one, {}",
            times(text)
        ),
        (blank, text) => format!(
            "no report came: the model answered without one, {}, and with nothing, {}",
            times(text),
            times(blank)
        ),
    }
}

/// Describes a failed check; for the models, those that did not answer.
fn failed_check(view: &RunView, failed: &Check) -> String {
    let Preflight {
        bring_up, probed, ..
    } = view.preflight();
    let silent = silent(view.contract(), probed);
    match failed.name {
        CheckName::Backend if !silent.is_empty() => silent.join("; "),
        CheckName::Tools => {
            let run = view.run_id().map_or("last", RunId::as_str);
            let rest = format!("; monolith show {run} --full has them");
            let mut details: Vec<String> = failed.detail.split("; ").map(str::to_owned).collect();
            for BringUpFault { detail, server, .. } in bring_up {
                let detail = with_short_log(detail, &rest);
                let down = format!("the tool server `{server}` is not available");
                match details.iter_mut().find(|known| **known == down) {
                    Some(known) => *known = format!("{down}: {detail}"),
                    None => details.push(format!("{server}: {detail}")),
                }
            }
            details.join("; ")
        }
        _ => failed.detail.clone(),
    }
}

/// The targets that did not answer, by name.
fn silent(contract: &ExecutionContract, probed: &[ProbedTarget]) -> Vec<String> {
    let targets = contract.targets.iter().zip(probed);
    targets
        .filter(|(_, probed)| !probed.responsive)
        .map(|(target, probed)| {
            let at = if probed.detail.starts_with("http") {
                " at "
            } else {
                ": "
            };
            format!("{}/{}{at}{}", target.provider, target.model, probed.detail)
        })
        .collect()
}

/// The model or the tool that had not answered when the time was over.
fn unanswered(view: &RunView) -> Option<String> {
    match *view.activities().last()? {
        Activity::Request(inference) => {
            let request = view.request(inference)?;
            let waits = matches!(request.end, None | Some(RequestEnd::GivenUp));
            let model = model_of(view, request)?;
            waits.then(|| format!("{model} had not answered"))
        }
        Activity::Execution(call, place) => {
            let call = view.call(call)?;
            let end = call.executions.get(place)?.end.as_ref();
            let waits = matches!(
                end,
                None | Some(CallEnd::GivenUp | CallEnd::Cancelled | CallEnd::TimedOut)
            );
            waits.then(|| format!("{} had not returned", call.name))
        }
        Activity::Report(_) => None,
    }
}

/// The model that a request was for.
fn model_of(view: &RunView, request: &Request) -> Option<String> {
    let index = usize::try_from(request.target).ok()?;
    let target = view.contract().targets.get(index)?;
    Some(format!("{}/{}", target.provider, target.model))
}

/// Returns the reason why the last activity failed; a summary belongs to its call.
fn last_failure(view: &RunView) -> Option<String> {
    let mut last = view.activities().iter().rev();
    let last = last.find(|activity| match activity {
        Activity::Request(inference) => !view.request(*inference).is_some_and(Request::is_beside),
        Activity::Execution(..) | Activity::Report(_) => true,
    });
    failures::of_activity(view, *last?)
}

/// Returns the last failure of each target, if several failed; else why the last activity failed.
fn last_failures(view: &RunView) -> Option<String> {
    match failed_attempts(view) {
        (errors, 2..) => Some(errors.join("; ")),
        _ => last_failure(view),
    }
}

/// Describes the calls not made for want of an approval; none if there are none.
fn denied(approvals: &Approvals) -> Option<String> {
    let times = |count: usize| match count {
        1 => String::new(),
        count => format!(" {count} times"),
    };
    match (approvals.refused(), approvals.expired()) {
        (0, 0) => None,
        (refused, 0) => Some(format!("a person refused the approval{}", times(refused))),
        (0, late) => Some(format!(
            "the approval was not answered in time{}",
            times(late)
        )),
        (refused, late) => Some(format!(
            "a person refused {refused}, and {late} were not answered in time"
        )),
    }
}

/// Describes the provider's refusal: of a key, or of a request without one.
fn refused_key(view: &RunView) -> String {
    match (keyless(view), unsure_key(view)) {
        (Some(provider), _) => format!(
            "The provider refused the request, and no key was sent: provider `{provider}` names none with api_key_env."
        ),
        (None, Some(variable)) => {
            format!("The provider did not accept the key of {variable}, or that is not set.")
        }
        (None, None) => sentence(OutcomeCode::ProviderAuth).to_owned(),
    }
}

/// Describes the turns that offer tools and ended without the proof that the contract requires.
fn no_turn_left(view: &RunView) -> String {
    let used = view.counters();
    let contract = view.contract();
    if used.turns.saturating_add(1) < contract.max_turns {
        return sentence(OutcomeCode::SynthesisWithoutTools).to_owned();
    }
    let what = match contract.tool_proof {
        ToolProof::Lineage if used.executed > 0 => {
            return format!("The turns that offer tools were used up without {OF_LINEAGE}.");
        }
        ToolProof::Succeeded if used.executed > 0 => "had succeeded: every call failed",
        ToolProof::Executed | ToolProof::Lineage | ToolProof::Succeeded => "had been executed",
    };
    let turns = amount(contract.max_turns, "turn");
    format!(
        "The last of {turns} is kept for the closing answer; the turns that offer tools were used up before a required tool call {what}."
    )
}

/// Describes the calls of a run that executed none.
fn not_executed(view: &RunView) -> String {
    let requested = view.requested_calls();
    let calls = view.calls().values();
    let ends = calls.flat_map(|call| call.executions.iter().map(|made| &made.end));
    let started = ends
        .filter(|end| end.as_ref().is_none_or(CallEnd::was_started))
        .count();
    let what = match (started, requested) {
        (0, 1) => "1 was asked for and was not started".to_owned(),
        (0, requested) => format!("{requested} were asked for and none was started"),
        (1, _) => "1 was started and did not come back".to_owned(),
        (started, _) => format!("{started} were started and none came back"),
    };
    format!("The contract requires an executed tool call: {what}.")
}

/// Returns the reasons why the attempts of the last turn failed, in order, and the number of targets that they name. With several
/// targets, the last reason of each, also of one that an earlier turn dropped. A summary is no attempt.
fn failed_attempts(view: &RunView) -> (Vec<String>, usize) {
    let of_turn = view.turns().last().map(|turn| turn.attempts.as_slice());
    let of_turn = of_turn.unwrap_or_default();
    let mut last_of: BTreeMap<u32, InferenceSeq> = BTreeMap::new();
    for turn in view.turns() {
        for attempt in &turn.attempts {
            if let Some(request) = view.request(*attempt) {
                last_of.insert(request.target, *attempt);
            }
        }
    }
    let fails = |attempt: &InferenceSeq| {
        view.request(*attempt)
            .is_some_and(|r| !r.is_ok() || r.is_unended())
    };
    let mut last: Vec<InferenceSeq> = last_of.into_values().filter(fails).collect();
    last.sort_unstable();
    let targets = last.len();
    let several = targets > 1;
    let attempts = if several { last.as_slice() } else { of_turn };
    let attempts = attempts.iter().filter_map(|attempt| view.request(*attempt));
    let attempts = attempts.filter(|request| !request.is_ok() || request.is_unended());
    let model = |request: &Request| model_of(view, request);
    let texts = attempts.filter_map(|request| {
        let mut error = failures::of_request(request)?;
        if let Some(at_address) = of_address(view, request, &error) {
            error = at_address;
        }
        Some(match model(request).filter(|_| several) {
            Some(model) => format!("{model}: {error}"),
            None => error,
        })
    });
    (texts.collect(), targets)
}

/// The calls that were started, each with its tool's name and why it failed or what its run came to, and each text once.
pub fn failed_calls(view: &RunView) -> Option<String> {
    let of_lineage = view.contract().tool_proof == ToolProof::Lineage;
    let started = view.activities().iter().filter_map(|activity| {
        let Activity::Execution(call, place) = activity else {
            return None;
        };
        let call = view.call(*call)?;
        let execution = call.executions.get(*place)?;
        let end = match &execution.child {
            Some(child) if of_lineage => format!(
                "run {} ended {}, without such a result",
                child.run_id, child.outcome
            ),
            Some(child) => format!("run {} ended {}", child.run_id, child.outcome),
            None => failures::of_execution(execution).unwrap_or_else(|| "failed".to_owned()),
        };
        Some(format!("{}: {end}", call.name))
    });
    brief(started)
}

/// The calls that no person allowed, each with its tool's name and why.
pub fn denied_calls(view: &RunView) -> Option<String> {
    let denied = view.calls().values().filter_map(|call| {
        let why = match call.approval? {
            ApprovalEnd::Refused => call.reason.as_deref().map_or_else(
                || "denied: approval, a person refused it".to_owned(),
                |reason| format!("denied: approval, a person refused it: {reason}"),
            ),
            ApprovalEnd::Expired => "denied: approval, not answered in time".to_owned(),
            ApprovalEnd::Allowed | ApprovalEnd::Stopped => return None,
        };
        Some(format!("{}: {why}", call.name))
    });
    brief(denied)
}

/// Each text once, and how many more there are; none if there are none.
fn brief(texts: impl Iterator<Item = String>) -> Option<String> {
    let mut named: Vec<String> = Vec::new();
    for text in texts {
        if !named.contains(&text) {
            named.push(text);
        }
    }
    let more = named.len().saturating_sub(MOST_NAMED);
    named.truncate(MOST_NAMED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    (!named.is_empty()).then(|| named.join("; "))
}
