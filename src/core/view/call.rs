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
    /// Whether it is a call of an agent: each execution is a run of its own.
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
    /// What its server asked a person last, as JSON.
    pub question: Option<String>,
    /// Whether its server wanted a model to be asked.
    pub samples: bool,
    /// The rule of the contract that had a person asked about it; none for its list `require_approval`.
    pub asked_by: Option<RulePlace>,
    /// Who has signed the answer to it.
    pub answered_by: Option<String>,
    /// What the person said to it.
    pub reason: Option<String>,
    /// What became of its approval, where it needed one and that is settled.
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
    /// What its server asked for meanwhile, and what it got, as far as that is recorded.
    pub exchanges: Vec<InputExchange>,
    /// How it ended; none while it runs.
    pub end: Option<CallEnd>,
    /// What came after it had ended, where something did.
    pub late: Option<CallEnd>,
    /// What its result would have weighed, where that did not fit the context.
    pub dropped: Option<DroppedResult>,
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// An envelope came back.
    Returned(CallResult),
    /// The answer does not decode as the tool protocol's result.
    Malformed {
        /// What is wrong with it.
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
        /// What differs, where that is known.
        detail: String,
    },
    /// Not started: the server is down, and its next start is waited for.
    RestartInProgress,
    /// Not started: the server was down, and did not come up again.
    RestartFailed {
        /// Why.
        detail: String,
    },
    /// No run was begun for it.
    NotBegun {
        /// Why.
        detail: String,
    },
    /// Its process ended first: whether the tool acted is not known.
    Lost {
        /// Whether that process had suspended the run.
        suspended: bool,
    },
    /// The machine gave up what was in flight.
    GivenUp,
}

impl CallEnd {
    /// Whether the call reached the tool, or may have.
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
    /// Whether the model sees only the beginning of it.
    pub cut: bool,
    /// Milliseconds that the tool took.
    pub duration_ms: u64,
    /// What the tool reported of its failure.
    pub error: Option<EnvelopeError>,
    /// Why the envelope does not fit the call; then it counts as malformed.
    pub mismatch: Option<String>,
    /// Whether the tool reported success.
    pub status: EnvelopeStatus,
}

impl Call {
    /// Whether it was ever started.
    pub fn is_started(&self) -> bool {
        !self.executions.is_empty()
    }

    /// Whether it was started last and has not ended.
    pub fn is_running(&self) -> bool {
        let last = self.executions.last();
        last.is_some_and(|execution| execution.end.is_none())
    }

    /// What its server asked for, and what it got.
    pub fn exchanges(&self) -> impl Iterator<Item = &InputExchange> {
        self.executions.iter().flat_map(|one| &one.exchanges)
    }

    /// What was reported of it last, be it late: none if nothing came, also where the machine gave it up.
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

    /// Whether the tool reported success.
    pub fn is_ok(&self) -> bool {
        self.result()
            .is_some_and(|result| result.status == EnvelopeStatus::Ok)
    }

    /// Why the answer was no valid result, where one came that was none.
    pub fn malformed(&self) -> Option<&str> {
        match self.end.as_ref()? {
            CallEnd::Malformed { detail } => Some(detail),
            CallEnd::Returned(result) => result.mismatch.as_deref(),
            _ => None,
        }
    }
}

impl CallEnd {
    /// How a call ended, by what was recorded and by what the machine made of that.
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
                status: envelope.status,
            }),
            ToolOutcome::Malformed { detail, .. } => Self::Malformed {
                detail: detail.clone(),
            },
            // An execution goes on with it: `calls` keeps the question.
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
