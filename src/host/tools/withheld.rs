//! Files and folders that no built-in tool opens. Does not know why.

#[cfg(unix)]
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::{ffi::OsStr, fs::Metadata, sync::Arc, time::Instant};

use super::sandbox::Way;
#[cfg(unix)]
use super::withheld_files::{FileId, FolderFiles, KnownFolders, id_of};

/// Files and folders of the host that no built-in tool reads, wherever a workspace or a link leads: its state, and its store.
#[derive(Clone, Debug, Default)]
pub struct Withheld {
    /// Folders, with all that lies below them, and files, under any of their names.
    pub paths: Vec<PathBuf>,
    /// Folders with all that lies below them. A file of theirs that has another name elsewhere is read there: it holds no secret, and there may be
    /// more of them than can be looked at.
    pub folders: Vec<PathBuf>,
    /// Files that may be read, and are not written, made or removed, under any of their names.
    pub guarded: Vec<PathBuf>,
    /// Folders below one of them that may be a workspace all the same.
    pub open: Vec<PathBuf>,
    /// The file of the store, resolved; `None` if the host keeps none. No tool makes a file whose name belongs to it.
    pub store: Option<PathBuf>,
    /// The links on the way to the store, by their resolved paths.
    pub(crate) store_links: Vec<PathBuf>,
    /// The files found in those folders; one list for all that share this value, however many runs there are.
    #[cfg(unix)]
    known: Arc<KnownFolders>,
}

impl PartialEq for Withheld {
    fn eq(&self, other: &Self) -> bool {
        // What was found there decides nothing.
        self.decisive() == other.decisive()
    }
}

impl Eq for Withheld {}

impl Hash for Withheld {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.decisive().hash(state);
    }
}

/// The ids of files and folders of [`Withheld`] at one moment.
#[cfg(unix)]
#[derive(Debug)]
pub(super) struct WithheldIds {
    /// Withheld files and folders themselves, and the files that links in those folders lead to.
    closed: Vec<FileId>,
    folders: Vec<Arc<FolderFiles>>,
    open: Vec<FileId>,
    /// A folder with more files than are looked at: a file of it could not be distinguished from others.
    uncounted: Option<String>,
}

/// The names that belong to a store: that of its file, and those that continue it with `-` or `.`, as the names of its journal, log,
/// locks and answers do. Letters of either case count as the same, as they do on some file systems.
#[cfg(unix)]
#[derive(Debug)]
pub(super) struct StoreNames {
    file: OsString,
    pub(super) folder: FileId,
}

#[cfg(unix)]
impl StoreNames {
    /// True if a file of that name in the store's folder belongs to the store.
    pub(super) fn has(&self, name: &OsStr) -> bool {
        let (name, file) = (name.as_encoded_bytes(), self.file.as_encoded_bytes());
        let split = name.split_at_checked(file.len());
        split.is_some_and(|(begin, rest)| {
            begin.eq_ignore_ascii_case(file) && matches!(rest.first(), None | Some(b'-' | b'.'))
        })
    }
}

impl Withheld {
    /// Withholds `paths`, but not the folders `open` below them as workspaces.
    pub fn new(paths: Vec<PathBuf>, open: Vec<PathBuf>) -> Self {
        Self {
            paths,
            folders: Vec::new(),
            guarded: Vec::new(),
            open,
            store: None,
            store_links: Vec::new(),
            #[cfg(unix)]
            known: Arc::default(),
        }
    }

    /// The same with folders whose files are withheld there alone.
    #[must_use]
    pub fn with_folders(self, folders: Vec<PathBuf>) -> Self {
        Self { folders, ..self }
    }

    /// The same with the file of a store, whose folder holds other names of it, and the path that leads there.
    #[must_use]
    pub fn with_store(self, store: PathBuf, path: &Path) -> Self {
        let links = Way::follow(path).links.into_iter();
        Self {
            store: Some(store),
            store_links: links.map(|(link, _)| link).collect(),
            ..self
        }
    }

    /// Everything that decides what is withheld.
    fn decisive(&self) -> impl Eq + Hash + '_ {
        (
            &self.paths,
            &self.folders,
            &self.guarded,
            &self.open,
            &self.store,
            &self.store_links,
        )
    }

    /// The names that belong to the store, in its folder as it is now.
    #[cfg(unix)]
    pub(super) fn store_names(&self) -> Option<StoreNames> {
        let store = self.store.as_deref()?;
        let folder = std::fs::metadata(store.parent()?).ok()?;
        Some(StoreNames {
            file: store.file_name()?.to_owned(),
            folder: id_of(&folder),
        })
    }

    /// The same with files that no built-in tool changes.
    #[must_use]
    pub(crate) fn guarding(self, guarded: Vec<PathBuf>) -> Self {
        Self { guarded, ..self }
    }

    /// True if a file is guarded: the file `name` of a folder, or whatever file is there under that name or another one.
    #[cfg(unix)]
    pub(super) fn guards(&self, folder: FileId, name: &OsStr, files: &[FileId]) -> bool {
        let id = |path: &Path| std::fs::metadata(path).ok().map(|found| id_of(&found));
        self.guarded.iter().any(|path| {
            let is_named = path
                .file_name()
                .is_some_and(|own| own.eq_ignore_ascii_case(name))
                && path.parent().and_then(id) == Some(folder);
            is_named || id(path).is_some_and(|id| files.contains(&id))
        })
    }

    /// Looks them up; what is not there has no identity.
    #[cfg(unix)]
    pub(super) fn ids(&self) -> WithheldIds {
        let id = |path: &PathBuf| std::fs::metadata(path).ok().map(|found| id_of(&found));
        let mut ids = WithheldIds {
            closed: self.folders.iter().filter_map(id).collect(),
            folders: Vec::new(),
            open: self.open.iter().filter_map(id).collect(),
            uncounted: None,
        };
        for path in &self.paths {
            let before = Instant::now();
            let Ok(found) = std::fs::metadata(path) else {
                continue;
            };
            ids.closed.push(id_of(&found));
            if found.is_dir() {
                ids.take_folder(path, self.known.files(path, &found, before));
            }
        }
        ids
    }
}

#[cfg(unix)]
impl WithheldIds {
    fn take_folder(&mut self, path: &Path, files: Arc<FolderFiles>) {
        for link in &files.links {
            // A link leads to a file that is used as if it were here; what it leads to may be another one each time.
            let found = std::fs::metadata(link).ok().filter(Metadata::is_file);
            self.closed.extend(found.as_ref().map(id_of));
        }
        if files.lacks_files {
            let name = path.file_name().unwrap_or_default();
            self.uncounted = Some(name.to_string_lossy().into_owned());
        }
        self.folders.push(files);
    }

    pub(super) fn has(&self, id: FileId) -> bool {
        let mut folders = self.folders.iter();
        self.closed.contains(&id) || folders.any(|folder| folder.ids.contains(&id))
    }

    /// The name of a folder of which not every file was looked at.
    pub(super) fn uncounted(&self) -> Option<&str> {
        self.uncounted.as_deref()
    }

    /// True if that folder is in a withheld one, and in no open one below that.
    pub(super) fn holds_folder(&self, folder: &Path) -> bool {
        for above in folder.ancestors() {
            let Ok(found) = std::fs::metadata(above) else {
                continue;
            };
            let id = id_of(&found);
            if self.open.contains(&id) {
                return false;
            }
            if self.has(id) {
                return true;
            }
        }
        false
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_name_that_continues_the_name_of_the_store_belongs_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("runs.db");
        let withheld = Withheld::new(Vec::new(), Vec::new()).with_store(store.clone(), &store);
        let names = withheld.store_names().unwrap();
        let check =
            |name: &str, expect: bool| assert_eq!(names.has(name.as_ref()), expect, "{name}");
        for name in [
            "runs.db",
            "runs.db-wal",
            "RUNS.db-Journal",
            "runs.db.answers",
            "runs.db-mj0F",
        ] {
            check(name, true);
        }
        for name in ["runs", "runs.d", "runs.dbx", "other.db-wal", ".runs.db", ""] {
            check(name, false);
        }
    }

    #[test]
    fn what_a_link_in_a_withheld_folder_leads_to_is_withheld_wherever_that_is_now() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("keys")).unwrap();
        std::os::unix::fs::symlink("../mounted", at("keys/link")).unwrap();
        fs::write(at("mounted"), "a key").unwrap();
        let withheld = Withheld::new(vec![at("keys"), at("none")], Vec::new());
        let has = |path: PathBuf| withheld.ids().has(id_of(&fs::metadata(path).unwrap()));
        assert!(has(at("mounted")) && has(at("keys")) && !has(folder.path().to_owned()));
        // The folder stays as it is.
        fs::write(at("other"), "the next key").unwrap();
        assert!(!has(at("other")));
        fs::rename(at("other"), at("mounted")).unwrap();
        assert!(has(at("mounted")));
    }
}
