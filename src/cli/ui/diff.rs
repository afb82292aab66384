//! The changed lines of a text, for people. It knows no file.

use std::time::Duration;

use monolith_service::text::escape::line;
use similar::TextDiff;

/// Lines around a change that are shown with it.
const AROUND: usize = 3;
/// Follows the last line of a file that ends without a line feed.
const UNENDED: &str = "\\ no line feed at the end";
/// Time limit of the search for the fewest changed lines. After it, more lines than necessary may appear as changed, never
/// fewer.
const PATIENCE: Duration = Duration::from_millis(300);

/// Compares two texts, line by line.
pub(crate) fn compared<'t>(before: &'t str, after: &'t str) -> TextDiff<'t, 't, 't, str> {
    TextDiff::configure()
        .timeout(PATIENCE)
        .diff_lines(before, after)
}

/// The lines of a unified diff. Each begins with its sign, so that no line of a file looks like one of monolith's.
pub(crate) fn unified<'t>(diff: &'t TextDiff<'t, 't, 't, str>) -> Vec<String> {
    let mut lines = Vec::new();
    for hunk in diff.unified_diff().context_radius(AROUND).iter_hunks() {
        lines.push(hunk.header().to_string());
        for change in hunk.iter_changes() {
            let text = change.value();
            let text = text.strip_suffix('\n').unwrap_or(text);
            lines.push(format!("{}{}", change.tag(), line(text)));
            if change.missing_newline() {
                lines.push(UNENDED.to_owned());
            }
        }
    }
    lines
}
