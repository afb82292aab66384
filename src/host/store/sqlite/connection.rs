//! What every connection is set to, for reading and for writing.

use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// How long another process's lock is waited for.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// Runs nothing that a file brings with it: a trigger could drop what is written, a view in the place of a table never end.
pub(super) fn distrust(conn: &Connection) -> rusqlite::Result<()> {
    for code in [
        DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER,
        DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW,
        DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA,
    ] {
        conn.set_db_config(code, false)?;
    }
    Ok(())
}
