//! The files that the index of a repository names, as `git ls-files -z -t --stage --debug` prints them. Starts no program.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use monolith_core::work::WorkPath;

/// The mode of a repository within the repository.
pub(super) const REPOSITORY: &str = "160000";
/// Lines that the print has of each file beyond its name.
const FACTS: usize = 5;
/// The tag of a file that the work tree leaves out.
const LEFT_OUT: u8 = b'S';

/// A file of the index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tracked {
    /// True if the file is as it was when its object was made, judged by its size and its times.
    pub(super) is_clean: bool,
    /// True if the person wants it only in the index.
    pub(super) is_left_out: bool,
    /// True if a merge left it open: it has no object.
    pub(super) is_unmerged: bool,
    pub(super) mode: String,
    pub(super) object: String,
}

/// Reads the print of the index. `index` is the time of the index itself, and `root` the work tree.
pub(super) fn tracked(
    printed: &[u8],
    index: Option<&Metadata>,
    root: &Path,
) -> Option<BTreeMap<WorkPath, Tracked>> {
    let mut rest = printed;
    let mut files = BTreeMap::new();
    while !rest.is_empty() {
        let head = until(&mut rest, b'\t')?;
        let path = until(&mut rest, 0)?;
        let mut facts = String::new();
        for _ in 0..FACTS {
            facts.push_str(str::from_utf8(until(&mut rest, b'\n')?).ok()?);
            facts.push('\n');
        }
        let words: Vec<&str> = str::from_utf8(head).ok()?.split(' ').collect();
        let [tag, mode, object, stage] = words.as_slice() else {
            return None;
        };
        let file = root.join(std::ffi::OsStr::from_bytes(path));
        let found = fs::symlink_metadata(file).ok();
        let is_unmerged = *stage != "0";
        let tracked = Tracked {
            is_clean: !is_unmerged && found.is_some_and(|found| is_clean(&facts, &found, index)),
            is_left_out: tag.as_bytes().first() == Some(&LEFT_OUT),
            is_unmerged,
            mode: (*mode).to_owned(),
            object: (*object).to_owned(),
        };
        files.insert(WorkPath::from_bytes(path).ok()?, tracked);
    }
    Some(files)
}

/// True if a file has the recorded size and times. One that changed when the index was written, or later, may have changed again since.
fn is_clean(facts: &str, found: &Metadata, index: Option<&Metadata>) -> bool {
    let fact = |name: &str| {
        let mut lines = facts.lines();
        lines.find_map(|line| line.trim_start().strip_prefix(name))
    };
    let time = |name: &str| {
        let (seconds, nanoseconds) = fact(name)?.split_once(':')?;
        Some((
            seconds.parse::<i64>().ok()?,
            nanoseconds.parse::<i64>().ok()?,
        ))
    };
    let size = || fact("size: ")?.split('\t').next()?.parse::<u64>().ok();
    let modified = (found.mtime(), found.mtime_nsec());
    let is_older = index.is_some_and(|index| modified < (index.mtime(), index.mtime_nsec()));
    is_older
        && time("mtime: ") == Some(modified)
        && time("ctime: ") == Some((found.ctime(), found.ctime_nsec()))
        && size() == Some(found.len())
}

/// The bytes before the next `end`, which is passed, too.
fn until<'b>(bytes: &mut &'b [u8], end: u8) -> Option<&'b [u8]> {
    let at = bytes.iter().position(|byte| *byte == end)?;
    let (before, rest) = bytes.split_at_checked(at)?;
    *bytes = rest.get(1..)?;
    Some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(tag: &str, path: &str, stage: u8, found: &Metadata) -> String {
        let (size, object) = (found.len(), "0123");
        let changed = format!("{}:{}", found.ctime(), found.ctime_nsec());
        let modified = format!("{}:{}", found.mtime(), found.mtime_nsec());
        format!(
            "{tag} 100644 {object} {stage}\t{path}\0  ctime: {changed}\n  mtime: {modified}\n  \
             dev: 1\tino: 2\n  uid: 0\tgid: 0\n  size: {size}\tflags: 0\n"
        )
    }

    #[test]
    fn a_file_is_clean_if_size_and_times_are_those_of_the_index_and_older_than_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a\nb");
        fs::write(&file, "one").unwrap();
        let found = fs::symlink_metadata(&file).unwrap();
        let index = folder.path().join("index");
        fs::write(&index, "").unwrap();
        let late = fs::File::options().write(true).open(&index).unwrap();
        let later = found.modified().unwrap() + std::time::Duration::from_secs(1);
        late.set_modified(later).unwrap();
        let index = fs::metadata(&index).unwrap();
        let path = WorkPath::from_bytes(b"a\nb").unwrap();
        let read = |printed: &str, index: &Metadata| {
            let mut files = tracked(printed.as_bytes(), Some(index), folder.path()).unwrap();
            files.remove(&path).unwrap()
        };
        let printed = print("H", "a\nb", 0, &found);
        assert!(read(&printed, &index).is_clean);
        assert_eq!(read(&printed, &index).object, "0123");
        // It may have changed again within the same tick.
        assert!(!read(&printed, &found).is_clean);
        let merging = read(&print("M", "a\nb", 2, &found), &index);
        assert!(merging.is_unmerged && !merging.is_clean);
        assert!(read(&print("S", "a\nb", 0, &found), &index).is_left_out);
        fs::write(&file, "three").unwrap();
        assert!(!read(&printed, &index).is_clean);
        assert_eq!(tracked(b"H 100644", Some(&index), folder.path()), None);
    }
}
