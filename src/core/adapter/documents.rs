//! Splits a body into its JSON documents. Knows brackets and strings; does not know any protocol.

use serde_json::value::RawValue;

use super::fold::Failure;
use crate::message::FailureCode;

/// The JSON documents of a body that holds several; nothing after the first fault.
#[derive(Debug)]
pub(super) struct Documents<'a> {
    /// Whether they are elements of one array, separated by commas.
    in_array: bool,
    /// Whether the array was closed, or a fault was found.
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

    /// What follows the documents so far.
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
