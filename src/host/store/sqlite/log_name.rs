//! The random name of a log of runs.

use rusqlite::{Connection, OptionalExtension as _};

use monolith_core::transcript::{Flaw, FlawKind, is_log_name};

/// What the name of a log is.
const LOG_NAME_RULE: &str = "the name of the log (16 digits of lower-case hex)";

/// Names a log of runs that has none: at random, so that no two logs are taken for one another.
pub(super) const NAME_LOG: &str =
    "INSERT OR IGNORE INTO log_name(only, name) VALUES(1, lower(hex(randomblob(8))))";

/// The name of the log, or what is wrong with it.
pub(super) fn name(conn: &Connection) -> rusqlite::Result<Result<String, Flaw>> {
    let name = conn
        .query_row("SELECT CAST(name AS BLOB) FROM log_name", [], |row| {
            row.get(0)
        })
        .optional()?;
    let Some(name) = name else {
        let kind = FlawKind::Truncated;
        return Ok(Err(Flaw::new(kind, "name", LOG_NAME_RULE, "no row")));
    };
    let name: Vec<u8> = name;
    let name = String::from_utf8_lossy(&name).into_owned();
    Ok(if is_log_name(&name) {
        Ok(name)
    } else {
        Err(Flaw::tampered(
            "name",
            LOG_NAME_RULE,
            format_args!("{name:?}"),
        ))
    })
}
