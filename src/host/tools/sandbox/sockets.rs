//! Unix sockets on the host. Connects to none.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Entries of a shown folder, and of the folders in it, that are looked at.
const MOST_ENTRIES: usize = 65_536;

/// The paths that sockets of this network namespace are bound to.
pub(super) fn bound() -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let paths = table.lines().filter_map(|line| {
        // The path is the rest of the line, from the first `/`: no other column has one.
        line.find('/').and_then(|at| line.get(at..))
    });
    let paths: BTreeSet<PathBuf> = paths
        .filter_map(|path| fs::canonicalize(path).ok())
        .collect();
    paths.into_iter().collect()
}

/// The sockets in a folder, at any depth. It is looked at up to a limit.
pub(super) fn within(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut left, mut seen) = (Vec::new(), vec![folder.to_owned()], 0_usize);
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                return found;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => left.push(entry.path()),
                Ok(kind) if kind.is_socket() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found
}
