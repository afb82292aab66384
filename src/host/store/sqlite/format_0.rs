//! Format 0, which no build ever wrote: the older format that tests read, migrate and refuse.
//!
//! It lacks the index of runs by their time, and its table `entries` has the columns in another order. Everything else is as in
//! format 1. The step cannot be taken twice, so one that was taken by halves is found.

use rusqlite::Connection;

pub(super) const FORMAT: i32 = 0;
pub(super) const WHAT: &str =
    "the index of runs by their time, and the columns of entries in the order of format 1";

/// Format 0 to format 1.
pub(super) fn apply(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("CREATE INDEX runs_by_time ON runs(created_unix_ms, id)")?;
    rewrite(
        conn,
        "run INTEGER NOT NULL REFERENCES runs(id),
    seq INTEGER NOT NULL,
    state TEXT NOT NULL,
    event ANY NOT NULL,
    action ANY NOT NULL,
    hash BLOB NOT NULL,",
    )
}

/// Makes the store of format 1 one of format 0.
pub(crate) fn take_back(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("DROP INDEX runs_by_time")?;
    rewrite(
        conn,
        "hash BLOB NOT NULL,
    action ANY NOT NULL,
    event ANY NOT NULL,
    state TEXT NOT NULL,
    run INTEGER NOT NULL REFERENCES runs(id),
    seq INTEGER NOT NULL,",
    )?;
    conn.pragma_update(None, "user_version", FORMAT)
}

/// Rewrites the table `entries` with these columns.
fn rewrite(conn: &Connection, columns: &str) -> rusqlite::Result<()> {
    conn.execute_batch(&format!(
        "ALTER TABLE entries RENAME TO entries_before;
CREATE TABLE entries(
    {columns}
    UNIQUE(run, seq)
) STRICT;
INSERT INTO entries(run, seq, state, event, action, hash)
    SELECT run, seq, state, event, action, hash FROM entries_before ORDER BY run, seq;
DROP TABLE entries_before;"
    ))
}
