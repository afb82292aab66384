//! What a person is shown of a call that waits: the tool, all of its arguments, what it would change of a file, and what an answer is
//! bound to. Asks no one.

use std::fmt::Write as _;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::cli::ui::escape::{hides, line};
use crate::cli::ui::numbers::counted;
use crate::cli::ui::wrap::filled;
use crate::kernel::CallOrder;
use crate::tools::FileChange;

/// The column that the arguments of a call stand in.
const ARGUMENTS_AT: usize = 13;
/// The most lines of a change that are shown. The arguments stand above it whole.
const CHANGED_LINES: usize = 200;
/// Lines around a change that are shown with it.
const AROUND: usize = 3;
/// Stands behind a line of a file that ends without a line feed.
const UNENDED: &str = "\\ no line feed at the end";
/// How long the fewest changed lines are looked for. After that more than need be may be shown as changed, never fewer.
const DIFF_PATIENCE: Duration = Duration::from_millis(300);

/// The whole call as a person judges it on a terminal of so many cells: the tool, every byte of its arguments with nothing in them
/// that could hide or move another, how many bytes they are, what the call would change of a file, and the hash that the answer is
/// bound to.
pub(in crate::cli) fn shown(
    order: &CallOrder,
    width: usize,
    change: Option<&Result<FileChange, String>>,
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
    match change {
        None => {}
        Some(Ok(change)) => out.push_str(&shown_change(change, width)),
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

/// The lines that would change, as a unified diff. Each begins with its sign, so that no line of a file looks like one of monolith's.
fn shown_change(change: &FileChange, width: usize) -> String {
    let path = line(&change.path);
    let before = change.before.as_deref().unwrap_or_default();
    if change.before.as_deref() == Some(change.after.as_str()) {
        return format!("  change     none: {path} holds that text already\n");
    }
    let diff = TextDiff::configure()
        .timeout(DIFF_PATIENCE)
        .diff_lines(before, &change.after);
    let count = |tag| diff.iter_all_changes().filter(|c| c.tag() == tag).count();
    let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
    let mut out = match &change.before {
        None => format!("  change     {path} is made, {}\n", counted(added, "line")),
        Some(_) => format!(
            "  change     {path}, {} added, {removed} removed\n",
            counted(added, "line")
        ),
    };
    let mut lines = Vec::new();
    let mut left_out = 0_usize;
    for hunk in diff.unified_diff().context_radius(AROUND).iter_hunks() {
        let header = hunk.header().to_string();
        let changes = hunk.iter_changes().flat_map(|change| {
            let text = change.value();
            let text = text.strip_suffix('\n').unwrap_or(text);
            let unended = change.missing_newline().then(|| UNENDED.to_owned());
            std::iter::once(format!("{}{}", change.tag(), line(text))).chain(unended)
        });
        for text in std::iter::once(header).chain(changes) {
            if lines.len() < CHANGED_LINES {
                lines.push(text);
            } else {
                left_out += 1;
            }
        }
    }
    for text in lines {
        let _ = writeln!(out, "  {}", filled(&text, 2, width));
    }
    if left_out > 0 {
        let left_out = counted(left_out, "more line");
        let _ = writeln!(
            out,
            "  {left_out} of the change; the arguments above hold it whole"
        );
    }
    out
}
