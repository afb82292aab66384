//! Why no adapter serves a target. Does not know responses: their faults are verdicts, not errors.

/// Why no adapter can serve a target: the author of the contract asked for something this build lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdapterError {
    /// No adapter of this build has that version.
    #[error("unknown adapter version {got:?}; this build has {known}")]
    UnknownVersion {
        /// The version as the contract states it, cut to 80 characters.
        got: String,
        /// The versions of this build, joined by commas.
        known: String,
    },
    /// The adapter of that version reads responses and writes no requests.
    #[error("adapter {version} reads responses and writes no requests")]
    ResponsesOnly {
        /// The version.
        version: &'static str,
    },
    /// The contract has no target of that index.
    #[error("the contract has no target {index}; it has {targets}")]
    UnknownTarget {
        /// The index asked for.
        index: usize,
        /// How many targets there are.
        targets: usize,
    },
}
