//! The snapshot store: contents by their BLAKE3, and manifests by their hash. Shares blocks with the tree where the file system can, and
//! never an inode: a write to a hard link would change the snapshot.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use monolith_core::message::Digest;
use monolith_core::work::Manifest;

use super::copy::copy_content;
use super::folder::hash_of;
use super::watch::StopCheck;
use crate::store::{open_own, private_file, private_folder, replace_own};

/// The ending of the name of a content that is being written.
pub(super) const NEW: &str = ".new~";

/// Contents and manifests.
#[derive(Debug)]
pub(super) struct Blobs {
    folder: PathBuf,
}

impl Blobs {
    /// The folder of contents.
    pub(super) const CONTENTS: &str = "blobs";
    /// The folder of manifests.
    pub(super) const MANIFESTS: &str = "manifests";

    /// The store in a state folder.
    pub(super) fn new(shared: &Path) -> Self {
        Self {
            folder: shared.to_owned(),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self, digest: Digest) -> PathBuf {
        let name = digest.to_string();
        let (first, rest) = name.split_at_checked(2).unwrap_or(("", &name));
        self.folder.join(Self::CONTENTS).join(first).join(rest)
    }

    /// True if a content of that length is there.
    pub(super) fn has(&self, digest: Digest, bytes: u64) -> bool {
        // A crash of the machine may leave a file without its content.
        fs::symlink_metadata(self.path(digest)).is_ok_and(|found| found.len() == bytes)
    }

    /// Keeps the content of an open file; false if it is not the content of that digest.
    pub(super) fn keep_file(
        &self,
        from: &File,
        (digest, bytes): (Digest, u64),
        check: StopCheck<'_>,
    ) -> io::Result<bool> {
        if self.has(digest, bytes) {
            return Ok(true);
        }
        let (file, new) = self.create(digest)?;
        let copied =
            copy_content(from, &file, check).and_then(|()| self.settle(&file, &new, digest, check));
        if !matches!(copied, Ok(true)) {
            drop(fs::remove_file(&new));
        }
        copied
    }

    /// Keeps a content.
    pub(super) fn keep_bytes(&self, content: &[u8]) -> io::Result<Digest> {
        let digest = Digest::of(content);
        let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
        if self.has(digest, bytes) {
            return Ok(digest);
        }
        let (mut file, new) = self.create(digest)?;
        let kept = file
            .write_all(content)
            .and_then(|()| self.settle(&file, &new, digest, StopCheck::NEVER));
        if !matches!(kept, Ok(true)) {
            drop(fs::remove_file(&new));
        }
        kept.map(|_kept| digest)
    }

    fn create(&self, digest: Digest) -> io::Result<(File, PathBuf)> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut new = OsString::from(self.path(digest));
        new.push(format!(".{}-{number}{NEW}", std::process::id()));
        let new = PathBuf::from(new);
        private_folder(new.parent().unwrap_or(&self.folder))?;
        let mut options = private_file();
        let file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&new)?;
        Ok((file, new))
    }

    /// Gives a written file its name; false if it has another content.
    fn settle(
        &self,
        mut file: &File,
        new: &Path,
        digest: Digest,
        check: StopCheck<'_>,
    ) -> io::Result<bool> {
        file.rewind()?;
        if hash_of(file, check)? != digest {
            return Ok(false);
        }
        if !SYNCS_ALL {
            file.sync_all()?;
        }
        fs::rename(new, self.path(digest))?;
        Ok(true)
    }

    /// Opens a content; `None` if it is not there. The caller checks it by its hash.
    pub(super) fn open(&self, digest: Digest) -> io::Result<Option<File>> {
        match open_own(private_file().read(true), &self.path(digest)) {
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Keeps a manifest.
    pub(super) fn keep_manifest(&self, manifest: &Manifest) -> io::Result<Digest> {
        let hash = manifest.hash();
        let path = self.manifest_path(hash);
        if !path.exists() {
            private_folder(&self.folder.join(Self::MANIFESTS))?;
            replace_own(&path, &serde_json::to_vec(manifest)?)?;
        }
        Ok(hash)
    }

    /// Reads a manifest; `None` if it is not there, or damaged.
    pub(super) fn manifest(&self, hash: Digest) -> io::Result<Option<Manifest>> {
        let path = self.manifest_path(hash);
        let file = match open_own(private_file().read(true), &path) {
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let text = io::read_to_string(file)?;
        let manifest = serde_json::from_str(&text).ok();
        Ok(manifest.filter(|manifest: &Manifest| manifest.hash() == hash))
    }

    fn manifest_path(&self, hash: Digest) -> PathBuf {
        self.folder.join(Self::MANIFESTS).join(hash.to_string())
    }

    /// True if the disk has a tree and all its contents.
    pub(super) fn has_snapshot(&self, hash: Digest) -> bool {
        self.manifest_path(hash).exists() && self.snapshot_path(hash).exists()
    }

    /// Keeps the manifest of a tree whose contents the disk has. Its next snapshot looks at none of them.
    pub(super) fn keep_snapshot(&self, manifest: &Manifest) -> io::Result<Digest> {
        let hash = self.keep_manifest(manifest)?;
        replace_own(&self.snapshot_path(hash), &[])?;
        Ok(hash)
    }

    pub(super) fn snapshot_path(&self, hash: Digest) -> PathBuf {
        self.manifest_path(hash).with_extension("snapshot")
    }

    /// Waits until the disk has all that was kept. One wait for the file system takes as long as a few files; one for each of a hundred
    /// thousand files, minutes.
    pub(super) fn sync(&self) -> io::Result<()> {
        private_folder(&self.folder)?;
        let folder = File::open(&self.folder)?;
        sync_all_of(&folder)
    }
}

/// True if one call waits for a whole file system.
const SYNCS_ALL: bool = cfg!(any(target_os = "linux", target_os = "android"));

#[cfg(any(target_os = "linux", target_os = "android"))]
fn sync_all_of(folder: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(folder)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn sync_all_of(folder: &File) -> io::Result<()> {
    folder.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn store() -> (tempfile::TempDir, Blobs) {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(folder.path());
        (folder, blobs)
    }

    fn read(blobs: &Blobs, digest: Digest) -> Option<String> {
        blobs
            .open(digest)
            .unwrap()
            .map(|file| io::read_to_string(file).unwrap())
    }

    #[test]
    fn a_content_is_kept_under_its_hash_and_no_other() {
        let (folder, blobs) = store();
        let digest = blobs.keep_bytes(b"one").unwrap();
        assert_eq!(digest, Digest::of(b"one"));
        assert_eq!(read(&blobs, digest).as_deref(), Some("one"));
        let found = fs::metadata(blobs.path(digest)).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600);
        assert_eq!(read(&blobs, Digest::of(b"two")), None);
        let path = folder.path().join("file");
        fs::write(&path, "two").unwrap();
        let file = || File::open(&path).unwrap();
        let keep = |content: &[u8]| {
            let digest = Digest::of(content);
            blobs
                .keep_file(&file(), (digest, 3), StopCheck::NEVER)
                .unwrap()
        };
        assert!(!keep(b"other"));
        assert_eq!(read(&blobs, Digest::of(b"other")), None);
        assert!(keep(b"two"));
        assert_eq!(read(&blobs, Digest::of(b"two")).as_deref(), Some("two"));
        blobs.sync().unwrap();
    }

    #[test]
    fn a_content_that_a_crash_cut_off_is_kept_again() {
        let (_folder, blobs) = store();
        let digest = blobs.keep_bytes(b"one").unwrap();
        fs::write(blobs.path(digest), "").unwrap();
        blobs.keep_bytes(b"one").unwrap();
        assert_eq!(read(&blobs, digest).as_deref(), Some("one"));
    }

    #[test]
    fn a_damaged_manifest_is_not_read() {
        let (_folder, blobs) = store();
        let mut manifest = Manifest::default();
        let node = monolith_core::work::TreeNode::Folder { mode: 0o755 };
        manifest.insert("a".parse().expect("a path"), node);
        let hash = blobs.keep_manifest(&manifest).unwrap();
        assert_eq!(blobs.manifest(hash).unwrap(), Some(manifest));
        fs::write(blobs.manifest_path(hash), "{}").unwrap();
        assert_eq!(blobs.manifest(hash).unwrap(), None);
    }
}
