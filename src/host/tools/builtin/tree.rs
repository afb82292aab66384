//! Walks the files below a folder of the workspace, as a person would search them: what `.gitignore` and `.ignore` name is left out,
//! and so are hidden files and links. Does not know tools.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::sync::Weak;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::beneath::{Beneath, OpenError};
use super::entry::{Entry, EntryKind};
use super::list_directory::shown;
use super::workspace::missed;

/// The most entries that one walk looks at.
pub(super) const MOST_ENTRIES: usize = 200_000;
/// The deepest folder that is looked into.
const MOST_FOLDERS_DEEP: usize = 64;
/// Bytes of one file of ignore rules that are read.
const RULES_BYTES: u64 = 256 * 1024;
/// Later ones have precedence.
pub(super) const RULE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// The entry that makes a folder a repository, whose rules are the first that count.
const GIT: &str = ".git";
/// Files that a search leaves out and names; others are counted.
const MOST_NAMED: usize = 10;

/// The path of a file as a line names it, and as a tool takes it.
pub(super) fn named(path: &Path) -> String {
    let names = path.components().filter(|c| *c != Component::CurDir);
    shown(names.collect::<PathBuf>().as_os_str())
}

/// The files that a walk visits. It never visits the content of `.git`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// Neither hidden ones nor those that ignore rules name.
    Shown,
    /// Hidden ones, too. Only rules in the workspace count, and every folder's: else a change elsewhere, or a new repository, would make
    /// an old file look like a new one.
    NotIgnored,
    /// All.
    Everything,
}

impl Selection {
    /// All, or those that a person would search.
    pub(super) const fn of(everything: bool) -> Self {
        if everything {
            Self::Everything
        } else {
            Self::Shown
        }
    }
}

/// A walk that continues as long as the call waits for it.
pub(super) struct Tree<'w> {
    pub awaited: Weak<()>,
    pub beneath: &'w Beneath,
    pub selection: Selection,
}

/// The end of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walked {
    All,
    /// The visitor has enough.
    Stopped,
    /// There are more than [`MOST_ENTRIES`].
    TooMany,
}

/// Files and folders that a search could not look into, and the reason of each.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    reasons: Vec<String>,
    total: usize,
}

impl Skipped {
    pub(super) fn add(&mut self, path: &Path, fault: OpenError) {
        let path = named(path);
        self.add_reason(missed(&path, fault).message);
    }

    /// Takes those of another part of the search.
    pub(super) fn append(&mut self, other: Self) {
        self.total += other.total - other.reasons.len();
        for reason in other.reasons {
            self.add_reason(reason);
        }
    }

    pub(super) fn add_reason(&mut self, reason: String) {
        self.total += 1;
        if self.reasons.len() < MOST_NAMED {
            self.reasons.push(reason);
        }
    }

    /// A line for each of the first ones, and one that counts the others.
    pub(super) fn lines(self) -> impl Iterator<Item = String> {
        let more = self.total - self.reasons.len();
        let more = (more > 0).then(|| format!("[not searched: {more} more]"));
        let named = self.reasons.into_iter();
        named
            .map(|reason| format!("[not searched: {reason}]"))
            .chain(more)
    }
}

/// The rules of one folder; `depth` is the number of names that lead to it from the repository that holds the workspace.
pub(crate) struct Rules {
    depth: usize,
    /// True if the rules of folders above do not count.
    is_repository: bool,
    patterns: Gitignore,
}

impl Tree<'_> {
    /// Hands on each regular file below `start` by its path from there, folder by folder, sorted by name.
    ///
    /// # Errors
    /// The error of `start`, if it cannot be read. A folder below it that cannot be read is noted as skipped.
    pub(super) fn walk(
        &self,
        start: &Path,
        skipped: &mut Skipped,
        visit: &mut dyn FnMut(&Path) -> ControlFlow<()>,
    ) -> Result<Walked, OpenError> {
        let mut left = MOST_ENTRIES;
        let (names, mut rules) = self.above(start);
        let names_above = names.components().count();
        // What is left to be looked at, the next one last.
        let mut open = vec![PathBuf::new()];
        let mut at_start = true;
        while let Some(at) = open.pop() {
            if self.awaited.strong_count() == 0 {
                return Err(io::Error::other("the call was given up").into());
            }
            // A path of a file ends in no separator; a folder was pushed with one.
            let is_folder = at_start || at.as_os_str().as_encoded_bytes().ends_with(b"/");
            if !is_folder {
                if visit(&at).is_break() {
                    return Ok(Walked::Stopped);
                }
                continue;
            }
            let folder = start.join(&at);
            let entries = match self.beneath.entries(&folder) {
                Ok(entries) => entries,
                Err(fault) if at_start => return Err(fault),
                Err(fault) => {
                    skipped.add(&folder, fault);
                    continue;
                }
            };
            at_start = false;
            let depth = names_above + at.components().count();
            while rules
                .pop_if(|last: &mut Rules| last.depth >= depth)
                .is_some()
            {}
            let mut found = Vec::new();
            for entry in entries.flatten() {
                if left == 0 {
                    return Ok(Walked::TooMany);
                }
                left -= 1;
                found.push(entry);
            }
            found.sort_by(|a, b| a.name.cmp(&b.name));
            if self.selection != Selection::Everything {
                let has = |name: &str| found.iter().any(|entry| entry.name == name);
                let is_repository = self.selection == Selection::Shown && has(GIT);
                rules.extend(Rules::read(depth, is_repository, |name| {
                    let file = has(name).then(|| self.beneath.file(&folder.join(name)));
                    file?.ok()
                }));
            }
            for entry in found.into_iter().rev() {
                open.extend(self.next(&at, &entry, (names.as_path(), rules.as_slice())));
            }
        }
        Ok(Walked::All)
    }

    /// The path of an entry that is to be looked at; a folder's ends in a separator.
    fn next(&self, at: &Path, entry: &Entry, (names, rules): (&Path, &[Rules])) -> Option<PathBuf> {
        let path = at.join(&entry.name);
        let is_folder = entry.kind == EntryKind::Folder;
        if entry.kind == EntryKind::Other
            || entry.name == GIT
            || is_folder && at.components().count() >= MOST_FOLDERS_DEEP
        {
            return None;
        }
        if self.selection != Selection::Everything {
            let left_out = leave_out(rules, &names.join(&path), is_folder);
            let hidden = self.selection == Selection::Shown
                && entry.name.as_encoded_bytes().starts_with(b".");
            // A rule that takes a file in again takes in a hidden one, too.
            if left_out.unwrap_or(hidden) {
                return None;
            }
        }
        Some(if is_folder { path.join("") } else { path })
    }

    /// The names that lead to the start from the repository that holds the workspace, else from the workspace; and the rules of the folders
    /// on this way, which may be outside of the workspace. Rules that leave out the start do not count: somebody asked for it.
    fn above(&self, start: &Path) -> (PathBuf, Vec<Rules>) {
        let root = self.beneath.root();
        let top = root.ancestors().find(|folder| has_git(folder));
        let top = top.unwrap_or(root);
        let outer = root.strip_prefix(top).unwrap_or(Path::new(""));
        // Links on the way are followed: the rules are those of the folder that holds the files.
        let resolved = fs::canonicalize(root.join(start)).ok();
        let inner = resolved
            .as_deref()
            .and_then(|start| start.strip_prefix(root).ok());
        let inner = inner.unwrap_or(Path::new(""));
        let names = outer.join(inner);
        let mut rules = Vec::new();
        if self.selection != Selection::Shown {
            return (names, rules);
        }
        let mut way = PathBuf::new();
        for (depth, name) in names.components().enumerate() {
            let folder = top.join(&way);
            rules.extend(Rules::read(depth, has_git(&folder), |name| {
                match way.strip_prefix(outer) {
                    Ok(inside) => self.beneath.file(&inside.join(name)).ok(),
                    Err(_) => regular_file(&folder.join(name)),
                }
            }));
            way.push(name);
            if leave_out(&rules, &way, true) == Some(true) {
                rules.clear();
            }
        }
        (names, rules)
    }
}

fn has_git(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(GIT)).is_ok()
}

/// Opens a file of a folder that holds the workspace. No tool writes there.
fn regular_file(path: &Path) -> Option<File> {
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    is_file.then(|| File::open(path).ok()).flatten()
}

/// True if the rule that is nearest to the path excludes it; `None` if none matches it.
fn leave_out(rules: &[Rules], path: &Path, is_folder: bool) -> Option<bool> {
    for of in rules.iter().rev() {
        let leaves_out = of.leaves_out(path, is_folder);
        if leaves_out.is_some() || of.is_repository {
            return leaves_out;
        }
    }
    None
}

impl Rules {
    /// Reads the rules of a folder, whose files `open` opens; `None` if it has none that count.
    pub(crate) fn read(
        depth: usize,
        is_repository: bool,
        open: impl Fn(&str) -> Option<File>,
    ) -> Option<Self> {
        let mut builder = GitignoreBuilder::new("");
        let mut some = false;
        for name in RULE_FILES {
            let Some(file) = open(name) else {
                continue;
            };
            let mut text = Vec::new();
            if file.take(RULES_BYTES).read_to_end(&mut text).is_err() {
                continue;
            }
            let text = String::from_utf8_lossy(&text);
            for line in text.strip_prefix('\u{feff}').unwrap_or(&text).lines() {
                // A line that is no rule is none, as git takes it.
                some |= builder.add_line(None, line).is_ok();
            }
        }
        let patterns = (some || is_repository)
            .then(|| builder.build().ok())
            .flatten()?;
        Some(Self {
            depth,
            is_repository,
            patterns,
        })
    }

    /// True if the path is excluded; `None` if no rule of this folder matches it.
    pub(crate) fn leaves_out(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let mut below = path.components();
        for _ in 0..self.depth {
            below.next();
        }
        match self.patterns.matched(below.as_path(), is_folder) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        }
    }
}
