//! A secret that another one replaces: what stands in its file is written over. Does not know what it was for.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, Write as _};
use std::path::Path;

use crate::store::open_regular_name;

/// The file of a secret, held open while another takes its name. It may have more names, and nothing withholds those afterwards.
pub(super) struct OldSecret(Option<File>);

impl OldSecret {
    /// The file of that name; none where it is a link, whose target is not ours.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        if path.symlink_metadata()?.is_symlink() {
            return Ok(Self(None));
        }
        open_regular_name(OpenOptions::new().write(true), path).map(|file| Self(Some(file)))
    }

    /// Writes over it, under whatever name it is left.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn erase(self) -> io::Result<()> {
        let Some(mut file) = self.0 else {
            return Ok(());
        };
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        file.rewind()?;
        file.write_all(&vec![b'\n'; length.min(MOST_BYTES)])?;
        file.sync_all()
    }
}

/// No secret is longer.
const MOST_BYTES: usize = 1 << 20;
