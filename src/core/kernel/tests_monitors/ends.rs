//! The invariants at the end of a step, and of a run.

use super::super::InferRequest;
use super::*;

impl Ledger {
    /// No request goes to a target that was dropped for the run or for its turn.
    pub(super) fn may_ask(&self, terms: &ExecutionContract, request: &InferRequest) -> Verdict {
        let target = &terms.targets[request.target];
        let name = format!("{}/{}", target.provider, target.model);
        let is_dropped = self.dropped.contains(&name) || self.dropped_in_turn.contains(&name);
        hold(!is_dropped, || {
            format!("a request to {name}, which was dropped")
        })
    }

    pub(super) fn counters(
        &mut self,
        terms: &ExecutionContract,
        entries: &[EntryDraft],
    ) -> Verdict {
        let Some(last) = entries.last().map(|e| &e.action) else {
            return Ok(());
        };
        let c = last.counters;
        hold(
            c.tokens() == self.tokens && c.cost_micro_usd == self.cost,
            || format!("{} tokens, counted {}", self.tokens, c.tokens()),
        )?;
        self.agents.counted(&c)?;
        hold(
            c.inferences == self.inferences && c.inferences <= terms.max_inferences,
            || "inferences are miscounted".to_owned(),
        )?;
        hold(c.format_retries <= terms.max_format_retries, || {
            "format retries beyond the limit".to_owned()
        })?;
        hold(
            c.turns == last.step_id && c.turns <= terms.max_turns,
            || "turns are miscounted".to_owned(),
        )?;
        if self.place != State::Execute {
            self.running.clear();
            self.awaiting = None;
            hold(
                (c.executed, c.executed_ok) == (self.executed, self.executed_ok),
                || format!("{} executed, counted {}", self.executed, c.executed),
            )?;
        }
        if self.place != State::Infer {
            self.inflight = None;
            self.waiting_until = None;
        }
        Ok(())
    }

    pub(super) fn end(&self, run: &Run, outcome: Outcome, entries: &[EntryDraft]) -> Verdict {
        let terms = run.contract();
        let Outcome { class, code } = outcome;
        hold(
            run.outcome() == Some(outcome) && run.state() == State::Terminate,
            || "the end is not the run's".to_owned(),
        )?;
        hold(run.next_deadline().is_none(), || {
            "a deadline after the end".to_owned()
        })?;
        hold(in_table(class, code), || {
            format!("{outcome} is not in the table")
        })?;
        hold(
            entries
                .iter()
                .filter(|e| e.action.from != State::Terminate)
                .any(|e| e.action.predicate.is_some()),
            || "an end without a predicate".to_owned(),
        )?;
        let reports = terms.completion == Completion::FinalReport;
        let by_report = matches!(code, Code::FinalReport | Code::TextFallback);
        hold(!class.is_success() || by_report == reports, || {
            format!("{outcome}, and the completion is another")
        })?;
        hold(run.final_report().is_some() == by_report, || {
            format!("{outcome}, and the report says otherwise")
        })?;
        hold(
            code != Code::TextFallback || self.closing_turn.is_some(),
            || "text in place of a report before the closing turn".to_owned(),
        )?;
        if class.is_success() {
            let with_tools = class == Class::CompletedWithTools;
            hold(with_tools == (self.executed > 0), || {
                format!("{outcome} with {} executed", self.executed)
            })?;
            if terms.tool_policy == ToolPolicy::Required {
                let proofs = match terms.tool_proof {
                    ToolProof::Executed => self.executed,
                    ToolProof::Succeeded => self.executed_ok,
                    ToolProof::Lineage => self.agents.lineage(self.executed_ok),
                };
                hold(proofs > 0, || {
                    "success under required without proof".to_owned()
                })?;
            }
            let used = self.tokens + self.agents.tokens;
            hold(used <= terms.max_tokens_consumed.0, || {
                "success beyond the token limit".to_owned()
            })?;
        }
        let excused = matches!(class, Class::FailedTimeout | Class::Interrupted);
        hold(!self.late(terms) || excused, || {
            format!("a deadline has passed and the run ended {outcome}")
        })?;
        Self::answered_once(run)
    }

    /// Every call of every accepted message is answered exactly once, right after it, in its order.
    pub(super) fn answered_once(run: &Run) -> Verdict {
        let messages = run.conversation();
        for (i, message) in messages.iter().enumerate() {
            // A report that was accepted has no answer.
            let last = i + 1 + message.tool_calls.len() > messages.len();
            let reported = run.final_report().is_some() && last;
            let calls = message.tool_calls.iter();
            let calls = calls.filter(|c| !(reported && c.name == FINAL_REPORT));
            let asked: Vec<&str> = calls.map(|c| c.id.as_str()).collect();
            if message.role != Role::Assistant {
                continue;
            }
            let answered: Vec<&str> = messages[i + 1..]
                .iter()
                .take_while(|m| m.role == Role::Tool)
                .filter_map(|m| m.tool_call_id.as_deref())
                .collect();
            hold(asked == answered, || {
                format!("calls {asked:?} answered by {answered:?}")
            })?;
        }
        Ok(())
    }
}

/// The table of semantics §3.
fn in_table(class: Class, code: Code) -> bool {
    let codes: &[Code] = match class {
        Class::CompletedWithTools | Class::CompletedChatOnly => &[
            Code::FinalReport,
            Code::TextFallback,
            Code::Synthesis,
            Code::FinalMessage,
        ],
        Class::FailedPreflight => &[
            Code::ContractInvalid,
            Code::ContractHashMismatch,
            Code::ProvenanceMissing,
            Code::FormatVersion,
            Code::ProfileIncompatible,
            Code::ContextInfeasible,
            Code::ModelUnavailable,
            Code::ToolUnavailable,
            Code::ToolChanged,
            Code::BackendUnavailable,
            Code::ProviderAuth,
            Code::ProviderQuota,
        ],
        Class::FailedProtocolNoTools => &[
            Code::NoCallResponse,
            Code::SynthesisWithoutTools,
            Code::ProofNotSucceeded,
        ],
        Class::FailedProtocolMalformed => &[Code::FormatRetriesExhausted],
        Class::FailedValidation => &[
            Code::ToolEnvelope,
            Code::Arguments,
            Code::FinalReportSchema,
            Code::Refusal,
            Code::ContentFilter,
        ],
        Class::FailedBudgetExhausted => &[
            Code::MaxTurnsExhausted,
            Code::MaxInferences,
            Code::MaxTokens,
            Code::MaxCost,
            Code::MaxCalls,
            Code::IdenticalCalls,
            Code::Context,
            Code::AttemptsExhausted,
            Code::ProviderAuth,
            Code::ProviderQuota,
        ],
        Class::FailedTimeout => &[Code::StepTimeout, Code::TotalTimeout],
        Class::FailedContractViolation => &[
            Code::ForbiddenCall,
            Code::ToolNotAllowed,
            Code::CycleForbidden,
            Code::TokenGate,
            Code::ContractMutated,
            Code::FlowForbidden,
        ],
        Class::Interrupted => &[Code::Stop, Code::Abort, Code::Shutdown, Code::Parent],
    };
    codes.contains(&code)
}
