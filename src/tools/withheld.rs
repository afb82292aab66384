//! Files and folders that no built-in tool opens. Does not know why.

use std::path::PathBuf;

/// Files and folders of the host that no built-in tool reads, wherever a workspace or a link leads: its state, and its store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Withheld {
    /// Folders, with all that lies below them, and files, under any of their names.
    pub(crate) paths: Vec<PathBuf>,
    /// Folders below one of them that may be a workspace all the same.
    pub(crate) open: Vec<PathBuf>,
}

/// What identifies files and folders of [`Withheld`] at one moment.
#[cfg(unix)]
#[derive(Debug)]
pub(super) struct WithheldIds {
    closed: Vec<FileId>,
    open: Vec<FileId>,
}

/// Device and inode.
#[cfg(unix)]
pub(super) type FileId = (u64, u64);

/// The most files of one folder that are looked at for their identity: they are withheld under other names, too.
#[cfg(unix)]
const MOST_FILES: usize = 4_096;

#[cfg(unix)]
impl Withheld {
    /// Looks them up; what is not there has no identity.
    pub(super) fn ids(&self) -> WithheldIds {
        use std::os::unix::fs::MetadataExt as _;

        let id = |path: &std::path::Path| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.dev(), found.ino()))
        };
        let mut closed = Vec::new();
        for path in &self.paths {
            closed.extend(id(path));
            let entries = std::fs::read_dir(path).into_iter().flatten();
            for entry in entries.take(MOST_FILES).flatten() {
                // A link leads to a file that is used as if it were here.
                let path = entry.path();
                if std::fs::metadata(&path).is_ok_and(|found| found.is_file()) {
                    closed.extend(id(&path));
                }
            }
        }
        let open = self.open.iter().filter_map(|path| id(path)).collect();
        WithheldIds { closed, open }
    }
}

#[cfg(unix)]
impl WithheldIds {
    pub(super) fn has(&self, id: FileId) -> bool {
        self.closed.contains(&id)
    }

    /// Whether that folder lies in a withheld one, and in no open one below that.
    pub(super) fn holds_folder(&self, folder: &std::path::Path) -> bool {
        use std::os::unix::fs::MetadataExt as _;

        for above in folder.ancestors() {
            let Ok(found) = std::fs::metadata(above) else {
                continue;
            };
            let id = (found.dev(), found.ino());
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
