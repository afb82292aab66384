//! The task that starts a server again when it is down (001 §6). Does not know which calls are made.
//!
//! The first start follows at once, the next ones after 1, 2, 5, 10, 30 and then every 60 seconds, until one succeeds. The task ends
//! with the last run that uses the server.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::ToolServerError;
use super::mcp::Timeouts;
use super::pool::{Key, ServerHost};
use super::restarts::{Restarts, State, delay};
use super::running::RunningServer;
use monolith_core::message::char_prefix;

/// Bytes of a fault's detail that are recorded.
const DETAIL_BYTES: usize = 2_048;

/// The terms on which a server is started again.
#[derive(Clone, Debug)]
pub(super) struct RestartLoop {
    pub(super) host: ServerHost,
    pub(super) key: Key,
    pub(super) timeouts: Timeouts,
}

impl RestartLoop {
    /// Starts the server again once it is down, unless another run does that already.
    pub(super) fn watch(&self, server: &RunningServer) {
        let Some((restarts, ended)) = server.restarts() else {
            return;
        };
        if !restarts.take_watch() {
            return;
        }
        let (task, restarts, ended) = (self.clone(), Arc::clone(restarts), ended.clone());
        tokio::spawn(async move {
            let unused = restarts.unused().clone();
            tokio::select! {
                biased;
                () = unused.cancelled() => {}
                () = task.restart(&restarts, &ended) => {}
            }
        });
    }

    async fn restart(self, restarts: &Restarts<RunningServer>, ended: &CancellationToken) {
        ended.cancelled().await;
        let mut failed = restarts.failed_before();
        tokio::select! {
            () = tokio::time::sleep(delay(failed)) => {}
            () = restarts.hurried() => {}
        }
        loop {
            tracing::error!(server = %self.key.name, "a tool server is down; restarting it");
            match self.start(restarts.unused()).await {
                Ok(server) => {
                    if let Some((next, _)) = server.restarts() {
                        next.came_after(failed);
                    }
                    self.watch(&server);
                    restarts.note(State::Up(server));
                    return;
                }
                Err(fault) if matches!(*fault, ToolServerError::Cancelled) => return,
                Err(fault) => {
                    failed += 1;
                    let detail = self.host.scrub.owned_text(format!("failed to {fault}"));
                    tracing::error!(server = %self.key.name, failed, "a tool server did not restart: {detail}");
                    let detail = char_prefix(&detail, DETAIL_BYTES).to_owned();
                    restarts.note(State::Failed { detail, failed });
                }
            }
            tokio::time::sleep(delay(failed)).await;
            restarts.note(State::Starting);
        }
    }

    async fn start(
        &self,
        cancel: &CancellationToken,
    ) -> Result<Arc<RunningServer>, Arc<ToolServerError>> {
        let timeouts = (self.timeouts, &self.host.scrub);
        if self.key.spec.is_shared() {
            // It takes the place of the one that is down.
            let pool = &self.host.pool;
            return pool.server(&self.key, None, timeouts, cancel).await;
        }
        let own = self.key.start(timeouts, cancel).await;
        own.map(Arc::new).map_err(Arc::new)
    }
}
