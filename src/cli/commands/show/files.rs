//! The files of the workspace that a run changed, as its transcript records.

use std::fmt::Write as _;

use monolith_core::message::Digest;
use monolith_core::view::RunView;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

/// Digits of a hash that one line shows.
const DIGITS: usize = 12;

/// One line for each file, with the lines that were added and removed and the hashes before and after; empty where none was changed. Tools
/// that do not state what they change are named.
pub(super) fn files(view: &RunView) -> String {
    let changes = view.work_changes();
    let mut out = String::new();
    let all: Vec<_> = changes.files().collect();
    let incomplete = view.may_have_changed_more();
    let unstated = view.unstated_changes();
    if all.is_empty() && !incomplete && unstated.is_empty() {
        return out;
    }
    // Writing to a String cannot fail.
    let _ = if all.is_empty() {
        writeln!(out, "\nno file of the workspace is known to have changed")
    } else {
        let count = counted(all.len(), "file");
        writeln!(out, "\n{count} of the workspace changed")
    };
    for (path, change) in all {
        let what = match (change.before, change.after) {
            (None, _) => "made",
            (_, None) => "removed",
            _ => "changed",
        };
        let hash = |hash: Option<Digest>| {
            hash.map_or_else(|| "none".to_owned(), |hash| hash.short(DIGITS))
        };
        let (before, after) = (hash(change.before), hash(change.after));
        let (added, removed) = (change.lines_added, change.lines_removed);
        let mixed = if change.interleaved {
            "; something else changed it in between"
        } else {
            ""
        };
        let path = line(path);
        let _ = writeln!(
            out,
            "  {what:<7}  {path}  +{added} -{removed}  {before} -> {after}{mixed}"
        );
    }
    if incomplete {
        out.push_str("  there may be more: not every file was compared, or a call has no result\n");
    }
    if !unstated.is_empty() {
        let tools: Vec<_> = unstated.into_iter().map(line).collect();
        let tools = tools.join(", ");
        let _ = writeln!(
            out,
            "  changes made by server tools are unknown, and undo does not revert them: {tools}"
        );
    }
    out
}
