use std::collections::BTreeMap;

use crate::message::Digest;

/// Where the bytes are that entries name by hash.
pub trait BlobSource {
    /// The bytes under that hash; none where they are not kept.
    fn blob(&self, hash: Digest) -> Option<Vec<u8>>;
}

impl BlobSource for BTreeMap<Digest, Vec<u8>> {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        self.get(&hash).cloned()
    }
}
