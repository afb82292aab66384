//! The writes that end with a sandbox: those to its empty home and to caches. Read from inside, when the program has ended.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::SandboxProfile;
use super::part::DISCARDED_WRITES;
use super::root::layer_of;
use super::way::is_in;

/// Paths that are named.
const MOST_NAMED: usize = 8;
/// Entries that are looked at.
const MOST_ENTRIES: usize = 4_096;

/// The places of those writes in one line, with the key of the contract that keeps them; none if nothing was written.
pub(super) fn line(profile: &SandboxProfile) -> Option<String> {
    let home = profile.home.as_deref();
    let caches = profile.caches.iter().map(|cache| &cache.path);
    let caches = caches.filter(|path| has_file(&layer_of(path)));
    let mut found: Vec<PathBuf> = caches.cloned().collect();
    let own = [
        profile.read.as_slice(),
        &profile.write,
        std::slice::from_ref(&profile.workspace),
    ]
    .concat();
    let home_is_empty = home.filter(|home| !is_in(home, &own));
    found.extend(home_is_empty.map(written_below).unwrap_or_default());
    found.sort();
    found.dedup();
    let named: Vec<String> = found
        .iter()
        .take(MOST_NAMED)
        .map(
            |path| match home.and_then(|home| path.strip_prefix(home).ok()) {
                Some(below) => format!("~/{}", below.display()),
                None => path.display().to_string(),
            },
        )
        .collect();
    let named = named.join(", ");
    let more = if found.len() > MOST_NAMED {
        ", …"
    } else {
        ""
    };
    (!found.is_empty()).then(|| {
        format!(
            "{DISCARDED_WRITES}{named}{more}; to keep them, create what is missing and give the server `sandbox: {{write: [{named}]}}`"
        )
    })
}

/// True if a folder has a file, at any depth, that is not of another mount.
fn has_file(folder: &Path) -> bool {
    let Ok(device) = fs::symlink_metadata(folder).map(|found| found.dev()) else {
        return false;
    };
    let (mut left, mut seen) = (vec![folder.to_owned()], 0_usize);
    while let Some(folder) = left.pop() {
        for (path, is_folder) in own_entries(&folder, device) {
            seen += 1;
            match is_folder {
                true if seen < MOST_ENTRIES => left.push(path),
                true => return false,
                false => return true,
            }
        }
    }
    false
}

/// Returns the files and folders on the folder's mount. The sandbox makes links and whiteouts, so they are left out.
fn own_entries(folder: &Path, device: u64) -> impl Iterator<Item = (PathBuf, bool)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let path = entry.path();
        let found = fs::symlink_metadata(&path).ok()?;
        let is_own = found.dev() == device && (found.is_file() || found.is_dir());
        is_own.then(|| (path, found.is_dir()))
    })
}

/// The files in an empty home, and the folders in it that have files; mounts in it are not its own.
fn written_below(home: &Path) -> Vec<PathBuf> {
    let Ok(device) = fs::symlink_metadata(home).map(|found| found.dev()) else {
        return Vec::new();
    };
    let (mut found, mut left) = (Vec::new(), vec![(home.to_owned(), 0_usize)]);
    while let Some((folder, depth)) = left.pop() {
        for (path, is_folder) in own_entries(&folder, device).take(MOST_ENTRIES) {
            // Folders such as `.config` and `.local/share` hold those of many programs.
            match (is_folder, depth) {
                (true, 0 | 1) => left.push((path, depth + 1)),
                (true, _) if has_file(&path) => found.push(path),
                (true, _) => {}
                (false, 0 | 1) => found.push(path),
                (false, _) => found.push(folder.clone()),
            }
        }
    }
    found
}
