//! A server that a run uses, and its restarts (001 §6). Does not know which calls are made, and never repeats one.
//!
//! A server that is down is started again by the next call that needs it: at once, and after a start that failed not before 1, 2, 5, 10,
//! 30 and then every 60 seconds have passed. Nothing happens between calls. Runs that shared the server share these delays, and the
//! server that comes up. A call that timed out is no proof that its server is down: the next call asks it for a sign of life first.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::mcp::Timeouts;
use super::pool::{Key, ServerHost};
use super::running::RunningServer;
use super::{CallTerms, ToolServerError};
use monolith_core::contract::ToolPin;
use monolith_core::kernel::CallOrder;
use monolith_core::message::{ToolOutcome, char_prefix};

/// Bytes of a fault's detail that are recorded.
const DETAIL_BYTES: usize = 2_048;

/// A server as one run holds it: another one may take its place.
#[derive(Debug)]
pub(super) struct KeptServer {
    current: Mutex<Arc<RunningServer>>,
    host: ServerHost,
    key: Key,
    timeouts: Timeouts,
}

impl KeptServer {
    pub(super) fn new(
        server: Arc<RunningServer>,
        key: Key,
        host: ServerHost,
        timeouts: Timeouts,
    ) -> Self {
        Self {
            current: Mutex::new(server),
            host,
            key,
            timeouts,
        }
    }

    /// The server that calls go to now.
    pub(super) fn current(&self) -> Arc<RunningServer> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Performs one call to its end, of a tool with that pin; starts the server again first where it is down.
    pub(super) async fn call(
        &self,
        tool: &str,
        expected: ToolPin,
        order: &CallOrder,
        terms: &CallTerms<'_>,
    ) -> ToolOutcome {
        let server = self.current();
        if server.is_sound() {
            return server.call(tool, expected, order, terms).await;
        }
        let began = Instant::now();
        let timeout = Duration::from_millis(terms.timeout_ms);
        let server = tokio::select! {
            biased;
            () = terms.cancel.cancelled() => return ToolOutcome::Cancelled,
            found = Box::pin(self.sound(server, terms.cancel)) => match found {
                Ok(server) => server,
                Err(outcome) => return outcome,
            },
            () = tokio::time::sleep(timeout) => return ToolOutcome::RestartInProgress,
        };
        let rest = timeout.saturating_sub(began.elapsed()).as_millis();
        let terms = CallTerms {
            timeout_ms: u64::try_from(rest).unwrap_or(u64::MAX),
            ..*terms
        };
        server.call(tool, expected, order, &terms).await
    }

    /// The server where it gives a sign of life, else another one in its place.
    async fn sound(
        &self,
        doubtful: Arc<RunningServer>,
        cancel: &CancellationToken,
    ) -> Result<Arc<RunningServer>, ToolOutcome> {
        let Some(restarts) = doubtful.restarts() else {
            return Ok(Arc::clone(&doubtful));
        };
        let mut restarts = restarts.lock().await;
        let current = self.current();
        if !Arc::ptr_eq(&current, &doubtful) {
            // Another call of this run was first.
            return Ok(current);
        }
        if doubtful.is_sound() || (!doubtful.is_closed() && doubtful.answers(cancel).await) {
            return Ok(current);
        }
        doubtful.give_up();
        if restarts.is_waiting(Instant::now()) {
            return Err(ToolOutcome::RestartInProgress);
        }
        match self.start(cancel).await {
            Ok(server) => {
                let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
                *current = Arc::clone(&server);
                Ok(server)
            }
            Err(fault) if matches!(*fault, ToolServerError::Cancelled) => {
                Err(ToolOutcome::Cancelled)
            }
            Err(fault) => {
                restarts.note_failure(Instant::now());
                let detail = self.host.scrub.owned_text(format!("failed to {fault}"));
                tracing::error!(server = %self.key.name, failed = restarts.failed(), "a tool server did not come up again: {detail}");
                Err(ToolOutcome::RestartFailed {
                    detail: char_prefix(&detail, DETAIL_BYTES).to_owned(),
                })
            }
        }
    }

    async fn start(
        &self,
        cancel: &CancellationToken,
    ) -> Result<Arc<RunningServer>, Arc<ToolServerError>> {
        tracing::error!(server = %self.key.name, "a tool server is down and is started again");
        let timeouts = (self.timeouts, &self.host.scrub);
        if self.key.spec.is_shared() {
            // It takes the place of the one that is down.
            return self
                .host
                .pool
                .server(&self.key, None, timeouts, cancel)
                .await;
        }
        let own = self.key.start(timeouts, cancel).await;
        own.map(Arc::new).map_err(Arc::new)
    }

    /// Leaves the server; stops it where no other run uses it. Returns what its sandbox threw away, in words.
    pub(super) async fn close(self) -> Option<String> {
        let name = self.key.name;
        let current = self
            .current
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let discarded = Arc::into_inner(current)?.close().await?;
        Some(format!(
            "{name}: the sandbox threw away what it wrote to {discarded}"
        ))
    }
}
