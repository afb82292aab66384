//! What is the same for all runs of a list. Knows nothing of any single run.

use crate::commands::drive::LeavingArgs;
use crate::context::app::App;
use monolith_core::session::RedactionKey;
use monolith_service::drive::accounts::Accounts;

/// What is the same for all runs of a list.
pub(crate) struct Terms {
    pub(crate) accounts: Accounts,
    pub(crate) app: App,
    /// Whether results are documents, also on a terminal.
    pub(crate) json: bool,
    pub(crate) leaving: LeavingArgs,
    /// What the salts of the runs are made from.
    pub(crate) key: RedactionKey,
    /// Changes of every file's values, before those of its line.
    pub(crate) sets: Vec<String>,
    /// What those runs are to do whose line does not say.
    pub(crate) task: Option<String>,
}

impl std::fmt::Debug for Terms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Terms")
    }
}
