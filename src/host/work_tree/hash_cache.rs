//! Hashes of files that were read before, so that an unchanged tree is hashed without reading it. Reads no file of a tree.
//!
//! A hash counts as long as device, inode, size and both times are those of the file that was read. The times of a file that was
//! written just before it was read may stay the same when it is written again: its hash is not kept, as git does it.

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use monolith_core::message::Digest;

use super::found::{FileId, Found};
use crate::store::{NewFile, open_own, private_file};

/// The first bytes of the file: its format.
const MAGIC: &[u8; 16] = b"monolith hashes1";
/// Bytes of a record: seven numbers and a hash.
const RECORD_BYTES: usize = 7 * 8 + 32;

/// The hashes of the files of one tree.
#[derive(Debug, Default)]
pub(super) struct HashCache {
    hashes: HashMap<FileId, Known>,
}

/// A hash, and the state of the file that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    bytes: u64,
    changed: (i64, i64),
    digest: Digest,
    modified: (i64, i64),
}

impl HashCache {
    /// The hash of a file, if nothing has changed the file since it was read.
    pub(super) fn lookup(&self, found: &Found) -> Option<Digest> {
        let known = self.hashes.get(&found.id)?;
        let is_same = (known.bytes, known.modified, known.changed)
            == (found.bytes, found.modified, found.changed);
        is_same.then_some(known.digest)
    }

    /// Adds the hash of a file. The caller knows that any later write changes its times.
    pub(super) fn insert(&mut self, found: &Found, digest: Digest) {
        let known = Known {
            bytes: found.bytes,
            changed: found.changed,
            digest,
            modified: found.modified,
        };
        self.hashes.insert(found.id, known);
    }

    /// Reads the hashes; none if there is no such file, or it is damaged.
    pub(super) fn load(path: &Path) -> Self {
        let content = open_own(private_file().read(true), path)
            .ok()
            .and_then(|mut file| {
                let mut content = Vec::new();
                std::io::Read::read_to_end(&mut file, &mut content).ok()?;
                Some(content)
            });
        content
            .and_then(|content| Self::parse(&content))
            .unwrap_or_default()
    }

    fn parse(content: &[u8]) -> Option<Self> {
        let rest = content.strip_prefix(MAGIC)?;
        let (records, sum) = rest.split_at_checked(rest.len().checked_sub(32)?)?;
        if Digest::of(records).as_bytes() != sum {
            return None;
        }
        let mut hashes = HashMap::with_capacity(records.len() / RECORD_BYTES);
        for record in records.chunks_exact(RECORD_BYTES) {
            let (numbers, digest) = record.split_at_checked(RECORD_BYTES - 32)?;
            let mut fields = numbers.chunks_exact(8).map(|field| {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(field);
                bytes
            });
            let mut next = || fields.next();
            let id = (u64::from_le_bytes(next()?), u64::from_le_bytes(next()?));
            let bytes = u64::from_le_bytes(next()?);
            let modified = (i64::from_le_bytes(next()?), i64::from_le_bytes(next()?));
            let changed = (i64::from_le_bytes(next()?), i64::from_le_bytes(next()?));
            let digest = Digest::from_bytes(digest.try_into().ok()?);
            let known = Known {
                bytes,
                changed,
                digest,
                modified,
            };
            hashes.insert(id, known);
        }
        Some(Self { hashes })
    }

    /// Writes the hashes. A cache that cannot be written costs the next scan time, and nothing else.
    pub(super) fn save(&self, path: &Path) {
        let mut records = Vec::with_capacity(self.hashes.len() * RECORD_BYTES);
        for ((device, inode), known) in &self.hashes {
            for number in [*device, *inode, known.bytes] {
                records.extend_from_slice(&number.to_le_bytes());
            }
            let (modified, changed) = (known.modified, known.changed);
            for number in [modified.0, modified.1, changed.0, changed.1] {
                records.extend_from_slice(&number.to_le_bytes());
            }
            records.extend_from_slice(known.digest.as_bytes());
        }
        let sum = Digest::of(&records);
        let written = NewFile::private(path).and_then(|mut new| {
            for part in [MAGIC.as_slice(), &records, sum.as_bytes()] {
                new.file().write_all(part)?;
            }
            new.replace()
        });
        if written.is_err() {
            drop(fs::remove_file(path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::found::Kind;
    use super::*;

    fn found(inode: u64) -> Found {
        Found {
            allocated: 0,
            bytes: 7,
            changed: (1_700_000_000, 3),
            gid: 0,
            id: (1, inode),
            kind: Kind::File,
            mode: 0o644,
            modified: (-5, 2),
            uid: 0,
        }
    }

    #[test]
    fn a_hash_counts_until_one_of_its_facts_changes() {
        let mut cache = HashCache::default();
        let digest = Digest::of(b"content");
        cache.insert(&found(2), digest);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hashes");
        cache.save(&path);
        let cache = HashCache::load(&path);
        assert_eq!(cache.lookup(&found(2)), Some(digest));
        assert_eq!(cache.lookup(&found(3)), None);
        let others = [
            Found {
                bytes: 8,
                ..found(2)
            },
            Found {
                id: (2, 2),
                ..found(2)
            },
            Found {
                modified: (-5, 3),
                ..found(2)
            },
            Found {
                changed: (1_700_000_001, 3),
                ..found(2)
            },
        ];
        for other in others {
            assert_eq!(cache.lookup(&other), None, "{other:?}");
        }
    }

    #[test]
    fn a_damaged_file_holds_no_hash() {
        let mut cache = HashCache::default();
        cache.insert(&found(2), Digest::of(b"content"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hashes");
        cache.save(&path);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert!(HashCache::parse(&damaged).is_none(), "{at}");
            assert!(HashCache::parse(&whole[..at]).is_none(), "{at}");
        }
        assert!(HashCache::parse(&whole).is_some());
    }
}
