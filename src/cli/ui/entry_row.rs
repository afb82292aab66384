//! The row of an entry as a line of a terminal.

use super::screen::{Screen, Style};
use monolith_core::kernel::EntryKind;
use monolith_service::text::narration::numbered;
use monolith_service::text::numbers::{counted, seconds};
use monolith_service::view::entry_row::EntryRow;

/// The cells of a terminal that shows every column of a row.
const FULL_WIDTH: usize = 100;

/// The row for people.
pub(crate) fn row_line(screen: Screen, row: &EntryRow) -> String {
    line_with(screen, row, &row.detail)
}

/// The same with the number of the predicate that decided.
pub(crate) fn numbered_line(screen: Screen, row: &EntryRow) -> String {
    line_with(screen, row, &numbered(row.rule, &row.detail))
}

/// The way of the machine and its reason, without times.
pub(crate) fn decision(row: &EntryRow) -> String {
    format!("{:>4}  {:<24}  {}", row.seq, states(row), row.detail)
}

fn line_with(screen: Screen, row: &EntryRow, detail: &str) -> String {
    let used = match (row.step.tokens, row.step.took_ms) {
        (0, 0) => String::new(),
        (0, ms) => format!("+{ms} ms"),
        (tokens, ms) => format!("+{}, +{ms} ms", counted(tokens, "token")),
    };
    let (seq, at) = (row.seq, seconds(row.at_ms));
    if screen.width_out() < FULL_WIDTH {
        // Where the machine came from stands in the row before, and `show --step` has the hash.
        let to = match row.kind {
            EntryKind::Transition => format!("→ {}", row.to),
            _ => row.to.to_string(),
        };
        let used = match used.as_str() {
            "" => used,
            used => format!(" ({used})"),
        };
        return format!("{seq:>4}  {at:>8}  {to:<16}  {detail}{used}\n");
    }
    let hash = screen.paint_out(Style::Dim, &row.hash.short(8));
    let states = states(row);
    let line = format!("{seq:>4}  {at:>9}  {states:<24}  {hash}  {used:<22}  {detail}");
    format!("{}\n", line.trim_end())
}

fn states(row: &EntryRow) -> String {
    if row.kind == EntryKind::Transition {
        format!("{} → {}", row.from, row.to)
    } else {
        row.to.to_string()
    }
}
