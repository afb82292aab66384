//! The trait that finds recorded bytes by hash. Does not know where they are stored.

use std::collections::BTreeMap;

use crate::message::Digest;

/// Where the bytes are that entries name by hash.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use monolith_core::message::Digest;
/// use monolith_core::replay::BlobSource;
///
/// let blobs = BTreeMap::from([(Digest::of(b"bytes"), b"bytes".to_vec())]);
/// assert_eq!(blobs.blob(Digest::of(b"bytes")), Some(b"bytes".to_vec()));
/// ```
pub trait BlobSource {
    /// The bytes under that hash; none if they are not kept.
    fn blob(&self, hash: Digest) -> Option<Vec<u8>>;

    /// Whether a tombstone says that the bytes under that hash were erased by design.
    fn erased(&self, _hash: Digest) -> bool {
        false
    }
}

impl BlobSource for BTreeMap<Digest, Vec<u8>> {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        self.get(&hash).cloned()
    }
}
