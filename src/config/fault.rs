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
