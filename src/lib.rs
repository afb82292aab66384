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

pub use adapter::{
    Adapter, AdapterError, CONTROL_TOKENS, ChatCall, ChatFunction, ChatMessage, Decoded, GatePhase,
    LocalChat, LocalLine, LocalRequest, LocalSampling, LocalUsage, RequestEncoder, RequestShape,
    ResponseMeta, Script, Segment,
};
pub use cli::main;
pub use conformance::{
    CaseError, CaseRow, Corpus, CorpusReadError, CorpusReport, GateTrial, RecordFault, RecordLines,
    RecordRule, RecordedResponse, RecordsReadError, gate_contract, run_cases, run_corpus,
};
pub use contract::{
    CapabilityManifest, ContractDecodeError, ContractFactory, ContractSpec, ExecutionContract,
    FactoryError, ModelProfile, ProviderType, ServerCapability, ServerKind, SpecErrors,
    TargetCapability, ToolCapability, Validators,
};
pub use driver::{DriverError, Environment, Observer, RunRequest, drive, prepare};
pub use inference::{Backend, ModelFile, Patience, TransportFault, TransportFaultKind};
#[cfg(feature = "local")]
pub use inference::{EngineCost, LocalBackend, LocalOptions};
pub use kernel::{
    AgentOutcome, Approval, CallOrder, Effect, EffectRecord, EntryDraft, Event, EventKind,
    InferRequest, InferenceReturned, LostEffect, Outcome, OutcomeCode, Probed, ProbedTarget, Run,
    RunStarted, ToolExposure, ToolReturned,
};
pub use message::{
    AdapterStatus, AgentMessage, CallSeq, ContentBlock, Digest, EnvelopeStatus, InferenceSeq,
    NoSecrets, ObjectFault, ObjectText, ProtocolAdapterResult, ProviderFault, ProviderFaultClass,
    QuarterBytes, Role, RunId, Scrubber, StopReason, TokenCounter, TokenCounters, ToolEnvelope,
    ToolInvocation, ToolOutcome, Usage,
};
pub use replay::{
    Again, Attribution, BlobSource, Difference, Fork, ForkFault, LiveReport, LiveScope, Reissuer,
    ReplayReport, Replayer, WhatIf, WhatIfReport,
};
pub use session::{
    Append, Call, Control, Input, Output, RedactionKey, Request, Session, SessionError,
};
pub use store::{Durability, RunFilter, Store, StoreError, StoreReader};
pub use telemetry::{
    AccountingLine, AccountingStatus, AccountingTokens, AgentResult, CostSource, ExitTag,
    FinalReport, LlmLine, ReportStatus, ResultCounters, ResultMessage, ToolLine,
};
pub use transcript::{
    BlockError, Chain, Checkpoint, Flaw, KeyError, KeyRing, LineError, LineReader, LineVerifier,
    Link, LogLeaf, Note, NoteError, Pin, PublicKey, Record, SealedEntry, SecretKey, Tombstone,
    TreeHead, Trust, Verifier, VerifyOptions, blob_line, checkpoint_line, entry_line, header_line,
    tombstone_line, verify_lines,
};
pub use view::{Entry, RunView, Step};
