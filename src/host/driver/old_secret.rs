//! A secret that another one replaces: its file's content is written over. Does not know what it was for.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use crate::store::open_regular_name;

/// The suffix of a replaced secret's name until the secret is overwritten.
pub(super) const OLD: &str = ".old~";

/// No secret is longer.
const MOST_BYTES: usize = 1 << 20;
/// Maximum number of names tried that other files have.
const MOST_TRIES: u32 = 1_000;

/// The file of a secret, held open while another takes its name. It may have more names, and nothing withholds those afterwards.
///
/// Until it is written over it has a name beside its old one, under which it is found after a process was killed in between. A file system
/// without links has no such name to give.
pub(super) struct OldSecret {
    beside: Option<PathBuf>,
    file: File,
}

impl OldSecret {
    /// The file of that name; `None` if it is a link, whose target is not ours.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        if path.symlink_metadata()?.is_symlink() {
            return Ok(None);
        }
        let file = opened(path)?;
        let beside = name_beside(path)?;
        Ok(Some(Self { beside, file }))
    }

    /// Opens the secret left under such a name.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn left_at(beside: PathBuf) -> io::Result<Self> {
        let file = opened(&beside)?;
        let beside = Some(beside);
        Ok(Self { beside, file })
    }

    /// Writes over it, under whatever name it is left.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn erase(mut self) -> io::Result<()> {
        let length = usize::try_from(self.file.metadata()?.len()).unwrap_or(usize::MAX);
        self.file.rewind()?;
        self.file.write_all(&vec![b'\n'; length.min(MOST_BYTES)])?;
        self.file.sync_all()?;
        self.keep()
    }

    /// Leaves it as it is: nothing has replaced it.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn keep(self) -> io::Result<()> {
        self.beside.map_or(Ok(()), fs::remove_file)
    }
}

fn opened(path: &Path) -> io::Result<File> {
    open_regular_name(OpenOptions::new().write(true), path)
}

/// Gives a file a second name: `local.key.17-0.old~` beside `local.key`.
fn name_beside(path: &Path) -> io::Result<Option<PathBuf>> {
    for number in 0..MOST_TRIES {
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".{}-{number}{OLD}", std::process::id()));
        let beside = PathBuf::from(beside);
        match fs::hard_link(path, &beside) {
            Ok(()) => return Ok(Some(beside)),
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => return Ok(None),
        }
    }
    let rule = format!("too many unfinished files next to it; remove those that end in {OLD}");
    Err(io::Error::new(io::ErrorKind::AlreadyExists, rule))
}
