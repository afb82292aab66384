//! The reason why a session refuses an input. Faults inside a run are outcomes, not errors.

use crate::message::{CallSeq, Digest, InferenceSeq};

/// An input that the session refuses. The session stays as it was.
///
/// ```
/// use std::sync::Arc;
///
/// use monolith_core::message::{NoSecrets, BytesPerToken};
/// use monolith_core::session::{Input, Session, SessionError};
/// # use monolith_core::contract::{CapabilityManifest, ContractFactory, ContractSpec, TargetCapability};
///
/// # let spec = ContractSpec::parse("c.yaml", "
/// # task: How late is it?
/// # tool_policy: forbidden
/// # targets: [{provider: demo, model: canned, context_window: 8192}]
/// # providers: {demo: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}
/// # ", &[])?;
/// # let targets = vec![TargetCapability::default()];
/// # let manifest = CapabilityManifest { targets, ..CapabilityManifest::default() };
/// # let contract = ContractFactory.make(&spec, &manifest, None)?;
/// let mut session = Session::new(Arc::new(contract), BytesPerToken::counter(), Arc::new(NoSecrets))?;
/// assert_eq!(session.handle(0, Input::Timer), Err(SessionError::NotStarted));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The host: the run has not begun.
    #[error("take an input before `start`")]
    NotStarted,
    /// The host: the run has begun.
    #[error("start a run that has begun")]
    Started,
    /// The host: the run continues from its record, and nothing happens before the host requests that.
    #[error("take an input before `resumed`")]
    NotResumed,
    /// The host: no request of that number was ever sent.
    #[error("take a response to request {inference}, which was never sent")]
    NoSuchRequest {
        /// The number.
        inference: InferenceSeq,
    },
    /// The host: bytes or an end came before the head of the response.
    #[error("take bytes of the response to request {inference} before its head")]
    NoHead {
        /// The number.
        inference: InferenceSeq,
    },
    /// The host: the head of the response came twice.
    #[error("take a second head of the response to request {inference}")]
    SecondHead {
        /// The number.
        inference: InferenceSeq,
    },
    /// The host: no entry of that number was handed out.
    #[error("take entry {seq} as durable, which was never handed out")]
    NoSuchEntry {
        /// The number.
        seq: u64,
    },
    /// The host: a size in a call's result is not the size of the text that it stands for, in bytes of UTF-8.
    #[error(
        "take the result of call {call}: `{member}` is {given}, and the text has {expected} bytes (UTF-8)"
    )]
    WrongSize {
        /// The call.
        call: CallSeq,
        /// The size of the text.
        expected: u64,
        /// The size that the host handed in.
        given: u64,
        /// The member of the result: `bytes_in` for the arguments, `bytes_out` for the result's text.
        member: &'static str,
    },
    /// The host: the bytes are not those of the blob.
    #[error("take other bytes than those of blob {hash}")]
    OtherBlob {
        /// The blob's name.
        hash: Digest,
    },
}
