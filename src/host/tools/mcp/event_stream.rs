//! The events of a stream that a server sends, of bounded size. Does not know what they say.

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use reqwest::Response;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};

/// Maximum size of an event.
const EVENT_BYTES: usize = 16 << 20;

pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The events of a stream; one over 16 MiB ends it with [`Broken::TooLarge`].
pub(super) fn events(response: Response) -> Events {
    let start = Some((response, EventSize::default()));
    let chunks = stream::unfold(start, move |state| async move {
        let (mut response, mut size) = state?;
        match response.chunk().await {
            Ok(Some(chunk)) if size.grown(&chunk) > EVENT_BYTES => {
                Some((Err(Broken::TooLarge), None))
            }
            Ok(Some(chunk)) => Some((Ok(chunk), Some((response, size)))),
            Ok(None) => None,
            Err(fault) => Some((Err(Broken::Connection(fault.without_url())), None)),
        }
    });
    SseStream::from_bytes_stream(chunks).boxed()
}

/// The error that breaks a stream off.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error(transparent)]
    Connection(reqwest::Error),
    #[error("an event is too large")]
    TooLarge,
}

impl Broken {
    /// True if the stream broke off for that reason.
    pub(super) fn is_too_large(fault: &SseError) -> bool {
        matches!(fault, SseError::Body(fault) if matches!(fault.downcast_ref(), Some(Self::TooLarge)))
    }
}

/// The size of the event that is being received, line ends included.
#[derive(Debug, Default)]
struct EventSize {
    after_cr: bool,
    bytes: usize,
    line: usize,
}

impl EventSize {
    /// Adds bytes; returns the size so far of the largest event that they belong to.
    fn grown(&mut self, bytes: &[u8]) -> usize {
        let mut largest = 0;
        for byte in bytes {
            let second_half = std::mem::replace(&mut self.after_cr, *byte == b'\r');
            match byte {
                b'\n' if second_half => {}
                b'\n' | b'\r' if self.line == 0 => self.bytes = 0,
                b'\n' | b'\r' => self.line = 0,
                _ => self.line = self.line.saturating_add(1),
            }
            self.bytes = self.bytes.saturating_add(1);
            largest = largest.max(self.bytes);
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::EventSize;

    #[test]
    fn an_event_is_measured_from_blank_line_to_blank_line() {
        let check = |text: &str, expect: usize| {
            let mut whole = EventSize::default();
            assert_eq!(whole.grown(text.as_bytes()), expect, "{text:?}");
            let mut bytewise = EventSize::default();
            let sizes = text.as_bytes().chunks(1).map(|byte| bytewise.grown(byte));
            assert_eq!(sizes.max().unwrap_or(0), expect, "byte by byte: {text:?}");
        };
        check("", 0);
        check("data: x\n", 8);
        check("data: x\n\ndata: yy\n\n", 10);
        check("data: x\r\n\r\ndata: yy\r\n\r\n", 12);
        check("data: x\r\rdata: yy\r\r", 10);
        check(":\n\n:\n\n:\n\n", 3);
    }
}
