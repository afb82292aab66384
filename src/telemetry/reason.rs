use super::{AccountingLine, AccountingStatus, Ledger, LlmLine};
use crate::kernel::OutcomeCode;

/// How many faults are named.
const MOST_NAMED: usize = 3;

impl Ledger {
    /// Why the run ended: the code's sentence, made exact by what this run did. In foreign words where those say more; none
    /// where the run has no end.
    #[must_use]
    pub fn why(&self) -> Option<String> {
        let code = self.outcome()?.code;
        let (said, cause) = match code {
            OutcomeCode::NoCallResponse if self.requested() > 0 => {
                let causes = [self.approvals().denied(), self.failed_calls()];
                let causes: Vec<String> = causes.into_iter().flatten().collect();
                let cause = (!causes.is_empty()).then(|| causes.join("; "));
                (self.not_executed(), cause)
            }
            OutcomeCode::AttemptsExhausted => (sentence(code).to_owned(), self.failed_attempts()),
            OutcomeCode::ProofNotSucceeded => (sentence(code).to_owned(), self.failed_calls()),
            _ => (sentence(code).to_owned(), self.cause().map(str::to_owned)),
        };
        Some(match cause {
            Some(cause) => format!("{said} ({cause})"),
            None => said,
        })
    }

    /// How many of the calls that were started did not succeed, those without an answer yet included.
    #[must_use]
    pub fn failed_calls_count(&self) -> usize {
        let failed = |line: &&AccountingLine| matches!(line, AccountingLine::Tool(call) if call.is_call() && call.status == AccountingStatus::Failed);
        self.lines().iter().filter(failed).count()
    }

    /// What became of the calls of a run that executed none.
    fn not_executed(&self) -> String {
        let started = self.tool_errors().count();
        let what = match (started, self.requested()) {
            (0, 1) => "1 was asked for and was not started".to_owned(),
            (0, asked) => format!("{asked} were asked for and none was started"),
            (1, _) => "1 was started and did not come back".to_owned(),
            (started, _) => format!("{started} were started and none came back"),
        };
        format!("The contract requires an executed tool call: {what}.")
    }

    /// Why the attempts of the last turn failed, each text once, with its model where several were asked. A summary is no
    /// attempt, and those of an earlier turn are not this one's.
    fn failed_attempts(&self) -> Option<String> {
        let last = self.counters().turns;
        let attempts = self.lines().iter().filter_map(|line| match line {
            AccountingLine::Llm(line) => Some(line).filter(|line| line.purpose.is_none()),
            AccountingLine::Tool(_) => None,
        });
        let failed = |line: &&LlmLine| line.turn == last && line.status == AccountingStatus::Failed;
        let attempts: Vec<&LlmLine> = attempts.filter(failed).collect();
        let asked = |line: &LlmLine| (line.provider.clone(), line.model.clone());
        let first = attempts.first().map(|line| asked(line));
        let several = attempts.iter().any(|line| Some(asked(line)) != first);
        let told = attempts.into_iter().filter_map(|line| {
            let error = line.error.as_deref()?;
            Some(if several {
                format!("{}/{}: {error}", line.provider, line.model)
            } else {
                error.to_owned()
            })
        });
        brief(told)
    }

    /// The calls that failed, each with its tool's name and words, and each text once.
    fn failed_calls(&self) -> Option<String> {
        brief(
            self.tool_errors()
                .map(|(tool, error)| format!("{tool}: {}", error.unwrap_or("failed"))),
        )
    }

    /// Every call that was started: the tool, and its error where it has one.
    fn tool_errors(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.lines().iter().filter_map(|line| match line {
            AccountingLine::Tool(call) if call.is_call() => {
                Some((call.command.as_str(), line.error()))
            }
            AccountingLine::Tool(_) | AccountingLine::Llm(_) => None,
        })
    }
}

/// Each text once, and how many more there are; none where there is nothing to tell.
fn brief(texts: impl Iterator<Item = String>) -> Option<String> {
    let mut told: Vec<String> = Vec::new();
    for text in texts {
        if !told.contains(&text) {
            told.push(text);
        }
    }
    let more = told.len().saturating_sub(MOST_NAMED);
    told.truncate(MOST_NAMED);
    if more > 0 {
        told.push(format!("{more} more"));
    }
    (!told.is_empty()).then(|| told.join("; "))
}

/// Why a run ended, in one sentence for people. Nothing ever matches on it.
#[must_use]
pub(crate) const fn sentence(code: OutcomeCode) -> &'static str {
    match code {
        OutcomeCode::FinalReport => "The model handed in its final report.",
        OutcomeCode::TextFallback => "The model's last text was taken as its report.",
        OutcomeCode::Synthesis => {
            "The model answered in the closing turn, with its tools withheld."
        }
        OutcomeCode::FinalMessage => "The model gave its final answer.",
        OutcomeCode::ContractInvalid => "The contract contradicts itself.",
        OutcomeCode::ContractHashMismatch => "The contract is not the one that its hash names.",
        OutcomeCode::ProvenanceMissing => "The contract does not say where it comes from.",
        OutcomeCode::FormatVersion => {
            "The contract is of a format or a version that this build does not know."
        }
        OutcomeCode::ProfileIncompatible => {
            "What the contract asks for does not go with the model's profile."
        }
        OutcomeCode::ContextInfeasible => "The contract's reserves do not fit the context window.",
        OutcomeCode::ToolUnavailable => "A tool that the contract allows is not there.",
        OutcomeCode::ToolChanged => "A tool is not the one that the contract pins.",
        OutcomeCode::BackendUnavailable => "No model answered the probe.",
        OutcomeCode::ProviderAuth => "The provider did not accept the key.",
        OutcomeCode::ProviderQuota => "The provider's quota is used up.",
        OutcomeCode::NoCallResponse => {
            "The contract requires a tool call, and the model answered without one."
        }
        OutcomeCode::SynthesisWithoutTools => {
            "The closing turn was due before a required tool call had been executed."
        }
        OutcomeCode::ProofNotSucceeded => {
            "The contract requires a successful tool call, and every call failed."
        }
        OutcomeCode::FormatRetriesExhausted => {
            "The model's output could not be read, and no format retry was left."
        }
        OutcomeCode::ToolEnvelope => "A tool's answer was not a valid result.",
        OutcomeCode::Arguments => {
            "The model named an unknown tool or gave arguments that break the tool's schema."
        }
        OutcomeCode::FinalReportSchema => "The final report did not have the demanded form.",
        OutcomeCode::Refusal => "The model refused.",
        OutcomeCode::ContentFilter => "A content filter stopped the model.",
        OutcomeCode::MaxTurnsExhausted => "The turns were used up without an answer.",
        OutcomeCode::MaxInferences => "The next request would have exceeded max_inferences.",
        OutcomeCode::MaxTokens => {
            "The token budget is used up, or the next request would have exceeded it."
        }
        OutcomeCode::MaxCost => {
            "The cost limit is reached, or the next request would have exceeded it."
        }
        OutcomeCode::MaxCalls => "The calls asked for would have exceeded max_calls.",
        OutcomeCode::IdenticalCalls => "The same call was asked for too often.",
        OutcomeCode::Context => "The conversation no longer fits the model's context window.",
        OutcomeCode::AttemptsExhausted => "Every attempt of the turn ended in a provider error.",
        OutcomeCode::StepTimeout => "A turn took longer than step_timeout_ms.",
        OutcomeCode::TotalTimeout => "The run took longer than total_timeout_ms.",
        OutcomeCode::ForbiddenCall => "The model asked for a tool, and the contract forbids tools.",
        OutcomeCode::ToolNotAllowed => {
            "The model asked for a tool that the contract does not allow."
        }
        OutcomeCode::CycleForbidden => {
            "The model asked for tools in an order that the contract forbids."
        }
        OutcomeCode::TokenGate => "The backend returned text that the token gate excludes.",
        OutcomeCode::ContractMutated => "The contract changed while the run was under way.",
        OutcomeCode::FlowForbidden => "The call would have carried data where it may not go.",
        OutcomeCode::Stop => "Somebody asked the run to stop.",
        OutcomeCode::Abort => "Somebody ended the run.",
        OutcomeCode::Shutdown => "The process was ended.",
        OutcomeCode::Parent => "The run that delegated this one ended it.",
    }
}
