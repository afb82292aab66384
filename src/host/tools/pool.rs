//! The tool servers of a process: runs that reach a server in the same way share it. It is started with its first user and ended with its
//! last; where servers are kept up, once they are no longer. It does not know runs, nor what is called.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::mcp::Timeouts;
use super::running::{Alive, RunningServer};
use super::{ServerSpec, ToolServerError};
use monolith_core::message::Scrubber;

/// The pool that starts tool servers, and the scrubber for their texts.
#[derive(Clone, Debug)]
pub(crate) struct ServerHost {
    /// True if they are for a child run, whose parent run has places and waits for it.
    pub is_below: bool,
    pub(crate) pool: ServerPool,
    pub scrub: Arc<dyn Scrubber>,
}

/// The servers that are running, by the way in which they are reached.
#[derive(Clone, Debug)]
pub(crate) struct ServerPool(Arc<Servers>);

#[derive(Debug)]
struct Servers {
    /// The servers that stay up without users.
    kept: Mutex<KeptUp>,
    /// Runs that want servers started take their places one after the other: two runs with some places each would wait for each
    /// other.
    admission: tokio::sync::Mutex<()>,
    /// Maximum number of servers up at once.
    most: usize,
    places: Arc<Semaphore>,
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
    /// The address of the scrubber for its texts: the scrubber of another run would leave this run's secrets in.
    pub(super) scrub: usize,
    pub(super) spec: ServerSpec,
    pub(super) workspace: PathBuf,
}

/// A server that needs no user to stay up.
#[derive(Debug)]
struct Kept {
    key: Key,
    /// The key has its address, which must not become another's meanwhile.
    _scrub: Arc<dyn Scrubber>,
    server: Arc<RunningServer>,
}

/// The servers that are kept up, and how many want them to be; where none does, the last user ends a server.
#[derive(Debug, Default)]
struct KeptUp {
    keepers: usize,
    servers: Vec<Kept>,
}

/// Who wants servers kept up. Where it is dropped, as with a run whose future is, they are no longer.
#[derive(Debug)]
pub struct ServerKeeper {
    is_done: bool,
    pool: ServerPool,
}

impl ServerKeeper {
    /// Keeps no server any more. The last one stops those that have no user; takes at most about 3 s.
    pub async fn end(mut self) {
        self.is_done = true;
        let unused = self.pool.release();
        join_all(unused.into_iter().map(RunningServer::close)).await;
    }
}

impl Drop for ServerKeeper {
    fn drop(&mut self) {
        if !self.is_done {
            drop(self.pool.release());
        }
    }
}

/// The servers that a run shares, as they are found.
#[derive(Default)]
struct Found {
    /// The servers to start.
    missing: Vec<Key>,
    /// The servers that are up.
    up: Vec<Arc<RunningServer>>,
}

/// The right of a run to have servers started.
pub(super) struct Admission {
    /// The places of those that it has for itself.
    pub(super) own: Option<OwnedSemaphorePermit>,
    places: Vec<(Key, OwnedSemaphorePermit)>,
    /// Servers that were up when the run got the right stay up until the run uses it.
    _up: Vec<Arc<RunningServer>>,
}

/// One start, which all wait for that want the server meanwhile.
#[derive(Debug, Default)]
struct Start {
    /// Locked by the server until it is closed, and taken over from the last one: the next server does not start before that.
    alive: Arc<tokio::sync::Mutex<()>>,
    /// The server, or why there is none.
    started: OnceCell<Result<Weak<RunningServer>, FailedStart>>,
}

/// The error of a start, for runs that had no more time for it than the run that started it.
#[derive(Debug)]
struct FailedStart {
    fault: Arc<ToolServerError>,
    timeouts: Timeouts,
}

impl Found {
    /// Returns the right of a run that holds these places, `own` of which are for servers that only it uses.
    fn with(self, places: Option<OwnedSemaphorePermit>, own: usize) -> Admission {
        let mut rest = places;
        // A run that wants more than all has fewer places than servers.
        let mut places = Vec::new();
        for key in self.missing {
            let place = rest
                .as_mut()
                .filter(|rest| rest.num_permits() > own.min(1))
                .and_then(|rest| rest.split(1));
            if let Some(place) = place {
                places.push((key, place));
            }
        }
        Admission {
            own: rest,
            places,
            _up: self.up,
        }
    }
}

impl Admission {
    /// The place of a server that this run is to start.
    pub(super) fn take(&mut self, key: &Key) -> Option<OwnedSemaphorePermit> {
        let at = self.places.iter().position(|(of, _)| of == key)?;
        Some(self.places.swap_remove(at).1)
    }
}

impl ServerHost {
    /// Creates a host with a new pool.
    #[cfg(test)]
    pub(super) fn alone(scrub: Arc<dyn Scrubber>) -> Self {
        let pool = ServerPool::default();
        Self {
            is_below: false,
            pool,
            scrub,
        }
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
    /// The most servers of a pool that has no bound.
    const UNBOUNDED: usize = if Semaphore::MAX_PERMITS < u32::MAX as usize {
        Semaphore::MAX_PERMITS
    } else {
        u32::MAX as usize
    };

    /// A pool with at most so many servers at once, shared or not.
    pub(crate) fn bounded(most: usize) -> Self {
        let most = most.clamp(1, Self::UNBOUNDED);
        Self(Arc::new(Servers {
            admission: tokio::sync::Mutex::default(),
            kept: Mutex::default(),
            most,
            places: Arc::new(Semaphore::new(most)),
            starts: Mutex::default(),
        }))
    }

    /// Waits until a run may have so many servers for itself alone, and those that it shares. A server that is up already has its place.
    pub(super) async fn admit(&self, own: usize, shared: &[Key]) -> Admission {
        let found = self.found(shared);
        if own == 0 && found.missing.is_empty() {
            return found.with(None, 0);
        }
        // Who waits for its turn keeps no server up: its place may be what the one before waits for.
        drop(found);
        let turn = self.0.admission.lock().await;
        // Others were before: they may have started what this run wants, too.
        let found = self.found(shared);
        // What is up already has places that come back only with this run.
        let most = self.0.most.saturating_sub(found.up.len()).max(1);
        let wanted = own.saturating_add(found.missing.len()).min(most);
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
        let places = Arc::clone(&self.0.places).acquire_many_owned(wanted);
        // It is never closed.
        let places = places.await.ok();
        drop(turn);
        found.with(places, own)
    }

    /// The same for a run below another one. It waits for no place: the runs that hold them may wait for it. It takes what is free, and for the
    /// rest of its servers goes beyond the bound.
    pub(super) fn admit_below(&self, own: usize, shared: &[Key]) -> Admission {
        let found = self.found(shared);
        let wanted = own.saturating_add(found.missing.len());
        let free = wanted.min(self.0.places.available_permits());
        let wanted = u32::try_from(free).unwrap_or(u32::MAX);
        // Others may be faster.
        let places = Arc::clone(&self.0.places).try_acquire_many_owned(wanted);
        found.with(places.ok(), own)
    }

    /// Sorts these servers into those that are up and those to start.
    fn found(&self, shared: &[Key]) -> Found {
        let starts = self.starts();
        let mut found = Found::default();
        for key in shared {
            let start = starts.get(key);
            match start.map(|start| (start.started.get(), Arc::strong_count(start))) {
                // A run that starts it has its place.
                Some((None, 2..)) => {}
                Some((Some(Ok(server)), _)) if let Some(server) = server.upgrade() => {
                    found.up.push(server);
                }
                _ => found.missing.push(key.clone()),
            }
        }
        found
    }

    /// The running server of that key, else a new one, which gets that place. Those who want one while it starts wait for the same start, as
    /// long as their own timeouts allow, and share its fault.
    ///
    /// # Errors
    /// Why it did not start; the next who wants it tries again.
    pub(super) async fn server(
        &self,
        key: &Key,
        mut place: Option<OwnedSemaphorePermit>,
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
                        let alive = Alive::new(alive, place.take());
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
                        self.keep_up(key, scrub, &own);
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

    /// As long as somebody has what this returns, a server that is shared stays up when its last user leaves it. Where only so many may be
    /// up at once none is kept: its place may be what a run waits for.
    pub(crate) fn keep(&self) -> ServerKeeper {
        self.kept().keepers += 1;
        ServerKeeper {
            is_done: false,
            pool: self.clone(),
        }
    }

    /// Takes back a [`Self::keep`]; the last one has the servers that no run uses.
    fn release(&self) -> Vec<RunningServer> {
        let servers = {
            let mut kept = self.kept();
            kept.keepers = kept.keepers.saturating_sub(1);
            if kept.keepers > 0 {
                return Vec::new();
            }
            std::mem::take(&mut kept.servers)
        };
        let unused = servers.into_iter();
        unused
            .filter_map(|kept| Arc::into_inner(kept.server))
            .collect()
    }

    fn keep_up(&self, key: &Key, scrub: &Arc<dyn Scrubber>, server: &Arc<RunningServer>) {
        let mut kept = self.kept();
        if kept.keepers == 0 || self.0.most < Self::UNBOUNDED {
            return;
        }
        let kept = &mut kept.servers;
        // The one whose place it takes is down: where it has no user, this ends what is left of its process.
        kept.retain(|kept| kept.key != *key);
        kept.push(Kept {
            key: key.clone(),
            _scrub: Arc::clone(scrub),
            server: Arc::clone(server),
        });
    }

    fn kept(&self) -> MutexGuard<'_, KeptUp> {
        let kept = self.0.kept.lock();
        kept.unwrap_or_else(PoisonError::into_inner)
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
        grants: String::new(),
        longest_ms: Timeouts::LONGEST_MS,
        output: String::new(),
        step: "start",
        timeout_ms: timeouts.whole_ms(),
    }
}

#[cfg(test)]
mod tests {
    use super::ServerPool;

    /// A run whose future is dropped, or panics, keeps no server up after that.
    #[tokio::test]
    async fn a_keeper_that_is_dropped_keeps_no_server_up() {
        let pool = ServerPool::default();
        let (dropped, ended) = (pool.keep(), pool.keep());
        assert_eq!(pool.kept().keepers, 2);
        drop(dropped);
        assert_eq!(pool.kept().keepers, 1);
        ended.end().await;
        assert_eq!(pool.kept().keepers, 0);
    }
}
