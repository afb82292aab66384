//! The tool servers of a run while it is driven, and those that stay up for the runs of its agents. Starts none.

use std::sync::Arc;

use super::shared::Shared;
use crate::tools::{ServerKeeper, ToolServers};

/// The tool servers of a run that is driven.
pub(super) struct RunServers {
    /// Where the servers that runs share stay up until it ends; none of a run without agents.
    kept: Option<ServerKeeper>,
    own: Arc<ToolServers>,
}

impl RunServers {
    /// Those of a run. Where it has agents, what these share is started once for all of them (001 §6).
    pub(super) fn new(own: ToolServers, shared: &Shared, has_agents: bool) -> Self {
        let kept = has_agents.then(|| shared.keep_servers());
        let own = Arc::new(own);
        Self { kept, own }
    }

    /// Those of the run itself.
    pub(super) fn own(&self) -> Arc<ToolServers> {
        Arc::clone(&self.own)
    }

    /// Leaves them, once every task of the run has ended.
    pub(super) async fn close(self) {
        if let Ok(own) = Arc::try_unwrap(self.own) {
            own.close().await;
        }
        if let Some(kept) = self.kept {
            kept.end().await;
        }
    }
}
