use std::sync::Arc;

use super::{Verifier, VerifyOptions};
use crate::message::RunId;
use crate::transcript::{LineReader, Place, Trust, VerifyReport};

/// A [`Verifier`] fed with the lines of a file.
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
        self.verifier.take(Place::Line(number), record)
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
