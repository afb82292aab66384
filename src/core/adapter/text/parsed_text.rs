//! A text taken apart into prose and calls. Does not know the form that the calls were written in.

use crate::adapter::calls::GatheredCall;

/// A text taken apart into prose and calls.
#[derive(Debug, Default)]
pub(super) struct ParsedText {
    pub calls: Vec<GatheredCall>,
    /// Text outside of markup, a piece between two calls a line.
    pub text: String,
}

impl ParsedText {
    /// Takes text outside of markup unchanged, but for white space next to a call. `before_call`: one follows.
    pub(super) fn push_text(&mut self, piece: &str, before_call: bool) {
        let after_call = !self.calls.is_empty();
        let piece = if after_call {
            piece.trim_start()
        } else {
            piece
        };
        let piece = if before_call { piece.trim_end() } else { piece };
        if after_call && !piece.is_empty() && !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(piece);
    }
}
