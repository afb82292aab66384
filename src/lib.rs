//! monolith runs LLM agents as an explicit finite-state machine under an immutable contract, and leaves
//! behind a transcript that anyone can verify and replay.
//!
//! A pure core decides, an imperative shell does, surfaces show. The modules are numbered: a module imports only modules with a
//! smaller number (docs/architecture.md; `tests/it/tidy` checks it). They are private: what a program that embeds monolith may
//! build on is named here, and everything else may change without notice.
//!
//! # A run without I/O
//!
//! [`Session`] is a whole run: a host hands in each [`Input`] and does each [`Output`] ([`Append`], [`Request`], [`Call`]).
//! docs/session-api.md says what a host promises; `examples/host.rs` is one. The host also brings a [`TokenCounter`]
//! ([`QuarterBytes`]) and a [`Scrubber`] ([`NoSecrets`]).
//!
//! # Contracts
//!
//! [`ContractSpec`] is what an author wrote, [`CapabilityManifest`] what there is. [`ContractFactory`] makes the
//! [`ExecutionContract`] of the two:
//!
//! ```
//! use monolith::{CapabilityManifest, ContractFactory, ContractSpec, TargetCapability};
//!
//! let spec = ContractSpec::parse("clock.yaml", "
//! task: How late is it?
//! tool_policy: forbidden
//! targets: [{provider: demo, model: canned, context_window: 8192}]
//! providers: {demo: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}
//! ", &[])?;
//! let targets = vec![TargetCapability::default()];
//! let found = CapabilityManifest { targets, ..CapabilityManifest::default() };
//! let contract = ContractFactory.make(&spec, &found, None)?;
//! assert!(contract.contract_id().starts_with("c-"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Driven runs
//!
//! [`prepare`] brings up what a [`RunRequest`] needs in an [`Environment`]: tool servers, scripts, keys. [`drive`] brings the run
//! to its end, with monolith's own clients, tools and [`Store`], while an [`Observer`] sees each entry. Both need a tokio runtime.
//!
//! # Evidence
//!
//! [`verify_lines`] and [`LineVerifier`] say whether a transcript is the one that was written, by its hashes and by what is held
//! against it from outside: [`Trust`], [`KeyRing`], [`Pin`]. [`Replayer`] decides everything again; [`WhatIf`] does so under another
//! contract, [`Fork`] finds where another run can begin, [`Reissuer`] compares what models and tools answer now:
//!
//! ```
//! use monolith::{VerifyOptions, verify_lines};
//!
//! let text = std::fs::read_to_string("replay/v1/core.valid_call.jsonl")?;
//! let report = verify_lines(text.split_inclusive('\n'), VerifyOptions::default());
//! assert!(report.holds());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a run was
//!
//! [`RunView`] folds a run's entries once, for every display; [`AgentResult`] is the document that a caller gets.

#![warn(unreachable_pub)]
// Whether a future is `Send` is asked through all that it awaits, down to the driver of the runtime.
#![recursion_limit = "256"]

mod adapter;
mod agent;
#[cfg(test)]
mod allocated;
mod cli;
mod config;
mod conformance;
mod contract;
#[cfg(test)]
mod depth;
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
    CapabilityManifest, ContractDecodeError, ContractFactory, ContractSpec, DelegationGrant,
    ExecutionContract, FactoryError, RefusedName, RulePlace, ServerCapability, ServerKind,
    SpecErrors, TargetCapability, ToolCapability,
};
pub use driver::{
    DriverError, Environment, Finished, Job, Observer, Prepared, RunRequest, Runner, RunnerLimits,
    Unobserved, Worker, drive, prepare,
};
pub use kernel::{
    AgentOutcome, Answerer, Approval, CallOrder, ChildEnd, Counters, EntryDraft, EventKind,
    GivenInput, InferRequest, LostEffect, Outcome, OutcomeCode, Probed, ProbedTarget,
    ProviderAddress, Run, RunStarted, ToolExposure,
};
pub use message::{
    AgentMessage, CallSeq, ContentBlock, Digest, EnvelopeError, EnvelopeFields, EnvelopeStatus,
    FileChange, FileChanges, InferenceSeq, InputAnswer, InputExchange, InputQuestion, NoSecrets,
    ObjectFault, ObjectText, ProviderFault, ProviderFaultClass, QuarterBytes, Role, RunId,
    SamplingRequest, Scrubber, TokenCounter, TokenCounters, ToolEnvelope, ToolInvocation,
    ToolOutcome,
};
pub use replay::{
    Attribution, BlobSource, Difference, Fork, ForkFault, ForkPoint, LiveReport, LiveScope,
    OtherDecision, RecordingMismatch, Reissue, Reissuer, ReplayReport, Replayer, TermsDifference,
    WhatIf, WhatIfReport,
};
pub use session::{
    Append, Call, Control, Delegation, Input, Output, RedactionKey, Request, Session, SessionError,
};
pub use store::{Durability, RunFilter, RunReader, RunRow, Store, StoreError, StoreReader};
pub use telemetry::{
    AccountingLine, AccountingStatus, AccountingTokens, AgentResult, AwaitedApproval, CostSource,
    ExitTag, FinalReport, LlmLine, ReportStatus, ResultCounters, ResultMessage, ToolLine,
};
pub use transcript::{
    BlockError, EarlierCheckpoints, FirstBad, Flaw, FlawKind, KeyError, KeyRing, LineError,
    LineReader, LineVerifier, Note, NoteError, Pin, PublicKey, Record, SealedEntry, SecretKey,
    Trust, VerifyCheck, VerifyOptions, VerifyReport, WithheldBlobs, blob_line, checkpoint_line,
    entry_line, header_line, verify_lines,
};
pub use view::{Departure, Entry, RunView, TreeUsage};
