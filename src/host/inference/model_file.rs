//! An open model file: header, hash and weights from the same bytes. Does not run the model.

use std::fs::{File, Metadata};
use std::io::{self, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{HeaderFault, ModelHeader};
use crate::store::open_regular;

/// A model's file, opened once: its header, its hash and its weights come from the same bytes, whatever happens to its name
/// meanwhile.
#[derive(Clone, Debug)]
pub struct ModelFile {
    file: Arc<File>,
    path: PathBuf,
    state: FileState,
    touched: (i64, i64),
}

/// The metadata that distinguishes one state of a file from another without reading it. If the system does not number files,
/// those numbers are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileState {
    device: u64,
    inode: u64,
    /// Nanoseconds since 1970 at which its bytes were changed last.
    modified: u128,
    size: u64,
}

/// The file is not what it was when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file was changed since it was opened: what was checked is not what is there")]
pub(crate) struct FileChanged;

impl ModelFile {
    /// Opens a file. What is no file, such as a pipe, is refused before anything waits for it.
    ///
    /// # Errors
    /// The system cannot open it, or it is not a file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = open_regular(path)?;
        let metadata = file.metadata()?;
        Ok(Self {
            file: Arc::new(file),
            path: path.to_owned(),
            state: FileState::of(&metadata),
            touched: touched(&metadata),
        })
    }

    /// Returns its path, for people.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.state.size
    }

    /// The model's facts in its header.
    ///
    /// # Errors
    /// The first rule that the file breaks.
    pub(crate) fn header(&self) -> Result<ModelHeader, HeaderFault> {
        let unreadable = |fault: io::Error| HeaderFault::Unreadable(fault.to_string());
        let file = self.rewound().map_err(unreadable)?;
        ModelHeader::parse(io::BufReader::new(file), self.size())
    }

    /// Its bytes, from the first.
    pub(super) fn rewound(&self) -> io::Result<&File> {
        let mut file = &*self.file;
        file.rewind()?;
        Ok(file)
    }

    pub(super) const fn state(&self) -> FileState {
        self.state
    }

    /// When the system last noted a change of the file, its name or its rights included: seconds and nanoseconds since 1970. Unlike
    /// the time of its bytes, it cannot be set back.
    pub(super) const fn touched(&self) -> (i64, i64) {
        self.touched
    }

    /// Checks that the opened bytes are still the same, as far as the system shows it.
    ///
    /// # Errors
    /// [`FileChanged`].
    pub(crate) fn unchanged(&self) -> Result<(), FileChanged> {
        let now = self.file.metadata().map(|now| FileState::of(&now));
        now.ok()
            .filter(|now| *now == self.state)
            .map(drop)
            .ok_or(FileChanged)
    }
}

impl ModelHeader {
    /// Reads a file's header, in bounded time and memory whatever the file holds, and checks that every tensor lies in the
    /// file.
    ///
    /// # Errors
    /// The first rule that the file breaks.
    pub fn read(path: &Path) -> Result<Self, HeaderFault> {
        let unreadable = |fault: io::Error| HeaderFault::Unreadable(fault.to_string());
        ModelFile::open(path).map_err(unreadable)?.header()
    }
}

#[cfg(feature = "local")]
impl ModelFile {
    /// A name under which this process can open the very file again: by the descriptor where the system has such names, else
    /// where it was found, if that is still the same file.
    ///
    /// # Errors
    /// [`FileChanged`].
    pub(super) fn name_here(&self) -> Result<PathBuf, FileChanged> {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd as _;
            let name = descriptor_name(self.file.as_raw_fd());
            if name.exists() {
                return Ok(name);
            }
        }
        self.path_if_same()
    }

    /// The name under which a process can open it that has it as its input.
    ///
    /// # Errors
    /// [`FileChanged`].
    pub(super) fn name_as_input(&self) -> Result<PathBuf, FileChanged> {
        #[cfg(target_os = "linux")]
        if descriptor_name(0).exists() {
            return Ok(descriptor_name(0));
        }
        self.path_if_same()
    }

    /// The file as the input of a process.
    pub(super) fn as_input(&self) -> io::Result<std::process::Stdio> {
        self.file.try_clone().map(Into::into)
    }

    fn path_if_same(&self) -> Result<PathBuf, FileChanged> {
        let there = std::fs::metadata(&self.path).map(|there| FileState::of(&there));
        let same = there.ok().filter(|there| *there == self.state);
        same.map(|_| self.path.clone()).ok_or(FileChanged)
    }
}

#[cfg(all(feature = "local", target_os = "linux"))]
fn descriptor_name(descriptor: std::os::fd::RawFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{descriptor}"))
}

impl FileState {
    fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok();
        let modified = modified.and_then(|time: SystemTime| time.duration_since(UNIX_EPOCH).ok());
        let (device, inode) = numbers(metadata);
        Self {
            device,
            inode,
            modified: modified.map_or(0, |since| since.as_nanos()),
            size: metadata.len(),
        }
    }
}

#[cfg(unix)]
fn touched(metadata: &Metadata) -> (i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.ctime(), metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn touched(_: &Metadata) -> (i64, i64) {
    (0, 0)
}

#[cfg(unix)]
fn numbers(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn numbers(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;

    use super::*;

    fn text(file: &ModelFile) -> String {
        let mut text = String::new();
        file.rewound().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_replaced_file_changes_nothing_and_a_changed_one_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("m.gguf"), folder.path().join("other"));
        fs::write(&path, "first").unwrap();
        fs::write(&other, "other").unwrap();
        let file = ModelFile::open(&path).unwrap();
        assert_eq!(
            (text(&file), file.unchanged()),
            ("first".to_owned(), Ok(()))
        );
        let kept = folder.path().join("kept");
        fs::rename(&path, &kept).unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(
            (text(&file), file.unchanged()),
            ("first".to_owned(), Ok(()))
        );
        assert_eq!(text(&ModelFile::open(&path).unwrap()), "other");
        fs::write(&kept, "longer than it was").unwrap();
        assert_eq!(file.unchanged(), Err(FileChanged));
    }

    #[cfg(all(feature = "local", target_os = "linux"))]
    #[test]
    fn the_name_for_the_engine_opens_the_bytes_that_were_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.gguf");
        fs::write(&path, "checked").unwrap();
        let file = ModelFile::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "swapped").unwrap();
        assert_eq!(
            fs::read_to_string(file.name_here().unwrap()).unwrap(),
            "checked"
        );
    }

    #[test]
    fn what_is_no_file_is_refused_without_waiting_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: &Path| ModelFile::open(path).unwrap_err().to_string();
        assert_eq!(refused(folder.path()), "it is a folder, not a file");
        #[cfg(target_os = "linux")]
        assert_eq!(
            refused(Path::new("/dev/zero")),
            "it is a device, not a file"
        );
        assert!(ModelFile::open(&folder.path().join("none")).is_err());
    }
}
