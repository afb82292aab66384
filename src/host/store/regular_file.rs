//! Opening files that others may have replaced by links, pipes or devices.

use std::fs::{File, FileType, OpenOptions};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// linux/magic.h
#[cfg(target_os = "linux")]
const SYSFS_MAGIC: rustix::fs::FsWord = 0x6265_6572;

/// Opens a file for reading. What is no file is refused, not read: a pipe can be read only once and may never end, and so may a device
/// and what the kernel makes up.
///
/// # Errors
/// What the system says, or what it is instead of a file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true), path, Last::Followed)
}

/// Opens the file of that very name as `options` say. A link is not followed, and what is no file is refused.
///
/// # Errors
/// Those of [`open_regular`].
pub(crate) fn open_regular_name(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    open(options, path, Last::Own)
}

/// Like [`open_regular`], but also opens the input of a shell, which may be a pipe.
///
/// # Errors
/// Those of [`open_regular`].
pub fn open_given(path: &Path) -> io::Result<File> {
    if is_handed_in(path) {
        return File::open(path);
    }
    open_regular(path)
}

/// Refuses what is no file, as its kind says.
///
/// # Errors
/// A description of it.
pub fn judge_regular(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    Err(refused(named(kind)))
}

/// Refuses what is no file at that path, without opening it.
///
/// # Errors
/// What the system says, or what it is instead.
pub(super) fn judge_regular_at(path: &Path) -> io::Result<()> {
    judge_regular(path.metadata()?.file_type())?;
    #[cfg(target_os = "linux")]
    judge_system(&rustix::fs::statfs(path)?)?;
    Ok(())
}

/// Refuses a folder in which this process makes no file, without making one.
///
/// # Errors
/// What the system says.
pub fn judge_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::fs::{Access, access};
        access(folder, Access::WRITE_OK | Access::EXEC_OK)?;
    }
    #[cfg(target_os = "linux")]
    {
        let found = rustix::fs::statfs(folder)?;
        let kernels = [rustix::fs::PROC_SUPER_MAGIC, SYSFS_MAGIC];
        if kernels.contains(&found.f_type) {
            let text = "it is a folder of the kernel";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
    }
    let _ = folder;
    Ok(())
}

/// The same of a folder that need not be there: it would be made below the nearest one that is.
///
/// # Errors
/// The system's error; [`io::ErrorKind::NotADirectory`] with the path that exists instead of a folder.
pub fn judge_new_folder(folder: &Path) -> io::Result<()> {
    let mut there = folder.ancestors().filter(|folder| folder.exists());
    match there.next() {
        None => Ok(()),
        Some(nearest) if nearest.is_dir() => judge_folder(nearest),
        Some(other) => {
            let text = format!("{} is no folder", other.display());
            Err(io::Error::new(io::ErrorKind::NotADirectory, text))
        }
    }
}

/// The treatment of a link in the last place of a path.
#[derive(Clone, Copy)]
enum Last {
    Followed,
    /// Its own name is meant, so it is refused.
    Own,
}

fn open(options: &mut OpenOptions, path: &Path, last: Last) -> io::Result<File> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        // A FIFO without a writer would be waited for here already.
        let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        if matches!(last, Last::Own) {
            flags |= OFlags::NOFOLLOW;
        }
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags);
    }
    #[cfg(not(unix))]
    let _ = last;
    let file = options.open(path)?;
    judge_regular(file.metadata()?.file_type())?;
    #[cfg(target_os = "linux")]
    judge_system(&rustix::fs::fstatfs(&file)?)?;
    Ok(file)
}

/// Refuses what the kernel makes up: a regular file by its kind, that may keep its reader waiting (`/proc/kmsg`).
#[cfg(target_os = "linux")]
fn judge_system(found: &rustix::fs::StatFs) -> io::Result<()> {
    // Those of procfs, debugfs and tracefs.
    let kernels = [rustix::fs::PROC_SUPER_MAGIC, 0x6462_6720, 0x7472_6163];
    if kernels.contains(&found.f_type) {
        return Err(refused("a file of the kernel"));
    }
    Ok(())
}

fn refused(what: &str) -> io::Error {
    let text = format!("it is {what}, not a file");
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

fn named(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
        if kind.is_socket() {
            return "a socket";
        }
    }
    if kind.is_dir() {
        "a folder"
    } else {
        "something else"
    }
}

/// Returns true if a path names the input of a shell: standard input, or the shell's own pipe (`<(…)`). A pipe in a folder does
/// not count.
pub fn is_handed_in(path: &Path) -> bool {
    ["/dev/stdin", "/dev/fd/", "/proc/self/fd/"]
        .iter()
        .any(|start| path.to_string_lossy().starts_with(start))
}

/// The most links that are followed on the way to a file.
const MOST_LINKS: u32 = 40;

/// The links of one path: how many more are followed.
pub(super) struct Links(u32);

impl Links {
    pub(super) const fn new() -> Self {
        Self(MOST_LINKS)
    }

    /// Returns the target of the link of that name; `None` if there is no link of that name.
    ///
    /// # Errors
    /// What the system says; also where there are too many links.
    pub(super) fn target(&mut self, path: &Path) -> io::Result<Option<PathBuf>> {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => {}
            Ok(_) => return Ok(None),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(fault) => return Err(fault),
        }
        let Some(left) = self.0.checked_sub(1) else {
            let rule = "it leads through too many links";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, rule));
        };
        self.0 = left;
        let target = fs::read_link(path)?;
        Ok(Some(path.parent().unwrap_or(path).join(target)))
    }
}
