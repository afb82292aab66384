//! Copies a file and hashes it on the way. Does not know models.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::ModelStoreError;
use crate::inference::Reading;
use crate::store::{open_regular, open_regular_name, private_file};
use monolith_core::message::Digest;

/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;

/// The checksums and size of a file.
pub(super) struct Sums {
    pub(super) blake3: Digest,
    pub(super) bytes: u64,
    /// Lower-case hex.
    pub(super) sha256: String,
}

pub(super) fn sums_of(path: &Path, reading: &mut Reading<'_>) -> Result<Sums, ModelStoreError> {
    let mut file = File::open(path).map_err(|fault| ModelStoreError::io(path, fault))?;
    pass((path, &mut file), (path, &mut io::sink()), reading)
}

pub(super) fn copy(
    from: &Path,
    (to, mut target): (&Path, File),
    reading: &mut Reading<'_>,
) -> Result<Sums, ModelStoreError> {
    let mut source = open_regular(from).map_err(|fault| ModelStoreError::io(from, fault))?;
    let sums = pass((from, &mut source), (to, &mut target), reading)?;
    target
        .sync_all()
        .map_err(|fault| ModelStoreError::io(to, fault))?;
    Ok(sums)
}

/// Passes everything on; what it is known by.
fn pass(
    (from, source): (&Path, &mut File),
    (to, target): (&Path, &mut dyn io::Write),
    reading: &mut Reading<'_>,
) -> Result<Sums, ModelStoreError> {
    let (mut blake3, mut sha256) = (blake3::Hasher::new(), Sha256::new());
    let mut piece = vec![0; PIECE];
    let mut bytes = 0;
    loop {
        if !reading(bytes) {
            let path = from.to_owned();
            return Err(ModelStoreError::Stopped { path });
        }
        let read = source.read(&mut piece);
        let read = read.map_err(|fault| ModelStoreError::io(from, fault))?;
        let Some(read) = piece.get(..read).filter(|read| !read.is_empty()) else {
            break;
        };
        blake3.update(read);
        sha256.update(read);
        let written = target.write_all(read);
        written.map_err(|fault| ModelStoreError::io(to, fault))?;
        bytes += read.len() as u64;
    }
    let sha256 = sha256.finalize();
    Ok(Sums {
        blake3: Digest::from_bytes(*blake3.finalize().as_bytes()),
        bytes,
        sha256: Digest::from_bytes(sha256.into()).to_string(),
    })
}

/// A file for a copy, locked for as long as it is open. Leftovers of killed processes are removed first: no process
/// holds its lock. The caller holds the store's.
pub(super) fn new_part(blobs: &Path) -> Result<(PathBuf, File), ModelStoreError> {
    let entries = fs::read_dir(blobs).map_err(|fault| ModelStoreError::io(blobs, fault))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let part = path.extension().is_some_and(|ending| ending == "part");
        let mut options = OpenOptions::new();
        let options = options.read(true);
        if part && open_regular_name(options, &path).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(&path);
        }
    }
    let mut number = std::process::id();
    loop {
        let part = blobs.join(format!("{number}.part"));
        let made = private_file().write(true).create_new(true).open(&part);
        match made.map(|file| (file.try_lock(), file)) {
            Ok((Ok(()), file)) => return Ok((part, file)),
            Ok((Err(TryLockError::Error(fault)), _)) => {
                return Err(ModelStoreError::io(&part, fault));
            }
            Err(fault) if fault.kind() != io::ErrorKind::AlreadyExists => {
                return Err(ModelStoreError::io(&part, fault));
            }
            // Another thread of this process, or another machine's process of that number.
            Ok((Err(TryLockError::WouldBlock), _)) | Err(_) => number = number.wrapping_add(1),
        }
    }
}
