//! The genesis hash of a run. Does not know the chain that follows.

use super::{Digest, DigestContext, RunId};

/// What the genesis hash of a run is derived under.
pub(crate) static GENESIS_CONTEXT: DigestContext =
    DigestContext::new("monolith transcript v1 genesis");

/// `H_0` of a run (semantics §9): what its chain begins with, and what its tags are named after.
#[must_use]
pub fn genesis(contract_hash: Digest, run_id: &RunId) -> Digest {
    GENESIS_CONTEXT.framed(&[contract_hash.as_bytes(), run_id.as_str().as_bytes()])
}
