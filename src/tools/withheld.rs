//! Files and folders that no built-in tool opens. Does not know why.

#[cfg(unix)]
use std::collections::BTreeSet;
#[cfg(unix)]
use std::fs::Metadata;
use std::path::PathBuf;

/// Files and folders of the host that no built-in tool reads, wherever a workspace or a link leads: its state, and its store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
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
    closed: BTreeSet<FileId>,
    open: Vec<FileId>,
    /// A folder with more files than are looked at: a file of it could not be told from others.
    uncounted: Option<String>,
}

/// Device and inode.
#[cfg(unix)]
pub(super) type FileId = (u64, u64);

/// The most files of one folder that are looked at for their identity: they are withheld under other names, too. Where there are more, no file
/// is read, because it may be one of them.
#[cfg(unix)]
pub(super) const MOST_FILES: usize = 16_384;

#[cfg(unix)]
impl Withheld {
    /// Looks them up; what is not there has no identity.
    pub(super) fn ids(&self) -> WithheldIds {
        use std::os::unix::fs::MetadataExt as _;

        let id = |path: &std::path::Path| {
            let found = std::fs::metadata(path).ok()?;
            Some((found.dev(), found.ino()))
        };
        let mut closed = BTreeSet::new();
        let mut uncounted = None;
        for path in &self.paths {
            closed.extend(id(path));
            let entries = std::fs::read_dir(path).into_iter().flatten();
            for (count, entry) in entries.enumerate() {
                if count == MOST_FILES {
                    let name = path.file_name().unwrap_or_default();
                    uncounted = Some(name.to_string_lossy().into_owned());
                    break;
                }
                // A link leads to a file that is used as if it were here.
                let found = entry.and_then(|entry| std::fs::metadata(entry.path()));
                if let Some(found) = found.ok().filter(Metadata::is_file) {
                    closed.insert((found.dev(), found.ino()));
                }
            }
        }
        let open = self.open.iter().filter_map(|path| id(path)).collect();
        WithheldIds {
            closed,
            open,
            uncounted,
        }
    }
}

#[cfg(unix)]
impl WithheldIds {
    pub(super) fn has(&self, id: FileId) -> bool {
        self.closed.contains(&id)
    }

    /// The name of a folder of which not every file was looked at.
    pub(super) fn uncounted(&self) -> Option<&str> {
        self.uncounted.as_deref()
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
