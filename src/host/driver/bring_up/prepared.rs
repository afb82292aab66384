//! The result of bring-up for the loop: a run that can begin or resume.

use std::sync::Arc;
use std::time::Duration;

use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::RunStarted;
use monolith_core::message::{Digest, RunId, Scrubber, TokenCounter};
use monolith_core::session::{Input, Redactor, Session};

use crate::driver::DriverError;
use crate::driver::children::Below;
use crate::driver::shared::Shared;
use crate::driver::waiting::WaitingReport;
use crate::inference::Backend;
use crate::store::{Invocation, RunLock};
use crate::tools::ToolServers;

/// Default time for work in flight to end once a run is suspended.
pub(in crate::driver) const GRACE: Duration = Duration::from_secs(10);

/// A run that can begin or resume: its contract is made, its tool servers are up or known to be down.
pub struct Prepared {
    /// The context for bringing up its child runs, if it may have some.
    pub(in crate::driver) below: Option<Below>,
    pub(in crate::driver) backends: Vec<Arc<Backend>>,
    pub(in crate::driver) contract: Arc<ExecutionContract>,
    /// The counter for estimating tokens.
    pub(in crate::driver) counter: Arc<dyn TokenCounter>,
    /// Time for work in flight to end once the run is suspended.
    pub(in crate::driver) grace: Duration,
    /// Maximum number of concurrent model requests, over all runs that share them; none if nothing limits them.
    pub(in crate::driver) max_inferences: Option<usize>,
    pub(in crate::driver) redactor: Arc<Redactor>,
    pub(in crate::driver) run_id: RunId,
    pub(in crate::driver) servers: ToolServers,
    pub(in crate::driver) shared: Shared,
    pub(in crate::driver) start: Start,
    /// The report to the parent run when this run waits for a person.
    pub(in crate::driver) waiting: Option<WaitingReport>,
}

/// From where a run is driven.
pub(in crate::driver) enum Start {
    /// From its beginning.
    New {
        invocation: Option<Invocation>,
        started: Box<RunStarted>,
    },
    /// From where its transcript ends.
    Resume(Box<Resumption>),
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

    /// The scrubber that removes the run's secrets from everything recorded, and from everything shown of its files.
    pub fn scrubber(&self) -> Arc<dyn Scrubber> {
        let redactor: Arc<Redactor> = Arc::clone(&self.redactor);
        redactor
    }

    /// The same run; once it is suspended, what is in flight has so long to end, instead of 10 seconds.
    #[must_use]
    pub const fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The same run, whose requests to models wait until fewer than `most` run at once, those of the runs that share with it included.
    #[must_use]
    pub const fn with_max_inferences(mut self, most: usize) -> Self {
        self.max_inferences = Some(most);
        self
    }

    /// The same run, which reports there whether it waits for a person.
    #[must_use]
    pub fn that_reports(mut self, waiting: WaitingReport) -> Self {
        self.waiting = Some(waiting);
        self
    }

    /// Stops the tool servers of a run that is not begun after all.
    pub async fn close(self) {
        self.servers.close().await;
    }
}

/// The state that the loop needs to resume where the transcript ends.
pub(in crate::driver) struct Resumption {
    pub(in crate::driver) at_ms: u64,
    /// The first input of this process: the present location of everything, and the differences.
    pub(in crate::driver) first: Input,
    pub(in crate::driver) head: Digest,
    pub(in crate::driver) lock: RunLock,
    /// True if the run that delegated to it has ended: then it ends, too.
    pub(in crate::driver) orphan: bool,
    /// The run, as far as it is recorded.
    pub(in crate::driver) session: Session,
    pub(in crate::driver) started_unix_ms: u64,
}

/// Sixteen random hex digits after `prefix`.
///
/// # Errors
/// [`DriverError::Randomness`] where the system gives none, or the prefix begins no name of a run.
pub fn random_run_id(prefix: &str) -> Result<RunId, DriverError> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).map_err(|fault| DriverError::Randomness(fault.to_string()))?;
    let text = format!("{prefix}{:016x}", u64::from_be_bytes(bytes));
    RunId::try_from(text).map_err(|fault| DriverError::Randomness(fault.to_string()))
}
