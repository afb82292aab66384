//! Verification: is this the transcript that was written? Recomputes hashes from stored bytes, record by record.

mod checks;
mod erased;
mod lines;
mod machine;
mod parent;
mod signed;
mod summary;
mod verifier;

pub use lines::{LineVerifier, verify_lines};
pub use parent::ParentFound;
pub(crate) use signed::signers;
pub use signed::{LogEvidence, check_tree};
pub use summary::NOT_DECIDED;
pub use verifier::Verifier;
pub use verifier::{VerifyOptions, WithheldBlobs};
