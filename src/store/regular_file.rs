use std::fs::{File, FileType, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file for reading. What is no file is refused, not read: a pipe can be read only once and may never end, and so may a device.
///
/// # Errors
/// What the system says, or what it is instead of a file.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    // A FIFO without a writer would be waited for here already.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, NONBLOCKING);
    let file = options.open(path)?;
    judge_regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// [`open_regular`], but for what a shell hands in, which may be a pipe.
///
/// # Errors
/// Those of [`open_regular`].
pub(crate) fn open_given(path: &Path) -> io::Result<File> {
    if is_handed_in(path) {
        return File::open(path);
    }
    open_regular(path)
}

/// Refuses what is no file.
///
/// # Errors
/// What it is instead.
pub(crate) fn judge_regular(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let text = format!("it is {}, not a file", named(kind));
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

#[cfg(unix)]
#[expect(
    clippy::cast_possible_wrap,
    reason = "a flag of open(2), which takes them as an int"
)]
const NONBLOCKING: i32 = rustix::fs::OFlags::NONBLOCK.bits() as i32;

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

/// Whether a path names what a shell hands in: standard input, or a pipe of its own (`<(…)`). A pipe in a folder is no such thing.
pub(crate) fn is_handed_in(path: &Path) -> bool {
    ["/dev/stdin", "/dev/fd/", "/proc/self/fd/"]
        .iter()
        .any(|start| path.to_string_lossy().starts_with(start))
}
