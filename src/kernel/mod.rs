//! The run machine: one event in, entries and effects out. It has no clock and no I/O; the driver owns those.

mod effect;
mod entry;
mod event;
mod outcome;
mod predicate;
mod state;

pub use effect::{CallOrder, Effect, InferRequest, ToolExposure};
pub use entry::{
    Action, Check, CheckName, ClosingReason, ContextAccount, Counters, EffectRecord, EntryDraft,
    EntryKind,
};
pub use event::{
    Approval, BringUpFault, Event, EventKind, InferenceFailed, InferenceReturned, Interrupter,
    LostEffect, ParentRun, Probed, ProbedTarget, Resumed, RunStarted, ToolReturned,
};
pub use outcome::{AgentOutcome, Outcome, OutcomeCode};
pub use predicate::{Predicate, PredicateName};
pub use state::State;
