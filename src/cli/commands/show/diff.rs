//! `monolith show A B --diff`: two runs, aligned by their decisions. Judges neither of them.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::commands::verify;
use crate::context::app::App;
use crate::context::departed::marked;
use crate::ui::entry_row::EntryRow;
use crate::ui::screen::Style;
use monolith_core::kernel::{Counters, Outcome};
use monolith_core::replay::{DecisionShape, FieldDifference, Pairing, align, field_differences};
use monolith_core::view::RunView;
use monolith_service::drive::ended::agreeing;
use monolith_service::error::ServiceError;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::source::Recorded;
use monolith_service::text::escape::{brief, line};
use monolith_service::text::numbers::{counted, grouped};

/// How many members that differ are listed of one pair of documents.
const MOST_FIELDS: usize = 12;

/// One run, as far as it is compared.
struct Side {
    /// As the caller named it.
    asked: String,
    recorded: Recorded,
    rows: Vec<EntryRow>,
    shapes: Vec<DecisionShape>,
    view: RunView,
}

#[derive(Serialize)]
struct Report {
    /// Whether both runs decided the same, entry for entry.
    same: bool,
    left: Summary,
    right: Summary,
    contract: Vec<FieldDifference>,
    /// How many entries from the first on are the same decisions.
    common: usize,
    /// The first of them whose content differs all the same.
    first_other_content: Option<DifferingPair>,
    divergence: Option<DifferingPair>,
    segments: Vec<Segment>,
}

#[derive(Serialize)]
struct Summary {
    run_id: Option<String>,
    contract_hash: String,
    entries: usize,
    outcome: Option<Outcome>,
    counters: Counters,
    elapsed_ms: u64,
}

/// A pair of entries, and what differs between them.
#[derive(Serialize)]
struct DifferingPair {
    left: Option<DecisionAt>,
    right: Option<DecisionAt>,
    fields: Vec<FieldDifference>,
}

#[derive(Serialize)]
struct DecisionAt {
    seq: u64,
    #[serde(flatten)]
    decision: DecisionShape,
}

/// Entries that stand together: on both sides, or on one.
#[derive(Serialize)]
struct Segment {
    side: &'static str,
    left: Option<(usize, usize)>,
    right: Option<(usize, usize)>,
}

/// `monolith show A B --diff`.
pub(crate) fn diff(app: &App, left: &str, right: &str, json: bool) -> Result<Exit, ServiceError> {
    let (left, right) = (Side::read(app, left)?, Side::read(app, right)?);
    let pairs = align(&left.shapes, &right.shapes);
    let report = Report::of(&left, &right, &pairs)?;
    let mut departed = None;
    if json {
        for side in [&left, &right] {
            agreeing(&side.asked, &side.view)?;
        }
        app.screen.out_json(&report)?;
    } else {
        for side in [&left, &right] {
            departed = marked(app.screen, &side.view)?.or(departed);
        }
        app.screen.out(&report_text(app, &report, &left, &right))?;
    }
    Ok(if let Some(departed) = departed {
        departed
    } else if report.same {
        Exit::OK
    } else {
        Exit::DIVERGED
    })
}

impl Side {
    /// A run that verifies.
    fn read(app: &App, asked: &str) -> Result<Self, ServiceError> {
        let trust = app.trust(&[], &[], &[])?;
        let (report, _) = verify::report_of(app.source(asked)?, true, &trust)?;
        if let Some(bad) = &report.first_bad {
            return Err(TranscriptFault::NotVerified {
                asked: asked.to_owned(),
                place: verify::place(bad),
            }
            .into());
        }
        let recorded = app.source(asked)?.load()?;
        let mut view = RunView::new(Arc::new(recorded.contract.clone()));
        let (mut rows, mut shapes) = (Vec::new(), Vec::new());
        for entry in &recorded.entries {
            let decoded = Recorded::decode(entry)?;
            let entry = decoded.entry();
            shapes.push(DecisionShape::of(entry.action, entry.event));
            let step = view.take(entry);
            rows.push(EntryRow::of(&view, entry, step));
        }
        view.pause();
        Ok(Self {
            asked: asked.to_owned(),
            recorded,
            rows,
            shapes,
            view,
        })
    }

    fn summary(&self) -> Summary {
        Summary {
            run_id: self.view.run_id().map(|id| id.as_str().to_owned()),
            contract_hash: self.view.contract().contract_hash().to_string(),
            entries: self.rows.len(),
            outcome: self.view.outcome(),
            counters: self.view.counters(),
            elapsed_ms: self.view.at_ms(),
        }
    }

    fn at(&self, place: usize) -> Option<DecisionAt> {
        let decision = self.shapes.get(place)?.clone();
        let seq = u64::try_from(place).unwrap_or(u64::MAX);
        Some(DecisionAt { seq, decision })
    }

    /// An entry as one document.
    fn document(&self, place: usize) -> Result<Value, ServiceError> {
        let Some(entry) = self.recorded.entries.get(place) else {
            return Ok(Value::Null);
        };
        let text = format!("{{\"action\":{},\"event\":{}}}", entry.action, entry.event);
        Ok(serde_json::from_str(&text).map_err(std::io::Error::from)?)
    }
}

impl Report {
    fn of(left: &Side, right: &Side, pairs: &[Pairing]) -> Result<Self, ServiceError> {
        let both = |pair: &&Pairing| matches!(pair, Pairing::Both(..));
        let common = pairs.iter().take_while(both).count();
        let same = common == pairs.len();
        let place = |at: usize| -> Result<DifferingPair, ServiceError> {
            Ok(DifferingPair {
                left: left.at(at),
                right: right.at(at),
                fields: field_differences(&left.document(at)?, &right.document(at)?, MOST_FIELDS),
            })
        };
        let mut first_other_content = None;
        for at in 0..common {
            let found = place(at)?;
            // Entry 0 differs in the name of the run, and every digest follows from that.
            let differs = |field: &FieldDifference| !field.follows();
            if found.fields.iter().any(differs) {
                first_other_content = Some(found);
                break;
            }
        }
        let contract =
            |side: &Side| serde_json::from_str::<Value>(&side.view.contract().canonical_text());
        let contracts = (
            contract(left).map_err(std::io::Error::from)?,
            contract(right).map_err(std::io::Error::from)?,
        );
        Ok(Self {
            same,
            left: left.summary(),
            right: right.summary(),
            contract: field_differences(&contracts.0, &contracts.1, MOST_FIELDS),
            common,
            first_other_content,
            divergence: if same { None } else { Some(place(common)?) },
            segments: segments(pairs),
        })
    }
}

/// Runs of pairs of one kind, as first and last place on each side.
fn segments(pairs: &[Pairing]) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    for pair in pairs {
        let (side, left, right) = match *pair {
            Pairing::Both(left, right) => ("both", Some(left), Some(right)),
            Pairing::Left(left) => ("left", Some(left), None),
            Pairing::Right(right) => ("right", None, Some(right)),
        };
        match segments.last_mut() {
            Some(last) if last.side == side => {
                last.left = last.left.zip(left).map(|((from, _), to)| (from, to));
                last.right = last.right.zip(right).map(|((from, _), to)| (from, to));
            }
            _ => segments.push(Segment {
                side,
                left: left.map(|at| (at, at)),
                right: right.map(|at| (at, at)),
            }),
        }
    }
    segments
}

fn report_text(app: &App, report: &Report, left: &Side, right: &Side) -> String {
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
        let row = row.map_or_else(|| "   –  no entry".to_owned(), EntryRow::decision);
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
            for row in rows.iter().take(MOST_FIELDS) {
                let _ = writeln!(out, "     {}", row.decision().trim_end());
            }
            if let Some(more) = rows.len().checked_sub(MOST_FIELDS).filter(|more| *more > 0) {
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
