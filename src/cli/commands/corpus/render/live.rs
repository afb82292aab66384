//! The results of a live endpoint, as text: each run as it ends, the table, and the row of the server.

use std::fmt::Write as _;

use super::metrics::metrics_text;
use crate::ui::screen::{Screen, Style};
use monolith_conformance::{Agreement, LiveRecord, LiveReport, LiveRow, ServerTraits, Share};
use monolith_service::text::escape::line;
use monolith_service::text::numbers::seconds;

pub(in crate::commands::corpus) fn record_text(record: &LiveRecord) -> String {
    let time = seconds(record.elapsed_ms);
    let mut text = format!(
        "{:14}  {time:>9}  {}  {}",
        record.case, record.outcome, record.id
    );
    for detail in &record.detail {
        let _ = write!(text, "\n                {}", line(detail));
    }
    text
}

pub(in crate::commands::corpus) fn live_text(
    screen: Screen,
    name: &str,
    report: &LiveReport,
) -> String {
    let mut out = String::new();
    let ends = |row: &LiveRow| {
        let end = |(end, count): &(String, usize)| match count {
            1 => end.clone(),
            count => format!("{count} x {end}"),
        };
        let ends: Vec<String> = row.ends.iter().map(end).collect();
        ends.join(", ")
    };
    let width = report
        .table
        .iter()
        .map(|row| ends(row).chars().count())
        .max();
    let width = width.unwrap_or(0).max("end".len());
    let head = format!(
        "{:14}  reached  allowed  proven  {:width$}  longest",
        "case", "end"
    );
    let _ = writeln!(out, "{}", screen.paint_out(Style::Bold, &head));
    for row in &report.table {
        let cell =
            |count: usize, width: usize| format!("{:<width$}", format!("{count}/{}", row.runs));
        let style = |count: usize, text: &str| {
            if count == row.runs {
                screen.paint_out(Style::Good, text)
            } else {
                screen.paint_out(Style::Bad, text)
            }
        };
        let _ = writeln!(
            out,
            "{:14}  {}  {}  {}  {:width$}  {}",
            row.case,
            cell(row.reached, 7),
            style(row.allowed, &cell(row.allowed, 7)),
            style(row.proven, &cell(row.proven, 6)),
            ends(row),
            seconds(row.longest_ms),
        );
    }
    let _ = writeln!(out, "\n{}", server_text(name, &report.server));
    out.push_str(&metrics_text(&report.metrics));
    out
}

/// The row of a server: what people choose one by.
fn server_text(name: &str, server: &ServerTraits) -> String {
    let share = |share: Share| format!("{}/{}", share.held, share.of);
    let streaming = match server.streaming {
        Agreement::Unknown => "-",
        Agreement::Same => "same",
        Agreement::Different => "different",
    };
    let latency = server.latency_ms;
    let mut text = format!(
        "{}\n  required {}   none {}   arguments {}   streaming {streaming}   finish {}   usage {}   latency {} mean, {} p95\n",
        line(name),
        share(server.required),
        share(server.none),
        share(server.arguments),
        share(server.finish),
        share(server.usage),
        seconds(latency.mean_milli / 1000),
        seconds(latency.p95),
    );
    if !server.faults.is_empty() {
        let faults = server.faults.iter();
        let faults = faults.map(|(class, count)| format!("{} {count}", class.as_str()));
        let _ = writeln!(text, "  faults: {}", faults.collect::<Vec<_>>().join(", "));
    }
    text
}
