//! Changes of a command to entries that git runs or obeys: their repair, and the words about them. Does not judge them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use super::beneath::Beneath;
use super::beneath::repositories::GuardedItem;
use monolith_core::message::char_prefix;

/// The most paths that a sentence names.
const MOST_NAMED: usize = 10;
/// Bytes of all paths that a sentence names, and of one of them.
const NAMED_BYTES: usize = 480;
const PATH_BYTES: usize = 120;

/// The changes that a command made to entries that git runs or obeys.
#[derive(Debug, Default)]
pub(super) struct GitChanges {
    pub(super) is_cut: bool,
    /// True if nothing could be compared.
    pub(super) is_unjudged: bool,
    /// Hooks and settings of repositories that may be older than the run.
    pub(super) listed: BTreeSet<PathBuf>,
    pub(super) not_undone: BTreeSet<PathBuf>,
    pub(super) undone: BTreeSet<PathBuf>,
    pub(super) unread: BTreeSet<PathBuf>,
}

/// A repair of one entry: it is put back, or removed.
pub(super) type Repair<'r> = (PathBuf, Option<Cow<'r, GuardedItem>>);

/// The path of an entry of the repository at `at`. Joining nothing would add a separator.
pub(super) fn below(at: &Path, path: &Path) -> PathBuf {
    at.components().chain(path.components()).collect()
}

impl GitChanges {
    /// Repairs entries of the repository at `at`.
    pub(super) fn repair(&mut self, beneath: &Beneath, at: &Path, repairs: Vec<Repair<'_>>) {
        for (path, item) in repairs {
            let path = below(at, &path);
            let done = match item {
                None => beneath.remove_guarded(&path),
                Some(item) => beneath.put_back(&path, &item),
            };
            let list = match done {
                Ok(()) => &mut self.undone,
                // The folder is gone, and git obeys nothing there.
                Err(fault) if fault.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => &mut self.not_undone,
            };
            list.insert(path);
        }
    }

    /// The sentences that the result shows, those without paths first; empty if nothing changed.
    pub(super) fn words(&self) -> String {
        let mut words = String::new();
        if self.is_unjudged {
            words.push_str(
                "\n[the git repositories could not be compared with their first state: look at their hooks and settings]",
            );
        }
        if self.is_cut {
            words.push_str(
                "\n[git may run or obey something in folders that were not searched: the workspace has too many]",
            );
        }
        for (paths, what) in [
            (&self.undone, "undone, since git runs or obeys it: "),
            (
                &self.not_undone,
                "changed, and could not be undone, although git runs or obeys it: ",
            ),
            (
                &self.listed,
                "git runs or obeys this, and it was not searched before the run: ",
            ),
            (
                &self.unread,
                "git may run or obey something here, which could not be read: ",
            ),
        ] {
            if paths.is_empty() {
                continue;
            }
            // Writing to a String cannot fail.
            let _ = write!(words, "\n[{what}{}]", named(paths));
        }
        words
    }
}

/// The first paths of a set, and the number of the others.
fn named(paths: &BTreeSet<PathBuf>) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut room = NAMED_BYTES;
    for path in paths.iter().take(MOST_NAMED) {
        let path = shortened(&path.to_string_lossy().replace(char::is_control, "?"));
        let Some(rest) = room.checked_sub(path.len()) else {
            break;
        };
        room = rest;
        shown.push(path);
    }
    match paths.len().saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A path without its middle if it is long.
fn shortened(path: &str) -> String {
    if path.len() <= PATH_BYTES {
        return path.to_owned();
    }
    let half = PATH_BYTES / 2;
    let mut from = path.len().saturating_sub(half);
    while !path.is_char_boundary(from) {
        from += 1;
    }
    let end = path.get(from..).unwrap_or_default();
    format!("{}…{end}", char_prefix(path, half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_push_no_sentence_out() {
        let paths = |letter: &str| {
            let path = |n| PathBuf::from(format!("{n}{}é/hooks/update", letter.repeat(3_000)));
            (0..20).map(path).collect::<BTreeSet<_>>()
        };
        let changes = GitChanges {
            is_cut: true,
            is_unjudged: true,
            listed: paths("l"),
            not_undone: paths("é"),
            undone: paths("u"),
            unread: paths("r"),
        };
        let words = changes.words();
        assert!(words.len() < 3_000, "{}", words.len());
        for part in [
            "could not be compared",
            "were not searched",
            "[undone, since",
            "could not be undone",
            "not searched before the run",
            "could not be read",
            "uuu…uuu",
            "é/hooks/update and 17 more]",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
        assert!(words.find("not searched: the") < words.find("[undone"));
    }

    #[test]
    fn a_short_list_is_named_in_full() {
        let changes = GitChanges {
            undone: ["a\nb", "c"].map(PathBuf::from).into(),
            ..GitChanges::default()
        };
        let words = "\n[undone, since git runs or obeys it: a?b, c]";
        assert_eq!(changes.words(), words);
    }
}
