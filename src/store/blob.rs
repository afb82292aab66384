use rusqlite::{Connection, params};

use crate::message::Digest;

/// Blobs above this size are made durable before the entry that names them, in a transaction of their own.
pub(crate) const LARGE_BLOB_BYTES: usize = 64 << 10;

/// A blob that an entry of the batch names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewBlob {
    /// Its bytes, which may or may not be in the store yet.
    Bytes(Vec<u8>),
    /// Its hash: the bytes have been put already.
    Stored(Digest),
}

/// Keeps bytes under their hash, where they are not kept already.
pub(super) fn insert_blob(conn: &Connection, hash: Digest, bytes: &[u8]) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT OR IGNORE INTO blobs(hash, bytes) VALUES(?1, ?2)")?
        .execute(params![hash.as_bytes(), bytes])?;
    Ok(())
}
