//! A new file that takes the place of another, whole or not at all. Does not know its content.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use super::regular_file::judge_regular;

/// The mode of a file that is its owner's alone.
pub const PRIVATE: u32 = 0o600;

/// Maximum number of names tried that other files have.
const MOST_TRIES: u32 = 1_000;

/// A file beside the one whose place it is to take, so that what another has put there is neither followed nor emptied. It goes with
/// this value, unless it has taken that place.
#[derive(Debug)]
pub struct NewFile {
    beside: PathBuf,
    file: File,
    is_settled: bool,
    target: PathBuf,
}

impl NewFile {
    /// A file for its owner alone.
    ///
    /// # Errors
    /// What the system says.
    pub fn private(target: &Path) -> io::Result<Self> {
        Self::with_mode(target, PRIVATE)
    }

    /// A file of that mode, less what the umask takes away.
    ///
    /// # Errors
    /// What the system says.
    pub fn with_mode(target: &Path, mode: u32) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        for _ in 0..MOST_TRIES {
            let mut beside = target.as_os_str().to_owned();
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            // No run, key or model is called so.
            beside.push(format!(".{}-{number}.new~", std::process::id()));
            let beside = PathBuf::from(beside);
            match make(&beside, mode) {
                // Another process of that number makes it, in another container, or was killed at it.
                Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {}
                opened => {
                    return Ok(Self {
                        file: opened?,
                        beside,
                        is_settled: false,
                        target: target.to_owned(),
                    });
                }
            }
        }
        let rule = "too many unfinished files next to it; remove those that end in .new~";
        Err(io::Error::new(io::ErrorKind::AlreadyExists, rule))
    }

    /// [`Self::with_mode`], for a file that a person named: a pipe, a device or a folder, also behind a link, is not replaced.
    ///
    /// # Errors
    /// What the system says, or what it is instead of a file.
    pub fn over_file(target: &Path, mode: u32) -> io::Result<Self> {
        if let Ok(there) = fs::metadata(target) {
            judge_regular(there.file_type())?;
        }
        Self::with_mode(target, mode)
    }

    /// Returns the new file.
    pub const fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Takes the place of whatever has the name of the target.
    ///
    /// # Errors
    /// What the system says; the target is as it was then.
    pub fn replace(&mut self) -> io::Result<()> {
        // A name must not survive its content.
        self.file.sync_all()?;
        fs::rename(&self.beside, &self.target)?;
        self.is_settled = true;
        Ok(())
    }

    /// Takes the name of the target where nothing has it.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] where something has, and what else the system says.
    pub fn take_name(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        // A link, unlike a rename, never takes the place of what is there.
        match fs::hard_link(&self.beside, &self.target) {
            Err(fault) if fault.kind() != io::ErrorKind::AlreadyExists => {
                // A file system without links: the process that makes the file may replace it.
                make(&self.target, PRIVATE)?;
                self.replace().inspect_err(|_| {
                    drop(fs::remove_file(&self.target));
                })
            }
            linked => linked,
        }
    }

    /// Leaves the file where it is; returns where.
    pub fn keep(mut self) -> PathBuf {
        self.is_settled = true;
        self.beside.clone()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_settled {
            drop(fs::remove_file(&self.beside));
        }
    }
}

/// Replaces the file of that name with a text, for its owner alone.
///
/// # Errors
/// What the system says.
pub fn replace_own(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut new = NewFile::private(path)?;
    new.file().write_all(text)?;
    new.replace()
}

/// Makes a file where nothing has that name.
fn make(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.write(true).create_new(true).open(path)
}

/// Returns the free bytes on the file system of that path; `None` if the system does not report them.
#[cfg(unix)]
#[must_use]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let space = rustix::fs::statvfs(path).ok()?;
    space.f_bavail.checked_mul(space.f_frsize)
}

/// Returns the free bytes on the file system of that path; `None` if the system does not report them.
#[cfg(not(unix))]
#[must_use]
pub fn free_bytes(_path: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(target: &Path, text: &str) -> NewFile {
        let mut new = NewFile::private(target).unwrap();
        new.file().write_all(text.as_bytes()).unwrap();
        new
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_put_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        drop(NewFile::over_file(&a, PRIVATE).unwrap());
        assert!(names(folder.path()).is_empty());
        written(&a, "one").take_name().unwrap();
        let taken = written(&a, "two").take_name().unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&a).unwrap(), "one");
        written(&a, "three").replace().unwrap();
        assert_eq!(fs::read_to_string(&a).unwrap(), "three");
        fs::create_dir(&b).unwrap();
        assert!(written(&b, "four").replace().is_err());
        assert!(NewFile::over_file(&b, PRIVATE).is_err());
        assert_eq!(names(folder.path()), ["a", "b"]);
        let kept = written(&b, "five").keep();
        assert_eq!(fs::read_to_string(kept).unwrap(), "five");
        assert_eq!(names(folder.path()).len(), 3);
    }

    /// In another container a process has the same number, and may be at the same file.
    #[test]
    fn what_another_process_of_that_number_makes_is_not_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let used = written(&target, "").keep();
        let (name, number) = used.to_str().unwrap().rsplit_once('-').unwrap();
        let number: u64 = number.strip_suffix(".new~").unwrap().parse().unwrap();
        let others: Vec<PathBuf> = (number + 1..number + 40)
            .map(|number| PathBuf::from(format!("{name}-{number}.new~")))
            .collect();
        for other in &others {
            fs::write(other, "another's").unwrap();
        }
        written(&target, "mine").replace().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
        for other in &others {
            assert_eq!(fs::read_to_string(other).unwrap(), "another's");
        }
    }
}
