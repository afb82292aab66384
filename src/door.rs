//! What only the tests, benches and fuzz targets of this package need, and the embedded engine behind its feature. It may change
//! without notice.

pub use crate::adapter::{
    Adapter, CONTROL_TOKENS, ChatCall, ChatFunction, ChatMessage, Decoded, GatePhase, LocalChat,
    LocalLine, LocalRequest, LocalSampling, LocalUsage, RequestBody, RequestEncoder, RequestShape,
    Script, Segment,
};
pub use crate::conformance::{
    CaseRow, Corpus, CorpusReport, Coverage, CoveredSentence, CoveredSubject, GateTrial,
    RecordLines, RecordedResponse, SentenceKind, SentenceTexts, ShowingCase, gate_contract,
    run_cases, run_corpus,
};
pub use crate::contract::{
    ModelProfile, ProviderType, Validators, WorkflowClass, WorkflowCode, WorkflowOutcome,
};
pub use crate::inference::{Backend, ModelFile, Timeouts};
#[cfg(feature = "local")]
pub use crate::inference::{EngineCost, LocalBackend, LocalOptions};
pub use crate::kernel::{
    DelegateOrder, Effect, EffectRecord, Event, InferenceReturned, ToolReturned,
};
pub use crate::message::{AdapterStatus, ProtocolAdapterResult, StopReason, Usage};
pub use crate::store::packed_entry_text;
pub use crate::transcript::{
    Chain, Checkpoint, Link, LogLeaf, SealedOutcome, Tombstone, TreeHead, tombstone_line,
};
