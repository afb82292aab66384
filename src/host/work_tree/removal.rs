//! Removes a scratch tree or a stage with all in it: read-only folders, too, and never through a link or into another file system.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use super::folder::{names, open_folder};
use super::found::{Found, Kind};
use super::ops::Ops;

/// Folders that are open at once. Deeper ones are moved to the top first.
const MOST_OPEN: usize = 64;
/// The rights that emptying a folder needs.
const OWNER: u32 = 0o700;

/// Removes the entry of that name, if there is one.
pub(super) fn remove_tree(ops: Ops<'_>, parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let Some(found) = Found::at(parent, name)? else {
        return Ok(());
    };
    if found.kind != Kind::Folder {
        return ops.remove(parent, name);
    }
    let top = opened(ops, parent, name, &found)?;
    let removal = Removal {
        device: found.id.0,
        ops,
        top: top.as_fd(),
    };
    while removal.empty(top.as_fd(), 0)? {}
    ops.remove_folder(parent, name)
}

struct Removal<'r> {
    device: u64,
    ops: Ops<'r>,
    top: BorrowedFd<'r>,
}

impl Removal<'_> {
    /// Removes all in a folder; true if deep folders were moved to the top and are left there.
    fn empty(&self, folder: BorrowedFd<'_>, depth: usize) -> io::Result<bool> {
        let mut has_moved = false;
        for name in names(folder)? {
            let Some(found) = Found::at(folder, &name)? else {
                continue;
            };
            if found.kind != Kind::Folder {
                self.ops.remove(folder, &name)?;
                continue;
            }
            if found.id.0 != self.device {
                let words = format!("another file system is mounted at {}", name.display());
                return Err(io::Error::other(words));
            }
            let inner = opened(self.ops, folder, &name, &found)?;
            if depth >= MOST_OPEN {
                let deep = OsString::from(format!(".monolith-deep-{:x}", found.id.1));
                self.ops.rename((folder, &name), (self.top, &deep))?;
                has_moved = true;
                continue;
            }
            has_moved |= self.empty(inner.as_fd(), depth + 1)?;
            self.ops.remove_folder(folder, &name)?;
        }
        Ok(has_moved)
    }
}

/// Opens a folder, and gives its owner every right to it first.
fn opened(
    ops: Ops<'_>,
    parent: BorrowedFd<'_>,
    name: &OsStr,
    found: &Found,
) -> io::Result<OwnedFd> {
    if found.mode & OWNER != OWNER {
        ops.set_mode(parent, name, found.mode | OWNER)?;
    }
    Ok(open_folder(parent, name)?)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::super::folder::open_root;
    use super::super::gate::OpenGate;
    use super::*;

    #[test]
    fn read_only_and_deep_folders_go_and_the_target_of_a_link_stays() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        let outside = folder.path().join("outside");
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "x").unwrap();
        fs::write(tree.join("a/b/c"), "x").unwrap();
        symlink(&outside, tree.join("a/link")).unwrap();
        let mut deep = tree.join("deep");
        for _ in 0..MOST_OPEN * 2 + 3 {
            deep.push("d");
        }
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("file"), "x").unwrap();
        for closed in ["a/b", "a"] {
            fs::set_permissions(tree.join(closed), Permissions::from_mode(0o500)).unwrap();
        }
        let parent = open_root(&folder.path().canonicalize().unwrap()).unwrap();
        remove_tree(Ops(&OpenGate), parent.as_fd(), OsStr::new("tree")).unwrap();
        assert!(!tree.exists());
        assert!(outside.join("kept").exists());
        remove_tree(Ops(&OpenGate), parent.as_fd(), OsStr::new("tree")).unwrap();
    }
}
