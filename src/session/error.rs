use crate::message::{Digest, InferenceSeq};

/// What a host did that no session can go on from. The session stays as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The host: the run has not begun.
    #[error("take an input before `start`")]
    NotStarted,
    /// The host: the run has begun.
    #[error("start a run that has begun")]
    Started,
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
    /// The host: nothing asked for that blob.
    #[error("take blob {hash}, which no summary is waiting for")]
    NoSuchBlob {
        /// The blob's name.
        hash: Digest,
    },
}
