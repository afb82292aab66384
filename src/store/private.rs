//! Files and folders that are for their owner alone, whatever the process's umask lets others have.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a folder, and those above it that are not there, for their owner alone. One that is there stays as it is.
///
/// # Errors
/// What the system says.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// How a file is opened that is its owner's alone where it is made.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// What others may do with a file or folder: its mode, where that lets them do anything.
#[cfg(unix)]
pub(crate) fn looser_mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o7777;
    (mode & 0o077 != 0).then_some(mode)
}

/// Where modes mean nothing, none is looser.
#[cfg(not(unix))]
pub(crate) fn looser_mode(_path: &Path) -> Option<u32> {
    None
}

/// Refuses a folder that others can write: what stands in it may be theirs.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] with its mode.
pub(crate) fn own_folder(path: &Path) -> io::Result<()> {
    match looser_mode(path).filter(|mode| mode & 0o022 != 0) {
        None => Ok(()),
        Some(mode) => {
            let why = format!(
                "others can write the folder {}: its mode is {mode:04o}, and only its owner may write it (0700)",
                path.display()
            );
            Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
        }
    }
}
