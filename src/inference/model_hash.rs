use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::message::Digest;

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// BLAKE3 over a model's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModelHash(pub Digest);

impl ModelHash {
    /// The hash of a file: from `cache` where it holds one for this path, size, time of change and inode, else made and kept
    /// there. A cache that cannot be read or written only costs time.
    ///
    /// # Errors
    /// The system could not read the file.
    pub(crate) fn of(path: &Path, cache: Option<&Path>) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        let kept = cache.map(|cache| cache.join(key(path, &metadata).to_string()));
        if let Some(known) = kept.as_deref().and_then(known) {
            return Ok(Self(known));
        }
        let mut hasher = blake3::Hasher::new();
        let mut piece = vec![0; PIECE];
        loop {
            let read = file.read(&mut piece)?;
            let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else {
                break;
            };
            hasher.update(bytes);
        }
        let hash = Digest::from_bytes(*hasher.finalize().as_bytes());
        if let (Some(kept), Some(cache)) = (kept, cache) {
            // Written beside and renamed: nobody ever reads half a hash.
            let beside = kept.with_extension(std::process::id().to_string());
            let _ = fs::create_dir_all(cache)
                .and_then(|()| fs::write(&beside, hash.to_string()))
                .and_then(|()| fs::rename(&beside, &kept));
        }
        Ok(Self(hash))
    }
}

fn known(kept: &Path) -> Option<Digest> {
    let mut text = String::new();
    File::open(kept)
        .ok()?
        .take(65)
        .read_to_string(&mut text)
        .ok()?;
    text.parse().ok()
}

/// What tells one state of a file from another without reading it.
fn key(path: &Path, metadata: &Metadata) -> Digest {
    let changed = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let changed = changed.map_or(0, |since| since.as_nanos());
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let size = metadata.len();
    let inode = inode(metadata);
    let state = format!("{}\n{size}\n{changed}\n{inode}", path.display());
    Digest::of(state.as_bytes())
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_kept_as_long_as_the_file_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (file, cache) = (folder.path().join("m.gguf"), folder.path().join("cache"));
        let of = || ModelHash::of(&file, Some(&cache)).unwrap().0;
        let kept = || {
            fs::read_dir(&cache)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect::<Vec<_>>()
        };
        fs::write(&file, "one").unwrap();
        assert_eq!(of(), Digest::of(b"one"));
        // What stands in the cache is believed: so it was read from there.
        fs::write(&kept()[0], Digest::of(b"other").to_string()).unwrap();
        assert_eq!(of(), Digest::of(b"other"));
        fs::write(&kept()[0], "half a ha").unwrap();
        assert_eq!(of(), Digest::of(b"one"));
        fs::write(&file, "longer").unwrap();
        assert_eq!(of(), Digest::of(b"longer"));
        assert_eq!(kept().len(), 2);
        fs::remove_file(&file).unwrap();
        assert!(ModelHash::of(&file, Some(&cache)).is_err());
    }
}
