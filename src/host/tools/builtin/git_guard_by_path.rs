//! Systems without folders that can be held open have no sandbox for commands: nothing is guarded there.

use std::sync::Arc;
use std::time::Duration;

use super::workspace::{Refusal, Workspace};
use crate::tools::process::Gone;

/// Guards nothing.
#[derive(Debug, Default)]
pub(super) struct GitGuard;

/// A command whose changes are not judged.
#[derive(Debug)]
pub(super) struct GuardedCommand;

/// No changes.
#[derive(Debug, Default)]
pub(super) struct GitChanges;

impl GitGuard {
    /// Returns a guard.
    pub(super) fn of_process() -> Arc<Self> {
        Arc::default()
    }
}

impl GuardedCommand {
    #[expect(clippy::unused_async, reason = "other systems wait for the disk")]
    pub(super) async fn begin(_: &Arc<GitGuard>, _: &Workspace) -> Result<Self, Refusal> {
        Ok(Self)
    }

    #[expect(clippy::unused_self, reason = "other systems wait for the process")]
    pub(super) fn started(&mut self, _: Gone) {}

    #[expect(clippy::unused_async, reason = "other systems wait for the disk")]
    pub(super) async fn end(self) -> GitChanges {
        GitChanges
    }
}

impl GitChanges {
    #[expect(clippy::unused_self, reason = "other systems have something to say")]
    pub(super) const fn words(&self) -> String {
        String::new()
    }
}

/// Returns no notes.
pub fn judged_commands(_: Duration) -> Vec<String> {
    Vec::new()
}
