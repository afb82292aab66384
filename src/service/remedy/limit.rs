//! The limits of a contract that a remedy raises, and how far.

use std::borrow::Cow;

use crate::service::Service;
use crate::source::Source;
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::Run;
use monolith_core::message::RunId;
use monolith_core::view::{RequestEnd, RunView};
use monolith_host::telemetry::last_target;

/// Limits that are recommended are multiples of it where a run needs more than twice its limit.
const STEP_OF_TOKENS: u64 = 1_000;

/// The longest wait before a request that no provider asked for, with its jitter.
const LONGEST_BACKOFF_MS: u64 = 90_000;

/// Times that are recommended for such a wait are multiples of it.
const STEP_OF_MS: u64 = 1_000;

/// The share of a limit of answers by which another one is higher at least, as its divisor.
const LEAST_SHARE: u64 = 10;

/// A limit of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "`key` names each")]
pub enum Limit {
    Calls,
    /// The calls of the run, where tools have limits as well.
    CallsOfRun,
    CallsOfTool(String),
    Cost,
    IdenticalCalls,
    Inferences,
    LlmTimeout,
    OutputTokens {
        target: usize,
    },
    StepTimeout,
    Tokens,
    ToolTimeout,
    TotalTimeout,
    Turns,
    /// The turns that offer tools: all but the last.
    TurnsWithTools,
}

impl Limit {
    /// Returns the key of the contract that holds it.
    #[must_use]
    pub fn key(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Calls => "max_calls",
            Self::CallsOfRun => "max_calls.run",
            Self::CallsOfTool(tool) => {
                return Cow::Owned(format!("max_calls.per_tool.{tool}"));
            }
            Self::Cost => "max_cost_micro_usd",
            Self::IdenticalCalls => "max_identical_calls",
            Self::Inferences => "max_inferences",
            Self::LlmTimeout => "llm_timeout_ms",
            Self::OutputTokens { target } => {
                return Cow::Owned(format!("targets.{target}.sampling.max_output_tokens"));
            }
            Self::StepTimeout => "step_timeout_ms",
            Self::Tokens => "max_tokens_consumed",
            Self::ToolTimeout => "tool_timeout_ms",
            Self::TotalTimeout => "total_timeout_ms",
            Self::Turns | Self::TurnsWithTools => "max_turns",
        })
    }

    /// Returns what it is.
    pub(super) const fn words(&self) -> &'static str {
        match self {
            Self::Calls | Self::CallsOfRun | Self::CallsOfTool(_) => {
                "a task that needs fewer calls, or more of them"
            }
            Self::Cost => "more money",
            Self::IdenticalCalls => {
                "say in the system prompt what to do when a call brings nothing new, or allow more identical calls"
            }
            Self::Inferences => "more requests",
            Self::LlmTimeout => "the model was slower than `llm_timeout_ms` allows. More time",
            Self::OutputTokens { .. } => {
                "the answer was cut at `max_output_tokens` of the target. Ask for a shorter answer, or allow more tokens"
            }
            Self::StepTimeout => "more time for a turn",
            Self::Tokens => "more tokens",
            Self::ToolTimeout => "a task for which the tool needs less time, or more time for it",
            Self::TotalTimeout => "more time",
            Self::Turns => "more turns",
            Self::TurnsWithTools => "more turns, the last of which offers no tools",
        }
    }

    /// Returns the value in a contract; `None` of a limit that it does not have.
    fn of(&self, contract: &ExecutionContract) -> Option<u64> {
        Some(match self {
            Self::Calls | Self::CallsOfRun => contract.max_calls.run?,
            Self::CallsOfTool(tool) => *contract.max_calls.per_tool.get(tool)?,
            Self::Cost => contract.max_cost_micro_usd.as_ref()?.0,
            Self::IdenticalCalls => contract.max_identical_calls?,
            Self::Inferences => contract.max_inferences,
            Self::LlmTimeout => contract.llm_timeout_ms,
            Self::OutputTokens { target } => {
                contract.targets.get(*target)?.sampling.max_output_tokens
            }
            Self::StepTimeout => contract.step_timeout_ms,
            Self::Tokens => contract.max_tokens_consumed.0,
            Self::ToolTimeout => contract.tool_timeout_ms,
            Self::TotalTimeout => contract.total_timeout_ms,
            Self::Turns | Self::TurnsWithTools => contract.max_turns.into(),
        })
    }

    /// Twice the limit of that key; more where the run was about to use more.
    pub(super) fn raised(&self, service: &Service, view: &RunView, run_id: &RunId) -> Option<u64> {
        let limit = self.of(view.contract())?;
        let twice = limit.saturating_mul(2);
        Some(match self {
            Self::OutputTokens { .. } => return more_output(service, view, run_id),
            Self::Tokens => twice.max(needed_tokens(service, view, run_id)),
            Self::Calls | Self::CallsOfRun => {
                let wanted = view.counters().calls.saturating_add(view.last_requested());
                twice.max(wanted)
            }
            // As many as the last message asked for, all alike, would be allowed.
            Self::CallsOfTool(_) | Self::IdenticalCalls => {
                twice.max(limit.saturating_add(view.last_requested()))
            }
            // None may have been allowed.
            Self::Cost | Self::Inferences | Self::Turns | Self::TurnsWithTools => twice.max(1),
            Self::StepTimeout | Self::TotalTimeout => twice.max(needed_ms(view, limit)),
            Self::LlmTimeout | Self::ToolTimeout => twice,
        })
    }
}

/// The time for a run whose next request would have had to wait: until every hold has ended, and as much as
/// it had. 0 if none had to.
fn needed_ms(view: &RunView, limit: u64) -> u64 {
    if view.end_note().is_none() {
        return 0;
    }
    let requests = view.requests().values();
    let ends = requests.filter_map(|request| match request.end.as_ref()? {
        RequestEnd::Failed { retry_after_ms, .. } => {
            let wait_ms = retry_after_ms.unwrap_or(LONGEST_BACKOFF_MS);
            Some(request.ended_at_ms?.saturating_add(wait_ms))
        }
        RequestEnd::Returned { .. } | RequestEnd::Lost | RequestEnd::GivenUp => None,
    });
    let needed = ends.max().unwrap_or_default().saturating_add(limit);
    needed.div_ceil(STEP_OF_MS).saturating_mul(STEP_OF_MS)
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
