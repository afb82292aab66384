//! The formats of a store that this build knows, and the steps from each to the next.
//!
//! A build reads every format in the table, writes the newest, and refuses any other by its number.

use rusqlite::Connection;

#[cfg(test)]
use super::format_0;
use super::format_1;

/// The format that this build writes, kept as the database's `user_version`.
pub const STORE_FORMAT: i32 = 2;
/// The oldest format that is read. A store of an older format than [`STORE_FORMAT`] is written only by its migration.
pub const OLDEST_STORE_FORMAT: i32 = match STEPS.first() {
    Some(step) => step.from,
    None => STORE_FORMAT,
};

/// What brings a store of one format to the next.
pub(super) struct Step {
    /// The format before; the one after is the next number.
    pub(super) from: i32,
    /// What it changes, in words.
    pub(super) what: &'static str,
    /// Changes the tables inside the open transaction. The caller sets the number.
    pub(super) apply: fn(&Connection) -> rusqlite::Result<()>,
}

/// Every step, the oldest first and without a gap. Tests have one more, from a format that only they write.
const STEPS: &[Step] = &[
    #[cfg(test)]
    Step {
        from: format_0::FORMAT,
        what: format_0::WHAT,
        apply: format_0::apply,
    },
    Step {
        from: format_1::FORMAT,
        what: format_1::WHAT,
        apply: format_1::apply,
    },
];

/// The steps between two formats.
pub(super) fn steps(from: i32, to: i32) -> impl Iterator<Item = &'static Step> {
    STEPS
        .iter()
        .filter(move |step| from <= step.from && step.from < to)
}
