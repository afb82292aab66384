//! A body of one JSON document after another, cut while it arrives.

use super::documents::Documents;
use super::fold::{Failure, Fold, Form};
use crate::message::FailureCode;

/// What has arrived and is no whole document yet. A document counts once the line is whole that it ends in, so nothing depends on
/// which bytes arrived together.
#[derive(Debug, Default)]
pub(super) struct LinesBody {
    /// Where no line feed was found yet.
    searched: usize,
    /// A document that spans lines is looked at again when it has doubled.
    next_look: usize,
    rest: Vec<u8>,
}

impl LinesBody {
    pub(super) fn push<F: Fold>(&mut self, bytes: &[u8], fold: &mut F) {
        self.rest.extend_from_slice(bytes);
        let new = self.rest.get(self.searched..).unwrap_or_default();
        let last = new.iter().rposition(|byte| *byte == b'\n');
        let whole_lines = last.map(|at| self.searched + at + 1);
        self.searched = self.rest.len();
        if let Some(end) = whole_lines.filter(|end| *end >= self.next_look) {
            let taken = self.take(end, fold, false);
            let spans = self
                .rest
                .get(taken..end)
                .is_some_and(|line| !line.trim_ascii().is_empty());
            self.rest.drain(..taken);
            self.searched = self.rest.len();
            self.next_look = if spans { 2 * self.rest.len() } else { 0 };
        }
    }

    /// Takes what is left: what is no whole document was cut off.
    pub(super) fn finish<F: Fold>(mut self, fold: &mut F) {
        self.take(self.rest.len(), fold, true);
    }

    /// Takes the documents in the first `end` bytes; returns how many bytes they are.
    fn take<F: Fold>(&mut self, end: usize, fold: &mut F, is_whole: bool) -> usize {
        let bytes = self.rest.get(..end).unwrap_or_default();
        let (text, is_text) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, true),
            Err(fault) => {
                let valid = bytes.get(..fault.valid_up_to()).unwrap_or_default();
                (std::str::from_utf8(valid).unwrap_or_default(), false)
            }
        };
        let mut documents = Documents::lines(text);
        while !fold.is_done() && !fold.progress().has_failed() {
            match documents.next() {
                None if is_text => break,
                Some(Err(fault))
                    if is_text && !is_whole && fault.code == FailureCode::StreamIncomplete =>
                {
                    break;
                }
                Some(Err(fault)) if is_text => fold.progress().fail(fault),
                // The document in which the text ends is none.
                None | Some(Err(_)) => {
                    let failure = Failure::new(FailureCode::BodyInvalidJson, "");
                    fold.progress().fail(failure);
                }
                Some(Ok(document)) => {
                    let taken = fold.take(document, Form::Piece);
                    if let Err(failure) = taken.map_err(|failure| failure.in_document(document)) {
                        fold.progress().fail(failure);
                    }
                }
            }
        }
        text.len() - documents.rest().len()
    }
}
