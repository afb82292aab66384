//! The counts and limits behind an outcome.

use crate::text::numbers::{counted, grouped};
use monolith_core::kernel::{OutcomeCode, Run};
use monolith_core::view::RunView;

/// Returns the counts and limits that an outcome rests on, by the keys of the contract.
#[must_use]
pub fn figures(view: &RunView, code: OutcomeCode) -> Vec<String> {
    let (contract, used) = (view.contract(), view.counters());
    let of = |key: &str, used: u64, limit: u64| {
        format!("{key}: {} of {} used", grouped(used), grouped(limit))
    };
    let turn = view.turns().last();
    let began = turn.map_or(0, |turn| turn.began_counted_ms);
    let attempts = turn.map_or(0, |turn| turn.attempts.len() as u64);
    let proof = || {
        let asked = counted(view.requested_calls(), "call");
        let asked = if contract.asks_model() {
            format!("the model asked for {asked}")
        } else {
            format!("the step is {asked}")
        };
        format!(
            "{asked}; {} executed, {} of them without an error; 1 is required",
            used.executed, used.executed_ok
        )
    };
    match code {
        OutcomeCode::MaxTurnsExhausted => {
            vec![of(
                "max_turns",
                used.turns.into(),
                contract.max_turns.into(),
            )]
        }
        OutcomeCode::MaxInferences => {
            vec![of(
                "max_inferences",
                used.inferences,
                contract.max_inferences,
            )]
        }
        OutcomeCode::MaxTokens => {
            let limit = contract.max_tokens_consumed.0;
            let next = view.machine().filter(|_| view.closing().is_none());
            let next = next.map(Run::next_prompt_tokens);
            let next = next.filter(|next| used.tree_tokens().saturating_add(*next) > limit);
            let next = next.map(|next| {
                let tokens = grouped(next);
                format!(
                    "the next request has {tokens} before its answer, which would have exceeded it"
                )
            });
            let used = of("max_tokens_consumed", used.tree_tokens(), limit);
            std::iter::once(used).chain(next).collect()
        }
        OutcomeCode::MaxCost => {
            let limit = contract.max_cost_micro_usd.as_ref();
            let limit =
                limit.map(|limit| of("max_cost_micro_usd", used.tree_cost_micro_usd(), limit.0));
            limit.into_iter().collect()
        }
        OutcomeCode::MaxCalls => {
            let run = contract.max_calls.run;
            let run = run.map(|limit| of("max_calls.run", used.calls, limit));
            let tools = contract.max_calls.per_tool.iter().map(|(tool, limit)| {
                let calls = view.calls().values();
                let calls = calls.filter(|call| call.name == *tool && call.is_started());
                let calls = u64::try_from(calls.count()).unwrap_or(u64::MAX);
                of(&format!("max_calls.per_tool.{tool}"), calls, *limit)
            });
            run.into_iter().chain(tools).collect()
        }
        OutcomeCode::IdenticalCalls => {
            let limit = contract.max_identical_calls;
            let limit = limit.map(|limit| format!("max_identical_calls: {limit}"));
            limit.into_iter().collect()
        }
        OutcomeCode::AttemptsExhausted
        | OutcomeCode::Refusal
        | OutcomeCode::ContentFilter
        | OutcomeCode::ProviderAuth
        | OutcomeCode::ProviderQuota => {
            let limit = contract.max_attempts_per_turn.into();
            vec![of("max_attempts_per_turn", attempts, limit)]
        }
        OutcomeCode::FormatRetriesExhausted => {
            let (used, limit) = (used.format_retries, contract.max_format_retries);
            vec![of("max_format_retries", used.into(), limit.into())]
        }
        OutcomeCode::Arguments => {
            vec![format!("max_invalid_turns: {}", contract.max_invalid_turns)]
        }
        OutcomeCode::StepTimeout => {
            let took = view.counted_ms().saturating_sub(began);
            vec![of("step_timeout_ms", took, contract.step_timeout_ms)]
        }
        OutcomeCode::TotalTimeout => {
            vec![of(
                "total_timeout_ms",
                view.counted_ms(),
                contract.total_timeout_ms,
            )]
        }
        OutcomeCode::SynthesisWithoutTools => {
            let (used, limit) = (used.turns.into(), contract.max_turns.into());
            vec![of("max_turns", used, limit), proof()]
        }
        OutcomeCode::NoCallResponse | OutcomeCode::ProofNotSucceeded => vec![proof()],
        OutcomeCode::FinalReport
        | OutcomeCode::TextFallback
        | OutcomeCode::Synthesis
        | OutcomeCode::FinalMessage
        | OutcomeCode::ToolResult => vec![format!(
            "{} executed, {} of them without an error",
            counted(used.executed, "call"),
            used.executed_ok
        )],
        OutcomeCode::Context | OutcomeCode::ContextInfeasible => vec![format!(
            "context_budget.context_window: {}",
            grouped(contract.context_budget.context_window)
        )],
        _ => Vec::new(),
    }
}
