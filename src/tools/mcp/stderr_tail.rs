//! The end of a server's standard error, for error messages. Records nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::message::Scrubber;

/// Bytes of a server's standard error that are kept.
const TAIL_BYTES: usize = 4_096;
/// Bytes of it that an error quotes.
const QUOTED_BYTES: usize = 1_024;

/// The end of what a server wrote to its standard error.
#[derive(Debug)]
pub(super) struct StderrTail {
    bytes: Mutex<VecDeque<u8>>,
    scrub: Arc<dyn Scrubber>,
}

impl StderrTail {
    /// Nothing written yet; what is quoted is scrubbed first.
    pub(super) fn new(scrub: Arc<dyn Scrubber>) -> Self {
        Self {
            bytes: Mutex::default(),
            scrub,
        }
    }

    pub(super) fn push(&self, bytes: &[u8]) {
        let mut tail = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(bytes);
        let excess = tail.len().saturating_sub(TAIL_BYTES);
        tail.drain(..excess);
    }

    /// The last lines on one line, for an error; empty where nothing was written.
    pub(super) fn quoted(&self) -> String {
        let tail: Vec<u8> = {
            let tail = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            tail.iter().copied().collect()
        };
        // Before it is cut: half a secret would not be found.
        let text = self
            .scrub
            .owned_text(String::from_utf8_lossy(&tail).into_owned());
        let mut start = text.len().saturating_sub(QUOTED_BYTES);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        let lines: Vec<String> = text
            .get(start..)
            .unwrap_or_default()
            .lines()
            .map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>())
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        lines.join(" | ")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{QUOTED_BYTES, StderrTail, TAIL_BYTES};
    use crate::message::NoSecrets;

    #[test]
    fn the_end_is_kept_and_quoted_on_one_line() {
        let tail = StderrTail::new(Arc::new(NoSecrets));
        assert_eq!(tail.quoted(), "");
        tail.push(b"first\n\n  second \x07\nlast");
        assert_eq!(tail.quoted(), "first | second | last");
        tail.push("é".repeat(TAIL_BYTES).as_bytes());
        assert!(tail.quoted().len() <= QUOTED_BYTES);
        assert!(tail.quoted().chars().all(|c| c == 'é'));
        assert!(tail.bytes.lock().unwrap().len() <= TAIL_BYTES);
    }
}
