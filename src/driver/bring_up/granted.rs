//! The folders that confined programs of earlier runs could write, kept in the state folder: a link there may be planted. Each path ends with a zero
//! byte.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::tools::is_in;

/// The file in the state folder.
const NAME: &str = "granted-folders";

/// Returns the folders that are kept.
pub(in crate::driver) fn earlier(state: Option<&Path>) -> Vec<PathBuf> {
    let text = state.and_then(|state| fs::read_to_string(state.join(NAME)).ok());
    let text = text.unwrap_or_default();
    let paths = text.split('\0').filter(|path| !path.is_empty());
    paths.map(PathBuf::from).collect()
}

/// Keeps folders that a run is about to grant. Without a state folder there is no earlier run to know of.
pub(super) fn keep(state: Option<&Path>, folders: &[PathBuf]) {
    let known = earlier(state);
    let new = folders.iter().filter(|folder| !is_in(folder, &known));
    let new: String = new
        .filter_map(|folder| Some(format!("{}\0", folder.to_str()?)))
        .collect();
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
        assert_eq!(earlier(state), [""; 0].map(PathBuf::from));
        let folders = ["/a b", "/c\n", "/a b/d"].map(PathBuf::from);
        keep(state, &folders[..2]);
        keep(state, &folders);
        keep(None, &folders);
        assert_eq!(earlier(state), folders[..2]);
        assert!(earlier(None).is_empty());
    }
}
