//! Verifies a transcript file line by line. Does not open the file.

use std::sync::Arc;

use super::{Verifier, VerifyOptions};
use crate::message::RunId;
use crate::transcript::{LineReader, Location, Trust, VerifyReport};

/// Verifies a stored run line by line: recomputes every hash from the stored bytes, and stops at the first flaw.
///
/// ```
/// use std::io::{BufRead, BufReader};
///
/// use monolith_core::transcript::{LineVerifier, VerifyOptions};
///
/// let mut file = BufReader::new(std::fs::File::open("../../replay/v1/core.valid_call.jsonl")?);
/// let mut verifier = LineVerifier::new(VerifyOptions::default());
/// let mut line = Vec::new();
/// while file.read_until(b'\n', &mut line)? > 0 && verifier.line(&line) {
///     line.clear();
/// }
/// assert!(verifier.finish().holds());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LineVerifier {
    reader: LineReader,
    verifier: Verifier,
}

impl LineVerifier {
    /// A verifier before the first line.
    #[must_use]
    pub fn new(options: VerifyOptions) -> Self {
        Self {
            reader: LineReader::new(),
            verifier: Verifier::new(options),
        }
    }

    /// Holds the file against keys, heads and witnesses from outside it.
    #[must_use]
    pub fn trusting(self, trust: Arc<Trust>) -> Self {
        let verifier = self.verifier.trusting(trust);
        Self { verifier, ..self }
    }

    /// Takes the next line, with its line feed. False once a flaw is found: more need not be read.
    pub fn line(&mut self, line: &[u8]) -> bool {
        let number = self.reader.line().saturating_add(1);
        let record = self.reader.read(line).map_err(|fault| fault.flaw);
        self.verifier.take(Location::Line(number), record)
    }

    /// The name of the run, once its header was read and holds.
    #[must_use]
    pub fn run_id(&self) -> Option<&RunId> {
        self.verifier.header.as_ref().map(|header| &header.run_id)
    }

    /// Judges what can be judged only at the end, and reports.
    #[must_use]
    pub fn finish(self) -> VerifyReport {
        self.verifier.finish()
    }
}

/// Verifies a file given as its lines, each with its line feed.
///
/// ```
/// use monolith_core::transcript::{VerifyOptions, verify_lines};
///
/// let text = std::fs::read_to_string("../../replay/v1/core.valid_call.jsonl")?;
/// let report = verify_lines(text.split_inclusive('\n'), VerifyOptions::default());
/// assert!(report.holds());
///
/// let forged = text.replacen("echo", "etch", 1);
/// let report = verify_lines(forged.split_inclusive('\n'), VerifyOptions::default());
/// assert!(report.first_bad.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify_lines<L: AsRef<[u8]>>(
    lines: impl IntoIterator<Item = L>,
    options: VerifyOptions,
) -> VerifyReport {
    let mut verifier = LineVerifier::new(options);
    for line in lines {
        if !verifier.line(line.as_ref()) {
            break;
        }
    }
    verifier.finish()
}
