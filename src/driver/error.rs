use std::path::PathBuf;

use crate::adapter::{AdapterError, ScriptError};
use crate::contract::FactoryError;
use crate::inference::BackendError;
use crate::store::StoreError;

/// Why a run could not be begun or brought to its end. Faults inside a run are outcomes, not errors.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The author: the file has no task, and none was given.
    #[error("there is no task: give one in the file (`task:`) or on the command line (`--task`)")]
    NoTask,
    /// The author: the folder that tools are to see is not there.
    #[error("the workspace {} is not a folder that can be opened: {reason}", path.display())]
    Workspace {
        /// The folder, resolved.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The author: a scripted provider's file cannot be read.
    #[error("provider `{provider}`: the script {} cannot be read: {reason}", path.display())]
    ScriptUnreadable {
        /// The file, resolved.
        path: PathBuf,
        /// The key under `providers`.
        provider: String,
        /// What the system said.
        reason: String,
    },
    /// The author: a scripted provider's file breaks its format.
    #[error("provider `{provider}`: {}: {fault}", path.display())]
    Script {
        /// What is wrong, and in which line.
        fault: ScriptError,
        /// The file, resolved.
        path: PathBuf,
        /// The key under `providers`.
        provider: String,
    },
    /// The operator: a variable that the file names is not set.
    #[error("{place}: the environment variable {name} is not set")]
    MissingVariable {
        /// The variable.
        name: String,
        /// Where it is named, as a dotted path of the file.
        place: String,
    },
    /// The author: `${` without a name and `}` after it.
    #[error("{place}: `${{` is not followed by a variable's name and `}}`")]
    Placeholder {
        /// Where it stands, as a dotted path of the file.
        place: String,
    },
    /// The author: no contract can be made.
    #[error(transparent)]
    Contract(#[from] FactoryError),
    /// The author: a schema of a pinned tool does not compile, or an adapter is not built.
    #[error(transparent)]
    Adapter(#[from] AdapterError),
    /// The author: a provider's address or headers cannot be used.
    #[error("provider `{provider}`: {fault}")]
    Backend {
        /// What is wrong with it.
        fault: BackendError,
        /// The key under `providers`.
        provider: String,
    },
    /// The operator: interrupted before the run had begun.
    #[error("interrupted before the run had begun")]
    Cancelled,
    /// The operator: the system gave no randomness for a run id.
    #[error("the system gave no randomness for a run id: {0}")]
    Randomness(String),
    /// The operator: the transcript could not be written. Nothing was done after the last durable entry.
    #[error("the transcript cannot be written: {0}")]
    Store(#[from] StoreError),
}
