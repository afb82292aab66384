//! The changed lines of a text, for people. It knows no file.

use monolith_service::text::diff::LineDiff;
use monolith_service::text::escape::line;

/// Follows the last line of a file that ends without a line feed.
const UNENDED: &str = "\\ no line feed at the end";

/// The lines of a unified diff. Each begins with its sign, so that no line of a file looks like one of monolith's.
pub(crate) fn unified(diff: &LineDiff) -> Vec<String> {
    let mut lines = Vec::new();
    for hunk in &diff.hunks {
        lines.push(hunk.to_string());
        for text in &hunk.lines {
            let ended = text.strip_suffix('\n');
            lines.push(line(ended.unwrap_or(text)));
            if ended.is_none() {
                lines.push(UNENDED.to_owned());
            }
        }
    }
    lines
}
