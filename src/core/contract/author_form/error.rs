//! Why there is no contract with the requested changes. Knows no terminal.

use crate::contract::{FactoryError, SpecErrors};

/// Why there is no contract with those changes.
#[derive(Debug, thiserror::Error)]
pub enum ChangedError {
    /// The author of a change: no file may hold it.
    #[error(transparent)]
    Spec(#[from] SpecErrors),
    /// The author of a change: no contract can be made of it.
    #[error(transparent)]
    Factory(#[from] FactoryError),
}
