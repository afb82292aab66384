//! What may help where a run failed, by the code of its outcome: one table for the errors, for `show --why` and for the recipe of failed runs.
//! Knows no run.

use monolith_core::kernel::OutcomeCode;
use monolith_core::view::LastRequest;

/// What may help, in general. `FILE` stands for the contract file, `RUN` for the run, `MORE` for a higher limit; commands stand between backticks. None
/// where nothing failed.
#[must_use]
pub const fn remedy(code: OutcomeCode) -> Option<&'static str> {
    Some(match code {
        OutcomeCode::FinalReport
        | OutcomeCode::TextFallback
        | OutcomeCode::Synthesis
        | OutcomeCode::FinalMessage => return None,
        OutcomeCode::ContractInvalid
        | OutcomeCode::ContractHashMismatch
        | OutcomeCode::ProvenanceMissing
        | OutcomeCode::ProfileIncompatible => {
            "`monolith contract check FILE --start-servers` names every value that is wrong, and its line"
        }
        OutcomeCode::FormatVersion => {
            "take the build that wrote it; `monolith migrate --list` names what this one knows"
        }
        OutcomeCode::ContextInfeasible => {
            "a shorter task, a model with a larger `context_window`, fewer tools, or smaller reserves; `monolith contract check FILE --start-servers` has the figures"
        }
        OutcomeCode::ModelUnavailable => {
            "`monolith doctor --contract FILE` lists the models that the server has: correct `model` of the target, then `monolith continue RUN \"…\" --contract FILE`"
        }
        OutcomeCode::ToolUnavailable => {
            "`monolith doctor --contract FILE` and `monolith contract check FILE --start-servers` name what is missing"
        }
        OutcomeCode::ToolChanged => {
            "read what has changed; where it is meant: `monolith contract pin FILE`"
        }
        OutcomeCode::BackendUnavailable => {
            "start the model's server, or correct its `base_url`; `monolith doctor --contract FILE` asks it"
        }
        OutcomeCode::ProviderAuth => {
            "put a key that the provider accepts into the variable that `api_key_env` names"
        }
        OutcomeCode::ProviderQuota => {
            "wait until the provider grants more, or name a second target"
        }
        OutcomeCode::NoCallResponse => {
            "ask for something that needs a tool, or allow an answer without one (`tool_policy: optional`). Where the model wrote its call as text, `text_profile` at the target reads it; where the server takes a grammar, `grammar_profile` leaves the model no choice"
        }
        OutcomeCode::SynthesisWithoutTools => {
            "more turns, the last of which offers no tools: `monolith continue RUN \"…\" --contract FILE --set max_turns=MORE`"
        }
        OutcomeCode::ProofNotSucceeded => {
            "correct what the calls failed with, or count a call that failed (`tool_proof: executed`)"
        }
        OutcomeCode::FormatRetriesExhausted => {
            "`strict_mode: false`, a `text_profile` where the model writes its calls as text, or a larger model"
        }
        OutcomeCode::ToolEnvelope => {
            "a tool server that keeps to its protocol; `monolith show RUN --full` has what it returned"
        }
        OutcomeCode::Arguments => {
            "`monolith tools FILE --schemas` shows what each tool takes: say it in the system prompt, or take a larger model; `max_invalid_turns` allows more tries"
        }
        OutcomeCode::FinalReportSchema => {
            "a simpler form of the report, an example in the system prompt, or a larger model"
        }
        OutcomeCode::Refusal | OutcomeCode::ContentFilter => {
            "word the task otherwise, or name a second target"
        }
        OutcomeCode::MaxTurnsExhausted => {
            "more turns: `monolith continue RUN \"…\" --contract FILE --set max_turns=MORE`"
        }
        OutcomeCode::MaxInferences => {
            "more requests: `monolith continue RUN \"…\" --contract FILE --set max_inferences=MORE`"
        }
        OutcomeCode::MaxTokens => {
            "more tokens: `monolith continue RUN \"…\" --contract FILE --set max_tokens_consumed=MORE`"
        }
        OutcomeCode::MaxCost => {
            "more money: `monolith continue RUN \"…\" --contract FILE --set max_cost_micro_usd=MORE`"
        }
        OutcomeCode::MaxCalls => {
            "a task that needs fewer calls, or more of them: `monolith continue RUN \"…\" --contract FILE --set max_calls=MORE`"
        }
        OutcomeCode::IdenticalCalls => {
            "say in the system prompt what to do when a call brings nothing new, or allow more identical calls: `monolith continue RUN \"…\" --contract FILE --set max_identical_calls=MORE`"
        }
        OutcomeCode::Context => {
            "a model with a larger context window, or a task that reads less at once"
        }
        OutcomeCode::AttemptsExhausted => {
            "the model's server failed at every attempt: its log says why, and `monolith doctor --contract FILE` asks it. Once it answers: `monolith continue RUN \"…\"`"
        }
        OutcomeCode::StepTimeout => {
            "more time for a turn: `monolith continue RUN \"…\" --contract FILE --set step_timeout_ms=MORE`"
        }
        OutcomeCode::TotalTimeout => {
            "more time: `monolith continue RUN \"…\" --contract FILE --set total_timeout_ms=MORE`"
        }
        OutcomeCode::ForbiddenCall => "allow tools with `tool_policy`, or ask for what needs none",
        OutcomeCode::ToolNotAllowed => {
            "name the tool in `allowed_tools`, or ask for what those can do"
        }
        OutcomeCode::CycleForbidden => {
            "say the order in the system prompt, or change `cycle_forbid`"
        }
        OutcomeCode::TokenGate => {
            "a server that keeps to the grammar that it is sent; `monolith show RUN --withheld` has its text"
        }
        OutcomeCode::ContractMutated => "begin a new run: `monolith run FILE`",
        OutcomeCode::FlowForbidden => {
            "`monolith show RUN --why` names the results that the model had seen; the rules stand in `flow`"
        }
        OutcomeCode::Stop | OutcomeCode::Abort | OutcomeCode::Shutdown => {
            "`monolith continue RUN \"…\"` goes on from there"
        }
        OutcomeCode::Parent => "`monolith show RUN --tree` has the run that ended it",
    })
}

/// What may help by what is recorded of the last request, in the form of a [`remedy`]; `WINDOW` stands for the `context_window` of the target,
/// `TARGET` for its place.
pub const fn request_remedy(recorded: LastRequest) -> &'static str {
    match recorded {
        LastRequest::Blank => {
            "the model answers with nothing: a chat template or a `text_profile` that is not the model's, or a budget of thinking that takes all of `max_output_tokens`, does that; `monolith doctor --contract FILE` asks the server. More turns change nothing"
        }
        LastRequest::CutAtLimit => {
            "the answer was cut at `max_output_tokens` of the target. Ask for a shorter answer, or allow more tokens: `monolith continue RUN \"…\" --contract FILE --set targets.TARGET.sampling.max_output_tokens=MORE`"
        }
        LastRequest::CutByServer => {
            "the server cut the answer at a limit of its own: ask for a shorter answer, give the server a higher one, or state `max_output_tokens` at the target. Then `monolith continue RUN \"…\" --contract FILE`"
        }
        LastRequest::CutShort => {
            "the server's answer broke off, or is none of its protocol: its log says why, and `monolith doctor --contract FILE` asks it. Once it answers whole: `monolith continue RUN \"…\"`"
        }
        LastRequest::NoReport => {
            "say in the system prompt that the run ends with the final report, or take a larger model; `completion: message` takes the text as the answer. `monolith show RUN --full` has what the model wrote"
        }
        LastRequest::RateLimited => {
            "the provider limits the rate of requests: wait, or name another target. Then `monolith continue RUN \"…\"` goes on"
        }
        LastRequest::Slow => {
            "the model was slower than `llm_timeout_ms` allows. More time: `monolith continue RUN \"…\" --contract FILE --set llm_timeout_ms=MORE`"
        }
        LastRequest::TooLarge => {
            "the server takes less than `context_window: WINDOW` of the target lets through: correct that, give the server a larger context, or take a task that reads less at once. Then `monolith continue RUN \"…\" --contract FILE`"
        }
        // Only a run sends the key, so `doctor` cannot list the models.
        LastRequest::UnknownModel => {
            "the server does not know the model: correct `model` of the target, then `monolith continue RUN \"…\" --contract FILE`"
        }
    }
}

/// The same of an answer that was cut at a limit which is as high as `context_window` of the target lets it be.
pub const CUT_AT_WINDOW: &str = "the answer was cut at `max_output_tokens` of the target, which is as high as `context_window: WINDOW` lets it be: ask for a shorter answer, or raise the window where the model has a larger one. Then `monolith continue RUN \"…\" --contract FILE`";

#[cfg(test)]
mod tests {
    use super::*;

    /// Every variant of a type, in its order.
    fn variants<T: serde::de::DeserializeOwned + std::fmt::Debug>() -> Vec<T> {
        let fault = serde_json::from_str::<T>("\"\"").unwrap_err();
        let fault = fault.to_string();
        let (_, names) = fault.split_once("expected one of ").unwrap();
        let (names, _) = names.split_once(" at line").unwrap();
        let names = names.split(", ").map(|name| name.replace('`', "\""));
        names
            .map(|name| serde_json::from_str(&name).unwrap())
            .collect()
    }

    #[test]
    fn the_recipe_has_what_helps_by_what_is_recorded_of_the_last_request() {
        let rows = variants::<LastRequest>().into_iter().map(|recorded| {
            let words = match recorded {
                LastRequest::Blank => "an answer with neither text nor a call",
                LastRequest::CutAtLimit => "an answer that was cut at its limit",
                LastRequest::CutByServer => "the same, and the request states no limit",
                LastRequest::CutShort => "an answer that broke off",
                LastRequest::NoReport => "answers, and no final report",
                LastRequest::RateLimited => "too many requests (HTTP 429)",
                LastRequest::Slow => "no answer in time",
                LastRequest::TooLarge => "refused as too large",
                LastRequest::UnknownModel => "no such model, at a server that wants a key",
            };
            let text = request_remedy(recorded).replace("TARGET", "0");
            let text = text.replace("MORE", "…").replace("WINDOW", "…");
            format!("| {words} | {text} |\n")
        });
        let rows = rows.collect::<String>();
        let table = format!("| the last request | what may help |\n|---|---|\n{rows}");
        assert!(PAGE.contains(&table), "the page should hold:\n{table}");
    }

    const PAGE: &str = include_str!("../../../docs/recipes/failure.md");

    fn codes() -> Vec<OutcomeCode> {
        variants()
    }

    #[test]
    fn the_recipe_of_failed_runs_has_the_remedy_of_every_code() {
        let mut rows: Vec<(String, &str)> = Vec::new();
        for code in codes() {
            let Some(text) = remedy(code) else {
                continue;
            };
            let name = format!("`{}`", code.as_str());
            match rows.last_mut() {
                Some((names, last)) if *last == text => *names = format!("{names}, {name}"),
                _ => rows.push((name, text)),
            }
        }
        let rows = rows.iter().map(|(names, text)| {
            let text = text.replace("MORE", "…");
            format!("| {names} | {text} |\n")
        });
        let table = format!(
            "| code | what may help |\n|---|---|\n{}",
            rows.collect::<String>()
        );
        assert!(PAGE.contains(&table), "the page should hold:\n{table}");
    }

    /// A command with a comma at its end is copied with it.
    #[test]
    fn nothing_is_stuck_to_the_end_of_a_command() {
        let requests = variants::<LastRequest>().into_iter().map(request_remedy);
        let all = codes().into_iter().filter_map(remedy).chain(requests);
        for text in all.chain([CUT_AT_WINDOW]) {
            let pieces: Vec<&str> = text.split('`').collect();
            let mut commands = pieces
                .windows(2)
                .filter(|two| two[0].starts_with("monolith "));
            assert!(commands.all(|two| !two[1].starts_with(',')), "{text}");
        }
    }

    #[test]
    fn only_a_success_needs_no_remedy() {
        let none = codes().into_iter().filter(|code| remedy(*code).is_none());
        let successes = [
            OutcomeCode::FinalReport,
            OutcomeCode::TextFallback,
            OutcomeCode::Synthesis,
            OutcomeCode::FinalMessage,
        ];
        assert_eq!(none.collect::<Vec<_>>(), successes);
    }
}
