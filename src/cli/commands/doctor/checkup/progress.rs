//! The current check, shown on a terminal because some checks take long. Does not know their results.

use crate::context::app::App;
use crate::ui::screen::Style;
use crate::ui::wrap::cut;

/// Wipes the line that the cursor stands in.
const WIPE: &str = "\r\u{1b}[2K";

/// Shows the current slow check, replacing the previous one. Shows nothing outside a terminal.
pub(super) fn progress(app: &App, what: &str) {
    if app.screen.redraws() {
        // A line that wraps could not be wiped.
        let what = cut(what, app.screen.width() - 1);
        let what = app.screen.paint(Style::Dim, &what);
        app.screen.write_err(&format!("{WIPE}{what}"));
    }
}

/// Clears the shown check.
pub(in crate::commands::doctor) fn at_rest(app: &App) {
    if app.screen.redraws() {
        app.screen.write_err(WIPE);
    }
}
