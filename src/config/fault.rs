//! Why a layer or a definition in it cannot be used. Names files and keys, never values.

use std::path::PathBuf;

/// Why a layer of the configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("configuration {}: {rule}", path.display())]
pub(crate) struct ConfigFault {
    /// The file.
    pub(crate) path: PathBuf,
    /// What is wrong with it, and where.
    pub(crate) rule: String,
}

/// What is wrong with a definition: where in it, in which layer, and which rule.
pub(super) struct DefinitionFault {
    /// The dotted path of the key; empty for the definition as a whole.
    pub(super) key: String,
    /// Index of the layer.
    pub(super) layer: usize,
    pub(super) rule: String,
}
