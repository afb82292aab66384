//! What is looked at now, on a terminal: some looks take their time. Does not know what they find.

use crate::cli::context::app::App;
use crate::cli::ui::screen::Style;

/// Shows what takes its time now; nothing outside a terminal.
pub(super) fn progress(app: &App, what: &str) {
    app.screen.note(&app.screen.paint(Style::Dim, what));
}
