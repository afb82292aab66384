//! A backend of any kind: probe and send. Does not know protocols.

use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "local")]
use super::LocalBackend;
use super::reply::Body;
use super::{
    HttpBackend, Probe, Reply, ScriptedBackend, Timeouts, TransportFault, TransportFaultKind,
};

/// Maximum time for a probe, even if the caller's timeouts are longer.
const MAX_PROBE: Duration = Duration::from_secs(10);
/// Maximum time to load an embedded model: a file of gigabytes from a slow disk, on a machine that has other work.
#[cfg(feature = "local")]
const MAX_LOAD: Duration = Duration::from_secs(300);

/// Something that answers requests with bytes.
#[derive(Debug)]
pub enum Backend {
    /// A server that speaks HTTP.
    Http(HttpBackend),
    /// A file of canned responses.
    Scripted(ScriptedBackend),
    /// The embedded model.
    #[cfg(feature = "local")]
    Local(LocalBackend),
    /// A backend that cannot be there.
    Unavailable(UnavailableBackend),
}

impl Backend {
    /// Asks whether anything answers, for at most 10 seconds; with the protocol's `headers`.
    pub async fn probe(&self, headers: &[(String, String)], cancel: &CancellationToken) -> Probe {
        let timeouts = Timeouts {
            cancel: cancel.clone(),
            idle: MAX_PROBE,
        };
        match self {
            Self::Http(backend) => backend.probe(headers, &timeouts).await,
            Self::Scripted(backend) => backend.probe(),
            #[cfg(feature = "local")]
            Self::Local(backend) => {
                let timeouts = Timeouts {
                    idle: MAX_LOAD,
                    ..timeouts
                };
                backend.probe(&timeouts).await
            }
            Self::Unavailable(backend) => backend.probe(),
        }
    }

    /// Posts `body` with the protocol's `headers` to `path` below the backend's address and waits for the head of the answer.
    ///
    /// # Errors
    /// `TransportFault` where no head arrived. A status is never an error here.
    pub async fn send(
        &self,
        path: &str,
        headers: &[(String, String)],
        body: Bytes,
        timeouts: &Timeouts,
    ) -> Result<Reply, TransportFault> {
        let (head, body) = match self {
            Self::Http(backend) => {
                let (head, reply) = backend.send(path, headers, body, timeouts).await?;
                (head, Body::Http(Box::new(reply)))
            }
            Self::Scripted(backend) => {
                let (head, reply) = backend.send(timeouts).await?;
                (head, Body::Scripted(reply))
            }
            #[cfg(feature = "local")]
            Self::Local(backend) => {
                let (head, reply) = backend.send(&body, timeouts).await?;
                (head, Body::Local(reply))
            }
            Self::Unavailable(backend) => return Err(backend.fault()),
        };
        Ok(Reply::new(head, body, timeouts.clone()))
    }
}

/// A backend that cannot be there, and why: it never answers.
#[derive(Clone, Debug)]
pub struct UnavailableBackend {
    /// For people.
    pub reason: String,
}

impl UnavailableBackend {
    pub(super) fn probe(&self) -> Probe {
        Probe {
            detail: self.reason.clone(),
            responsive: false,
            ..Probe::default()
        }
    }

    pub(super) fn fault(&self) -> TransportFault {
        TransportFault::new(TransportFaultKind::Engine, self.reason.clone())
    }
}
