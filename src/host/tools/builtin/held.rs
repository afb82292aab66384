//! What a file holds at one moment, as far as that is kept. Does not know who keeps it.

use std::io::{self, Read as _};
use std::path::Path;

use super::beneath::{Beneath, OpenError};
use monolith_core::message::Digest;

/// Most bytes of a file that is written, or kept.
pub(super) const FILE_BYTES: usize = 16 * 1024 * 1024;

/// What a file held before it was changed.
#[derive(Debug)]
pub(super) enum Held {
    Content(Vec<u8>),
    /// More than is kept.
    Large(Digest),
    /// It was not there.
    Nothing,
}

impl Held {
    /// What a file holds now; of one that is too large to be kept, the hash alone.
    pub(super) fn of(beneath: &Beneath, path: &Path) -> Result<Self, OpenError> {
        let mut file = match beneath.file(path) {
            Err(OpenError::Io(fault)) if fault.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::Nothing);
            }
            opened => opened?,
        };
        let most = u64::try_from(FILE_BYTES).unwrap_or(u64::MAX);
        let mut content = Vec::new();
        file.by_ref().take(most).read_to_end(&mut content)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&content);
        let before = hasher.count();
        hasher.update_reader(file)?;
        if hasher.count() == before {
            return Ok(Self::Content(content));
        }
        let hash = Digest::from_bytes(*hasher.finalize().as_bytes());
        Ok(Self::Large(hash))
    }

    /// Its hash; `None` if it was not there.
    pub(super) fn hash(&self) -> Option<Digest> {
        match self {
            Self::Content(content) => Some(Digest::of(content)),
            Self::Large(hash) => Some(*hash),
            Self::Nothing => None,
        }
    }
}
