//! The body of a response as it arrives, within size and time. Does not decode it.

use super::TransportFault;
use super::http::{HttpReply, ResponseHead};
#[cfg(feature = "local")]
use super::local::LocalReply;
use super::scripted::ScriptedReply;
use super::timeouts::{Timeouts, wait};

/// The most bytes of one response that a backend hands out.
const MAX_BODY_BYTES: u64 = 64 * 1024 * 1024;
/// The most bytes of a response with an error status that a backend hands out.
const MAX_ERROR_BODY_BYTES: u64 = 1024 * 1024;

/// An answer that is arriving. Dropping it closes the connection.
#[derive(Debug)]
pub struct Reply {
    body: Body,
    head: ResponseHead,
    left: u64,
    timeouts: Timeouts,
}

#[derive(Debug)]
pub(super) enum Body {
    Http(Box<HttpReply>),
    #[cfg(feature = "local")]
    Local(LocalReply),
    Scripted(ScriptedReply),
}

impl Reply {
    /// An answer of which as many bytes are read as its status allows.
    pub(super) fn new(head: ResponseHead, body: Body, timeouts: Timeouts) -> Self {
        let bound = if head.status >= 400 {
            MAX_ERROR_BODY_BYTES
        } else {
            MAX_BODY_BYTES
        };
        Self::within(bound, head, body, timeouts)
    }

    /// An answer of which `bound` bytes are read, and one more: so the reader sees that there was more.
    fn within(bound: u64, head: ResponseHead, body: Body, timeouts: Timeouts) -> Self {
        Self {
            body,
            head,
            left: bound.saturating_add(1),
            timeouts,
        }
    }

    /// Returns the part before the body.
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
            Body::Http(reply) => wait(&self.timeouts, reply.chunk()).await?,
            #[cfg(feature = "local")]
            Body::Local(reply) => wait(&self.timeouts, reply.chunk()).await?,
            Body::Scripted(reply) => wait(&self.timeouts, reply.chunk()).await?,
        };
        if let Some(chunk) = &next {
            let size = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
            self.left = self.left.saturating_sub(size);
        }
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::inference::ScriptedBackend;

    /// Bytes that are read of a body that arrives byte by byte.
    async fn read_of(body_bytes: usize, bound: u64) -> usize {
        let script = format!(
            r#"{{"proto": "openai-chat", "response": "{}", "status": 200, "stream": true}}"#,
            "\\n".repeat(body_bytes)
        );
        let backend = ScriptedBackend::new(script.parse().unwrap(), 0);
        let timeouts = Timeouts {
            cancel: CancellationToken::new(),
            idle: Duration::from_secs(1),
        };
        let (head, body) = backend.send(&timeouts).await.unwrap();
        let mut reply = Reply::within(bound, head, Body::Scripted(body), timeouts);
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
}
