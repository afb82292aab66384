//! The verdicts on recorded responses, as a text table.

use std::fmt::Write as _;

use crate::ui::screen::{Screen, Style};
use monolith_conformance::VerdictRow;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::{counted, grouped};

pub(in crate::commands::corpus) fn verdicts_text(
    screen: Screen,
    rows: &[VerdictRow],
    records: usize,
) -> String {
    let mut out = String::new();
    let protocol = rows.iter().map(|row| row.proto.len()).max().unwrap_or(0);
    let protocol = protocol.max("protocol".len());
    let code = rows.iter().filter_map(|row| row.failure_code);
    let code = code.map(str::len).max().unwrap_or(0).max("code".len());
    let head = format!(
        "{:protocol$}  verdict    {:code$}  records",
        "protocol", "code"
    );
    let _ = writeln!(out, "{}", screen.paint_out(Style::Bold, &head));
    for row in rows {
        let records = grouped(row.records);
        let _ = writeln!(
            out,
            "{:protocol$}  {:9}  {:code$}  {records:>7}",
            line(&row.proto),
            row.status.as_str(),
            row.failure_code.unwrap_or("-"),
        );
    }
    let _ = writeln!(out, "{} judged", counted(records, "record"));
    out
}
