//! Files and folders that are for their owner alone, whatever the process's umask lets others have.
//!
//! Knows modes and owners. Root counts as the owner of everything: root may do anything here anyway. What is written is judged with
//! the folder that it stands in, not the folders above; what is trusted, with all of them. What is trusted and no secret may be
//! written by this user's private group.

use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{self, Path, PathBuf};

use super::regular_file::{Links, open_regular_name};

/// The bits of a mode that let others do anything.
const ANYTHING: u32 = 0o077;
/// The bits of a mode that let others write.
const WRITING: u32 = 0o022;
/// The bit of them that lets a group write.
#[cfg(unix)]
const GROUP_WRITING: u32 = 0o020;
/// The bit of a folder's mode that lets others put files into it, and neither replace nor remove what is not theirs.
const STICKY: u32 = 0o1000;

/// The property that gives others access to a file or folder meant for its owner alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// Its mode.
    Mode(u32),
    /// It belongs to that user, who is neither this process's nor root.
    Owner(u32),
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode(mode) => write!(f, "its mode is {mode:04o}"),
            Self::Owner(uid) => write!(f, "it belongs to user {uid}"),
        }
    }
}

impl Exposure {
    #[cfg(unix)]
    fn of(found: &Metadata, forbidden: u32) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;

        if let Some(uid) = other_owner(found) {
            return Some(Self::Owner(uid));
        }
        let mode = found.mode() & 0o7777;
        (mode & forbidden != 0).then_some(Self::Mode(mode))
    }

    /// Returns the property that lets others write a trusted place: this user's private group is no one else.
    #[cfg(unix)]
    fn of_trusted(found: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;

        let forbidden = if is_private_group(found.gid()) {
            WRITING & !GROUP_WRITING
        } else {
            WRITING
        };
        Self::of(found, forbidden)
    }

    #[cfg(not(unix))]
    fn of_trusted(_found: &Metadata) -> Option<Self> {
        None
    }

    /// Reports no exposure: modes and owners mean nothing here.
    #[cfg(not(unix))]
    fn of(_found: &Metadata, _forbidden: u32) -> Option<Self> {
        None
    }

    /// Returns the property that gives others any access; `None` if it is not there.
    pub fn at(path: &Path) -> Option<Self> {
        Self::of(&fs::metadata(path).ok()?, ANYTHING)
    }

    /// Returns the property that lets others write; `None` if it is not there.
    pub fn to_write(path: &Path) -> Option<Self> {
        Self::of(&fs::metadata(path).ok()?, WRITING)
    }

    /// The property that lets a user write a file which the store plays back, although the user cannot write the store itself.
    #[cfg(unix)]
    pub(super) fn beyond(found: &Metadata, store: Option<&Metadata>) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;

        let of_store = |uid: &u32| store.is_some_and(|store| store.uid() == *uid);
        if let Some(uid) = other_owner(found).filter(|uid| !of_store(uid)) {
            return Some(Self::Owner(uid));
        }
        let mode = found.mode() & 0o7777;
        let forbidden = WRITING & !store.map_or(0, MetadataExt::mode);
        (mode & forbidden != 0).then_some(Self::Mode(mode))
    }

    /// Always `None`: modes and owners mean nothing here.
    #[cfg(not(unix))]
    pub(super) fn beyond(_found: &Metadata, _store: Option<&Metadata>) -> Option<Self> {
        None
    }

    /// [`Self::at`], of an open file.
    ///
    /// # Errors
    /// What the system says.
    pub fn of_file(file: &File) -> io::Result<Option<Self>> {
        Ok(Self::of(&file.metadata()?, ANYTHING))
    }

    /// [`Self::to_write`], of an open file.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn of_file_to_write(file: &File) -> io::Result<Option<Self>> {
        Ok(Self::of(&file.metadata()?, WRITING))
    }

    /// Returns the property that lets others write an open file that is trusted and no secret.
    ///
    /// # Errors
    /// What the system says.
    pub fn of_trusted_file(file: &File) -> io::Result<Option<Self>> {
        Ok(Self::of_trusted(&file.metadata()?))
    }
}

/// The owner, where that is neither this process's user nor root.
#[cfg(unix)]
pub(super) fn other_owner(found: &Metadata) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;

    let uid = found.uid();
    (uid != 0 && uid != rustix::process::geteuid().as_raw()).then_some(uid)
}

#[cfg(not(unix))]
pub(super) fn other_owner(_found: &Metadata) -> Option<u32> {
    None
}

/// Returns true if a group is this user's own, without other members: the primary one, with the user's number, on systems that
/// give each user a group. A primary group that users share (`users`, `staff`) has another number.
#[cfg(unix)]
fn is_private_group(gid: u32) -> bool {
    let own = rustix::process::getegid().as_raw();
    gid == own && own == rustix::process::geteuid().as_raw()
}

/// Returns the first place on the way to a file where others could substitute something, and the property that lets them. It is
/// a folder in which they could replace the file, or a folder or link on the way to it, or a link of theirs. `None` if only
/// this user, its private group and root could. A missing file lets no one.
///
/// # Errors
/// What the system says; also where there are too many links.
pub fn replaceable(path: &Path) -> io::Result<Option<(PathBuf, Exposure)>> {
    on_the_way(path, |found| {
        if found.is_symlink() {
            // Where others may put files and not replace ours they may put links, too.
            return other_owner(found).map(Exposure::Owner);
        }
        let exposure = Exposure::of_trusted(found).filter(|_| found.is_dir())?;
        (!matches!(exposure, Exposure::Mode(mode) if mode & STICKY != 0)).then_some(exposure)
    })
}

/// Refuses a folder that a link of another user leads to, wherever on the way it stands: who made the link chooses the folder.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] with the link and its owner; what the system says.
pub fn led_by_own_links(path: &Path) -> io::Result<()> {
    let links = |found: &Metadata| other_owner(found).filter(|_| found.is_symlink());
    match on_the_way(path, |found| links(found).map(Exposure::Owner))? {
        None => Ok(()),
        Some((link, exposure)) => {
            let link = link.display();
            Err(denied(format!("the link {link} leads there: {exposure}")))
        }
    }
}

/// The first folder or link on the way to that path, itself included, against which something stands. What is not there is passed over.
fn on_the_way(
    path: &Path,
    judge: impl Fn(&Metadata) -> Option<Exposure>,
) -> io::Result<Option<(PathBuf, Exposure)>> {
    let mut links = Links::new();
    let mut paths = vec![path::absolute(path)?];
    while let Some(path) = paths.pop() {
        for step in path.ancestors() {
            let found = match fs::symlink_metadata(step) {
                Ok(found) => found,
                Err(fault) if fault.kind() == io::ErrorKind::NotFound => continue,
                Err(fault) => return Err(fault),
            };
            if let Some(exposure) = judge(&found) {
                return Ok(Some((step.to_owned(), exposure)));
            }
            if found.is_symlink() {
                paths.extend(links.target(step)?);
            }
        }
    }
    Ok(None)
}

/// Makes a folder, and those above it that are not there, for their owner alone. One that is there stays as it is.
///
/// # Errors
/// What the system says.
pub fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Returns the options for opening a file. A file made with them is its owner's alone.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Refuses a folder that others can write: its content may be theirs.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] with what lets them.
pub fn own_folder(path: &Path) -> io::Result<()> {
    Exposure::to_write(path).map_or(Ok(()), |exposure| {
        let path = path.display();
        Err(denied(format!(
            "others can write the folder {path}: {exposure}, and only its owner may write it (0700), this user or root"
        )))
    })
}

/// Opens the regular file of that very name, and refuses one that others can write. A link is not followed, and a pipe not waited for.
///
/// # Errors
/// What the system says; [`io::ErrorKind::PermissionDenied`] with what lets others write it.
pub(crate) fn open_own(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = open_regular_name(options, path)?;
    match Exposure::of_file_to_write(&file)? {
        None => Ok(file),
        Some(exposure) => Err(denied(format!(
            "others can write it: {exposure}, and only its owner may write it (0600), this user or root"
        ))),
    }
}

fn denied(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}
