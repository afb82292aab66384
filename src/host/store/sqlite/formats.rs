//! The formats of a store that this build knows, and the steps from each to the next.
//!
//! A build reads every format in the table, writes the newest, and refuses any other by its number.

use rusqlite::Connection;

#[cfg(test)]
use super::format_0;

/// The format that this build writes, kept as the database's `user_version`.
pub const STORE_FORMAT: i32 = 2;
/// The oldest format that is read. A store of an older format than [`STORE_FORMAT`] is written only by its migration.
pub const OLDEST_STORE_FORMAT: i32 = match STEPS.first() {
    Some(step) => step.from,
    None => STORE_FORMAT,
};

/// The conversion of a store from one format to the next.
pub(super) struct Step {
    /// The format before; the one after is the next number.
    pub(super) from: i32,
    /// The change, in words.
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
        from: FORMAT,
        what: WHAT,
        apply,
    },
];

/// The steps between two formats.
pub(super) fn steps(from: i32, to: i32) -> impl Iterator<Item = &'static Step> {
    STEPS
        .iter()
        .filter(move |step| from <= step.from && step.from < to)
}

pub(super) const FORMAT: i32 = 1;
pub(super) const WHAT: &str = "a separate column for the files that a run trusted";

/// The rows of `invocations` as format 2 has them, read from a table of format 1. No change of a value begins with `trust.files=`.
const SPLIT: &str = "SELECT run, base_dir, contract_file, config, \
    CASE WHEN files IS NULL THEN sets ELSE json_remove(sets, '$[#-1]') END AS sets, files FROM ( \
        SELECT *, CASE WHEN json_valid(sets) THEN \
            CASE WHEN substr(json_extract(sets, '$[#-1]'), 1, 12) = 'trust.files=' \
                THEN substr(json_extract(sets, '$[#-1]'), 13) END \
        END AS files FROM ";

/// Format 1 to format 2.
pub(super) fn apply(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(&format!(
        "ALTER TABLE invocations RENAME TO invocations_before;
CREATE TABLE invocations(
    run INTEGER PRIMARY KEY REFERENCES runs(id),
    base_dir TEXT NOT NULL,
    contract_file TEXT NOT NULL,
    config TEXT,
    sets TEXT NOT NULL,
    files TEXT
) STRICT;
INSERT INTO invocations(run, base_dir, contract_file, config, sets, files) {SPLIT} invocations_before);
DROP TABLE invocations_before;"
    ))
}

/// Has a connection that reads an older store see its table as format 2 has it.
pub(super) fn read_as_next(conn: &Connection) -> rusqlite::Result<()> {
    // A name of this connection alone, which comes before that of the file.
    conn.execute_batch(&format!(
        "CREATE TEMP VIEW invocations AS {SPLIT} main.invocations)"
    ))
}

/// Makes the store of format 2 one of format 1.
#[cfg(test)]
pub(crate) fn take_back(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "ALTER TABLE invocations RENAME TO invocations_after;
CREATE TABLE invocations(
    run INTEGER PRIMARY KEY REFERENCES runs(id),
    base_dir TEXT NOT NULL,
    contract_file TEXT NOT NULL,
    config TEXT,
    sets TEXT NOT NULL
) STRICT;
INSERT INTO invocations(run, base_dir, contract_file, config, sets)
    SELECT run, base_dir, contract_file, config,
        CASE WHEN files IS NULL THEN sets ELSE json_insert(sets, '$[#]', 'trust.files=' || files) END
    FROM invocations_after;
DROP TABLE invocations_after;",
    )?;
    conn.pragma_update(None, "user_version", FORMAT)
}
