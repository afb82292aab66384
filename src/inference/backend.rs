use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::http::HttpReply;
#[cfg(feature = "local")]
use super::local::{LocalBackend, LocalReply};
use super::scripted::ScriptedReply;
use super::{HttpBackend, ScriptedBackend, TransportFault, TransportFaultKind, UnavailableBackend};

/// The most bytes of one response that a backend hands out.
pub(super) const MAX_BODY_BYTES: u64 = 64 * 1024 * 1024;
/// The most bytes of a response with an error status that a backend hands out.
pub(super) const MAX_ERROR_BODY_BYTES: u64 = 1024 * 1024;
/// How long a probe may take, whatever the caller's patience.
const MAX_PROBE: Duration = Duration::from_secs(10);
/// How long an embedded model may take to load: a file of gigabytes from a slow disk, on a machine that has other work.
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

/// Why a backend cannot be built: the author of the configuration is to blame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The address is no http or https URL.
    #[error("base URL {got:?} is not an http or https URL: {rule}")]
    BaseUrl {
        /// The address, cut to 200 characters.
        got: String,
        /// What is wrong with it.
        rule: String,
    },
    /// A header's name or value holds bytes that no header may hold; the value is not shown.
    #[error("header {name:?} has a name or value that cannot be sent")]
    Header {
        /// The header's name.
        name: String,
    },
    /// The HTTP client could not be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(String),
}

/// How long to wait, and for whom to stop waiting.
#[derive(Clone, Debug)]
pub struct Patience {
    /// Ends every wait at once.
    pub cancel: CancellationToken,
    /// The longest time without a byte, in the contract `llm_timeout_ms`; every chunk starts it anew.
    pub idle: Duration,
}

/// What a probe found; never an inference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What was seen, for people; holds no key, and of the address neither user nor query.
    pub detail: String,
    /// Whether anything answered; any HTTP answer counts.
    pub responsive: bool,
}

/// What comes before the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// Names in lower case and values; values that are not text are left out.
    pub headers: Vec<(String, String)>,
    /// The HTTP status.
    pub status: u16,
}

/// An answer that is arriving. Dropping it closes the connection.
#[derive(Debug)]
pub struct Reply {
    body: Body,
    head: ResponseHead,
    left: u64,
    patience: Patience,
}

#[derive(Debug)]
pub(super) enum Body {
    Http(HttpReply),
    #[cfg(feature = "local")]
    Local(LocalReply),
    Scripted(ScriptedReply),
}

impl Backend {
    /// Asks whether anything answers, for at most 10 seconds.
    pub async fn probe(&self, cancel: &CancellationToken) -> Probe {
        let patience = Patience {
            cancel: cancel.clone(),
            idle: MAX_PROBE,
        };
        match self {
            Self::Http(backend) => backend.probe(&patience).await,
            Self::Scripted(backend) => backend.probe(),
            #[cfg(feature = "local")]
            Self::Local(backend) => {
                let patience = Patience {
                    idle: MAX_LOAD,
                    ..patience
                };
                backend.probe(&patience).await
            }
            Self::Unavailable(backend) => backend.probe(),
        }
    }

    /// Posts `body` to `path` below the backend's address and waits for the head of the answer.
    ///
    /// # Errors
    /// [`TransportFault`] where no head arrived. A status is never an error here.
    pub async fn send(
        &self,
        path: &str,
        body: Vec<u8>,
        patience: &Patience,
    ) -> Result<Reply, TransportFault> {
        let (head, body) = match self {
            Self::Http(backend) => backend.send(path, body, patience).await?,
            Self::Scripted(backend) => backend.send(patience).await?,
            #[cfg(feature = "local")]
            Self::Local(backend) => backend.send(&body, patience).await?,
            Self::Unavailable(backend) => return Err(backend.fault()),
        };
        let bound = if head.status >= 400 {
            MAX_ERROR_BODY_BYTES
        } else {
            MAX_BODY_BYTES
        };
        Ok(Reply::within(bound, head, body, patience.clone()))
    }
}

impl Reply {
    /// An answer of which `bound` bytes are read, and one more: with it whoever reads sees that there was more.
    fn within(bound: u64, head: ResponseHead, body: Body, patience: Patience) -> Self {
        Self {
            body,
            head,
            left: bound.saturating_add(1),
            patience,
        }
    }

    /// What came before the body.
    #[must_use]
    pub const fn head(&self) -> &ResponseHead {
        &self.head
    }

    /// The next bytes of the body, never empty; none at its end.
    ///
    /// A body of more than 64 MiB (1 MiB with a status of 400 or more) ends after the chunk that passed that bound:
    /// the adapter sees that it is too large. A body of just that size is whole.
    ///
    /// # Errors
    /// [`TransportFault`] where the body did not arrive whole.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, TransportFault> {
        if self.left == 0 {
            return Ok(None);
        }
        let next = match &mut self.body {
            Body::Http(reply) => wait(&self.patience, reply.chunk()).await?,
            #[cfg(feature = "local")]
            Body::Local(reply) => wait(&self.patience, reply.chunk()).await?,
            Body::Scripted(reply) => wait(&self.patience, reply.chunk()).await?,
        };
        if let Some(chunk) = &next {
            let size = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
            self.left = self.left.saturating_sub(size);
        }
        Ok(next)
    }
}

/// Awaits `work` within the caller's patience.
pub(super) async fn wait<T>(
    patience: &Patience,
    work: impl Future<Output = Result<T, TransportFault>>,
) -> Result<T, TransportFault> {
    tokio::select! {
        biased;
        () = patience.cancel.cancelled() => {
            Err(TransportFault::new(TransportFaultKind::Cancelled, "cancelled"))
        }
        done = tokio::time::timeout(patience.idle, work) => done.unwrap_or_else(|_| {
            Err(TransportFault::new(
                TransportFaultKind::Timeout,
                format!("nothing arrived within {} ms", patience.idle.as_millis()),
            ))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that are read of a body that arrives byte by byte.
    async fn read_of(body_bytes: usize, bound: u64) -> usize {
        let script = format!(
            r#"{{"proto": "openai-chat", "response": "{}", "status": 200, "stream": true}}"#,
            "\\n".repeat(body_bytes)
        );
        let backend = ScriptedBackend::new(script.parse().unwrap(), 0);
        let patience = Patience {
            cancel: CancellationToken::new(),
            idle: Duration::from_secs(1),
        };
        let (head, body) = backend.send(&patience).await.unwrap();
        let mut reply = Reply::within(bound, head, body, patience);
        let mut read = 0;
        while let Some(chunk) = reply.chunk().await.unwrap() {
            read += chunk.len();
        }
        read
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_of_just_the_bound_is_whole_and_a_larger_one_shows_that_it_is() {
        assert_eq!(read_of(8, 12).await, 8);
        assert_eq!(read_of(12, 12).await, 12);
        assert_eq!(read_of(16, 12).await, 13);
        assert_eq!(read_of(40, 12).await, 13);
    }

    /// Each wait has the whole patience, so chunks that come in time may take longer than it together.
    #[tokio::test(start_paused = true)]
    async fn every_chunk_starts_the_patience_anew() {
        let patience = Patience {
            cancel: CancellationToken::new(),
            idle: Duration::from_millis(400),
        };
        let chunk = |after_ms| {
            wait(&patience, async move {
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
