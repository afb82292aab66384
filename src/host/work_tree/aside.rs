//! Kept contents that an agent reads besides its tree, as files in a folder that no scan takes in. Knows no item.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Seek as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use monolith_core::message::Digest;

use super::copy::copy_content;
use super::error::WorkTreeError;
use super::folder::{hash_of, place_error};
use super::locked_tree::WorkTree;
use super::watch::StopCheck;

/// The folder of these files, below the root of a scratch tree.
pub const ASIDE: &str = ".monolith-scratch/conflicts";
/// The mode of a file that is only read.
const READ_ONLY: u32 = 0o444;

impl WorkTree {
    /// Writes kept contents as read-only files, each at its path below [`ASIDE`] in a new scratch tree or in a folder that a replay made.
    ///
    /// # Errors
    /// A content is not kept, or a file cannot be written.
    pub fn put_aside(&self, root: &Path, files: &[(PathBuf, Digest)]) -> Result<(), WorkTreeError> {
        for (path, digest) in files {
            let file = root.join(ASIDE).join(path);
            let put = self.put_file(&file, *digest);
            put.map_err(|fault| place_error(&file, fault))?;
        }
        Ok(())
    }

    fn put_file(&self, path: &Path, digest: Digest) -> io::Result<()> {
        let none = || io::Error::other("its content is not kept");
        let from = self.content(digest)?.ok_or_else(none)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create_new(true).open(path)?;
        copy_content(&from, &file, StopCheck::NEVER)?;
        file.rewind()?;
        if hash_of(&file, StopCheck::NEVER)? != digest {
            return Err(io::Error::other("its kept content is damaged"));
        }
        file.set_permissions(Permissions::from_mode(READ_ONLY))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::super::scratch_folder::is_scratch;
    use super::*;

    #[test]
    fn the_folder_is_part_of_no_tree() {
        let first = Path::new(ASIDE).components().next();
        assert!(first.is_some_and(|name| is_scratch(OsStr::new(name.as_os_str()))));
    }
}
