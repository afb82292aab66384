//! What bring-up gives to the loop: a run that can be begun, or gone on with.

use std::sync::Arc;

use crate::contract::{ExecutionContract, Validators};
use crate::driver::redaction::Redactor;
use crate::inference::Backend;
use crate::kernel::{EventKind, Resumed, Run, RunStarted};
use crate::message::{Digest, RunId, TokenCounter};
use crate::store::{Invocation, RunLock};
use crate::tools::ToolServers;

/// A run that can be begun, or gone on with: its contract is made, its tool servers are up or known to be down.
pub struct Prepared {
    pub(in crate::driver) backends: Vec<Arc<Backend>>,
    pub(in crate::driver) contract: Arc<ExecutionContract>,
    /// What tokens are estimated with.
    pub(in crate::driver) counter: Arc<dyn TokenCounter>,
    pub(in crate::driver) redactor: Arc<Redactor>,
    pub(in crate::driver) run_id: RunId,
    pub(in crate::driver) servers: ToolServers,
    pub(in crate::driver) start: Start,
}

/// From where a run is driven.
pub(in crate::driver) enum Start {
    /// From its beginning.
    New {
        invocation: Option<Invocation>,
        started: Box<RunStarted>,
        validators: Arc<Validators>,
    },
    /// From where its transcript ends.
    Again(Box<Resumption>),
}

impl Prepared {
    /// The contract of the run to be.
    #[must_use]
    pub const fn contract(&self) -> &Arc<ExecutionContract> {
        &self.contract
    }

    /// The name of the run to be.
    #[must_use]
    pub const fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// Stops the tool servers of a run that is not begun after all.
    pub async fn close(self) {
        self.servers.close().await;
    }
}

/// What the loop needs to go on where the transcript ends.
pub(in crate::driver) struct Resumption {
    pub(in crate::driver) at_ms: u64,
    pub(in crate::driver) head: Digest,
    pub(in crate::driver) lock: RunLock,
    pub(in crate::driver) run: Run,
    pub(in crate::driver) started_unix_ms: u64,
    pub(super) resumed: Resumed,
}

impl Resumption {
    /// What happened while nobody looked: a new process, then each issued effect without a result, in the order of its
    /// issue. An approval that is waited for is not lost; it is still waited for.
    pub(in crate::driver) fn events(&self) -> impl Iterator<Item = EventKind> {
        let lost = self.run.unresolved().into_iter();
        std::iter::once(EventKind::Resumed(self.resumed.clone()))
            .chain(lost.map(EventKind::EffectLost))
    }
}
