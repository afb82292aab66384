//! The tool servers of a process: runs that reach a server in the same way share it. It is started with its first user and ended with its last.
//! It does not know runs, nor what is called.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::mcp::Timeouts;
use super::running::RunningServer;
use super::{ServerSpec, ToolServerError};
use crate::message::Scrubber;

/// Where tool servers are started, and what takes secrets out of their texts.
#[derive(Clone, Debug)]
pub(crate) struct ServerHost {
    pub(crate) pool: ServerPool,
    pub(crate) scrub: Arc<dyn Scrubber>,
}

/// The servers that are running, by the way in which they are reached.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerPool(Arc<Mutex<HashMap<Key, Arc<Start>>>>);

/// Runs share a server where all of this is the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Pins and exposed names are made of it.
    pub(super) name: String,
    /// What takes secrets out of its texts, by its address: a run's secrets must not be left in for another one.
    pub(super) scrub: usize,
    pub(super) spec: ServerSpec,
    pub(super) workspace: PathBuf,
}

/// One start, which all wait for that want the server meanwhile: the server, or why there is none.
type Start = OnceCell<Result<Weak<RunningServer>, Arc<ToolServerError>>>;

impl ServerHost {
    /// A pool of its own.
    #[cfg(test)]
    pub(super) fn alone(scrub: Arc<dyn Scrubber>) -> Self {
        let pool = ServerPool::default();
        Self { pool, scrub }
    }
}

impl Key {
    pub(super) async fn start(
        &self,
        timeouts: (Timeouts, &Arc<dyn Scrubber>),
        cancel: &CancellationToken,
    ) -> Result<RunningServer, ToolServerError> {
        let workspace = self.workspace.clone();
        RunningServer::start(&self.name, &self.spec, workspace, timeouts, cancel).await
    }
}

impl ServerPool {
    /// The running server of that key, else a new one. Those who want one while it starts wait for the same start, and share its fault.
    ///
    /// # Errors
    /// Why it did not start; the next who wants it tries again.
    pub(super) async fn server(
        &self,
        key: &Key,
        timeouts: (Timeouts, &Arc<dyn Scrubber>),
        cancel: &CancellationToken,
    ) -> Result<Arc<RunningServer>, Arc<ToolServerError>> {
        loop {
            let shared = self.start_of(key);
            let mut own = None;
            let started = shared.get_or_try_init(|| async {
                match key.start(timeouts, cancel).await {
                    Ok(server) => {
                        let server = Arc::new(server);
                        let shared = Arc::downgrade(&server);
                        own = Some(server);
                        Ok(Ok(shared))
                    }
                    // A start that was cancelled has not found out anything: the next who waits starts it.
                    Err(ToolServerError::Cancelled) => Err(ToolServerError::Cancelled),
                    Err(fault) => Ok(Err(Arc::new(fault))),
                }
            });
            match started.await {
                Err(cancelled) => return Err(Arc::new(cancelled)),
                Ok(Err(fault)) => {
                    self.forget(key, &shared);
                    return Err(Arc::clone(fault));
                }
                Ok(Ok(server)) => {
                    let server = own.or_else(|| server.upgrade());
                    if let Some(server) = server.filter(|server| !server.is_closed()) {
                        return Ok(server);
                    }
                    // Its last user has ended it, or it has died.
                    self.forget(key, &shared);
                }
            }
        }
    }

    fn start_of(&self, key: &Key) -> Arc<Start> {
        let mut starts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(start) = starts.get(key) {
            return Arc::clone(start);
        }
        // Only servers that are running, or being started, are kept in mind.
        starts.retain(|_, start| match start.get() {
            Some(Ok(server)) => server.strong_count() > 0,
            Some(Err(_)) => false,
            None => Arc::strong_count(start) > 1,
        });
        let start = Arc::new(Start::new());
        starts.insert(key.clone(), Arc::clone(&start));
        start
    }

    fn forget(&self, key: &Key, start: &Arc<Start>) {
        let mut starts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if starts
            .get(key)
            .is_some_and(|found| Arc::ptr_eq(found, start))
        {
            starts.remove(key);
        }
    }
}
