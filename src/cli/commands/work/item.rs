//! One work item in words: state, admission, tests, changed paths with their diffs. The service has read it.

use std::fmt::Write as _;

use crate::context::app::App;
use crate::ui::diff::unified;
use crate::ui::screen::{Screen, Style};
use monolith_core::work::{TestEnd, TreeNode, WorkStatus};
use monolith_service::error::ServiceError;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::{counted, seconds};
use monolith_service::verify::report::{own_report, place};
use monolith_service::view::item::{Admission, ItemView, ShownChange};
use monolith_service::work_entries::WorkSource;

/// Characters of a hash that are shown.
const DIGITS: usize = 12;
/// The most changed lines on a terminal.
const CHANGED_LINES: usize = 200;
/// The most lines of the output of tests.
const OUTPUT_LINES: usize = 20;

/// The form in which an item is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemForm {
    /// Text with its long parts cut.
    Cut,
    /// The whole text.
    Full,
    /// One document.
    Json,
}

/// The lines that may be shown of the parts of an item.
#[derive(Clone, Copy, Debug)]
struct Room {
    changes: usize,
    output: usize,
}

impl Room {
    const fn of(form: ItemForm, screen: Screen) -> Self {
        let is_cut = matches!(form, ItemForm::Cut);
        Self {
            changes: if is_cut && screen.is_shown() {
                CHANGED_LINES
            } else {
                usize::MAX
            },
            output: if is_cut { OUTPUT_LINES } else { usize::MAX },
        }
    }
}

/// `monolith show` and `monolith work show` of a work item; the exit code of the item itself.
pub(crate) fn show_item(
    app: &App,
    mut source: WorkSource,
    asked: &str,
    form: ItemForm,
) -> Result<Exit, ServiceError> {
    if let Some(bad) = own_report(app, asked)?.first_bad {
        let (asked, place) = (asked.to_owned(), place(&bad));
        return Err(TranscriptFault::NotVerified { asked, place }.into());
    }
    let Some(view) = ItemView::read(app, &mut source)? else {
        return Ok(Exit::EVIDENCE);
    };
    let screen = app.screen;
    if form == ItemForm::Json {
        if let Some(departure) = &view.departure {
            let (asked, departure) = (asked.to_owned(), departure.clone());
            return Err(TranscriptFault::ItemDeparted { asked, departure }.into());
        }
        screen.out_json(&view)?;
    } else {
        let name = if source.is_stored() {
            source.run_id.to_string()
        } else {
            line(asked)
        };
        let full = app.hint(&format!("show {name} --full"));
        if let Some(departure) = &view.departure {
            let mark = format!("NOT THE STATE OF THE WORK ITEM: {}", line(departure));
            screen.out(&format!("{}\n", screen.paint_out(Style::Bad, &mark)))?;
        }
        screen.out(&item_text(screen, &view, Room::of(form, screen), &full))?;
        if view.departure.is_some() {
            return Ok(Exit::DIVERGED);
        }
    }
    let status = view.end.as_ref().map(|end| end.status);
    Ok(match status {
        Some(WorkStatus::Success) => Exit::OK,
        _ => Exit::FAILED,
    })
}

/// Returns the item as text; `full` is the command that cuts nothing.
fn item_text(screen: Screen, view: &ItemView, room: Room, full: &str) -> String {
    let mut out = String::new();
    let mut row = |name: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{name:<10}  {value}");
    };
    row("item", &line(&view.item.id));
    row("agent", &line(&view.item.agent_id));
    if let Some(receipt) = &view.receipt_id {
        row("receipt", receipt);
    }
    row("state", &screen.paint_out(Style::Bold, view.state.as_str()));
    if let Some(reason) = &view.reason {
        row("reason", &line(reason));
    }
    row("admission", &admission(view));
    row("time", &seconds(view.execution_time_ms));
    if let Some(before) = view.before {
        row("before", &before.short(DIGITS));
    }
    if let Some(after) = view.after {
        row("after", &after.short(DIGITS));
    }
    if let Some(run) = &view.run {
        row("run", run.run_id.as_str());
    }
    if let Some(tests) = &view.tests {
        row("tests", &figures(tests));
        out.push_str(&output(tests, room.output, full));
    }
    out.push_str(&changes(screen, &view.changes, room.changes, full));
    for path in &view.discarded {
        let path = path.to_string();
        let _ = writeln!(out, "{:<10}  {}, an ignored file", "discarded", line(&path));
    }
    out
}

/// The verdict and the figures of an attempt, each with its limit.
fn admission(view: &ItemView) -> String {
    let Admission {
        external,
        files,
        is_admitted,
        state_changes,
        tool_calls,
        ..
    } = &view.admission;
    let is_denied = view.end.as_ref().is_some_and(|end| end.denial.is_some());
    let verdict = match is_admitted {
        _ if is_denied => "denied",
        Some(true) => "admitted",
        Some(false) => "over a limit",
        None => "not judged",
    };
    let mut text = format!(
        "{verdict}: files {}/{}, calls {}/{}, changes {}/{}",
        files.count,
        files.limit,
        tool_calls.count,
        tool_calls.limit,
        state_changes.count,
        state_changes.limit
    );
    if !external.is_empty() {
        let _ = write!(text, ", outside: {}", line(&external.join(", ")));
    }
    text
}

/// The exit code of the tests, and how many passed and failed.
fn figures(tests: &TestEnd) -> String {
    let code = tests.exit_code.map(|code| format!("exit code {code}"));
    let code = code.unwrap_or_else(|| "no exit code".to_owned());
    let count = tests.passed.zip(tests.failed);
    let count = count.map(|(passed, failed)| format!(", {passed} passed, {failed} failed"));
    format!("{code}{}", count.unwrap_or_default())
}

/// The last lines of the output of the tests.
fn output(tests: &TestEnd, room: usize, full: &str) -> String {
    let lines: Vec<&str> = tests.output.lines().collect();
    let hidden = lines.len().saturating_sub(room);
    let mut out = String::new();
    if hidden > 0 {
        let _ = writeln!(
            out,
            "  … {}; {full} shows them",
            counted(hidden, "earlier line")
        );
    }
    for text in lines.into_iter().skip(hidden) {
        let _ = writeln!(out, "  {}", line(text));
    }
    out
}

/// The changed paths with their diffs, of at most so many lines.
fn changes(screen: Screen, changes: &[ShownChange], most: usize, full: &str) -> String {
    let (mut room, mut hidden) = (most, 0_usize);
    let mut out = String::new();
    for change in changes {
        let _ = writeln!(out, "{:<10}  {}", word_of(change), summary(change));
        for text in change.diff.iter().flat_map(unified) {
            if room == 0 {
                hidden += 1;
                continue;
            }
            room -= 1;
            let sign = text.chars().next();
            let text = match sign {
                Some('+') => screen.paint_out(Style::Good, &text),
                Some('-') => screen.paint_out(Style::Bad, &text),
                Some('@' | '\\') => screen.paint_out(Style::Dim, &text),
                _ => text,
            };
            let _ = writeln!(out, "  {text}");
        }
    }
    if hidden > 0 {
        let _ = writeln!(
            out,
            "  … {} of changes; {full} shows them",
            counted(hidden, "more line")
        );
    }
    out
}

fn word_of(change: &ShownChange) -> &'static str {
    let is_folder = change.after.as_ref().is_some_and(TreeNode::is_folder);
    match (&change.before, &change.after) {
        (None, _) if is_folder => "new folder",
        (None, _) => "created",
        (_, None) => "deleted",
        (Some(_), Some(_)) => "modified",
    }
}

/// A changed path with its counts of lines, the reason that it has none, and its new mode.
fn summary(change: &ShownChange) -> String {
    let mut text = line(&change.path.to_string());
    if let Some(diff) = &change.diff {
        let _ = write!(text, "  +{} -{}", diff.added, diff.removed);
    }
    if let Some(left_out) = change.left_out {
        let size = |node: &Option<TreeNode>| match node {
            Some(TreeNode::File { size, .. }) => size.to_string(),
            _ => "none".to_owned(),
        };
        let (before, after) = (size(&change.before), size(&change.after));
        let _ = write!(text, "  {}, bytes {before} -> {after}", left_out.words());
    }
    let mode = |node: &Option<TreeNode>| node.as_ref().and_then(TreeNode::mode);
    if let (Some(before), Some(after)) = (mode(&change.before), mode(&change.after))
        && before != after
    {
        let _ = write!(text, "  mode {before:03o} -> {after:03o}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_host::driver::Environment;
    use monolith_service::text::diff::LineDiff;

    fn screen() -> Screen {
        let plain = |name: &str| (name == "NO_COLOR").then(|| "1".to_owned());
        Screen::of_process(&Environment::new(plain))
    }

    fn change(before: &str, after: &str) -> ShownChange {
        ShownChange {
            after: Some(TreeNode::Folder { mode: 0o755 }),
            before: Some(TreeNode::Folder { mode: 0o755 }),
            diff: Some(LineDiff::between(before, after)),
            left_out: None,
            path: "a".parse().unwrap(),
            text_before: before.to_owned(),
        }
    }

    #[test]
    fn a_long_diff_says_how_many_lines_are_left_out_and_how_to_see_them() {
        let long = change("", &"x\n".repeat(10));
        let short = change("a\n", "b\n");
        let text = changes(screen(), &[long, short], 4, "all");
        let expect = "modified    a  +10 -0\n  @@ -0,0 +1,10 @@\n  +x\n  +x\n  +x\nmodified    a  +1 -1\n  \
             … 10 more lines of changes; all shows them\n";
        assert_eq!(text, expect);
    }

    #[test]
    fn nothing_in_a_changed_file_moves_the_cursor() {
        let text = changes(screen(), &[change("", "\u{1b}[2J\r\n")], usize::MAX, "all");
        assert!(text.contains("  +\\u{1b}[2J\\r\n"), "{text:?}");
    }

    #[test]
    fn the_last_lines_of_the_tests_are_shown() {
        let tests = TestEnd {
            exit_code: Some(1),
            failed: Some(2),
            output: "one\ntwo\nthree\n".to_owned(),
            output_blob: None,
            output_digest: monolith_core::message::Digest::ZERO,
            passed: Some(3),
        };
        assert_eq!(figures(&tests), "exit code 1, 3 passed, 2 failed");
        let text = output(&tests, 2, "all");
        let expect = "  … 1 earlier line; all shows them\n  two\n  three\n";
        assert_eq!(text, expect);
    }
}
