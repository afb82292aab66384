//! The results of the live cases: one row each.

use serde::Serialize;

use super::server_traits::ServerTraits;
use crate::JudgedCall;
use crate::metrics::Metrics;

/// The results of a real endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveReport {
    /// One for each run, in the order in which they were driven.
    pub records: Vec<LiveRecord>,
    /// One for each case.
    pub table: Vec<LiveRow>,
    /// The traits of the server in its responses: its row.
    pub server: ServerTraits,
    /// The metrics of 002 Phase 1 over all runs.
    pub metrics: Metrics,
}

/// One run of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveRecord {
    /// The name of the run in the store.
    pub id: String,
    /// The case.
    pub case: String,
    /// Its end's rating.
    pub status: LiveStatus,
    /// The code of its end; null where the case reached what it is after.
    pub failure_code: Option<String>,
    /// `CLASS (code)`.
    pub outcome: String,
    /// The calls that the model made, executed or not.
    pub calls: Vec<JudgedCall>,
    /// True if the transcript verifies and replays.
    pub proven: bool,
    /// Milliseconds from its beginning to its end.
    pub elapsed_ms: u64,
    /// The errors of a broken run; empty otherwise.
    pub detail: Vec<String>,
}

/// The rating of a run's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LiveStatus {
    /// The case is about this end.
    Reached,
    /// The contract allows it; the model or the server fell short.
    Allowed,
    /// The run did not get past preflight: no server, no access.
    Unavailable,
    /// The contract does not allow this end, or the run is not proven.
    Broken,
}

/// One case over all its runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveRow {
    /// Its number and name.
    pub case: String,
    /// Its purpose, as a sentence.
    pub name: String,
    /// Number of runs.
    pub runs: usize,
    /// Number of runs that reached the case's goal.
    pub reached: usize,
    /// Number of runs that ended as the contract allows, including those that reached it.
    pub allowed: usize,
    /// Number that verify and replay.
    pub proven: usize,
    /// The ends, each with how many runs came to it.
    pub ends: Vec<(String, usize)>,
    /// The longest run in milliseconds.
    pub longest_ms: u64,
}

impl LiveReport {
    /// Returns true if every run is proven and ended as its contract allows.
    #[must_use]
    pub fn holds(&self) -> bool {
        let good = |record: &LiveRecord| {
            matches!(record.status, LiveStatus::Reached | LiveStatus::Allowed)
        };
        self.records.iter().all(good)
    }

    /// Returns true if no run got past preflight.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        let mut records = self.records.iter();
        records.all(|record| record.status == LiveStatus::Unavailable)
    }
}

impl LiveRow {
    pub(super) fn of(case: &str, name: &str, records: &[LiveRecord]) -> Self {
        let own = || records.iter().filter(|record| record.case == case);
        let count = |wanted: fn(&LiveRecord) -> bool| own().filter(|record| wanted(record)).count();
        let mut ends: Vec<(String, usize)> = Vec::new();
        for record in own() {
            match ends.iter_mut().find(|(end, _)| *end == record.outcome) {
                Some((_, count)) => *count += 1,
                None => ends.push((record.outcome.clone(), 1)),
            }
        }
        Self {
            case: case.to_owned(),
            name: name.to_owned(),
            runs: own().count(),
            reached: count(|record| record.status == LiveStatus::Reached),
            allowed: count(|record| {
                matches!(record.status, LiveStatus::Reached | LiveStatus::Allowed)
            }),
            proven: count(|record| record.proven),
            ends,
            longest_ms: own().map(|record| record.elapsed_ms).max().unwrap_or(0),
        }
    }
}
