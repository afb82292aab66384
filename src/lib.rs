//! monolith runs LLM agents as an explicit finite-state machine under an immutable contract, and leaves
//! behind a transcript that anyone can verify and replay.
//!
//! A pure core decides, a host performs, surfaces show. This crate is the facade: it names what a program that embeds monolith
//! may build on, in groups. Everything else in the member crates may change without notice.
//!
//! # A run without I/O
//!
//! [`session::Session`] is a whole run: a host hands in each [`session::Input`] and does each [`session::Output`]
//! ([`session::Append`], [`session::Request`], [`session::Call`]). docs/session-api.md says what a host promises;
//! `examples/host.rs` is one. The host also brings a [`session::TokenCounter`] ([`session::BytesPerToken`]) and a
//! [`session::Scrubber`] ([`session::NoSecrets`]).
//!
//! # Contracts
//!
//! [`contract::ContractSpec`] is the document of an author, [`contract::CapabilityManifest`] what bring-up found.
//! [`contract::ContractFactory`] makes the [`contract::ExecutionContract`] of the two:
//!
//! ```
//! use monolith::contract::{CapabilityManifest, ContractFactory, ContractSpec, TargetCapability};
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
//! [`host::prepare`] brings up what a [`host::RunRequest`] needs in a [`host::Environment`]: tool servers, scripts, keys.
//! [`host::drive`] brings the run to its end, with monolith's own clients, tools and [`host::Store`], while a
//! [`host::Observer`] sees each entry, [`host::EntryLines`] as lines of JSON. [`host::reopen`] and [`host::prepare_resume`]
//! resume an unfinished run. All of them need a tokio runtime.
//!
//! A [`host::HostTool`] is a closure of the program as a tool. `examples/embed.rs` has all of this, and docs/recipes/embedding.md explains it.
//!
//! # Evidence
//!
//! [`evidence::verify_lines`] and [`evidence::LineVerifier`] check a transcript by its hashes and against outside evidence:
//! [`evidence::Trust`], [`evidence::KeyRing`], [`evidence::Pin`]. [`evidence::Replayer`] decides everything again;
//! [`evidence::WhatIf`] does so under another contract, [`evidence::Fork`] finds where another run can begin, and
//! [`evidence::Requerier`] compares the answers of models and tools today:
//!
//! ```
//! use monolith::evidence::{VerifyOptions, verify_lines};
//!
//! let text = std::fs::read_to_string("replay/v1/core.valid_call.jsonl")?;
//! let report = verify_lines(text.split_inclusive('\n'), VerifyOptions::default());
//! assert!(report.holds());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`evidence::RunView`] folds a run's entries once, for every display; [`host::AgentResult`] is the document that a caller gets.

pub use monolith_cli::main;

/// The service layer: one function for each thing that people and programs do with runs.
pub use monolith_service as service;

/// Contracts: the author's document, the factory and the immutable result.
pub mod contract {
    pub use monolith_core::contract::{
        CapabilityManifest, ContractDecodeError, ContractFactory, ContractSpec, DelegationGrant,
        ExecutionContract, FactoryError, RulePlace, ServerCapability, ServerKind, SpecErrors,
        TargetCapability, ToolCapability,
    };
}

/// A whole run without I/O, and the vocabulary of its inputs and outputs.
pub mod session {
    pub use monolith_core::adapter::{AdapterError, ResponseMeta};
    pub use monolith_core::kernel::{
        AgentOutcome, Answerer, Approval, CallOrder, ChildEnd, Counters, EntryDraft, EventKind,
        GivenInput, InferRequest, LostEffect, Outcome, OutcomeCode, Probed, ProbedTarget,
        ProviderAddress, Run, RunStarted, ToolExposure,
    };
    pub use monolith_core::message::{
        AgentMessage, BytesPerToken, CallSeq, ContentBlock, Digest, EnvelopeError, EnvelopeFields,
        EnvelopeStatus, FileChange, FileChanges, InferenceSeq, InputAnswer, InputExchange,
        InputQuestion, NoSecrets, ObjectFault, ObjectText, ProviderFault, ProviderFaultClass, Role,
        RunId, SamplingRequest, Scrubber, TokenCounter, TokenCounters, ToolEnvelope,
        ToolInvocation, ToolOutcome,
    };
    pub use monolith_core::session::{
        Append, Call, Control, Delegation, Input, Output, RedactionKey, Request, Session,
        SessionError,
    };
}

/// Transcripts: writing, verification, replay and views.
pub mod evidence {
    pub use monolith_core::replay::{
        Attribution, BlobSource, Difference, Fork, ForkFault, ForkPoint, LiveReport, LiveScope,
        OtherDecision, RecordingMismatch, Reissue, ReplayReport, Replayer, Requerier,
        TermsDifference, WhatIf, WhatIfReport,
    };
    pub use monolith_core::transcript::{
        BlockError, EarlierCheckpoints, FirstBad, Flaw, FlawKind, KeyError, KeyRing, LineError,
        LineReader, LineVerifier, Note, NoteError, Pin, PublicKey, Record, SealedEntry, SecretKey,
        Trust, VerifyCheck, VerifyOptions, VerifyReport, WithheldBlobs, blob_line, checkpoint_line,
        entry_line, header_line, verify_lines,
    };
    pub use monolith_core::view::{Divergence, Entry, RunView, TreeUsage};
}

/// Driven runs: bring-up, the driver's loop, the store and the documents made of a run.
pub mod host {
    pub use monolith_host::driver::{
        DriverError, EntryLines, Environment, Finished, NoObserver, Observer, Prepared, Reopened,
        RunRequest, drive, prepare, prepare_resume, reopen,
    };
    pub use monolith_host::store::{
        Durability, RunFilter, RunReader, RunRow, Store, StoreError, StoreReader,
    };
    pub use monolith_host::telemetry::{
        AccountingLine, AccountingStatus, AccountingTokens, AgentResult, AwaitedApproval,
        CostSource, ExitTag, FinalReport, LlmLine, LogLine, ReportStatus, ResultCounters,
        ResultMessage, Severity, ToolLine,
    };
    pub use monolith_host::tools::HostTool;
}
