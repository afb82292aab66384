//! The view of a waiting call for a person: the tool, all of its arguments, the file changes it would make, and the hash that
//! an answer is bound to. Asks no one.

use std::fmt::Write as _;

use crate::ui::diff::unified;
use crate::ui::wrap::filled;
use monolith_core::kernel::CallOrder;
use monolith_core::message::RunId;
use monolith_host::tools::FileChange;
use monolith_service::text::diff::LineDiff;
use monolith_service::text::escape::{hides, line};
use monolith_service::text::numbers::counted;

/// The column that the arguments of a call stand in.
const ARGUMENTS_AT: usize = 13;
/// The most lines of changes that are shown. The arguments stand above it whole.
const CHANGED_LINES: usize = 200;

/// The same of a run below the one that the person began: its name stands first, which is that for an answer from elsewhere.
pub(super) fn shown_below(run_id: &RunId, shown: &str) -> String {
    format!("run {run_id}: {shown}")
}

/// The whole call as a person judges it on a terminal of so many cells: the tool, every byte of its arguments with nothing in them
/// that could hide or move another, how many bytes they are, what the call would change of files, and the hash that the answer is
/// bound to.
pub(crate) fn shown(
    order: &CallOrder,
    width: usize,
    changes: Option<&Result<Vec<FileChange>, String>>,
) -> String {
    let arguments = order.invocation.arguments.as_str();
    let hidden = if hides(arguments) {
        "; characters that a terminal does not show are written as \\u{…}"
    } else {
        ""
    };
    let (asks, what) = match &order.input {
        Some(_) => ("has a question of its server", "question "),
        None => ("asks for your approval", "arguments"),
    };
    let mut out = format!(
        "call {} of {} {asks}\n  {what}  {}\n  length     {}{hidden}\n",
        order.call.0,
        line(&order.invocation.name),
        filled(&line(arguments), ARGUMENTS_AT, width),
        counted(arguments.len(), "byte"),
    );
    match changes {
        None => {}
        Some(Ok(changes)) => out.push_str(&shown_changes(changes, width)),
        Some(Err(why)) => {
            let why = filled(&line(why), ARGUMENTS_AT, width);
            // Writing to a String cannot fail.
            let _ = writeln!(out, "  change     cannot be shown: {why}");
        }
    }
    if let Some(rule) = order.asked_by {
        let _ = writeln!(out, "  asked by   {rule} of the contract");
    }
    let _ = writeln!(out, "  blake3     {}", order.arguments_hash);
    out
}

/// Lists the changes to each file, with the changed lines.
fn shown_changes(changes: &[FileChange], width: usize) -> String {
    let mut out = String::new();
    let (mut room, mut left_out) = (CHANGED_LINES, 0_usize);
    for change in changes {
        let path = line(&change.path);
        if change.before == change.after {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "  change     none: {path} holds that text already");
            continue;
        }
        let diff = LineDiff::between(
            change.before.as_deref().unwrap_or_default(),
            change.after.as_deref().unwrap_or_default(),
        );
        let (added, removed) = (diff.added, diff.removed);
        let what = match (&change.before, &change.after) {
            (None, _) => format!("{path} is made, {}", counted(added, "line")),
            (_, None) => format!("{path} is removed, {}", counted(removed, "line")),
            _ => format!(
                "{path}, {} added, {removed} removed",
                counted(added, "line")
            ),
        };
        let _ = writeln!(out, "  change     {}", filled(&what, ARGUMENTS_AT, width));
        for text in unified(&diff) {
            if room == 0 {
                left_out += 1;
                continue;
            }
            room -= 1;
            let _ = writeln!(out, "  {}", filled(&text, 2, width));
        }
    }
    if left_out > 0 {
        let left_out = counted(left_out, "more line");
        let _ = writeln!(
            out,
            "  {left_out} of the change; the arguments hold what is written"
        );
    }
    out
}
