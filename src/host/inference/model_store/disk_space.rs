//! Whether a file fits the disk. Does not write it.

use std::path::Path;

use super::PullError;
use crate::store::free_bytes;

/// Bytes that stay free beside a model: the store of runs grows, too.
const MARGIN: u64 = 64 << 20;

/// Refuses what does not fit beside what is there.
///
/// # Errors
/// [`PullError::NoRoom`].
pub fn check_space(folder: &Path, bytes: u64) -> Result<(), PullError> {
    let needed = bytes.saturating_add(MARGIN);
    match free_bytes(folder) {
        Some(free) if free < needed => Err(PullError::NoRoom {
            free,
            needed,
            path: folder.to_owned(),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_no_disk_is_refused_with_both_numbers() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_space(folder.path(), 1).is_ok());
        let refused = check_space(folder.path(), 1 << 62);
        if free_bytes(folder.path()).is_some() {
            let message = refused.unwrap_err().to_string();
            assert!(
                message.contains(&((1_u64 << 62) + MARGIN).to_string()),
                "{message}"
            );
        }
    }
}
