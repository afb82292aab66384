//! The run machine: one event in, entries and effects out. It has no clock and no I/O; the host of a session owns those.
//!
//! Knows the seven states of 002 §5 and their edges, the predicates of COMMIT in their order, budgets, the context account,
//! the token gate and the ten outcomes. It deliberately does not know how a message came about, how a tool is run, where
//! entries go, or what time it is.
//!
//! ```text
//!            ┌──────────────────────── one step ────────────────────────┐
//! Event ──▶  │ resting state ─▶ passed states … ─▶ resting state         │ ──▶ [Append(entries), effects…]
//!            └───────────────────────────────────────────────────────────┘
//! PRECHECK ─▶ INFER ─▶ VALIDATE_CALLS ─▶ EXECUTE ─▶ OBSERVE ─▶ COMMIT ─▶ INFER | TERMINATE
//! ```
//!
//! The state machine is [statig]'s; the handlers answer with one small enum per state, so an illegal edge does not compile.

// A new state, event or code must not fall into somebody else's arm.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod approval;
mod batch;
mod bring_up_fault;
mod child_run;
mod clock;
mod commit;
mod context;
mod delegate;
mod digest;
mod early;
mod early_call;
mod edges;
mod effect;
mod ending;
mod entry;
mod event;
mod execute;
mod faults;
mod first_request;
mod fit;
mod flow;
mod flow_record;
mod gate;
mod guard;
mod history;
mod holds;
mod infer;
mod judge;
mod lineup;
mod machine;
mod nearest;
mod no_target;
mod observe;
mod outbox;
mod outcome;
mod precheck;
mod predicate;
mod predicates;
mod record;
mod run;
mod sampling;
mod session;
mod stage;
mod state;
mod summary;
mod suspend;
pub(crate) mod tags;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests_alphabet;
#[cfg(test)]
mod tests_delegation_tree;
#[cfg(test)]
mod tests_early;
#[cfg(test)]
mod tests_explore;
#[cfg(test)]
mod tests_faults;
#[cfg(test)]
mod tests_filter;
#[cfg(test)]
mod tests_fit;
#[cfg(test)]
mod tests_flow;
#[cfg(test)]
mod tests_given;
#[cfg(test)]
mod tests_letters;
#[cfg(test)]
mod tests_monitors;
#[cfg(test)]
mod tests_mutation;
#[cfg(test)]
mod tests_oracle;
#[cfg(test)]
mod tests_questions;
#[cfg(test)]
mod tests_random;
#[cfg(test)]
mod tests_reading;
#[cfg(test)]
mod tests_review;
#[cfg(test)]
mod tests_rules;
#[cfg(test)]
mod tests_steps;
#[cfg(test)]
mod tests_strict;
#[cfg(test)]
mod tests_variants;
mod text_answer;
mod texts;
mod turn;
mod validate_calls;

pub use bring_up_fault::{BringUpCause, BringUpFault};
pub use child_run::{ChildEnd, Inherited};
pub(crate) use clock::RunClock;
pub use early_call::CallStreamed;
pub use edges::EDGES;
pub use effect::GivenInput;
pub use effect::{CallOrder, DelegateOrder, Effect, InferRequest, ToolExposure};
pub(crate) use effect::{SampleRequest, SummaryRequest, XmlOffer};
pub use entry::{Action, BlockReason, Check, CheckName, ClosingReason, EntryKind};
pub(crate) use entry::{
    ContextAccount, ContextBlock, DropReason, DroppedResult, DroppedTarget, PolicyRecord,
    ReportRecord, ReportSource,
};
pub use entry::{Counters, EffectRecord, EntryDraft};
pub use event::{
    Answerer, Approval, Event, EventKind, InferenceReturned, LostEffect, Probed, ProbedTarget,
    ProviderAddress, RunStarted, ToolReturned,
};
pub use event::{InferenceFailed, Interrupter, ParentRun, Resumed};
pub use event::{MAX_PROPOSAL_BYTES, MAX_REASON_BYTES};
pub(crate) use execute::judged_outcome;
pub(crate) use flow_record::{FlowRecord, FlowSource};
pub(crate) use gate::Admitted;
#[cfg(debug_assertions)]
pub use guard::{Guard, mutation::without};
pub(crate) use history::conversation_digest;
pub(crate) use observe::observation_tokens;
pub use outcome::{AgentOutcome, Outcome, OutcomeCode};
pub use predicate::{Predicate, PredicateName};
#[cfg(debug_assertions)]
pub use run::steps;
pub use run::{Fold, Run};
pub use state::State;
#[cfg(test)]
pub(crate) use tests_random::{RandomRun, random_run};
pub(crate) use texts::is_instruction;
pub use texts::{failure, invalid_arguments, is_failure};
