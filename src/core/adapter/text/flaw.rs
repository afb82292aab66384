//! Why a text breaks its profile's form, and a repair if there is one. Plain data; decides nothing.

use std::ops::Range;

use crate::message::FailureCode;

/// What a family's form broke, and what would repair it.
#[derive(Debug)]
pub(super) struct Flaw {
    pub(super) code: FailureCode,
    pub(super) fix: Option<Fix>,
}

/// A repair of one place.
#[derive(Debug)]
pub(super) struct Fix {
    /// What is replaced, in bytes of the message's text.
    pub range: Range<usize>,
    /// The names under which it is recorded.
    pub steps: Vec<&'static str>,
    pub text: String,
}

impl Flaw {
    pub(super) fn new(code: FailureCode) -> Self {
        Self { code, fix: None }
    }

    pub(super) const fn has_fix(&self) -> bool {
        self.fix.is_some()
    }

    pub(super) fn repaired_by(self, fix: Fix) -> Self {
        Self {
            fix: Some(fix),
            ..self
        }
    }
}
