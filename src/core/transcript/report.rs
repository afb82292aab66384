//! The report of a verification. Plain data.

use serde::Serialize;

use super::FlawKind;
use crate::message::Digest;

/// The report of a verification: what was checked, what was not, and the first flaw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Level of the evidence: `none` if a flaw was found, `L0` for a whole chain, `L1` if a trusted key has signed the head at
    /// the seal, `L2` if a head noted earlier covers it, `L3` if a witness vouches for it.
    pub level: &'static str,
    /// The checks that came to a verdict, in their order.
    pub checks: Vec<VerifyCheck>,
    /// Checks that were left out, each with its reason.
    pub not_checked: Vec<String>,
    /// The first flaw, where there is one; nothing behind it was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_bad: Option<FirstBad>,
    /// Number of entries that hold.
    #[serde(skip)]
    pub entries: u64,
    /// The hash of the last entry that holds; none if not even the header does.
    #[serde(skip)]
    pub head: Option<Digest>,
}

impl VerifyReport {
    /// Adds a check that came to a verdict after those of the entries. With a flaw the evidence is worth nothing.
    pub fn add(&mut self, name: &'static str, detail: String, flaw: Option<FirstBad>) {
        self.checks.push(VerifyCheck {
            name,
            ok: flaw.is_none(),
            detail,
        });
        if flaw.is_some() {
            self.level = "none";
            self.first_bad = flaw;
        }
    }
}

/// One check and its verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifyCheck {
    /// Its name: header, contract, entries, chain, seal, parent, blobs, erased, index, schema, checkpoints, signature, pins, log or witness;
    /// of a tree also delegated, step, begun or decisions.
    pub name: &'static str,
    /// True if it holds.
    pub ok: bool,
    /// Findings, for people.
    pub detail: String,
}

/// The place of the first flaw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstBad {
    /// The entry's number, where the flaw is in or about an entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The line of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The table of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<&'static str>,
    /// The field of the line, or the column of the row.
    pub field: String,
    /// The expected value.
    pub expected: String,
    /// The value there.
    pub actual: String,
    /// The kind of flaw.
    pub kind: FlawKind,
}

/// The location of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// A line of a file, from 1.
    Line(u64),
    /// A row of this table of a store.
    Table(&'static str),
}

impl VerifyReport {
    /// Returns true if all checks passed.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.first_bad.is_none()
    }
}
