//! The tool servers of a process: runs that reach a server in the same way share it. It is started with its first user and ended with its last.
//! It does not know runs, nor what is called.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
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
#[derive(Clone, Debug)]
pub(crate) struct ServerPool(Arc<Servers>);

#[derive(Debug)]
struct Servers {
    /// How many may run that are no other run's.
    most_own: usize,
    own: Arc<Semaphore>,
    starts: Mutex<HashMap<Key, Arc<Start>>>,
}

impl Default for ServerPool {
    fn default() -> Self {
        Self::bounded(Semaphore::MAX_PERMITS)
    }
}

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

/// One start, which all wait for that want the server meanwhile.
#[derive(Debug, Default)]
struct Start {
    /// Locked by the server until it is closed, and taken over from the last one: the next server does not start before that.
    alive: Arc<tokio::sync::Mutex<()>>,
    /// The server, or why there is none.
    started: OnceCell<Result<Weak<RunningServer>, FailedStart>>,
}

/// Why there is no server, for those who had no more time for it than the one who started it.
#[derive(Debug)]
struct FailedStart {
    fault: Arc<ToolServerError>,
    timeouts: Timeouts,
}

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
    /// A pool with at most so many servers that only one run uses.
    pub(crate) fn bounded(most_own: usize) -> Self {
        let most_own = most_own.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Self(Arc::new(Servers {
            most_own,
            own: Arc::new(Semaphore::new(most_own)),
            starts: Mutex::default(),
        }))
    }

    /// Waits until so many servers may be started that only one run uses. All at once: two runs would wait for each other.
    pub(super) async fn own(&self, servers: usize) -> Option<OwnedSemaphorePermit> {
        let wanted = u32::try_from(servers.min(self.0.most_own)).unwrap_or(u32::MAX);
        let own = Arc::clone(&self.0.own).acquire_many_owned(wanted);
        // It is never closed.
        own.await.ok()
    }

    /// The running server of that key, else a new one. Those who want one while it starts wait for the same start, as long as their own
    /// timeouts allow, and share its fault.
    ///
    /// # Errors
    /// Why it did not start; the next who wants it tries again.
    pub(super) async fn server(
        &self,
        key: &Key,
        (timeouts, scrub): (Timeouts, &Arc<dyn Scrubber>),
        cancel: &CancellationToken,
    ) -> Result<Arc<RunningServer>, Arc<ToolServerError>> {
        loop {
            let shared = self.start_of(key);
            let (mut own, starts) = (None, AtomicBool::new(false));
            let started = shared.started.get_or_try_init(|| async {
                starts.store(true, Ordering::Relaxed);
                let alive = Arc::clone(&shared.alive).lock_owned().await;
                match key.start((timeouts, scrub), cancel).await {
                    Ok(server) => {
                        let server = Arc::new(server.keeping(alive));
                        let shared = Arc::downgrade(&server);
                        own = Some(server);
                        Ok(Ok(shared))
                    }
                    // A start that was cancelled has not found out anything: the next who waits starts it.
                    Err(ToolServerError::Cancelled) => Err(ToolServerError::Cancelled),
                    Err(fault) => {
                        let fault = Arc::new(fault);
                        Ok(Err(FailedStart { fault, timeouts }))
                    }
                }
            });
            let started = tokio::select! {
                biased;
                started = started => started,
                () = waited(timeouts, &starts) => return Err(Arc::new(too_late(timeouts))),
            };
            match started {
                Err(cancelled) => return Err(Arc::new(cancelled)),
                Ok(Err(failed)) => {
                    self.forget(key, &shared);
                    let is_late = matches!(*failed.fault, ToolServerError::TimedOut { .. });
                    if !(is_late && timeouts.outlast(failed.timeouts)) {
                        return Err(Arc::clone(&failed.fault));
                    }
                }
                Ok(Ok(server)) => {
                    if let Some(own) = own {
                        return Ok(own);
                    }
                    match server.upgrade() {
                        // Its last user has ended it, and may still be closing it.
                        None => self.replace(key, &shared, Arc::clone(&shared.alive)),
                        Some(server) if !server.is_closed() && server.answers(cancel).await => {
                            return Ok(server);
                        }
                        // It has died, or hangs: those who use it keep it.
                        Some(_) => self.replace(key, &shared, Arc::default()),
                    }
                }
            }
        }
    }

    fn start_of(&self, key: &Key) -> Arc<Start> {
        let mut starts = self.starts();
        if let Some(start) = starts.get(key) {
            return Arc::clone(start);
        }
        // Only servers that are running, being started or being closed are kept in mind.
        starts.retain(|_, start| match start.started.get() {
            Some(Ok(server)) => server.strong_count() > 0 || start.alive.try_lock().is_err(),
            Some(Err(_)) => false,
            None => Arc::strong_count(start) > 1 || start.alive.try_lock().is_err(),
        });
        let start = Arc::new(Start::default());
        starts.insert(key.clone(), Arc::clone(&start));
        start
    }

    fn forget(&self, key: &Key, start: &Arc<Start>) {
        let mut starts = self.starts();
        if is_same(starts.get(key), start) {
            starts.remove(key);
        }
    }

    /// Lets the next who wants a server of that key start it, once `alive` is free.
    fn replace(&self, key: &Key, start: &Arc<Start>, alive: Arc<tokio::sync::Mutex<()>>) {
        let mut starts = self.starts();
        if is_same(starts.get(key), start) {
            let next = Start {
                alive,
                started: OnceCell::new(),
            };
            starts.insert(key.clone(), Arc::new(next));
        }
    }

    fn starts(&self) -> MutexGuard<'_, HashMap<Key, Arc<Start>>> {
        let starts = self.0.starts.lock();
        starts.unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_same(found: Option<&Arc<Start>>, start: &Arc<Start>) -> bool {
    found.is_some_and(|found| Arc::ptr_eq(found, start))
}

/// Ends once another's start has taken as long as these timeouts allow; one's own start ends by itself.
async fn waited(timeouts: Timeouts, starts: &AtomicBool) {
    tokio::time::sleep(Duration::from_millis(timeouts.whole_ms())).await;
    if starts.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}

const fn too_late(timeouts: Timeouts) -> ToolServerError {
    ToolServerError::TimedOut {
        longest_ms: Timeouts::LONGEST_MS,
        output: String::new(),
        step: "start",
        timeout_ms: timeouts.whole_ms(),
    }
}
