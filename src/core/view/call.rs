//! One call and its executions. Plain data; the fold is in `calls`.

use super::ApprovalEnd;
use crate::contract::RulePlace;
use crate::kernel::{ChildEnd, DroppedResult};
use crate::message::{EnvelopeError, EnvelopeStatus, InferenceSeq, InputExchange, ToolOutcome};

/// A call that was started, or that waits or waited for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The argument text.
    pub arguments: String,
    /// True if the call delegates to an agent: each execution is a child run.
    pub delegated: bool,
    /// The response whose message asked for it, where that came in this run.
    pub requested_in: Option<InferenceSeq>,
    /// The id of the batch that holds it, where one does.
    pub batch: Option<String>,
    /// Each time that it was started: once, and once more where it was lost and may run again.
    pub executions: Vec<Execution>,
    /// Its id in the message; empty where its message is not known.
    pub id: String,
    /// The exposed tool name; empty where its message is not known.
    pub name: String,
    /// The last question of its server to a person, as JSON.
    pub question: Option<String>,
    /// True if its server asked for a model request.
    pub samples: bool,
    /// The rule of the contract that had a person asked about it; none for its list `require_approval`.
    pub asked_by: Option<RulePlace>,
    /// Who has signed the answer to it.
    pub answered_by: Option<String>,
    /// The person's words about the call.
    pub reason: Option<String>,
    /// The end of its approval, if it needed one and that is settled.
    pub approval: Option<ApprovalEnd>,
}

/// One time that a call was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The number of the activity.
    pub number: usize,
    /// The turn that it belongs to.
    pub turn: u32,
    /// The attempt of that turn whose message asked for it, from 1.
    pub attempt: u32,
    /// Milliseconds since the run began.
    pub began_at_ms: u64,
    /// Milliseconds since the run began; none while it runs.
    pub ended_at_ms: Option<u64>,
    /// The end of the run that it is, where it is an agent's and that has ended.
    pub child: Option<ChildEnd>,
    /// The requests of its server during the execution and their answers, as far as recorded.
    pub exchanges: Vec<InputExchange>,
    /// The end; none while it runs.
    pub end: Option<CallEnd>,
    /// The result that arrived after the end, if any.
    pub late: Option<CallEnd>,
    /// The size of its result, if that did not fit the context.
    pub dropped: Option<DroppedResult>,
}

/// The end of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// An envelope came back.
    Returned(CallResult),
    /// The answer does not decode as the tool protocol's result.
    Malformed {
        /// The error in the answer.
        detail: String,
    },
    /// `tool_timeout_ms` passed.
    TimedOut,
    /// The tool's transport closed before an answer.
    ConnectionLost {
        /// The transport's error.
        detail: String,
    },
    /// The process that ran the tool cancelled it.
    Cancelled,
    /// Not started: the server no longer offers the tool that the contract pins.
    ToolChanged {
        /// The difference, if known.
        detail: String,
    },
    /// Not started: the server is down, and its next start is waited for.
    RestartInProgress,
    /// Not started: the server was down, and did not come up again.
    RestartFailed {
        /// The reason.
        detail: String,
    },
    /// No run was begun for it.
    NotBegun {
        /// The reason.
        detail: String,
    },
    /// Its process ended first: whether the tool acted is not known.
    Lost {
        /// True if that process had suspended the run.
        suspended: bool,
    },
    /// The machine gave up what was in flight.
    GivenUp,
}

impl CallEnd {
    /// Returns true if the call reached the tool, or may have.
    pub const fn was_started(&self) -> bool {
        !matches!(
            self,
            Self::NotBegun { .. }
                | Self::RestartFailed { .. }
                | Self::RestartInProgress
                | Self::ToolChanged { .. }
        )
    }
}

/// An envelope without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// Size of the argument text in bytes.
    pub bytes_in: u64,
    /// Size of the whole text result in bytes.
    pub bytes_out: u64,
    /// True if the model sees only the beginning of the result.
    pub cut: bool,
    /// Milliseconds that the tool took.
    pub duration_ms: u64,
    /// The failure that the tool reported.
    pub error: Option<EnvelopeError>,
    /// The reason why the envelope does not fit the call and counts as malformed.
    pub mismatch: Option<String>,
    /// When the tool was called, in milliseconds since the run began.
    pub started_at_ms: u64,
    /// The status that the tool reported.
    pub status: EnvelopeStatus,
}

impl Call {
    /// Returns true if it was ever started.
    pub fn is_started(&self) -> bool {
        !self.executions.is_empty()
    }

    /// Returns true if the last execution has not ended.
    pub fn is_running(&self) -> bool {
        let last = self.executions.last();
        last.is_some_and(|execution| execution.end.is_none())
    }

    /// Returns the requests of its server and their answers.
    pub fn exchanges(&self) -> impl Iterator<Item = &InputExchange> {
        self.executions.iter().flat_map(|one| &one.exchanges)
    }

    /// Returns the last reported end, even a late one. None if nothing came, or if the machine gave the call up.
    pub fn reported(&self) -> Option<&CallEnd> {
        let last = self.executions.last()?;
        let end = last.late.as_ref().or(last.end.as_ref());
        end.filter(|end| **end != CallEnd::GivenUp)
    }
}

impl Execution {
    /// The envelope that came back in time and fits the call: then the call was executed.
    pub fn result(&self) -> Option<&CallResult> {
        match &self.end {
            Some(CallEnd::Returned(result)) if result.mismatch.is_none() => Some(result),
            _ => None,
        }
    }

    /// Returns true if the tool reported success.
    pub fn is_ok(&self) -> bool {
        self.result()
            .is_some_and(|result| result.status == EnvelopeStatus::Ok)
    }

    /// Returns when the tool was called, in milliseconds since the run began: behind the wait in its queue, as far as a result tells. What
    /// goes on after its server has asked for something began with the first part.
    pub fn called_at_ms(&self) -> u64 {
        let result = self.result().filter(|_| self.exchanges.is_empty());
        let called = result.map_or(self.began_at_ms, |result| result.started_at_ms);
        let ended = self.ended_at_ms.unwrap_or(called);
        called.min(ended).max(self.began_at_ms)
    }

    /// Returns the reason why the answer was no valid result, if an invalid one came.
    pub fn malformed(&self) -> Option<&str> {
        match self.end.as_ref()? {
            CallEnd::Malformed { detail } => Some(detail),
            CallEnd::Returned(result) => result.mismatch.as_deref(),
            _ => None,
        }
    }
}

impl CallEnd {
    /// Derives the end of a call from the recorded outcome and the machine's judgement of it.
    pub(super) fn of(outcome: &ToolOutcome, judged: &ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Returned(envelope) => Self::Returned(CallResult {
                bytes_in: envelope.bytes_in,
                bytes_out: envelope.bytes_out,
                cut: envelope.full.is_some(),
                duration_ms: envelope.duration_ms,
                error: envelope.error.clone(),
                mismatch: match judged {
                    ToolOutcome::Malformed { detail, .. } => Some(detail.clone()),
                    _ => None,
                },
                started_at_ms: envelope.started_at_ms,
                status: envelope.status,
            }),
            ToolOutcome::Malformed { detail, .. } => Self::Malformed {
                detail: detail.clone(),
            },
            // The execution continues with this outcome: `calls` keeps the question.
            ToolOutcome::InputRequired(_) | ToolOutcome::SamplingRequired(_) => Self::GivenUp,
            ToolOutcome::TimedOut => Self::TimedOut,
            ToolOutcome::ConnectionLost { detail } => Self::ConnectionLost {
                detail: detail.clone(),
            },
            ToolOutcome::Cancelled => Self::Cancelled,
            ToolOutcome::ToolChanged { detail } => Self::ToolChanged {
                detail: detail.clone(),
            },
            ToolOutcome::RestartInProgress => Self::RestartInProgress,
            ToolOutcome::RestartFailed { detail } => Self::RestartFailed {
                detail: detail.clone(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 000/4.tool.4: a call began when its tool was called, not when its message was judged or its wait in a queue began.
    #[test]
    fn a_call_began_when_its_tool_was_called() {
        let result = |started_at_ms| {
            CallEnd::Returned(CallResult {
                bytes_in: 2,
                bytes_out: 1,
                cut: false,
                duration_ms: 10,
                error: None,
                mismatch: None,
                started_at_ms,
                status: EnvelopeStatus::Ok,
            })
        };
        let called = |end: CallEnd| {
            let execution = Execution {
                number: 0,
                turn: 1,
                attempt: 1,
                began_at_ms: 43,
                ended_at_ms: Some(90),
                child: None,
                exchanges: Vec::new(),
                end: Some(end),
                late: None,
                dropped: None,
            };
            execution.called_at_ms()
        };
        assert_eq!(called(result(80)), 80);
        assert_eq!(called(CallEnd::TimedOut), 43);
        // A clock that is not the run's moves no call out of its execution.
        assert_eq!(called(result(7)), 43);
        assert_eq!(called(result(1_000)), 90);
    }
}
