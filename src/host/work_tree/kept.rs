//! The kept contents of trees, read without the lock of a tree. Keeps none.

use std::io::{self, Read as _};
use std::path::Path;

use monolith_core::message::Digest;

use super::blobs::Blobs;

/// Reads a kept content of at most `most` bytes; `None` if it is not there, longer or damaged.
///
/// # Errors
/// An error of the system.
pub fn kept_content(state: &Path, digest: Digest, most: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = Blobs::new(state).open(digest)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok((Digest::of(&bytes) == digest).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_read_whole_or_not_at_all() {
        let state = tempfile::tempdir().unwrap();
        let digest = Blobs::new(state.path()).keep_bytes(b"one").unwrap();
        let read = |digest, most| kept_content(state.path(), digest, most).unwrap();
        assert_eq!(read(digest, 3), Some(b"one".to_vec()));
        assert_eq!(read(digest, 2), None);
        assert_eq!(read(Digest::of(b"two"), 3), None);
    }
}
