//! How a run was asked for, kept beside it: `resume` and `continue` read it, no hash covers it.

use std::path::PathBuf;

use monolith_core::contract::FileTrust;

/// How a run was asked for: what its contract does not say and a resume needs. Outside the hash; holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The folder that the layers of configuration are found from, absolute.
    pub base_dir: PathBuf,
    /// The file of configuration that was named, absolute.
    pub config: Option<PathBuf>,
    /// The contract file, absolute.
    pub contract_file: PathBuf,
    /// The files that were trusted when the run was begun, each with its trust hash: layers of configuration that were found, and of a
    /// contract that was found, itself and its agents. `None` where that was not recorded.
    pub files: Option<Vec<FileTrust>>,
    /// What was changed of the file's values, as `KEY=VALUE`.
    pub sets: Vec<String>,
}
