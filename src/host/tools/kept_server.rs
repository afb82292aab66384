//! A server that a run uses, and the one that takes its place after a restart (001 §6). Does not know which calls are made.
//!
//! A call that needs a server which is down waits for its start, within the call's timeout. After a start that failed, the first call
//! gets the reason, and the others end until the next start is under way. A call that timed out is no proof that its server is down:
//! the next call asks it for a sign of life first. That question outlasts the call, so that a server which hangs is replaced however
//! short the timeout of calls is. No call is repeated, except one that the server refused because its session had expired: that one
//! did not begin.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::CallTerms;
use super::mcp::NotBegun;
use super::restart_loop::RestartLoop;
use super::restarts::State;
use super::running::RunningServer;
use monolith_core::contract::ToolPin;
use monolith_core::kernel::CallOrder;
use monolith_core::message::ToolOutcome;

/// A server as one run holds it: another one may take its place.
#[derive(Debug)]
pub(super) struct KeptServer {
    /// Cancelled once the run leaves the server.
    closing: CancellationToken,
    current: Mutex<Current>,
    name: String,
}

/// The result of asking a server for a sign of life: true if it gave one; `None` while it has time to.
type Probe = watch::Receiver<Option<bool>>;

#[derive(Debug)]
struct Current {
    /// The failed starts in its place that calls of this run know of.
    known_failures: usize,
    /// The last question for a sign of life.
    probe: Option<Probe>,
    server: Arc<RunningServer>,
}

impl KeptServer {
    pub(super) fn new(server: Arc<RunningServer>, restarts: &RestartLoop) -> Self {
        restarts.watch(&server);
        let name = restarts.key.name.clone();
        let current = Mutex::new(Current {
            known_failures: 0,
            probe: None,
            server,
        });
        Self {
            closing: CancellationToken::new(),
            current,
            name,
        }
    }

    /// The server that calls go to now.
    pub(super) fn current(&self) -> Arc<RunningServer> {
        let mut current = self.lock();
        while let Some(next) = current.server.successor() {
            *current = Current {
                known_failures: 0,
                probe: None,
                server: next,
            };
        }
        Arc::clone(&current.server)
    }

    /// Performs one call to its end, of a tool with that pin; waits first for a server that is down.
    pub(super) async fn call(
        &self,
        tool: &str,
        expected: ToolPin,
        order: &CallOrder,
        terms: &CallTerms<'_>,
    ) -> ToolOutcome {
        let (began, whole) = (Instant::now(), Duration::from_millis(terms.timeout_ms));
        let rest_ms = || {
            let rest = whole.saturating_sub(began.elapsed()).as_micros();
            u64::try_from(rest.div_ceil(1_000)).unwrap_or(u64::MAX)
        };
        let mut not_begun = None;
        loop {
            let mut server = self.current();
            if !server.is_sound() {
                server = tokio::select! {
                    biased;
                    () = terms.cancel.cancelled() => return ToolOutcome::Cancelled,
                    found = Box::pin(self.sound(&server)) => match found {
                        Ok(server) => server,
                        Err(outcome) => return outcome,
                    },
                    () = tokio::time::sleep(Duration::from_millis(rest_ms())) => {
                        return ToolOutcome::RestartInProgress;
                    }
                };
            }
            let terms = CallTerms {
                timeout_ms: rest_ms(),
                ..*terms
            };
            match (server.call(tool, expected, order, &terms).await, not_begun) {
                (Ok(outcome), _) => return outcome,
                (Err(NotBegun(outcome)), None) => not_begun = Some(outcome),
                (Err(NotBegun(outcome)), Some(_)) => return *outcome,
            }
        }
    }

    /// The server where it gives a sign of life, else another one in its place.
    async fn sound(
        &self,
        doubtful: &Arc<RunningServer>,
    ) -> Result<Arc<RunningServer>, ToolOutcome> {
        let Some((restarts, ended)) = doubtful.restarts() else {
            return Ok(Arc::clone(doubtful));
        };
        if !doubtful.is_closed() {
            let mut probe = self.probe(doubtful);
            let answer = probe.wait_for(Option::is_some).await;
            if matches!(answer.as_deref(), Ok(Some(true))) {
                return Ok(Arc::clone(doubtful));
            }
        }
        // It is no running server to anyone any more.
        ended.cancel();
        restarts.hurry();
        let known_failures = self.lock().known_failures;
        let mut states = restarts.states();
        let is_waiting = match &*states.borrow() {
            State::Failed { failed, .. } => *failed <= known_failures,
            State::Starting | State::Up(_) => false,
        };
        if is_waiting {
            return Err(ToolOutcome::RestartInProgress);
        }
        let known = states.wait_for(|state| !matches!(state, State::Starting));
        let failure = match known.await.as_deref() {
            Ok(State::Failed { detail, failed }) => Some((detail.clone(), *failed)),
            Ok(State::Starting | State::Up(_)) | Err(_) => None,
        };
        match failure {
            Some((detail, failed)) => {
                self.lock().known_failures = failed;
                Err(ToolOutcome::RestartFailed { detail })
            }
            None => Ok(self.current()),
        }
    }

    /// Asks for a sign of life, unless that is under way. The question outlasts the call.
    fn probe(&self, doubtful: &Arc<RunningServer>) -> Probe {
        let mut current = self.lock();
        let is_current = Arc::ptr_eq(&current.server, doubtful);
        let open = current.probe.as_ref().filter(|_| is_current);
        if let Some(open) =
            open.filter(|open| open.borrow().is_none() && open.has_changed().is_ok())
        {
            return open.clone();
        }
        let (answer, probe) = watch::channel(None);
        let (server, closing) = (Arc::clone(doubtful), self.closing.clone());
        tokio::spawn(async move {
            let answers = server.answers(&closing).await;
            if let Some((restarts, ended)) = server.restarts()
                && !answers
                && !closing.is_cancelled()
            {
                ended.cancel();
                restarts.hurry();
            }
            // The run that leaves the server waits for the answer, and then may be the last one to hold it.
            drop(server);
            answer.send_replace(Some(answers));
        });
        if is_current {
            current.probe = Some(probe.clone());
        }
        probe
    }

    /// Leaves the server; stops it where no other run uses it. Returns what its sandbox threw away, in words.
    pub(super) async fn close(self) -> Option<String> {
        self.closing.cancel();
        let probe = self.lock().probe.take();
        if let Some(mut probe) = probe {
            // Without an answer the task has ended as well.
            let _ = probe.wait_for(Option::is_some).await;
        }
        let server = self.current();
        let Self { current, name, .. } = self;
        drop(current);
        let discarded = Arc::into_inner(server)?.close().await?;
        Some(format!(
            "{name}: the sandbox threw away what it wrote to {discarded}"
        ))
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
