//! monolith runs LLM agents as an explicit finite-state machine under an immutable contract, and leaves
//! behind a transcript that anyone can verify and replay.
//!
//! A pure core decides, an imperative shell does, surfaces show. The rooms are numbered: a room imports only
//! rooms with a smaller number (docs/architecture.md; `tests/it/tidy` checks it).
//!
//! The rooms are private: what a caller may build on is named here, room by room, and everything else may change without notice.

#![warn(unreachable_pub)]
#![cfg_attr(test, recursion_limit = "256")]

mod adapter;
mod cli;
mod config;
mod conformance;
mod contract;
#[doc(hidden)]
pub mod door;
mod driver;
mod inference;
mod kernel;
mod message;
mod replay;
mod session;
mod store;
mod telemetry;
mod tools;
mod transcript;
mod view;

pub use adapter::{AdapterError, ResponseMeta};
pub use cli::main;
pub use contract::{
    CapabilityManifest, ContractDecodeError, ContractFactory, ContractSpec, ExecutionContract,
    FactoryError, ServerCapability, ServerKind, SpecErrors, TargetCapability, ToolCapability,
};
pub use driver::{
    DriverError, Environment, Finished, Observer, Prepared, RunRequest, drive, prepare,
};
pub use kernel::{
    AgentOutcome, Approval, CallOrder, Counters, EntryDraft, EventKind, InferRequest, LostEffect,
    Outcome, OutcomeCode, Probed, ProbedTarget, Run, RunStarted, ToolExposure,
};
pub use message::{
    AgentMessage, CallSeq, ContentBlock, Digest, EnvelopeStatus, InferenceSeq, NoSecrets,
    ObjectFault, ObjectText, ProviderFault, ProviderFaultClass, QuarterBytes, Role, RunId,
    Scrubber, TokenCounter, TokenCounters, ToolEnvelope, ToolInvocation, ToolOutcome,
};
pub use replay::{
    Again, Attribution, BlobSource, Difference, Fork, ForkFault, ForkPoint, LiveReport, LiveScope,
    NoLongerFits, OtherDecision, Reissuer, ReplayReport, Replayer, TermsDifference, WhatIf,
    WhatIfReport,
};
pub use session::{
    Append, Call, Control, Input, Output, RedactionKey, Request, Session, SessionError,
};
pub use store::{Durability, RunFilter, RunReader, RunRow, Store, StoreError, StoreReader};
pub use telemetry::{
    AccountingLine, AccountingStatus, AccountingTokens, AgentResult, CostSource, ExitTag,
    FinalReport, LlmLine, ReportStatus, ResultCounters, ResultMessage, ToolLine,
};
pub use transcript::{
    BlockError, FirstBad, Flaw, FlawKind, KeyError, KeyRing, LineError, LineReader, LineVerifier,
    Note, NoteError, Pin, PublicKey, Record, SealedEntry, SecretKey, Trust, VerifyCheck,
    VerifyOptions, VerifyReport, WithheldBlobs, blob_line, checkpoint_line, entry_line,
    header_line, verify_lines,
};
pub use view::{Entry, RunView};
