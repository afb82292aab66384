//! The hash of a model file, computed once and stored. Does not know the model.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use super::ModelFile;
use crate::store::{open_own, own_folder, private_folder, replace_own};
use monolith_core::message::Digest;

/// Receives how many bytes of a large file have been read, every MiB; false ends the reading.
pub type Reading<'w> = dyn FnMut(u64) -> bool + Send + 'w;

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// BLAKE3 over a model's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModelHash(pub Digest);

impl ModelHash {
    /// The hash of a file: from `cache` where it holds one for this path, device, inode, size and time of change, else made
    /// and kept there. A cache that cannot be read or written only costs time.
    ///
    /// # Errors
    /// The system could not read the file, it was changed meanwhile, or the reading was ended.
    pub(crate) fn of(
        file: &ModelFile,
        cache: Option<&Path>,
        reading: &mut Reading<'_>,
    ) -> io::Result<Self> {
        let kept = cache.map(|cache| cache.join(key(file).to_string()));
        if let Some(stored) = kept.as_deref().and_then(stored) {
            return Ok(Self(stored));
        }
        let mut hasher = blake3::Hasher::new();
        let mut piece = vec![0; PIECE];
        let mut from = file.rewound()?;
        let mut have = 0;
        loop {
            if !reading(have) {
                return Err(io::Error::other("its reading was ended"));
            }
            let read = from.read(&mut piece)?;
            let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else {
                break;
            };
            hasher.update(bytes);
            have += bytes.len() as u64;
        }
        let hash = Digest::from_bytes(*hasher.finalize().as_bytes());
        file.unchanged().map_err(io::Error::other)?;
        if let (Some(kept), Some(cache)) = (kept, cache) {
            let _ = private_folder(cache)
                .and_then(|()| own_folder(cache))
                .and_then(|()| replace_own(&kept, hash.to_string().as_bytes()));
        }
        Ok(Self(hash))
    }
}

fn stored(kept: &Path) -> Option<Digest> {
    let mut text = String::new();
    open_own(OpenOptions::new().read(true), kept)
        .ok()?
        .take(65)
        .read_to_string(&mut text)
        .ok()?;
    text.parse().ok()
}

/// Returns the key for storing a file's hash.
fn key(file: &ModelFile) -> Digest {
    let path = fs::canonicalize(file.path()).unwrap_or_else(|_| file.path().to_owned());
    let state = format!(
        "{}\n{:?}\n{:?}",
        path.display(),
        file.state(),
        file.touched()
    );
    Digest::of(state.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_kept_as_long_as_the_file_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (file, cache) = (folder.path().join("m.gguf"), folder.path().join("cache"));
        let of = || {
            ModelHash::of(&ModelFile::open(&file).unwrap(), Some(&cache), &mut |_| {
                true
            })
            .unwrap()
            .0
        };
        let kept = || {
            fs::read_dir(&cache)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect::<Vec<_>>()
        };
        fs::write(&file, "one").unwrap();
        assert_eq!(of(), Digest::of(b"one"));
        // The cache is trusted, so this shows that it was read.
        fs::write(&kept()[0], Digest::of(b"other").to_string()).unwrap();
        assert_eq!(of(), Digest::of(b"other"));
        fs::write(&kept()[0], "half a ha").unwrap();
        assert_eq!(of(), Digest::of(b"one"));
        fs::write(&file, "longer").unwrap();
        assert_eq!(of(), Digest::of(b"longer"));
        assert_eq!(kept().len(), 2);
        // One that is changed while it is open has no hash that could be kept.
        fs::write(&file, "of another length").unwrap();
        let open = ModelFile::open(&file).unwrap();
        fs::write(&file, "changed").unwrap();
        assert!(ModelHash::of(&open, Some(&cache), &mut |_| true).is_err());
        assert_eq!(kept().len(), 2);
    }

    #[test]
    fn a_reading_is_reported_every_mebibyte_and_ends_when_cancelled() {
        let folder = tempfile::tempdir().unwrap();
        let (path, cache) = (folder.path().join("m.gguf"), folder.path().join("cache"));
        fs::write(&path, vec![7; 3 * PIECE + 1]).unwrap();
        let file = ModelFile::open(&path).unwrap();
        let mut reported = Vec::new();
        let ended = ModelHash::of(&file, Some(&cache), &mut |have| {
            reported.push(have);
            have < 2 * PIECE as u64
        });
        assert!(ended.is_err() && !cache.exists(), "{ended:?}");
        assert_eq!(reported, [0, 1 << 20, 2 << 20]);
        let mut last = 0;
        ModelHash::of(&file, None, &mut |have| {
            last = have;
            true
        })
        .unwrap();
        assert_eq!(last, file.size());
    }
}
