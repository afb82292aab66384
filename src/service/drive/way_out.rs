//! What may help where a run failed: by what is recorded of it, else by its code. Changes nothing.

use std::borrow::Cow;

use crate::down_server::for_server;
use crate::drive::file_of_run::FileOfRun;
use crate::drive::typed_at::TypedAt;
use crate::drive::unproven::{
    accept_calls, is_unproven, missing_proof, not_executed, of_tool_step, unread_calls,
    wants_unknown_tool,
};
use crate::service::Service;
use crate::source::Source;
use crate::text::escape::line;
use crate::unreached::unreached;
use monolith_core::contract::way_without_tools;
use monolith_core::kernel::{AgentOutcome, OutcomeCode, Run};
use monolith_core::message::RunId;
use monolith_core::view::{LastRequest, RunView};
use monolith_host::telemetry::{
    CUT_AT_WINDOW, keyless, last_request, last_target, misled, played_out, refused_key_of, remedy,
    request_remedy, silent, went_away,
};

/// Limits that are recommended are multiples of it where a run needs more than twice its limit.
const STEP_OF_TOKENS: u64 = 1_000;

/// The share of a limit of answers by which another one is higher at least, as its divisor.
const LEAST_SHARE: u64 = 10;

/// How the key of a limit of one tool begins.
const CALLS_OF_TOOL: &str = "max_calls.per_tool.";

/// The command that goes on with a run under its own contract, in a remedy.
const CONTINUE: &str = "continue RUN \"…\"";

/// What may help after a run that failed.
pub struct WayOut {
    /// Whether the contract file is changed by it: a run then goes on under the file only where it is named.
    pub changes_file: bool,
    /// Text.
    pub text: String,
}

/// What may help after that run: what is recorded of it says more than its code alone. `None` if it did not fail.
pub fn way_out(
    service: &Service,
    view: &RunView,
    run_id: &RunId,
    typed_at: TypedAt<'_>,
) -> Option<WayOut> {
    let outcome = view.outcome()?;
    if let Some(remedy) = of_tool_step(view, outcome.code) {
        let text = filled(service, view, run_id, typed_at, remedy);
        return Some(WayOut {
            changes_file: true,
            text,
        });
    }
    let request = last_request(view);
    // Neither a call nor more turns would have made the request fit, or the model answer.
    let first = request.filter(|request| {
        matches!(
            request,
            LastRequest::TooLarge | LastRequest::Blank | LastRequest::NoReport
        )
    });
    if let Some(request) = first {
        let text = filled(service, view, run_id, typed_at, request_remedy(request));
        let changes_file = true;
        return Some(WayOut { changes_file, text });
    }
    if let Some(text) = exact(service, view, (run_id, typed_at)) {
        let rule = missing_proof(service, view, run_id, typed_at);
        let rule = rule.map(|rule| format!(". Otherwise: {rule}"));
        let text = format!("{text}{}", rule.unwrap_or_default());
        let changes_file = true;
        return Some(WayOut { changes_file, text });
    }
    if outcome.class == AgentOutcome::Interrupted {
        return None;
    }
    let key = refused_key_of(view).map(|variable| {
        format!(
            "put a key that the provider accepts into {}: `monolith continue RUN \"…\"` goes on",
            line(variable)
        )
    });
    let general = || {
        let what = key.map(Cow::Owned);
        let what = what.or_else(|| {
            Some(Cow::Borrowed(match request? {
                LastRequest::CutAtLimit if more_output(service, view, run_id).is_none() => {
                    CUT_AT_WINDOW
                }
                recorded => request_remedy(recorded),
            }))
        });
        let what = what.or_else(|| not_executed(view, outcome.code));
        let what = what.or_else(|| more_calls(view, outcome.code).map(Cow::Owned));
        what.or_else(|| remedy(outcome.code).map(Cow::Borrowed))
    };
    let text = missing_proof(service, view, run_id, typed_at)
        .or_else(|| Some(filled(service, view, run_id, typed_at, &general()?)))?;
    Some(WayOut {
        changes_file: is_of_contract(outcome.code),
        text,
    })
}

/// What helps where limits of calls are for single tools, too: the one that was reached, where that is known. In the form of a [`remedy`].
fn more_calls(view: &RunView, code: OutcomeCode) -> Option<String> {
    let limits = &view.contract().max_calls;
    if code != OutcomeCode::MaxCalls || limits.per_tool.is_empty() {
        return None;
    }
    let mut tools = limits.per_tool.keys();
    let key = match (limits.run, tools.next(), tools.next()) {
        (Some(run), ..) if view.counters().calls.saturating_add(view.last_requested()) > run => {
            Some("max_calls.run".to_owned())
        }
        (None, Some(tool), None) => Some(format!("{CALLS_OF_TOOL}{tool}")),
        _ => None,
    };
    Some(key.map_or_else(
        || "a task that needs fewer calls, or higher limits in `max_calls`".to_owned(),
        |key| {
            format!(
                "a task that needs fewer calls, or more of them: `monolith continue RUN \"…\" --contract FILE --set {key}=MORE`"
            )
        },
    ))
}

/// Whether a run that ended so goes on once the contract file is corrected.
const fn is_of_contract(code: OutcomeCode) -> bool {
    matches!(
        code,
        OutcomeCode::ContextInfeasible
            | OutcomeCode::ContractInvalid
            | OutcomeCode::ModelUnavailable
            | OutcomeCode::ProfileIncompatible
            | OutcomeCode::ProvenanceMissing
    )
}

/// A general remedy for that run: its file, its name and its limits, and commands as they are typed here.
fn filled(
    service: &Service,
    view: &RunView,
    run_id: &RunId,
    typed_at: TypedAt<'_>,
    remedy: &str,
) -> String {
    let file = FileOfRun::of(service, run_id);
    let continued = |words: &str| match typed_at {
        TypedAt::Shell => words.to_owned(),
        TypedAt::Chat(_) => words
            .replace("continue RUN \"…\" --contract FILE", "AGAIN")
            .replace(CONTINUE, "AGAIN"),
    };
    let value = |words: &str, placeholder: &str| -> Option<String> {
        match (placeholder, typed_at) {
            ("AGAIN", TypedAt::Chat(again)) => Some(again.to_owned()),
            ("FILE", _) => Some(file.word.clone()),
            ("MORE", _) => {
                let key = words.split_once("--set ").map_or("", |(_, set)| set);
                let more = more(service, view, run_id, key.trim_end_matches("=MORE"));
                Some(more.map_or_else(|| "…".to_owned(), |more| more.to_string()))
            }
            ("RUN", _) => Some(service.brief_name(run_id.as_str())),
            ("TARGET", _) => Some(last_target(view).to_string()),
            _ => None,
        }
    };
    let window = |placeholder: &str| {
        let target = view.contract().targets.get(last_target(view));
        let window = target.map(|target| target.context_window.to_string());
        (placeholder == "WINDOW").then(|| window.unwrap_or_else(|| "…".to_owned()))
    };
    let pieces = remedy.split('`').enumerate().map(|(at, piece)| {
        match (at % 2, piece.strip_prefix("monolith ")) {
            (0, _) => piece.to_owned(),
            (_, None) => format!("`{}`", with_values(piece, window)),
            // A conversation goes on with what is typed next in it.
            (_, Some(CONTINUE)) if matches!(typed_at, TypedAt::Chat(_)) => {
                "your next message".to_owned()
            }
            (_, Some(words)) => {
                let words = continued(words);
                let words = with_values(&words, |name| value(&words, name));
                let step = file.of_step(service, &words);
                step.unwrap_or_else(|| file.hint(service, &words))
            }
        }
    });
    pieces.collect()
}

/// A text with values in the place of its placeholders, words of capital letters. What a value holds stays as it is.
fn with_values(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(|letter: char| letter.is_ascii_uppercase()) {
        let (before, from) = rest.split_at_checked(begin).unwrap_or((rest, ""));
        let end = from.find(|letter: char| !letter.is_ascii_uppercase());
        let end = end.unwrap_or(from.len());
        let (name, after) = from.split_at_checked(end).unwrap_or((from, ""));
        filled.push_str(before);
        filled.push_str(&value(name).unwrap_or_else(|| name.to_owned()));
        rest = after;
    }
    filled + rest
}

/// Twice the limit of that key; more where the run was about to use more.
fn more(service: &Service, view: &RunView, run_id: &RunId, key: &str) -> Option<u64> {
    let contract = view.contract();
    let limit = match key {
        "llm_timeout_ms" => contract.llm_timeout_ms,
        key if key.ends_with(".max_output_tokens") => return more_output(service, view, run_id),
        "max_cost_micro_usd" => contract.max_cost_micro_usd.as_ref()?.0,
        "max_calls" | "max_calls.run" => contract.max_calls.run?,
        key if key.starts_with(CALLS_OF_TOOL) => {
            let tool = key.strip_prefix(CALLS_OF_TOOL)?;
            *contract.max_calls.per_tool.get(tool)?
        }
        "max_identical_calls" => contract.max_identical_calls?,
        "max_inferences" => contract.max_inferences,
        "max_tokens_consumed" => contract.max_tokens_consumed.0,
        "max_turns" => contract.max_turns.into(),
        "step_timeout_ms" => contract.step_timeout_ms,
        "tool_timeout_ms" => contract.tool_timeout_ms,
        "total_timeout_ms" => contract.total_timeout_ms,
        _ => return None,
    };
    let twice = limit.saturating_mul(2);
    Some(match key {
        "max_tokens_consumed" => twice.max(needed_tokens(service, view, run_id)),
        "max_calls" | "max_calls.run" => {
            let wanted = view.counters().calls.saturating_add(view.last_requested());
            twice.max(wanted)
        }
        // As many as the last message asked for, all alike, would be allowed.
        "max_identical_calls" => twice.max(limit.saturating_add(view.last_requested())),
        key if key.starts_with(CALLS_OF_TOOL) => {
            twice.max(limit.saturating_add(view.last_requested()))
        }
        // None may have been allowed.
        key if key.starts_with("max_") => twice.max(1),
        _ => twice,
    })
}

/// Twice the limit of an answer of the target that was asked last, as far as the context window holds it beside what is reserved and the next
/// request; `None` if that is hardly more than the limit.
fn more_output(service: &Service, view: &RunView, run_id: &RunId) -> Option<u64> {
    let contract = view.contract();
    let target = contract.targets.get(last_target(view))?;
    let (budget, limit) = (&contract.context_budget, target.sampling.max_output_tokens);
    let window = target.context_window.min(budget.context_window);
    let prompt = next_prompt_tokens(service, view, run_id).max(budget.reserved_system);
    let taken = [budget.buffer, budget.minimum_loop_margin, prompt];
    let room = taken.into_iter().fold(window, u64::saturating_sub);
    let more = limit.saturating_mul(2).min(room);
    let hardly = limit.saturating_add(limit / LEAST_SHARE);
    (more > hardly).then_some(more)
}

/// The tokens of a run with those of the request that it did not make any more, and of the longest answer to that.
fn needed_tokens(service: &Service, view: &RunView, run_id: &RunId) -> u64 {
    let targets = view.contract().targets.iter();
    let answer = targets
        .map(|target| target.sampling.max_output_tokens)
        .max();
    let used = view.counters().tree_tokens();
    let needed = used
        .saturating_add(next_prompt_tokens(service, view, run_id))
        .saturating_add(answer.unwrap_or(0));
    needed
        .div_ceil(STEP_OF_TOKENS)
        .saturating_mul(STEP_OF_TOKENS)
}

/// The prompt tokens of the request that a run did not make any more; 0 where they are not known.
fn next_prompt_tokens(service: &Service, view: &RunView, run_id: &RunId) -> u64 {
    let next = match view.machine() {
        Some(machine) => Some(machine.next_prompt_tokens()),
        // The driver had the machine.
        None => service.reader().ok().flatten().and_then(|reader| {
            let folded = Source::Run(run_id.clone(), reader)
                .each_step(|_, _, _| Ok(()))
                .ok()?;
            folded.machine().map(Run::next_prompt_tokens)
        }),
    };
    next.unwrap_or(0)
}

/// What the author may change in the contract so that the next run does not fail so; `None` if no record shows it.
fn exact(service: &Service, view: &RunView, at: (&RunId, TypedAt<'_>)) -> Option<String> {
    let (run_id, _) = at;
    let file = FileOfRun::of(service, run_id);
    let asks = |what: String| {
        if file.is_prompt() {
            return what;
        }
        let doctor = file.hint(service, &format!("doctor --contract {}", file.word));
        format!("{what}; {doctor} asks the server")
    };
    match view.outcome()?.code {
        OutcomeCode::ProviderAuth => {
            let provider = line(keyless(view)?);
            Some(asks(format!(
                "if it wants a key, name the variable that holds it: `api_key_env` of providers.{provider}"
            )))
        }
        OutcomeCode::AttemptsExhausted | OutcomeCode::ModelUnavailable => {
            match (misled(view), silent(view)) {
                (Some(provider), _) => {
                    let provider = line(provider);
                    Some(asks(format!("correct `base_url` of providers.{provider}")))
                }
                (None, Some(provider)) => {
                    let text = asks(reach_it(service, view, &file, provider));
                    let goes_on = went_away(view).map(|_| goes_on(service, view, at));
                    Some(format!("{text}{}", goes_on.unwrap_or_default()))
                }
                (None, None) => played_out(view).map(|provider| name_a_model(service, provider)),
            }
        }
        OutcomeCode::BackendUnavailable => {
            let targets = view.contract().targets.iter();
            let mut targets = targets.zip(&view.preflight().probed);
            let silent = targets.find(|(_, probed)| !probed.responsive);
            silent.map(|(target, _)| asks(reach_it(service, view, &file, &target.provider)))
        }
        OutcomeCode::ToolUnavailable => {
            let faults = &view.preflight().bring_up;
            let login =
                |words: &str| file.hint(service, &format!("{words} --contract {}", file.word));
            let servers = faults.iter();
            let servers = servers.map(|fault| for_server(view.contract(), fault, login));
            let servers = servers.collect::<Vec<_>>().join("; ");
            if servers.is_empty() {
                way_without_tools(view.contract()).map(|way| line(&way))
            } else {
                Some(asks(servers))
            }
        }
        OutcomeCode::ToolChanged => Some(format!(
            "read what has changed; where it is meant: {}",
            file.pin(service)
        )),
        OutcomeCode::ProofNotSucceeded => Some(accept_calls(service, view, &file, at)),
        OutcomeCode::SynthesisWithoutTools if view.counters().executed > 0 => {
            Some(accept_calls(service, view, &file, at))
        }
        code if (code == OutcomeCode::Arguments || is_unproven(code))
            && wants_unknown_tool(view) =>
        {
            let offer = "offer it the tool that it asked for, or ask for what";
            if file.is_prompt() {
                return Some(format!("{offer} its tools can do"));
            }
            let tools = file.hint(service, &format!("tools {}", file.word));
            Some(format!(
                "{tools} lists what the model may call: {offer} those can do"
            ))
        }
        code if is_unproven(code) => {
            let profiles = unread_calls(service, view, run_id).ok()??;
            Some(format!(
                "the text that was held back has the form of a call: `text_profile: {profiles}` at the target reads it"
            ))
        }
        _ => None,
    }
}

/// What goes on with a run whose server went away in its middle.
fn goes_on(service: &Service, view: &RunView, (run_id, typed_at): (&RunId, TypedAt<'_>)) -> String {
    let command = filled(
        service,
        view,
        run_id,
        typed_at,
        "`monolith continue RUN \"…\"`",
    );
    format!(
        ". It had answered in this run, and went away: once it answers again, {command} goes on"
    )
}

/// What helps where no server answers at the address of a provider.
fn reach_it(service: &Service, view: &RunView, file: &FileOfRun, provider: &str) -> String {
    let terms = view.contract().providers.get(provider);
    let at = terms.and_then(|terms| Some((terms.provider_type, terms.base_url.as_deref()?)));
    let key = if file.is_agent() {
        "`base_url` in .ai-agent.json"
    } else {
        "`base_url`"
    };
    let text = unreached(provider, at, key, |variable| {
        service.environment.get(variable).is_some()
    });
    if file.is_prompt() {
        let doctor = service.hint("doctor");
        format!("{text}; {doctor} looks for the model servers of this machine")
    } else {
        text
    }
}

/// What helps where a script has no line left, as that of the demo after its one task.
fn name_a_model(service: &Service, provider: &str) -> String {
    let (provider, init) = (line(provider), service.hint("init"));
    format!(
        "the script of providers.{provider} has a line for each answer, and none is left; {init} writes a contract with a model"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_into_a_command_is_not_taken_for_a_placeholder() {
        let value = |name: &str| match name {
            "FILE" => Some("RUN-MORE/FILE.yaml".to_owned()),
            "RUN" => Some("r2".to_owned()),
            _ => None,
        };
        let check = |text: &str, expect: &str| assert_eq!(with_values(text, value), expect);
        check(
            "continue RUN \"…\" --contract FILE --set max_turns=MORE",
            "continue r2 \"…\" --contract RUN-MORE/FILE.yaml --set max_turns=MORE",
        );
        check("contract check RUNS", "contract check RUNS");
        check("", "");
    }
}
