//! Splits a body into its JSON documents. Knows brackets and strings; does not know any protocol.

use serde_json::value::RawValue;

use super::fold::{Failure, Fold, take_piece};
use crate::message::FailureCode;

/// The JSON documents of a body that holds several; nothing after the first fault.
#[derive(Debug)]
pub(super) struct Documents<'a> {
    /// True if they are elements of one array, separated by commas.
    in_array: bool,
    /// True if the array was closed, or an error was found.
    over: bool,
    rest: &'a str,
    started: bool,
}

impl<'a> Documents<'a> {
    /// One document after another, white space between them.
    pub(super) fn lines(text: &'a str) -> Self {
        Self {
            in_array: false,
            over: false,
            rest: text,
            started: false,
        }
    }

    /// The elements of one array.
    pub(super) fn array(text: &'a str) -> Self {
        Self {
            in_array: true,
            ..Self::lines(text.trim_start().strip_prefix('[').unwrap_or(text))
        }
    }

    /// Returns the text after the documents so far.
    pub(super) const fn rest(&self) -> &'a str {
        self.rest
    }

    /// The separator before the next document; true if it has none.
    fn at_end(&mut self) -> Result<bool, FailureCode> {
        self.rest = self.rest.trim_start();
        if !self.in_array {
            return Ok(self.rest.is_empty());
        }
        if let Some(after) = self.rest.strip_prefix(']') {
            return if after.trim().is_empty() {
                Ok(true)
            } else {
                Err(FailureCode::BodyInvalidJson)
            };
        }
        if self.rest.is_empty() {
            return Err(FailureCode::StreamIncomplete);
        }
        if self.started {
            let after = self.rest.strip_prefix(',');
            self.rest = after.ok_or(FailureCode::BodyInvalidJson)?.trim_start();
        }
        if self.rest.is_empty() {
            return Err(FailureCode::StreamIncomplete);
        }
        Ok(false)
    }

    fn cut(&mut self) -> Result<Option<&'a str>, FailureCode> {
        if self.at_end()? {
            return Ok(None);
        }
        self.started = true;
        let rest = self.rest;
        let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<&'a RawValue>();
        match documents.next() {
            Some(Ok(raw)) => {
                self.rest = rest.get(documents.byte_offset()..).unwrap_or_default();
                Ok(Some(raw.get()))
            }
            Some(Err(error)) if !error.is_eof() => Err(FailureCode::BodyInvalidJson),
            Some(Err(_)) | None => Err(FailureCode::StreamIncomplete),
        }
    }
}

impl<'a> Iterator for Documents<'a> {
    type Item = Result<&'a str, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let cut = self.cut();
        self.over = !matches!(cut, Ok(Some(_)));
        match cut {
            Ok(text) => text.map(Ok),
            Err(code) => Some(Err(Failure::new(code, ""))),
        }
    }
}

/// The received bytes that are no whole document yet. A document counts once the line that it ends in is whole, so nothing
/// depends on which bytes arrived together.
#[derive(Debug, Default)]
pub(super) struct LinesBody {
    /// Length searched for line feeds.
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
                    if let Err(failure) = take_piece(fold, document) {
                        fold.progress().fail(failure);
                    }
                }
            }
        }
        text.len() - documents.rest().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cut: Documents<'_>, expect: &[Result<&str, FailureCode>]) {
        let got: Vec<_> = cut
            .map(|found| found.map_err(|failure| failure.code))
            .collect();
        assert_eq!(got, expect);
    }

    #[test]
    fn lines_are_documents_and_a_cut_one_is_incomplete() {
        use FailureCode::{BodyInvalidJson, StreamIncomplete};
        check(
            Documents::lines("{\"a\":1}\n\n {}\r\n"),
            &[Ok("{\"a\":1}"), Ok("{}")],
        );
        check(
            Documents::lines("{} {\"a\":"),
            &[Ok("{}"), Err(StreamIncomplete)],
        );
        check(
            Documents::lines("{} nonsense {}"),
            &[Ok("{}"), Err(BodyInvalidJson)],
        );
        check(Documents::lines(" "), &[]);
    }

    #[test]
    fn elements_are_documents_and_an_open_array_is_incomplete() {
        use FailureCode::{BodyInvalidJson, StreamIncomplete};
        check(Documents::array("[{},\n{}\n]\n"), &[Ok("{}"), Ok("{}")]);
        check(Documents::array("[]"), &[]);
        for open in ["[{}", "[{},", "[{},{\"a\""] {
            check(Documents::array(open), &[Ok("{}"), Err(StreamIncomplete)]);
        }
        for broken in ["[{} {}]", "[{}] x", "[{},]"] {
            check(Documents::array(broken), &[Ok("{}"), Err(BodyInvalidJson)]);
        }
    }
}
