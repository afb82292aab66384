//! Verification: is this the transcript that was written? Recomputes hashes from stored bytes, record by record.

mod books;
mod erased;
mod finding;
mod judge;
mod lines;
mod parent;
mod signed;
mod summary;
mod verifier;

pub use lines::{LineVerifier, verify_lines};
pub(crate) use parent::ParentFound;
pub(crate) use signed::{LogEvidence, judge_tree, signers};
pub(crate) use verifier::Verifier;
pub use verifier::{VerifyOptions, WithheldBlobs};
