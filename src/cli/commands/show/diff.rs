//! `monolith show A B --diff`: two runs beside each other.

use std::fmt::Write as _;

use crate::context::app::App;
use crate::context::departed::{agreeing, marked};
use crate::ui::entry_row::decision;
use crate::ui::screen::Style;
use monolith_core::replay::FieldDifference;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::{brief, line};
use monolith_service::text::numbers::{counted, grouped};
use monolith_service::view::diff::{Comparison, Summary, compare};
use monolith_service::view::entry_row::EntryRow;

/// Maximum number of listed entries that only one run has.
const MOST_ROWS: usize = 12;

/// `monolith show A B --diff`.
pub(crate) fn diff(app: &App, left: &str, right: &str, json: bool) -> Result<Exit, ServiceError> {
    let found = compare(app, left, right)?;
    let sides = [&found.left, &found.right];
    let mut departed = None;
    if json {
        for side in sides {
            agreeing(&side.asked, &side.view)?;
        }
        app.screen.out_json(&found.report)?;
    } else {
        for side in sides {
            departed = marked(app.screen, &side.view)?.or(departed);
        }
        app.screen.out(&report_text(app, &found))?;
    }
    Ok(if let Some(departed) = departed {
        departed
    } else if found.report.same {
        Exit::OK
    } else {
        Exit::DIVERGED
    })
}

fn report_text(app: &App, found: &Comparison) -> String {
    let Comparison {
        left,
        report,
        right,
    } = found;
    let mut out = String::new();
    let (a, b) = (&report.left, &report.right);
    let mut beside = |name: &str, a: &str, b: &str| {
        let mark = if a == b { ' ' } else { '≠' };
        let _ = writeln!(out, "{name:<10} {mark} {a:<46}  {b}");
    };
    let name = |side: &Summary| side.run_id.clone().unwrap_or_default();
    beside("run", &name(a), &name(b));
    let outcome = |side: &Summary| match side.outcome {
        Some(outcome) => outcome.to_string(),
        None => "no end yet".to_owned(),
    };
    beside("outcome", &outcome(a), &outcome(b));
    let short = |side: &Summary| side.contract_hash.chars().take(16).collect::<String>();
    beside("contract", &short(a), &short(b));
    let entries = |side: &Summary| side.entries.to_string();
    beside("entries", &entries(a), &entries(b));
    for (name, count) in [
        (
            "turns",
            (|side| u64::from(side.counters.turns)) as fn(&Summary) -> u64,
        ),
        ("requests", |side| side.counters.inferences),
        ("calls", |side| side.counters.calls),
        ("executed", |side| side.counters.executed),
        ("tokens", |side| side.counters.tokens()),
        ("ms", |side| side.elapsed_ms),
    ] {
        beside(name, &grouped(count(a)), &grouped(count(b)));
    }
    if !report.contract.is_empty() {
        out.push_str("\nThe contracts differ:\n");
        fields(&mut out, &report.contract);
    }
    let common = counted(report.common, "decision");
    if report.same {
        let same = app.screen.paint_out(Style::Good, "the same decisions");
        let _ = writeln!(out, "\n{same}: {common}");
    } else {
        let _ = writeln!(out, "\nIn common from the beginning: {common}");
    }
    if let Some(other) = &report.first_other_content {
        let seq = other.left.as_ref().map_or(0, |at| at.seq);
        let _ = writeln!(out, "Their content differs from entry {seq} on:");
        fields(&mut out, &other.fields);
    }
    let Some(divergence) = &report.divergence else {
        return out;
    };
    let parted = app.screen.paint_out(Style::Bad, "Then they part:");
    let _ = writeln!(out, "\n{parted}");
    for (mark, side, at) in [
        ('A', left, &divergence.left),
        ('B', right, &divergence.right),
    ] {
        let row = at
            .as_ref()
            .and_then(|at| side.rows.get(usize::try_from(at.seq).ok()?));
        let row = row.map_or_else(|| "   –  no entry".to_owned(), decision);
        let _ = writeln!(out, "  {mark} {}", row.trim_end());
    }
    fields(&mut out, &divergence.fields);
    out.push_str("\nAfter that:\n");
    for segment in report.segments.iter().skip(usize::from(report.common > 0)) {
        let _ = match (segment.left, segment.right) {
            (Some(l), Some(r)) => writeln!(out, "  =  {}  are  {}", span('A', l), span('B', r)),
            (Some(l), None) => writeln!(out, "  A  {} alone", span('A', l)),
            (None, Some(r)) => writeln!(out, "  B  {} alone", span('B', r)),
            (None, None) => Ok(()),
        };
        // What only one side has is listed; `show` lists what both have.
        if segment.side != "both" {
            let (side, places) = match (segment.left, segment.right) {
                (Some(places), None) => (left, places),
                (_, right_places) => (right, right_places.unwrap_or_default()),
            };
            let rows = side.rows.iter().skip(places.0);
            let rows: Vec<&EntryRow> = rows.take(places.1.saturating_sub(places.0) + 1).collect();
            for row in rows.iter().take(MOST_ROWS) {
                let _ = writeln!(out, "     {}", decision(row).trim_end());
            }
            if let Some(more) = rows.len().checked_sub(MOST_ROWS).filter(|more| *more > 0) {
                let _ = writeln!(out, "     … {more} more");
            }
        }
    }
    out
}

fn span(side: char, (from, to): (usize, usize)) -> String {
    if from == to {
        format!("{side}{from}")
    } else {
        format!("{side}{from}–{side}{to}")
    }
}

fn fields(out: &mut String, fields: &[FieldDifference]) {
    for field in fields {
        let value = |value: &Option<String>| {
            value
                .as_deref()
                .map_or("–".to_owned(), |text| brief(text, 120))
        };
        let _ = writeln!(
            out,
            "    {}\n      A {}\n      B {}",
            line(&field.pointer),
            value(&field.left),
            value(&field.right)
        );
    }
}
