//! The trait that keeps bytes by hash. Does not know the store.

use monolith_core::message::Digest;

/// Where bytes go that are kept by hash: whole results, images, answers that do not decode.
pub(crate) trait BlobSink: Send + Sync {
    /// Takes `bytes` into keeping and returns their BLAKE3 digest.
    ///
    /// It does not fail: a sink that cannot store keeps that to itself and fails where it is flushed, before
    /// the entry that names the digest becomes durable.
    fn put(&self, bytes: Vec<u8>) -> Digest;
}
