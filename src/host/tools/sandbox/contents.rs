//! The contents of the new root, by path. Looks at no file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use super::part::{Fault, Part, PartFault as _};

/// The content of a path of the new root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// The host's folder, read; what is written there ends with the sandbox.
    Cache {
        /// Paths in it that are not shown.
        absent: Vec<PathBuf>,
        /// True if it is shown read-only where no overlay can be made; else it is empty then.
        has_programs: bool,
    },
    /// An empty read-only folder for the entries below it. An entry that has gone since is left out.
    Folder,
    /// A folder that is empty and may be written; its content is gone with the sandbox.
    Fresh,
    Link(PathBuf),
    /// The host's file or folder at that path. `as_owner`: the program runs as its owner there.
    Shown {
        as_owner: bool,
        writable: bool,
    },
    /// A read-only file with that content.
    Text(Vec<u8>),
}

/// The content of each path; a folder comes before what lies in it.
pub(super) type Layout = BTreeMap<PathBuf, Put>;

pub(super) const READ_ONLY: Put = Put::Shown {
    as_owner: false,
    writable: false,
};
pub(super) const OWNED: Put = Put::Shown {
    as_owner: true,
    writable: false,
};
pub(super) const WRITABLE: Put = Put::Shown {
    as_owner: true,
    writable: true,
};

/// A link could be replaced, and what it leads to could not be found in the next start.
pub(super) fn is_link(path: &Path) -> Fault {
    let words = format!(
        "{} is a link, which cannot be kept from being replaced; put a folder or file in its place, or grant a narrower folder",
        path.display()
    );
    Part::Places.lacks(words)
}

/// Makes each writable folder above a path a mount: none of them can be renamed then, which would give the path another name in the next
/// start. A granted folder may lie in another one, so the search does not end at the first.
pub(super) fn pin(layout: &mut Layout, path: &Path) {
    let above = path.ancestors().skip(1);
    let above: Vec<PathBuf> = above
        .filter(|above| !layout.contains_key(*above) && nearest(layout, above) == Some(&WRITABLE))
        .map(Path::to_owned)
        .collect();
    for folder in above {
        layout.insert(folder, WRITABLE);
    }
}

/// True if the new root shows what the host has at that path, by an entry of the path or of a folder above it.
pub(super) fn is_shown(layout: &Layout, path: &Path) -> bool {
    let put = layout.get(path).or_else(|| nearest(layout, path));
    matches!(put, Some(Put::Cache { .. } | Put::Shown { .. }))
}

/// The closest entry above a path.
pub(super) fn nearest<'l>(layout: &'l Layout, path: &Path) -> Option<&'l Put> {
    path.ancestors().skip(1).find_map(|above| layout.get(above))
}

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
