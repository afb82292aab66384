//! Files that were found and not named, and decide what is started: whether they are this user's to begin with.
//!
//! Knows owners and what everybody can write, of the file and of the folders that it lies in. A group may write: under umask 002
//! every file of an ordinary user is so. Does not know what the file is for.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{self, Path, PathBuf};

use super::private::other_owner;
use super::regular_file::Links;

/// The bit of a mode that lets everybody write.
#[cfg(unix)]
const EVERYBODY: u32 = 0o002;

/// The property that puts a file in somebody else's hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// The file or folder belongs to another user.
    Owned {
        /// The file or folder.
        place: PathBuf,
        /// The owner.
        uid: u32,
    },
    /// Everybody can write that file or folder.
    Open {
        /// The file or folder.
        place: PathBuf,
        /// The owner.
        uid: u32,
        /// The permission bits.
        mode: u32,
    },
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owned { place, uid } => write!(f, "{} belongs to user {uid}", place.display()),
            Self::Open { place, uid, mode } => write!(
                f,
                "everybody can write {}: its mode is {mode:04o}, and it belongs to user {uid}",
                place.display()
            ),
        }
    }
}

impl Foreign {
    /// Returns the fault of a file found at that path and opened. Another user than this one and root owns the file, or a
    /// folder in which it or a link to it lies; or everybody can write one of them. The sticky bit of a folder is no excuse:
    /// there everybody can put a file where none is yet.
    ///
    /// # Errors
    /// What the system says; also where there are too many links.
    pub fn found(path: &Path, file: &File) -> io::Result<Option<Self>> {
        if let Some(foreign) = Self::of(path, &file.metadata()?) {
            return Ok(Some(foreign));
        }
        let mut links = Links::new();
        let mut next = Some(path::absolute(path)?);
        while let Some(step) = next {
            let folder = step.parent().unwrap_or(&step);
            if let Some(foreign) = Self::of(folder, &fs::metadata(folder)?) {
                return Ok(Some(foreign));
            }
            next = links.target(&step)?;
        }
        Ok(None)
    }

    /// Returns the fault of a file found next to a named one. It, or a link to it, belongs to a third user, or everybody can
    /// write it but not the named one.
    ///
    /// # Errors
    /// What the system says; also where there are too many links.
    pub fn beside(path: &Path, found: &File, named: &File) -> io::Result<Option<Self>> {
        let named = named.metadata()?;
        let third = |place: &Path, found: &Metadata| {
            let open = || Self::open(place, found).filter(|_| Self::open(place, &named).is_none());
            match Self::owned(place, found) {
                Some(Self::Owned { uid, .. }) if other_owner(&named) == Some(uid) => open(),
                owned => owned.or_else(open),
            }
        };
        let mut links = Links::new();
        let mut step = path.to_owned();
        while let Some(next) = links.target(&step)? {
            let owner = other_owner(&fs::symlink_metadata(&step)?);
            if let Some(uid) = owner.filter(|uid| other_owner(&named) != Some(*uid)) {
                return Ok(Some(Self::Owned { place: step, uid }));
            }
            step = next;
        }
        Ok(third(path, &found.metadata()?))
    }

    fn of(place: &Path, found: &Metadata) -> Option<Self> {
        Self::owned(place, found).or_else(|| Self::open(place, found))
    }

    fn owned(place: &Path, found: &Metadata) -> Option<Self> {
        let uid = other_owner(found)?;
        let place = place.to_owned();
        Some(Self::Owned { place, uid })
    }

    #[cfg(unix)]
    fn open(place: &Path, found: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;

        let (uid, mode) = (found.uid(), found.mode() & 0o7777);
        (mode & EVERYBODY != 0).then(|| Self::Open {
            place: place.to_owned(),
            uid,
            mode,
        })
    }

    /// Reports no file as foreign: modes mean nothing here.
    #[cfg(not(unix))]
    fn open(_place: &Path, _found: &Metadata) -> Option<Self> {
        None
    }
}
