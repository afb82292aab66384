//! The folders that confined programs of earlier runs could write, kept in the state folder: a link there may be planted. Each path ends with a zero
//! byte. So does each identity, which is an inode and a time of birth: it finds a folder that was moved since. With them are kept the names in these
//! folders that decide what a run starts and that the sandbox cannot make read-only.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::driver::decided_files::NotedName;
use crate::tools::{FolderId, GrantedFolders, NamedFile, PathState, is_in};

/// The file of folders in the state folder.
pub(super) const NAME: &str = "granted-folders";
/// The file of names in the state folder: a path and its state by turns, a later state of a path last.
const NAMES: &str = "unheld-names";

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
    append(state, NAME, &new);
}

/// Keeps names in folders that a run is about to grant, each with the state that it had when the run was decided on. A file that the sandbox holds
/// (`File(None)`) only replaces an earlier state.
pub(super) fn keep_names(state: Option<&Path>, names: &[NotedName]) {
    if names.is_empty() {
        return;
    }
    let known = kept_names(state);
    let texts = names.iter().filter_map(|name| {
        let (path, state) = (name.path.to_str()?, name.state.to_string());
        let is_new = match known.get(Path::new(path)) {
            Some(known) => name.is_accepted && *known != state,
            None => name.state != PathState::File(None),
        };
        is_new.then(|| format!("{path}\0{state}\0"))
    });
    append(state, NAMES, &texts.collect::<String>());
}

/// Returns the first of these paths that passes a kept name which has another state now, or ends at one.
pub(in crate::driver) fn replaced<'p>(
    state: Option<&Path>,
    paths: impl IntoIterator<Item = &'p PathBuf>,
) -> Option<PathBuf> {
    let known = kept_names(state);
    if known.is_empty() {
        return None;
    }
    let held = PathState::File(None).to_string();
    let is_changed = |name: &Path| {
        let kept = known.get(name);
        kept.is_some_and(|kept| match PathState::of(name) {
            // Such a file is read-only for confined programs, and a new one has the kind of a missing file.
            PathState::Absent | PathState::File(_) if *kept == held => false,
            now => *kept != now.to_string(),
        })
    };
    paths.into_iter().find_map(|path| {
        let names = NamedFile::of(path).names.into_iter();
        let names = names.map(|name| name.path).chain([path.clone()]);
        let names: Vec<PathBuf> = names.collect();
        let mut all = names.iter().flat_map(|name| name.ancestors());
        all.find(|name| is_changed(name)).map(Path::to_owned)
    })
}

fn kept_names(state: Option<&Path>) -> BTreeMap<PathBuf, String> {
    let text = state.and_then(|state| fs::read_to_string(state.join(NAMES)).ok());
    let text = text.unwrap_or_default();
    let mut texts = text.split_terminator('\0');
    let mut known = BTreeMap::new();
    while let (Some(path), Some(state)) = (texts.next(), texts.next()) {
        known.insert(PathBuf::from(path), state.to_owned());
    }
    known
}

/// Appends a text to a file of the state folder, in one write: runs beside this one do not mix theirs into it.
fn append(state: Option<&Path>, name: &str, text: &str) {
    let Some(state) = state.filter(|state| !text.is_empty() && state.is_dir()) else {
        return;
    };
    let mut options = fs::File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options
        .open(state.join(name))
        .and_then(|mut file| file.write_all(text.as_bytes()));
    if let Err(fault) = written {
        tracing::warn!(
            "{name}, in which this run notes what it grants, cannot be written: {fault}"
        );
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

    #[test]
    #[cfg(unix)]
    fn a_name_that_changed_since_it_was_kept_is_found_on_every_way_to_it() {
        use std::os::unix::fs::symlink;
        let (state, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let work = work.path().canonicalize().unwrap();
        let (state, at) = (Some(state.path()), |name: &str| work.join(name));
        fs::create_dir_all(at("real")).unwrap();
        fs::write(at("real/run"), "").unwrap();
        symlink("real", at("bin")).unwrap();
        let (bin, free) = (at("bin"), at("free.env"));
        let note = |path: &Path, state, is_accepted| NotedName {
            is_accepted,
            path: path.to_owned(),
            state,
        };
        let names = [
            note(&bin, PathState::of(&bin), false),
            note(&free, PathState::Absent, false),
        ];
        let paths = [at("bin/run"), free.clone()];
        assert_eq!(replaced(state, &paths), None);
        keep_names(state, &names);
        assert_eq!(replaced(state, &paths), None);
        fs::remove_file(&bin).unwrap();
        fs::create_dir(&bin).unwrap();
        fs::write(at("bin/run"), "").unwrap();
        assert_eq!(replaced(state, &paths), Some(bin.clone()));
        // Another contract's run takes nothing back.
        keep_names(state, &[note(&bin, PathState::Absent, false)]);
        assert_eq!(replaced(state, &paths), Some(bin.clone()));
        keep_names(state, &[note(&bin, PathState::Absent, true)]);
        assert_eq!(replaced(state, &paths), None);
        fs::write(&free, "").unwrap();
        assert_eq!(replaced(state, &paths), Some(free.clone()));
        // An accepted file is not compared, but a link in its place is.
        keep_names(state, &[note(&free, PathState::File(None), true)]);
        fs::write(&free, "other").unwrap();
        assert_eq!(replaced(state, &paths), None);
        fs::remove_file(&free).unwrap();
        assert_eq!(replaced(state, &paths), None);
        symlink("real/run", &free).unwrap();
        assert_eq!(replaced(state, &paths), Some(free));
    }
}
