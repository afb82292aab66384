//! The folders that confined programs of earlier runs could write, kept in the state folder: a link there may be planted. Each path ends with a zero
//! byte. So does each identity, which is an inode and a time of birth: it finds a folder that was moved since.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::tools::{FolderId, GrantedFolders, is_in};

/// The file in the state folder.
pub(super) const NAME: &str = "granted-folders";

/// Returns the folders that are kept.
pub(in crate::driver) fn earlier(state: Option<&Path>) -> GrantedFolders {
    let text = state.and_then(|state| fs::read_to_string(state.join(NAME)).ok());
    let text = text.unwrap_or_default();
    let (mut ids, mut paths) = (Vec::new(), Vec::new());
    for word in text.split('\0').filter(|word| !word.is_empty()) {
        match id_from(word) {
            Some(id) => ids.push(id),
            None => paths.push(PathBuf::from(word)),
        }
    }
    GrantedFolders {
        ids: ids.into_iter().collect(),
        paths,
    }
}

/// Paths are absolute, so no path has this form.
fn id_from(word: &str) -> Option<FolderId> {
    let (inode, born_ns) = word.split_once('@')?;
    Some(FolderId {
        born_ns: born_ns.parse().ok()?,
        inode: inode.parse().ok()?,
    })
}

/// Keeps folders that a run is about to grant. Without a state folder there is no earlier run to know of.
pub(super) fn keep(state: Option<&Path>, folders: &[PathBuf]) {
    let known = earlier(state);
    let new = folders.iter().filter(|folder| !is_in(folder, &known.paths));
    let new = new.filter_map(|folder| Some(format!("{}\0", folder.to_str()?)));
    let ids = folders.iter().filter_map(|folder| FolderId::of(folder));
    let ids = ids.filter(|id| !known.ids.contains(id));
    let ids = ids.map(|id| format!("{}@{}\0", id.inode, id.born_ns));
    let new: String = new.chain(ids).collect();
    let Some(state) = state.filter(|state| !new.is_empty() && state.is_dir()) else {
        return;
    };
    let mut options = fs::File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // One write, so that runs beside this one do not mix theirs into it.
    let written = options
        .open(state.join(NAME))
        .and_then(|mut file| file.write_all(new.as_bytes()));
    if let Err(fault) = written {
        tracing::warn!("the folders that this run grants cannot be kept: {fault}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_kept_once() {
        let state = tempfile::tempdir().unwrap();
        let state = Some(state.path());
        assert_eq!(earlier(state), GrantedFolders::default());
        let folders = ["/a b", "/c\n", "/a b/d"].map(PathBuf::from);
        keep(state, &folders[..2]);
        keep(state, &folders);
        keep(None, &folders);
        assert_eq!(earlier(state).paths, folders[..2]);
        assert_eq!(earlier(None), GrantedFolders::default());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_that_was_moved_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        fs::create_dir_all(at.join("work/a")).unwrap();
        fs::create_dir_all(at.join("state")).unwrap();
        let state = at.join("state");
        keep(Some(&state), &[at.join("work")]);
        let text = fs::read(state.join(NAME)).unwrap();
        keep(Some(&state), &[at.join("work")]);
        assert_eq!(fs::read(state.join(NAME)).unwrap(), text);
        fs::rename(at.join("work"), at.join("moved")).unwrap();
        let earlier = earlier(Some(&state));
        // Where the file system keeps times of birth, as this test's does on Linux.
        let is_known = FolderId::of(&at.join("moved")).is_some();
        assert_eq!(earlier.contain(&at.join("moved/a/link")), is_known);
        assert!(!earlier.contain(&at.join("other")));
        assert!(earlier.contain(&at.join("work/a")));
    }
}
