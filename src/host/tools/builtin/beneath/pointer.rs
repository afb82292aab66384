//! Pointers of git to other folders: their text, and the places that they lead to. Does not know repositories.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, openat, readlinkat, statat};

use super::opened::readable;
use super::{Beneath, HELD, MOST_LINKS, id_of};
use crate::tools::withheld_files::FileId;

/// Bytes of a pointer that are read. Git reads a path of at most 4,096.
const POINTER_BYTES: u64 = 8_192;
/// Folders that another process may see differently.
const PER_PROCESS: [&str; 2] = ["/dev", "/proc"];

/// The place that a pointer of git names.
pub(super) enum Target {
    Inside(PathBuf),
    /// A place in the held folder with nothing there, or nothing that can be seen.
    Missing,
    Outside,
}

impl Beneath {
    /// True if git in the folder at `base` would look for that path outside of the held folder, even if nothing is there.
    pub(in crate::tools::builtin) fn leads_outside(&self, base: &Path, named: &Path) -> bool {
        matches!(self.target(base, named), Target::Outside)
    }

    /// Follows a path from the folder at `base`, link by link. Behind a missing step the rest counts as written.
    pub(super) fn target(&self, base: &Path, named: &Path) -> Target {
        let mut steps: VecDeque<OsString> = parts(base).chain(parts(named)).collect();
        let (mut links, mut is_missing) = (0, false);
        let mut path = self.root.clone();
        while let Some(step) = steps.pop_front() {
            match step.as_bytes() {
                b".." => {
                    path.pop();
                    continue;
                }
                b"/" => {
                    path = PathBuf::from("/");
                    continue;
                }
                _ => path.push(step),
            }
            let is_own = path.starts_with(&self.root) || self.root.starts_with(&path);
            if !is_own && PER_PROCESS.iter().any(|folder| path.starts_with(folder)) {
                return Target::Outside;
            }
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => {
                    links += 1;
                    let Some(target) = fs::read_link(&path).ok().filter(|_| links <= MOST_LINKS)
                    else {
                        return Target::Outside;
                    };
                    path.pop();
                    let target: Vec<OsString> = parts(&target).collect();
                    for step in target.into_iter().rev() {
                        steps.push_front(step);
                    }
                }
                Ok(_) => {}
                Err(_) => is_missing = true,
            }
        }
        match path.strip_prefix(&self.root) {
            Ok(_) if is_missing => Target::Missing,
            Ok(path) => Target::Inside(path.to_owned()),
            Err(_) => Target::Outside,
        }
    }
}

/// The steps of a path without those that stay where they are.
fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    let steps = path.components().filter(|step| *step != Component::CurDir);
    steps.map(|step| step.as_os_str().to_owned())
}

/// The identity of the folder that `.git` in an open folder names, by a file or a link.
pub(super) fn named_in(folder: BorrowedFd<'_>) -> Option<FileId> {
    let name = OsStr::new(".git");
    // A link to a file that names a folder is such a file.
    let linked = readlinkat(folder, name, Vec::new()).ok();
    let linked = linked.map(|target| OsString::from_vec(target.into_bytes()));
    let file = linked.as_deref().unwrap_or(name);
    let named = readable(folder, file).and_then(|file| {
        use std::io::Read as _;
        let mut text = Vec::new();
        file.take(POINTER_BYTES).read_to_end(&mut text).ok()?;
        path_in(&text, b"gitdir: ")
    });
    let named = named.or(linked.map(PathBuf::from))?;
    let named = openat(folder, &named, HELD, Mode::empty()).ok()?;
    Some(id_of(&statat(&named, ".", AtFlags::empty()).ok()?))
}

/// The path in a text that begins with these bytes, as git reads it.
pub(super) fn path_in(text: &[u8], prefix: &[u8]) -> Option<PathBuf> {
    let mut path = text.strip_prefix(prefix)?;
    while let Some(rest) = path.strip_suffix(b"\n").or(path.strip_suffix(b"\r")) {
        path = rest;
    }
    let path = path.split(|byte| *byte == 0).next()?;
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::tools::withheld::Withheld;

    #[test]
    fn a_pointer_is_read_as_git_reads_it() {
        let check = |text: &str, prefix: &str, expected: Option<&str>| {
            let path = path_in(text.as_bytes(), prefix.as_bytes());
            assert_eq!(path, expected.map(PathBuf::from), "{text:?}");
        };
        check("gitdir: ../a \n\r\n", "gitdir: ", Some("../a "));
        check("gitdir: a\0b", "gitdir: ", Some("a"));
        check("gitdir:a", "gitdir: ", None);
        check("../..\n", "", Some("../.."));
    }

    #[test]
    fn a_missing_place_is_outside_if_its_path_leads_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("w");
        fs::create_dir_all(root.join("a")).unwrap();
        symlink("/proc/self/cwd", root.join("cwd")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let beneath = Beneath::open(root.clone(), Withheld::default()).unwrap();
        let check = |named: &str, expected: &str| {
            let said = match beneath.target(Path::new("a"), Path::new(named)) {
                Target::Inside(path) => path.display().to_string(),
                Target::Missing => "missing".to_owned(),
                Target::Outside => "outside".to_owned(),
            };
            assert_eq!(said, expected, "{named}");
        };
        check("../a/.", "a");
        check("../b", "missing");
        check(&root.join("b").display().to_string(), "missing");
        for named in [
            "../../b",
            "/b",
            "../cwd/a",
            "../up/b",
            "../loop",
            "../b/../../c",
            "../../../../../../../../proc/self/cwd/a",
        ] {
            check(named, "outside");
        }
    }
}
