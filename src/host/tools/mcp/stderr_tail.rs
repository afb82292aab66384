//! The output of a server that is no message, for errors: the end of its standard error, and a line of its standard output. Records
//! nothing.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use monolith_core::message::Scrubber;

/// Maximum size of the standard error that is kept.
const TAIL_BYTES: usize = 256 * 1024;
/// Bytes at the front of a cut tail that are not quoted: they may be the unrecognisable rest of a secret. Larger than any common form
/// of a secret.
const OVERLAP_BYTES: usize = 128 * 1024;
/// Bytes of it that an error quotes.
const QUOTED_BYTES: usize = 1_024;
/// Bytes of a line of its standard output that are kept, and characters of it that an error quotes.
const STRAY_BYTES: usize = 16 * 1024;
const STRAY_CHARS: usize = 200;
/// Maximum number of line ends that are tried for one outside of a secret.
const MOST_TRIES: usize = 16;

/// The end of what a server wrote to its standard error.
#[derive(Debug)]
pub(super) struct StderrTail {
    kept: Mutex<Kept>,
    scrub: Arc<dyn Scrubber>,
    /// The first line of its standard output that is no message.
    stray: OnceLock<Vec<u8>>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    /// True if the front was cut off.
    cut: bool,
}

impl StderrTail {
    /// An empty tail; `scrub` cleans every quotation.
    pub(super) fn new(scrub: Arc<dyn Scrubber>) -> Self {
        Self {
            kept: Mutex::default(),
            scrub,
            stray: OnceLock::new(),
        }
    }

    /// The scrubber of the server's output.
    pub(super) fn scrubber(&self) -> &dyn Scrubber {
        self.scrub.as_ref()
    }

    /// Keeps the first line of the standard output that is no message.
    pub(super) fn keep_stray(&self, line: &[u8]) {
        if !line.trim_ascii().is_empty() {
            let kept = line.get(..STRAY_BYTES).unwrap_or(line);
            self.stray.get_or_init(|| kept.to_owned());
        }
    }

    /// The output of the server as clauses to append to a reason; empty if nothing can be quoted.
    pub(super) fn clauses(&self) -> String {
        let mut clauses = String::new();
        let stray = self.stray.get().map(|line| String::from_utf8_lossy(line));
        let stray = stray.map(|line| self.on_one_line(&self.scrubbed(&line)));
        if let Some(stray) = stray.filter(|stray| !stray.is_empty()) {
            let stray: String = stray.chars().take(STRAY_CHARS).collect();
            let _ = write!(
                clauses,
                "; it wrote {stray:?} to its standard output, which is for MCP alone"
            );
        }
        let end = self.quoted();
        if !end.is_empty() {
            let _ = write!(clauses, "; its standard error ended with: {end}");
        }
        clauses
    }

    pub(super) fn push(&self, bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes.extend(bytes);
        let excess = kept.bytes.len().saturating_sub(TAIL_BYTES);
        kept.bytes.drain(..excess);
        kept.cut |= excess > 0;
    }

    /// The last lines on one line, for an error; empty if nothing can be quoted.
    pub(super) fn quoted(&self) -> String {
        let line = self.on_one_line(&self.scrubbed_end());
        let mut start = line.len().saturating_sub(QUOTED_BYTES);
        while !line.is_char_boundary(start) {
            start += 1;
        }
        line.get(start..).unwrap_or_default().to_owned()
    }

    /// Joins the lines of a scrubbed text, without control characters.
    fn on_one_line(&self, text: &str) -> String {
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>())
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        // The removed characters may have hidden a secret.
        self.scrubbed(&lines.join(" | "))
    }

    /// Removes secrets from a text of the server. Scrub first, then cut.
    pub(super) fn scrubbed(&self, text: &str) -> String {
        self.scrub.cut_text(text)
    }

    /// The quotable end, scrubbed as a whole: half a secret would not be found.
    fn scrubbed_end(&self) -> String {
        let (tail, cut) = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let tail: Vec<u8> = kept.bytes.iter().copied().collect();
            (String::from_utf8_lossy(&tail).into_owned(), kept.cut)
        };
        let whole = self.scrubbed(&tail);
        if !cut {
            return whole;
        }
        // If scrubbing the text up to a line end gives the same with and without the rest, no secret spans that line end.
        let ends = tail.match_indices('\n').map(|(at, _)| at + 1);
        let mut behind = ends.filter(|at| *at >= OVERLAP_BYTES).take(MOST_TRIES);
        behind
            .find_map(|at| whole.strip_prefix(self.scrub.text(tail.get(..at)?).as_ref()))
            .unwrap_or_default()
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{OVERLAP_BYTES, QUOTED_BYTES, StderrTail, TAIL_BYTES};
    use monolith_core::contract::RedactionTerms;
    use monolith_core::message::{NoSecrets, Scrubber};
    use monolith_core::session::{KnownSecrets, Redactor};

    #[test]
    fn the_end_is_kept_and_quoted_on_one_line() {
        let tail = StderrTail::new(Arc::new(NoSecrets));
        assert_eq!(tail.quoted(), "");
        tail.push(b"first\n\n  second \x07\nlast");
        assert_eq!(tail.quoted(), "first | second | last");
        let line = "é".repeat(QUOTED_BYTES) + "\n";
        tail.push(line.repeat(TAIL_BYTES / line.len() + 1).as_bytes());
        assert!(tail.quoted().len() <= QUOTED_BYTES);
        assert!(tail.quoted().chars().all(|c| "é| ".contains(c)));
        assert!(tail.kept.lock().unwrap().bytes.len() <= TAIL_BYTES);
    }

    fn knowing(value: &str) -> StderrTail {
        let secrets = KnownSecrets::of([value], &RedactionTerms::default());
        let redactor = Redactor::fixed(Arc::new(secrets));
        let redactor: Arc<dyn Scrubber> = Arc::new(redactor);
        StderrTail::new(redactor)
    }

    #[test]
    fn nothing_is_quoted_of_a_secret_that_was_cut_wherever_that_was() {
        let secret: String = (10..110).fold(String::new(), |text, n| text + &n.to_string() + "-");
        for line in [format!("{secret}\n"), format!("{secret}\nand words\n")] {
            for end in (0..line.len()).step_by(131) {
                let tail = knowing(&secret);
                tail.push(line.repeat(TAIL_BYTES / line.len() + 2).as_bytes());
                tail.push(&vec![b'.'; end]);
                let quoted = tail.quoted();
                assert!(!quoted.contains("-11-12-"), "{end}: {quoted}");
            }
        }
        // Text without lines has no place that surely lies in no secret.
        let tail = knowing(&secret);
        tail.push(secret.repeat(TAIL_BYTES / secret.len() + 1).as_bytes());
        assert_eq!(tail.quoted(), "");
        tail.push(&vec![b'\n'; OVERLAP_BYTES]);
        tail.push(b"the end");
        assert_eq!(tail.quoted(), "the end");
    }

    #[test]
    fn the_first_line_that_is_no_message_is_quoted_without_secrets() {
        let tail = knowing("correct horse battery");
        tail.keep_stray(b" \r");
        assert_eq!(tail.clauses(), "");
        tail.keep_stray(b"key \"correct ho\x07rse battery\"\x1b[31m");
        tail.keep_stray(b"later");
        tail.push(b"bye");
        assert_eq!(
            tail.clauses(),
            "; it wrote \"key \\\"[SECRET]\\\"[31m\" to its standard output, which is for MCP alone; \
             its standard error ended with: bye"
        );
    }

    #[test]
    fn what_is_left_out_of_a_line_hides_no_secret() {
        let tail = knowing("correct horse battery");
        tail.push(b"correct ho\x07rse battery");
        assert_eq!(tail.quoted(), "[SECRET]");
        let tail = knowing("correct horse battery");
        tail.push(b"it is correct horse bat");
        assert_eq!(tail.quoted(), "it is [SECRET]");
    }
}
