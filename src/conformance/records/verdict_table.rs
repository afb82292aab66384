//! Verdicts counted by protocol.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{JudgedRecord, RecordStatus};

/// How many records of each protocol got which verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerdictTable(BTreeMap<(String, RecordStatus, Option<&'static str>), u64>);

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerdictRow {
    /// The protocol.
    pub proto: String,
    /// The verdict.
    pub status: RecordStatus,
    /// Its code; null where there is a message.
    pub failure_code: Option<&'static str>,
    /// How many.
    pub records: u64,
}

impl VerdictTable {
    /// Counts one record.
    pub fn count(&mut self, record: &JudgedRecord) {
        let key = (record.protocol.clone(), record.status, record.failure_code);
        let count = self.0.entry(key).or_default();
        *count = count.saturating_add(1);
    }

    /// The rows, by protocol, verdict and code.
    #[must_use]
    pub fn rows(&self) -> Vec<VerdictRow> {
        let row = |((proto, status, failure_code), records): (&(String, _, _), &u64)| VerdictRow {
            proto: proto.clone(),
            status: *status,
            failure_code: *failure_code,
            records: *records,
        };
        self.0.iter().map(row).collect()
    }
}
