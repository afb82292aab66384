//! Reads lines of bounded size. Does not know JSON-RPC.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::frame_head::FrameHead;

const BUFFER_BYTES: usize = 64 * 1024;

/// Reads lines of bounded size and skips longer ones.
#[derive(Debug)]
pub(super) struct LineReader<R> {
    head: FrameHead,
    length: u64,
    limit: usize,
    line: Vec<u8>,
    source: BufReader<R>,
    too_large: bool,
}

/// One line, without its end.
#[derive(Debug)]
pub(super) struct Line {
    /// The line, unless it was longer than the limit.
    pub(super) bytes: Option<Vec<u8>>,
    pub(super) head: FrameHead,
    /// Its size in bytes.
    pub(super) length: u64,
}

impl From<Vec<u8>> for Line {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            head: FrameHead::of(&bytes),
            length: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            bytes: Some(bytes),
        }
    }
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(source: R, limit: usize) -> Self {
        Self {
            head: FrameHead::default(),
            length: 0,
            limit,
            line: Vec::new(),
            source: BufReader::with_capacity(BUFFER_BYTES, source),
            too_large: false,
        }
    }

    /// Returns the next line, or `None` at the end; a last line without an end is incomplete and dropped. Cancel-safe.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let chunk = self.source.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or(chunk);
            self.head.feed(part);
            self.length = self
                .length
                .saturating_add(u64::try_from(part.len()).unwrap_or(u64::MAX));
            if self.too_large || self.line.len() + part.len() > self.limit {
                self.too_large = true;
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.source.consume(used);
            if end.is_some() {
                let bytes = std::mem::take(&mut self.line);
                return Ok(Some(Line {
                    bytes: (!std::mem::take(&mut self.too_large)).then_some(bytes),
                    head: std::mem::take(&mut self.head),
                    length: std::mem::take(&mut self.length),
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LineReader;

    async fn check(input: &[u8], limit: usize, expect: &[(Option<&str>, u64, Option<i64>)]) {
        let mut reader = LineReader::new(input, limit);
        let mut seen = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            let text = line.bytes.map(|b| String::from_utf8(b).unwrap());
            seen.push((text, line.length, line.head.answered_id()));
        }
        let seen: Vec<_> = seen
            .iter()
            .map(|(text, length, id)| (text.as_deref(), *length, *id))
            .collect();
        assert_eq!(seen, expect);
    }

    #[tokio::test]
    async fn lines_come_one_by_one_and_an_unfinished_one_is_dropped() {
        check(
            b"a\n\nbc\nunfinished",
            8,
            &[
                (Some("a"), 1, None),
                (Some(""), 0, None),
                (Some("bc"), 2, None),
            ],
        )
        .await;
    }

    #[tokio::test]
    async fn a_line_over_the_limit_keeps_its_id_and_size_only() {
        check(
            b"{\"result\":\"xxxxxxxxxxxxxxxxxxxxxxxx\",\"id\":4}\n{\"id\":5,\"error\":1}\n",
            24,
            &[
                (None, 44, Some(4)),
                (Some(r#"{"id":5,"error":1}"#), 18, Some(5)),
            ],
        )
        .await;
    }
}
