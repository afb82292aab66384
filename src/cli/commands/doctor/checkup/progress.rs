//! What is looked at now, on a terminal: some looks take their time. Does not know what they find.

use crate::context::app::App;
use crate::ui::screen::Style;
use crate::ui::wrap::cut;

/// Wipes the line that the cursor stands in.
const WIPE: &str = "\r\u{1b}[2K";

/// Shows what takes its time now, in the place of what did before; nothing outside a terminal.
pub(super) fn progress(app: &App, what: &str) {
    if app.screen.redraws() {
        // A line that wraps could not be wiped.
        let what = cut(what, app.screen.width() - 1);
        let what = app.screen.paint(Style::Dim, &what);
        app.screen.write_err(&format!("{WIPE}{what}"));
    }
}

/// Nothing is looked at any longer.
pub(in crate::commands::doctor) fn at_rest(app: &App) {
    if app.screen.redraws() {
        app.screen.write_err(WIPE);
    }
}
