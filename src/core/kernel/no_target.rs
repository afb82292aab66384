//! The end of a run that has no target left to ask (semantics §2, item 4).

use super::commit::Ending;
use super::guard::{Guard, holds};
use super::machine::{Machine, Verdict};
use super::turn::Failure;
use super::{AgentOutcome, DropReason, Outcome, OutcomeCode, PredicateName};

impl Machine {
    /// True if no target may be asked any more.
    pub(super) fn no_target_is_left(&self) -> bool {
        // An attempt that did not fail leads to another turn, whose targets were not asked yet.
        let lineup = match self.verdict {
            Verdict::Failed(_) => self.lineup(),
            Verdict::None
            | Verdict::Advanced
            | Verdict::ReportFailed
            | Verdict::Terminal
            | Verdict::Violation(_)
            | Verdict::Limit(_)
            | Verdict::EnvelopeMalformed
            | Verdict::Lost
            | Verdict::ParametersRefused
            | Verdict::WaitEnded => self.next_lineup(),
        };
        holds(
            Guard::NoTargetLeft,
            lineup.left().next().is_none() && self.contract.asks_model(),
        )
    }

    /// Every target was dropped: the last one's reason is the cause.
    pub(super) fn no_target_left(&self) -> Ending {
        let refused_parameter = matches!(
            self.verdict,
            Verdict::Failed(Failure::Provider {
                dropped: Some(DropReason::StatedParameter),
                ..
            })
        );
        let (class, code) = if self.inference_succeeded {
            (
                AgentOutcome::FailedBudgetExhausted,
                OutcomeCode::AttemptsExhausted,
            )
        } else if refused_parameter {
            (
                AgentOutcome::FailedPreflight,
                OutcomeCode::ProfileIncompatible,
            )
        } else {
            (AgentOutcome::FailedPreflight, OutcomeCode::ModelUnavailable)
        };
        Ending::by(4, PredicateName::NoTargetLeft, Outcome::new(class, code))
    }
}
