//! The links on the way to a path, followed one by one. Changes nothing.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// More links than the kernel follows (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// An absolute path, resolved as the kernel resolves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Way {
    /// Each link by its own resolved path, with what it holds.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// The file or folder at the end of the way, which may be missing.
    pub end: PathBuf,
}

impl Way {
    /// Follows an absolute path.
    pub(crate) fn follow(path: &Path) -> Self {
        let mut way = Self::default();
        let mut left: VecDeque<OsString> = steps(path).collect();
        way.end = PathBuf::from("/");
        while let Some(step) = left.pop_front() {
            if step == ".." {
                way.end.pop();
                continue;
            }
            let next = way.end.join(&step);
            match fs::read_link(&next) {
                Ok(target) if way.links.len() < MOST_LINKS => {
                    if target.is_absolute() {
                        way.end = PathBuf::from("/");
                    }
                    for step in steps(&target).collect::<Vec<_>>().into_iter().rev() {
                        left.push_front(step);
                    }
                    way.links.push((next, target));
                }
                _ => way.end = next,
            }
        }
        way
    }

    /// The first link on the way that lies in one of those folders, which are resolved.
    pub(crate) fn link_in(&self, folders: &[PathBuf]) -> Option<&Path> {
        self.first_link(|link| is_in(link, folders))
    }

    /// The first link on the way for which that is true of the link's own resolved path.
    pub(crate) fn first_link(&self, is_one: impl Fn(&Path) -> bool) -> Option<&Path> {
        let mut links = self.links.iter().map(|(link, _)| link.as_path());
        links.find(|link| is_one(link))
    }
}

/// Identity of a folder that survives a rename: its inode and its time of birth in nanoseconds. A device may have another number after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FolderId {
    pub(crate) born_ns: u128,
    pub(crate) inode: u64,
}

impl FolderId {
    /// Returns the identity of the folder at that path; `None` where the file system keeps no time of birth.
    #[cfg(unix)]
    pub(crate) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let found = fs::symlink_metadata(path).ok()?;
        let born = found.created().ok()?;
        let born = born.duration_since(std::time::UNIX_EPOCH).ok()?;
        found.is_dir().then(|| Self {
            born_ns: born.as_nanos(),
            inode: found.ino(),
        })
    }

    #[cfg(not(unix))]
    pub(crate) const fn of(_: &Path) -> Option<Self> {
        None
    }
}

/// Folders that confined programs could write, by their resolved paths and, if they were moved since, by their identities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GrantedFolders {
    pub(crate) ids: BTreeSet<FolderId>,
    pub(crate) paths: Vec<PathBuf>,
}

impl GrantedFolders {
    /// True if a resolved path is one of the folders or lies in one.
    pub(crate) fn contain(&self, path: &Path) -> bool {
        let is_moved = |above: &Path| FolderId::of(above).is_some_and(|id| self.ids.contains(&id));
        is_in(path, &self.paths) || !self.ids.is_empty() && path.ancestors().any(is_moved)
    }

    /// The same folders, and those paths.
    pub(crate) fn and(&self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut more = self.clone();
        more.paths.extend(paths);
        more
    }
}

/// True if a path is one of those folders or lies in one.
pub(crate) fn is_in(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

fn steps(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|step| match step {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

/// Characters that end a word of a line for a shell, or the name of an option.
const BETWEEN_WORDS: &str = "'\"`=:;,()<>|&$";

/// Returns the words of a text that may be paths. Between quotes, and behind the name of an option, a path may hold a blank.
pub(super) fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let parts = ['\'', '"', '='].into_iter();
    let parts = parts.flat_map(|mark| text.split(mark));
    parts.chain(text.split(|c: char| c.is_whitespace() || BETWEEN_WORDS.contains(c)))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_on_the_way_is_found_where_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        fs::create_dir_all(at.join("work/a")).unwrap();
        fs::create_dir_all(at.join("outside/keys")).unwrap();
        symlink("../../outside", at.join("work/a/out")).unwrap();
        symlink("work/a", at.join("short")).unwrap();
        let way = Way::follow(&at.join("short/./out/keys/../keys/id"));
        assert_eq!(way.end, at.join("outside/keys/id"));
        let links: Vec<_> = way.links.iter().map(|(link, _)| link.clone()).collect();
        assert_eq!(links, [at.join("short"), at.join("work/a/out")]);
        let planted = at.join("work/a/out");
        assert_eq!(way.link_in(&[at.join("work")]), Some(planted.as_path()));
        assert_eq!(way.link_in(&[at.join("outside")]), None);
        // A folder of a similar name is another one.
        assert_eq!(way.link_in(&[at.join("wor")]), None);
    }

    #[test]
    fn a_circle_of_links_ends() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        symlink("b", at.join("a")).unwrap();
        symlink("a", at.join("b")).unwrap();
        assert_eq!(Way::follow(&at.join("a")).links.len(), MOST_LINKS);
    }
}
