//! The text of a response as it is shown while it arrives. Knows what is on the screen of it, and whether the run kept it; not when
//! the token gate is open: what comes here is released.

use super::screen::{Screen, Style};
use monolith_core::message::InferenceSeq;
use monolith_core::view::RunView;
use monolith_service::text::escape;

/// The text that was shown last.
#[derive(Debug, Default)]
pub(crate) struct Streamed {
    inference: Option<InferenceSeq>,
    /// True if the cursor is at its end.
    open: bool,
    text: String,
}

impl Streamed {
    /// Shows the next piece of a response.
    pub(crate) fn add(&mut self, screen: Screen, inference: InferenceSeq, piece: &str) {
        if self.inference != Some(inference) {
            self.close(screen);
            self.inference = Some(inference);
            self.text.clear();
        }
        self.text.push_str(piece);
        self.open = !self.text.ends_with('\n');
        // A stdout that cannot be written fails where the answer is.
        drop(screen.out_whole(&escape::text(piece)));
    }

    /// Ends the line that is begun.
    pub(crate) fn close(&mut self, screen: Screen) {
        if std::mem::take(&mut self.open) {
            drop(screen.out_whole("\n"));
        }
    }

    /// True if a line is begun but not ended.
    pub(crate) const fn is_open(&self) -> bool {
        self.open
    }

    /// Marks what was shown of an attempt whose message is in no conversation.
    pub(crate) fn judge(&mut self, screen: Screen, view: &RunView) {
        let Some(inference) = self.inference.filter(|_| !self.text.is_empty()) else {
            return;
        };
        let kept = view.request(inference).and_then(|request| request.kept);
        if kept == Some(false) {
            self.discard(screen, "belongs to a failed attempt");
        }
    }

    /// Marks what was shown of an attempt that has no end when the run is left: a resume asks again.
    pub(crate) fn leave(&mut self, screen: Screen, view: &RunView) {
        let Some(inference) = self.inference.filter(|_| !self.text.is_empty()) else {
            return;
        };
        if view
            .request(inference)
            .is_none_or(|request| request.kept.is_none())
        {
            self.discard(screen, "belongs to an unfinished attempt");
        }
    }

    fn discard(&mut self, screen: Screen, why: &str) {
        self.close(screen);
        let mark = screen.paint(Style::Bad, "discarded");
        screen.note(&format!("        {mark}: the text above {why}"));
        self.inference = None;
        self.text.clear();
    }

    /// True if that text was shown last.
    pub(crate) fn is(&self, answer: &str) -> bool {
        !self.text.is_empty() && self.text.trim_end() == answer.trim_end()
    }
}
