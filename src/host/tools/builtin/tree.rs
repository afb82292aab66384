//! Walks the files below a folder of the workspace, as a person would search them: what `.gitignore` and `.ignore` name is left out,
//! and so are hidden files and links. Does not know tools.

use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::sync::Weak;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::beneath::{Beneath, OpenError};
use super::entry::{Entry, EntryKind};
use super::list_directory::shown;

/// The most entries that one walk looks at.
pub(super) const MOST_ENTRIES: usize = 200_000;
/// The deepest folder that is looked into.
const MOST_FOLDERS_DEEP: usize = 64;
/// Bytes of one file of ignore rules that are read.
const RULES_BYTES: u64 = 256 * 1024;
/// Later ones have precedence.
pub(super) const RULE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// The path of a file as a line names it.
pub(super) fn named(path: &Path) -> String {
    let names = path.components().filter(|c| *c != Component::CurDir);
    shown(names.collect::<PathBuf>().as_os_str())
}

/// The files that a walk visits. It never visits the content of `.git`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// Neither hidden ones nor those that ignore rules name.
    Shown,
    /// Hidden ones, too.
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

/// The rules of one folder; `depth` is the number of names that lead to it from the start.
struct Rules {
    depth: usize,
    rules: Gitignore,
}

impl Tree<'_> {
    /// Hands on each regular file below `start` by its path from there, folder by folder, sorted by name.
    ///
    /// # Errors
    /// Where `start` cannot be read. A folder below it that cannot is left out.
    pub(super) fn walk(
        &self,
        start: &Path,
        visit: &mut dyn FnMut(&Path) -> ControlFlow<()>,
    ) -> Result<Walked, OpenError> {
        let mut left = MOST_ENTRIES;
        let mut rules = Vec::new();
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
            let entries = match self.beneath.entries(&start.join(&at)) {
                Ok(entries) => entries,
                Err(fault) if at_start => return Err(fault),
                Err(_) => continue,
            };
            at_start = false;
            let depth = at.components().count();
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
                rules.extend(self.rules(start, &at, depth, &found));
            }
            for entry in found.into_iter().rev() {
                open.extend(self.next(&at, depth, &entry, &rules));
            }
        }
        Ok(Walked::All)
    }

    /// The path of an entry that is to be looked at; a folder's ends in a separator.
    fn next(&self, at: &Path, depth: usize, entry: &Entry, rules: &[Rules]) -> Option<PathBuf> {
        let path = at.join(&entry.name);
        let is_folder = entry.kind == EntryKind::Folder;
        if entry.kind == EntryKind::Other
            || entry.name == ".git"
            || is_folder && depth >= MOST_FOLDERS_DEEP
        {
            return None;
        }
        if self.selection != Selection::Everything {
            let left_out = rules
                .iter()
                .rev()
                .find_map(|of| of.leaves_out(&path, is_folder));
            let hidden = self.selection == Selection::Shown
                && entry.name.as_encoded_bytes().starts_with(b".");
            // A rule that takes a file in again takes in a hidden one, too.
            if left_out.unwrap_or(hidden) {
                return None;
            }
        }
        Some(if is_folder { path.join("") } else { path })
    }

    fn rules(&self, start: &Path, at: &Path, depth: usize, found: &[Entry]) -> Option<Rules> {
        let mut builder = GitignoreBuilder::new("");
        let mut some = false;
        for name in RULE_FILES {
            if !found.iter().any(|entry| entry.name == name) {
                continue;
            }
            let Ok(file) = self.beneath.file(&start.join(at).join(name)) else {
                continue;
            };
            let mut text = Vec::new();
            if file.take(RULES_BYTES).read_to_end(&mut text).is_err() {
                continue;
            }
            for line in String::from_utf8_lossy(&text).lines() {
                // A line that is no rule is none, as git takes it.
                some |= builder.add_line(None, line).is_ok();
            }
        }
        let rules = some.then(|| builder.build().ok()).flatten()?;
        Some(Rules { depth, rules })
    }
}

impl Rules {
    /// True if the path is excluded; `None` if no rule of this folder matches it.
    fn leaves_out(&self, path: &Path, is_folder: bool) -> Option<bool> {
        let below: PathBuf = path.components().skip(self.depth).collect();
        match self.rules.matched(below, is_folder) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        }
    }
}
