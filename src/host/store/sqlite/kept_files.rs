//! The contents of workspace files before a run changed them: one file a run, next to the database. Knows neither workspaces
//! nor the changes.
//!
//! It is a line with the folder that the files are of, and behind it one record for each content: BLAKE3, length and
//! permissions, and the bytes, compressed. Of two records of one content the later one counts. A record that a killed
//! process left incomplete is cut off by the next one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::lock::{lock_run, refused};
use super::store_file::kept_folder;
use crate::store::StoreError;
use crate::store::new_file::NewFile;
use crate::store::private::{open_own, own_folder, private_file, private_folder};
use monolith_core::message::{Digest, RunId};

/// The most bytes that one run keeps, compressed. What a run changes beyond them is recorded, and cannot be restored.
const MOST_BYTES: u64 = 256 << 20;
/// The largest content.
const CONTENT_BYTES: usize = 16 << 20;
/// The longest first line.
const LINE_BYTES: u64 = 64 << 10;
/// Hash, length and permissions of a record.
const HEAD_BYTES: u64 = 40;
/// Bits of the length; the permissions stand above them.
const LENGTH_BITS: u32 = 48;
/// Set above the permissions where they are known.
const KNOWN: u64 = 1 << 15;
/// The format that is written. Format 1 has no permissions.
const FORMAT: u32 = 2;

/// The contents that one run keeps.
#[derive(Debug)]
pub(crate) struct KeptFiles {
    open: Mutex<Option<Open>>,
    path: PathBuf,
}

#[derive(Debug)]
struct Open {
    contents: BTreeMap<Digest, ByteRange>,
    end: u64,
    file: File,
    format: u32,
    /// True if all of it is durable.
    is_settled: bool,
}

/// The place of a content's bytes.
#[derive(Clone, Copy, Debug)]
struct ByteRange {
    at: u64,
    bytes: u64,
    /// The permissions that all files of this content had; `None` in format 1, and where the system has none.
    mode: Option<u16>,
}

impl ByteRange {
    /// The length and the permissions as a record has them.
    fn packed(self) -> u64 {
        let mode = self.mode.map_or(0, |mode| u64::from(mode) | KNOWN);
        self.bytes | (mode << LENGTH_BITS)
    }

    /// Reads them at that place.
    fn read(at: u64, packed: u64) -> Self {
        let mode = packed >> LENGTH_BITS;
        let known = mode & KNOWN != 0;
        Self {
            at,
            bytes: packed & ((1 << LENGTH_BITS) - 1),
            mode: u16::try_from(mode & !KNOWN).ok().filter(|_| known),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: u32,
    workspace: String,
}

/// The contents that a run kept, to be read.
#[derive(Debug)]
pub struct ReadKept {
    open: Open,
    workspace: PathBuf,
}

impl KeptFiles {
    /// Returns the kept files of a run; there is no file before the first one is kept.
    pub(crate) fn of(store: &Path, run_id: &RunId) -> Self {
        Self {
            open: Mutex::default(),
            path: path_of(store, run_id),
        }
    }

    /// Keeps a content of that workspace, and the permissions of its file; false where that is more than is kept. Without a content the file
    /// is made. It is durable once [`Self::settle`] has returned.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn keep_of(
        &self,
        workspace: &Path,
        content: Option<(&[u8], Option<u16>)>,
    ) -> io::Result<bool> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let there = match open.take() {
            Some(there) => there,
            None => self.opened(workspace)?,
        };
        let there = open.insert(there);
        let Some((content, mode)) = content else {
            return Ok(true);
        };
        let hash = Digest::of(content);
        let mut mode = mode.filter(|_| there.format >= FORMAT);
        if let Some(known) = there.contents.get(&hash) {
            mode = match (known.mode, mode) {
                (Some(known), Some(mode)) => Some(known & mode),
                (known, mode) => known.or(mode),
            };
            if mode == known.mode {
                return Ok(true);
            }
        }
        let packed = lz4_flex::compress_prepend_size(content);
        let bytes = u64::try_from(packed.len()).unwrap_or(u64::MAX);
        let end = there.end.saturating_add(HEAD_BYTES).saturating_add(bytes);
        if content.len() > CONTENT_BYTES || end > MOST_BYTES {
            return Ok(false);
        }
        there.file.seek(SeekFrom::Start(there.end))?;
        let mut record = hash.as_bytes().to_vec();
        let at = there.end + HEAD_BYTES;
        let range = ByteRange { at, bytes, mode };
        record.extend_from_slice(&range.packed().to_le_bytes());
        record.extend_from_slice(&packed);
        there.file.write_all(&record)?;
        there.is_settled = false;
        there.contents.insert(hash, range);
        there.end = end;
        Ok(true)
    }

    /// Makes durable what was kept.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn settle(&self) -> io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(there) = open.as_mut().filter(|there| !there.is_settled) {
            there.file.sync_data()?;
            there.is_settled = true;
        }
        Ok(())
    }

    /// A content that this process kept or found; `None` if there is none of that hash.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn content(&self, hash: Digest) -> io::Result<Option<Vec<u8>>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.as_mut().map_or(Ok(None), |there| there.content(hash))
    }

    fn opened(&self, of: &Path) -> io::Result<Open> {
        let folder = self.path.parent().unwrap_or(&self.path);
        private_folder(folder)?;
        own_folder(folder)?;
        if let Some(ReadKept { open, workspace }) = ReadKept::at(&self.path, true)?
            && workspace == of
        {
            open.file.set_len(open.end)?;
            return Ok(open);
        }
        // What a deleted run of that name left is not this one's.
        let mut new = NewFile::private(&self.path)?;
        new.file().write_all(&header(of)?)?;
        new.replace()?;
        let there = ReadKept::at(&self.path, true)?;
        there
            .map(|there| there.open)
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

impl ReadKept {
    /// Opens the kept contents of a run; `None` if it keeps nothing.
    ///
    /// # Errors
    /// What the system says, or where it is no such file.
    pub fn of(store: &Path, run_id: &RunId) -> io::Result<Option<Self>> {
        Self::at(&path_of(store, run_id), false)
    }

    fn at(path: &Path, to_write: bool) -> io::Result<Option<Self>> {
        let mut options = private_file();
        options.read(true).write(to_write);
        let file = match open_own(&mut options, path) {
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let length = file.metadata()?.len();
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        let first = reader
            .by_ref()
            .take(LINE_BYTES)
            .read_until(b'\n', &mut line)?;
        let header: Header = serde_json::from_slice(&line)?;
        if !(1..=FORMAT).contains(&header.format) {
            let words = format!(
                "its format is {}, and this build reads 1 to {FORMAT}",
                header.format
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
        let mut contents = BTreeMap::new();
        let mut end = u64::try_from(first).unwrap_or(u64::MAX);
        loop {
            let mut head = [0; 40];
            reader.seek(SeekFrom::Start(end))?;
            match reader.read_exact(&mut head) {
                Err(fault) if fault.kind() == io::ErrorKind::UnexpectedEof => break,
                read => read?,
            }
            let (mut hash, mut bytes) = ([0; 32], [0; 8]);
            let (first, last) = head.split_at(32);
            hash.copy_from_slice(first);
            bytes.copy_from_slice(last);
            let range = ByteRange::read(end + HEAD_BYTES, u64::from_le_bytes(bytes));
            match range
                .at
                .checked_add(range.bytes)
                .filter(|next| *next <= length)
            {
                Some(next) => end = next,
                None => break,
            }
            contents.insert(Digest::from_bytes(hash), range);
        }
        let file = reader.into_inner();
        let open = Open {
            contents,
            end,
            file,
            format: header.format,
            is_settled: true,
        };
        let workspace = PathBuf::from(header.workspace);
        Ok(Some(Self { open, workspace }))
    }

    /// The folder that the files are of.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The content of that hash; `None` if it is not kept, or was changed.
    ///
    /// # Errors
    /// What the system says.
    pub fn content(&mut self, hash: Digest) -> io::Result<Option<Vec<u8>>> {
        self.open.content(hash)
    }

    /// The permissions of the files with the content of that hash; `None` if they are not kept.
    #[must_use]
    pub fn mode(&self, hash: Digest) -> Option<u16> {
        self.open.contents.get(&hash)?.mode
    }
}

impl Open {
    /// The content of that hash; `None` if it is not kept, or was changed.
    fn content(&mut self, hash: Digest) -> io::Result<Option<Vec<u8>>> {
        let Some(ByteRange { at, bytes, .. }) = self.contents.get(&hash).copied() else {
            return Ok(None);
        };
        let mut packed = Vec::new();
        self.file.seek(SeekFrom::Start(at))?;
        (&self.file).take(bytes).read_to_end(&mut packed)?;
        let said = packed
            .first_chunk::<4>()
            .map(|said| u32::from_le_bytes(*said));
        let is_bounded = said
            .and_then(|said| usize::try_from(said).ok())
            .is_some_and(|said| said <= CONTENT_BYTES);
        if !is_bounded {
            return Ok(None);
        }
        let content = lz4_flex::decompress_size_prepended(&packed).ok();
        Ok(content.filter(|content| Digest::of(content) == hash))
    }
}

/// Takes away what a run keeps; whether there was anything.
///
/// # Errors
/// What the system says.
pub fn remove_kept(store: &Path, run_id: &RunId) -> io::Result<bool> {
    match fs::remove_file(path_of(store, run_id)) {
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true),
    }
}

/// The one content that a run keeps whose hash begins so; `None` if there is none, or several.
///
/// # Errors
/// [`StoreError`] where the file cannot be read.
pub fn kept_content(
    store: &Path,
    run_id: &RunId,
    prefix: &str,
) -> Result<Option<Digest>, StoreError> {
    let path = path_of(store, run_id);
    let kept = ReadKept::at(&path, false).map_err(|fault| refused(&path, &fault))?;
    let hashes = kept.iter().flat_map(|kept| kept.open.contents.keys());
    let mut fits = hashes.filter(|hash| !prefix.is_empty() && hash.to_string().starts_with(prefix));
    let first = fits.next().copied();
    Ok(first.filter(|_| fits.next().is_none()))
}

/// Takes away one content that a run keeps; whether it kept that. The file is written again without it.
///
/// # Errors
/// [`StoreError::RunLocked`] where a process drives the run, [`StoreError`] where the file cannot be written; nothing is changed then.
pub fn erase_kept(store: &Path, run_id: &RunId, hash: Digest) -> Result<bool, StoreError> {
    let path = path_of(store, run_id);
    let _lock = lock_run(store, run_id)?;
    rewritten_without(&path, hash).map_err(|fault| refused(&path, &fault))
}

fn rewritten_without(path: &Path, hash: Digest) -> io::Result<bool> {
    let Some(mut kept) = ReadKept::at(path, false)? else {
        return Ok(false);
    };
    if kept.open.contents.remove(&hash).is_none() {
        return Ok(false);
    }
    let mut new = NewFile::private(path)?;
    new.file().write_all(&header(&kept.workspace)?)?;
    for (hash, range) in &kept.open.contents {
        new.file().write_all(hash.as_bytes())?;
        new.file().write_all(&range.packed().to_le_bytes())?;
        kept.open.file.seek(SeekFrom::Start(range.at))?;
        let mut content = (&kept.open.file).take(range.bytes);
        io::copy(&mut content, new.file())?;
    }
    new.replace()?;
    Ok(true)
}

fn header(workspace: &Path) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&Header {
        format: FORMAT,
        workspace: workspace.to_string_lossy().into_owned(),
    })?;
    line.push(b'\n');
    Ok(line)
}

fn path_of(store: &Path, run_id: &RunId) -> PathBuf {
    kept_folder(store).join(run_id.as_str())
}

#[cfg(test)]
mod tests;
