//! The waiting times of a backend, and its cancellation. Does not retry.

use std::fmt;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{TransportFault, TransportFaultKind};

/// The waiting time, and the token that cancels the wait.
#[derive(Clone, Debug)]
pub struct Timeouts {
    /// Ends every wait at once.
    pub cancel: CancellationToken,
    /// The longest time without a byte, in the contract `llm_timeout_ms`; every chunk restarts it.
    pub idle: Duration,
}

/// Awaits `work` within the caller's timeouts.
pub(super) async fn wait<T>(
    timeouts: &Timeouts,
    work: impl Future<Output = Result<T, TransportFault>>,
) -> Result<T, TransportFault> {
    tokio::select! {
        biased;
        () = timeouts.cancel.cancelled() => {
            Err(TransportFault::new(TransportFaultKind::Cancelled, "cancelled"))
        }
        done = tokio::time::timeout(timeouts.idle, work) => done.unwrap_or_else(|_| {
            Err(TransportFault::new(
                TransportFaultKind::Timeout,
                format!("nothing arrived within {} ms", timeouts.idle.as_millis()),
            ))
        }),
    }
}

/// A value that must not be written anywhere: its `Debug` form shows nothing of it, and it has no `Display`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    /// Wraps a resolved value.
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value, for the one place that sends it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each wait has the whole timeout, so chunks that come in time may take longer than it together.
    /// 001/2.knobs.6
    #[tokio::test(start_paused = true)]
    async fn every_chunk_starts_the_timeout_anew() {
        let timeouts = Timeouts {
            cancel: CancellationToken::new(),
            idle: Duration::from_millis(400),
        };
        let chunk = |after_ms| {
            wait(&timeouts, async move {
                tokio::time::sleep(Duration::from_millis(after_ms)).await;
                Ok(())
            })
        };
        for _ in 0..5 {
            assert_eq!(chunk(399).await, Ok(()));
        }
        assert_eq!(
            chunk(401).await.unwrap_err().kind,
            TransportFaultKind::Timeout
        );
    }
}
