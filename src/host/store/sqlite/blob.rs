//! Blobs by their hash. What the bytes are is not known here.

use std::path::Path;

use rusqlite::{Connection, params};

use super::column::Columns;
use crate::store::StoreError;
use monolith_core::message::Digest;

/// Blobs above this size are made durable before the entry that names them, in a transaction of their own.
pub(super) const LARGE_BLOB_BYTES: usize = 64 << 10;

/// Keeps bytes under their hash, where they are not kept already.
pub(super) fn insert_blob(conn: &Connection, hash: Digest, bytes: &[u8]) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT OR IGNORE INTO blobs(hash, bytes) VALUES(?1, ?2)")?
        .execute(params![hash.as_bytes(), bytes])?;
    Ok(())
}

/// The bytes under that hash.
pub(super) fn blob(
    conn: &Connection,
    path: &Path,
    hash: Digest,
) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let mut select = conn
        .prepare_cached("SELECT bytes FROM blobs WHERE hash = ?1")
        .map_err(sql)?;
    let mut rows = select.query([hash.as_bytes()]).map_err(sql)?;
    let Some(row) = rows.next().map_err(sql)? else {
        return Ok(None);
    };
    let columns = Columns {
        path,
        row,
        table: "blobs",
        of: &format!("blob {hash}"),
    };
    columns.bytes(0, "bytes").map(Some)
}
