//! Follows the links of a path one at a time, and not for ever. Does not judge where they lead.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The most links that are followed on the way to a file.
const MOST_LINKS: u32 = 40;

/// The links of one path: how many more are followed.
pub(super) struct Links(u32);

impl Links {
    pub(super) const fn new() -> Self {
        Self(MOST_LINKS)
    }

    /// What the link of that name leads to; `None` if there is no link of that name.
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
