//! The report on the log of runs.

use monolith_core::transcript::{FirstBad, Flaw, SignedDeletion, TreeHash, TreeHead, VerifyCheck};
use serde::Serialize;

/// The report of a verification of the log of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogReport {
    /// The name of the log.
    pub log: String,
    /// Number of runs in it.
    pub size: usize,
    /// The checks that came to a verdict, in their order.
    pub checks: Vec<VerifyCheck>,
    /// Checks that were left out, each with its reason.
    pub not_checked: Vec<String>,
    /// The first flaw, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_bad: Option<FirstBad>,
}

impl LogReport {
    /// Adds the verdict of a check.
    pub(super) fn take(
        &mut self,
        name: &'static str,
        table: &'static str,
        judged: Result<(), Flaw>,
        detail: String,
    ) {
        let detail = match &judged {
            Ok(()) => detail,
            Err(flaw) => format!(
                "{}: expected {}, got {}",
                flaw.field, flaw.expected, flaw.actual
            ),
        };
        let ok = judged.is_ok();
        self.checks.push(VerifyCheck { name, ok, detail });
        if let (Err(flaw), None) = (judged, &self.first_bad) {
            self.first_bad = Some(FirstBad {
                seq: None,
                line: None,
                table: Some(table),
                field: flaw.field,
                expected: flaw.expected,
                actual: flaw.actual,
                kind: flaw.kind,
            });
        }
    }

    /// Says how many runs were deleted, and who vouches for each of them.
    pub(super) fn take_deletions(&mut self, judged: Result<Vec<SignedDeletion>, Flaw>) {
        let table = "deletions";
        let found = match judged {
            Ok(found) if found.is_empty() => return,
            Ok(found) => found,
            Err(flaw) => return self.take(table, table, Err(flaw), String::new()),
        };
        let known = found.iter().filter(|read| read.is_known()).count();
        let detail = format!(
            "runs that were deleted: {}, by a known key: {known}",
            found.len()
        );
        self.take(table, table, Ok(()), detail);
        for read in found {
            if read.is_known() {
                self.take(table, table, Ok(()), read.to_string());
            } else {
                self.not_checked.push(format!("{table}: {read}"));
            }
        }
    }
}

/// The log of runs as it stands: a leaf for every sealed run, in the order of the seals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLog {
    /// Its name, random, for good.
    pub name: String,
    /// The hashes of its leaves.
    pub leaves: Vec<TreeHash>,
}

impl RunLog {
    /// Its head.
    #[must_use]
    pub fn head(&self) -> TreeHead {
        TreeHead::over(&self.name, &self.leaves)
    }
}
