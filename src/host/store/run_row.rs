//! A run's row of the index.

use super::StoreError;
use super::run::IMPORTED;
use monolith_core::message::{Digest, RunId};

/// What the store's index says of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    /// The name of the run.
    pub run_id: RunId,
    /// Whether it is a workflow: its contract is its definition.
    pub workflow: bool,
    /// The hash of its contract.
    pub contract_hash: Digest,
    /// When it was created, in milliseconds since 1970-01-01 UTC; outside the hash.
    pub created_unix_ms: u64,
    /// How often it has been claimed, its creation included; outside the hash.
    pub epoch: i64,
    /// Who claimed it last; outside the hash.
    pub owner: String,
    /// How many entries it has.
    pub length: u64,
    /// The hash of the last entry; `H_0` where there is none.
    pub head: Digest,
    /// Class and code as they are written in files, once the run is sealed.
    pub outcome: Option<(String, String)>,
}

impl RunRow {
    /// Whether the run was not driven here: it came as a file.
    #[must_use]
    pub fn is_imported(&self) -> bool {
        self.owner == IMPORTED
    }
}

/// A row of the index that cannot be read.
#[derive(Debug)]
pub struct DamagedRow {
    /// The name of the run as it stands there, or the number of the row where it has none.
    pub run: String,
    /// What is wrong with it.
    pub fault: StoreError,
}
