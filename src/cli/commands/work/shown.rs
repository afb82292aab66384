//! Items in words: their states, their ends, and a list of them. Asks the service nothing.

use std::fmt::Write as _;

use crate::context::app::App;
use crate::ui::screen::{Screen, Style};
use monolith_core::work::WorkStatus;
use monolith_service::drive::unanswered::approve_hint;
use monolith_service::text::escape::{brief, line};
use monolith_service::text::numbers::counted;
use monolith_service::work::receipts::ListedItem;
use monolith_service::work::run::{EndedItem, LeftItem};
use monolith_service::work::surface::ItemNow;

/// Maximum length of a reason.
const MOST_REASON: usize = 300;

/// Returns the line about an item that has another state.
pub(super) fn state_line(screen: Screen, now: ItemNow<'_>) -> String {
    let (level, levels) = (now.level.saturating_add(1), now.levels);
    let state = screen.paint(Style::Dim, now.state.as_str());
    format!("level {level}/{levels}  {}  {state}", line(now.id))
}

/// Returns the line about an item that has ended.
pub(super) fn ended_line(screen: Screen, ended: &EndedItem) -> String {
    let result = &ended.result;
    let (word, style) = match result.status {
        WorkStatus::Success => ("success", Style::Good),
        WorkStatus::Failure => ("failure", Style::Bad),
        WorkStatus::Denied => ("denied", Style::Warn),
        WorkStatus::Timeout => ("timeout", Style::Bad),
    };
    let reason = result.error.as_ref().or(result.denial_reason.as_ref());
    let what = if let Some(reason) = reason {
        let reason = brief(reason, MOST_REASON);
        if ended.is_duplicate {
            // Its own receipt is of no use to anyone who looks for that of the work.
            let (word, id) = (screen.paint_out(style, word), line(&ended.id));
            let own = &result.receipt_id;
            return format!("{word}  {id}: {reason}; --again runs it; this denial is {own}\n");
        }
        reason
    } else {
        let files = [
            &result.created_files,
            &result.modified_files,
            &result.deleted_files,
        ];
        let files: usize = files.into_iter().map(Vec::len).sum();
        format!("{} changed", counted(files, "file"))
    };
    let word = screen.paint_out(style, word);
    let (id, receipt) = (line(&ended.id), &result.receipt_id);
    format!("{word}  {id}: {what}, receipt {receipt}\n")
}

/// Returns the line about an item that was left.
pub(super) fn left_line(app: &App, left: &LeftItem, file: &str) -> String {
    let id = line(&left.id);
    if let Some((fault, help)) = &left.fault {
        let help = help.as_ref().map(|help| format!("; {}", line(help)));
        let help = help.unwrap_or_default();
        return format!("note: item {id} was left: {}{help}", line(fault));
    }
    let again = app.hint(&format!("work run {}", line(file)));
    match &left.run_id {
        Some(run_id) => {
            let answers = approve_hint(app, run_id, run_id.as_str());
            format!(
                "note: item {id} was left; if its call waits for you, {answers} answers it; {again} resumes the item"
            )
        }
        None => format!("note: item {id} was left; {again} resumes it"),
    }
}

/// Returns the table of items.
pub(super) fn list_text(items: &[ListedItem]) -> String {
    if items.is_empty() {
        return "no work items\n".to_owned();
    }
    let mut out = String::new();
    for item in items {
        let receipt = item.receipt_id.as_deref().unwrap_or("-");
        let (state, id) = (item.state, line(&item.item));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{receipt:<36}  {state:<11}  {id}");
    }
    out
}
