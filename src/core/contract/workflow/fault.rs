//! The faults of a definition: rule and place. Does not find them.

use std::fmt;

use super::{StepId, TemplateFault};

/// A rule that a definition breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowFault {
    /// Place: a dotted path of the file, such as `steps.2.parallel.0.depends_on.1`.
    pub place: String,
    /// Rule.
    pub rule: WorkflowRule,
}

/// The rules of a definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowRule {
    /// No steps.
    #[error("at least one step is needed")]
    NoStep,
    /// Too many steps.
    #[error("a workflow has at most {most} steps, got {0}", most = MOST_STEPS)]
    TooManySteps(usize),
    /// Steps in steps in steps.
    #[error("steps may stand in steps at most {most} levels deep", most = MOST_LEVELS)]
    TooDeep,
    /// A name that another step has.
    #[error("the step `{0}` is defined twice")]
    Twice(StepId),
    /// A limit that allows nothing, or too much.
    #[error("expected {least} to {most}, got {got}")]
    Limit {
        /// The written value.
        got: u64,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A dependency outside of a group.
    #[error(
        "only steps of a `parallel` group have dependencies: others are done in the order of the file"
    )]
    NoGroup,
    /// A dependency that is not there (INV-PE-002).
    #[error("it depends on `{0}`, which is no step of its group")]
    MissingDependency(StepId),
    /// A repeated dependency.
    #[error("it depends on `{0}` twice")]
    DependencyTwice(StepId),
    /// Steps that wait for each other (INV-PE-002).
    #[error("these steps wait for each other: {}", circle(.0))]
    Cycle(Vec<StepId>),
    /// A text that is no template.
    #[error("{0}")]
    Template(TemplateFault),
    /// A step that there is not.
    #[error("there is no step `{0}`")]
    NoSuchStep(StepId),
    /// A step whose end is not known there.
    #[error("the step `{0}` has not ended before this one begins")]
    NotBefore(StepId),
    /// An item without a list.
    #[error("`${{item}}` and `${{index}}` stand inside of a `for_each` only")]
    NoItem,
    /// An output without a compensated step.
    #[error("`${{output}}` stands in `compensations` only")]
    NoCompensatedStep,
    /// A pattern that cannot be matched.
    #[error("{0}")]
    Pattern(String),
    /// A compensation that there is not.
    #[error("there is no compensation `{0}`")]
    NoCompensation(StepId),
    /// A compensation of what is no run.
    #[error(
        "only a prompt, a tool and a delegate are compensated: what holds steps is compensated step by step"
    )]
    NothingToCompensate,
    /// A compensation that is no run.
    #[error("a compensation is a prompt, a tool or a delegate, without `compensate`")]
    NoSimpleCompensation,
    /// A compensation without a step.
    #[error("no step names this compensation")]
    UnusedCompensation,
    /// A strategy that has no meaning for a sequence.
    #[error(
        "a sequence has no steps beside the one that failed: `continueOnError` is for `parallel`"
    )]
    NothingBeside,
    /// Arguments that are no object.
    #[error("the arguments of a tool are a mapping")]
    Arguments,
    /// A number that would be another one.
    #[error("the number has more digits than are exact in JSON (2^53): write it as a text")]
    InexactNumber,
}

impl WorkflowRule {
    /// Returns the fix, if it is known.
    pub(crate) fn help(&self) -> Option<&'static str> {
        match self {
            Self::Template(TemplateFault::Open) => Some("a literal `${` is written `$${`"),
            Self::Template(TemplateFault::Unknown(_)) => Some(
                "known: ${input}, ${steps.ID.output}, in a for_each ${item} and ${index}, in a compensation ${output}; a literal `${` is written `$${`",
            ),
            Self::NotBefore(_) => Some(
                "name an earlier step; in a parallel group, one of `depends_on`; of steps inside of another one, that one",
            ),
            Self::Cycle(_) => Some("take one of the dependencies away"),
            _ => None,
        }
    }
}

impl fmt::Display for WorkflowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            write!(f, "{}", self.rule)
        } else {
            write!(f, "{}: {}", self.place, self.rule)
        }
    }
}

/// `a → b → a`.
fn circle(steps: &[StepId]) -> String {
    let names = steps.iter().chain(steps.first()).map(StepId::as_str);
    names.collect::<Vec<_>>().join(" → ")
}

/// The most steps that a definition holds, those in others and the compensations included.
pub(super) const MOST_STEPS: usize = 256;
/// Maximum nesting of steps.
pub(super) const MOST_LEVELS: usize = 8;
