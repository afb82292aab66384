//! Two runs, aligned by their decisions. Judges neither of them.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::entry_row::EntryRow;
use crate::error::ServiceError;
use crate::service::Service;
use crate::source::Recorded;
use crate::verify::report::require_verified;
use monolith_core::kernel::{Counters, Outcome};
use monolith_core::replay::{DecisionShape, FieldDifference, Pairing, align, field_differences};
use monolith_core::view::RunView;

/// Most members that differ of one pair of documents.
const MOST_FIELDS: usize = 12;

/// Two runs and their comparison.
pub struct Comparison {
    /// The left run.
    pub left: Side,
    /// The comparison.
    pub report: DiffReport,
    /// The right run.
    pub right: Side,
}

/// Compares two runs or files that verify.
///
/// # Errors
///
/// One of them does not verify or cannot be read.
pub fn compare(service: &Service, left: &str, right: &str) -> Result<Comparison, ServiceError> {
    let (left, right) = (Side::read(service, left)?, Side::read(service, right)?);
    let pairs = align(&left.shapes, &right.shapes);
    let report = DiffReport::of(&left, &right, &pairs)?;
    Ok(Comparison {
        left,
        report,
        right,
    })
}

/// One run, as far as it is compared.
pub struct Side {
    /// As the caller named it.
    pub asked: String,
    recorded: Recorded,
    /// A row for each entry.
    pub rows: Vec<EntryRow>,
    shapes: Vec<DecisionShape>,
    /// The run after its last entry.
    pub view: RunView,
}

/// Two runs, aligned by their decisions.
#[derive(Debug, Serialize)]
pub struct DiffReport {
    /// True if both runs decided the same, entry for entry.
    pub same: bool,
    /// The left run.
    pub left: Summary,
    /// The right run.
    pub right: Summary,
    /// Members in which the contracts differ.
    pub contract: Vec<FieldDifference>,
    /// Count of entries from the first on that are the same decisions.
    pub common: usize,
    /// The first of them whose content differs all the same.
    pub first_other_content: Option<DifferingPair>,
    /// First entry that decides otherwise.
    pub divergence: Option<DifferingPair>,
    /// Entries of both runs, in order.
    pub segments: Vec<Segment>,
}

/// Figures of one run.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Name of the run.
    pub run_id: Option<String>,
    /// Hash of its contract.
    pub contract_hash: String,
    /// Count of its entries.
    pub entries: usize,
    /// Its outcome, if it has ended.
    pub outcome: Option<Outcome>,
    /// Its counters.
    pub counters: Counters,
    /// Time that it took.
    pub elapsed_ms: u64,
}

/// A pair of entries with their differences.
#[derive(Debug, Serialize)]
pub struct DifferingPair {
    /// Entry of the left run.
    pub left: Option<DecisionAt>,
    /// Entry of the right run.
    pub right: Option<DecisionAt>,
    /// Members that differ.
    pub fields: Vec<FieldDifference>,
}

/// The decision in an entry.
#[derive(Debug, Serialize)]
pub struct DecisionAt {
    /// Number of the entry.
    pub seq: u64,
    /// The decision in it.
    #[serde(flatten)]
    pub decision: DecisionShape,
}

/// Entries that stand together: on both sides, or on one.
#[derive(Debug, Serialize)]
pub struct Segment {
    /// `both`, `left` or `right`.
    pub side: &'static str,
    /// First and last entry of the left run.
    pub left: Option<(usize, usize)>,
    /// First and last entry of the right run.
    pub right: Option<(usize, usize)>,
}

impl Side {
    /// A run that verifies.
    fn read(service: &Service, asked: &str) -> Result<Self, ServiceError> {
        require_verified(service, asked)?;
        let recorded = service.source(asked)?.load()?;
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

impl DiffReport {
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

/// Segments of pairs of one kind.
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
