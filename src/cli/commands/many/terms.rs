//! What is the same for all runs of a list. Knows nothing of any single run.

use crate::cli::commands::drive::{Accounts, LeavingArgs};
use crate::cli::context::app::App;
use crate::session::RedactionKey;

/// What is the same for all runs of a list.
pub(in crate::cli) struct Terms {
    pub(in crate::cli) accounts: Accounts,
    pub(in crate::cli) app: App,
    /// Whether results are documents, also on a terminal.
    pub(in crate::cli) json: bool,
    pub(in crate::cli) leaving: LeavingArgs,
    /// What the salts of the runs are made from.
    pub(in crate::cli) key: RedactionKey,
    /// Changes of every file's values, before those of its line.
    pub(in crate::cli) sets: Vec<String>,
    /// What those runs are to do whose line does not say.
    pub(in crate::cli) task: Option<String>,
}

impl std::fmt::Debug for Terms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Terms")
    }
}
