//! The log of runs: a leaf for every sealed run. The tree over them is `transcript`'s.

use monolith_core::transcript::{TreeHash, TreeHead};

/// The log of runs as it stands: a leaf for every sealed run, in the order of the seals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLog {
    /// Its name, random, for good.
    pub name: String,
    /// The hashes of its leaves.
    pub leaves: Vec<TreeHash>,
}

impl RunLog {
    /// Its head.
    #[must_use]
    pub fn head(&self) -> TreeHead {
        TreeHead::over(&self.name, &self.leaves)
    }
}
