//! The paths of a scan that are no part of the tree: ignored, excluded, or left out always. Walks no folder.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use monolith_core::work::{Manifest, TreeNode, WorkPath};

use super::blobs::Blobs;
use super::scratch_folder::is_left_out;
use crate::tools::Rules;

/// The file of a folder's rules. It is part of the tree even if a rule names it, so that a snapshot has all rules that decide.
const RULE_FILE: &str = ".gitignore";

/// Patterns of an item that widen or narrow its tree, in the syntax of `.gitignore`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanTerms<'t> {
    /// Paths that are no part of the tree, and are not copied to a scratch tree either.
    pub excludes: &'t [String],
    /// Ignored paths that are part of the tree nevertheless.
    pub include_ignored: &'t [String],
}

/// The part of a tree that a path belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Copied to a scratch tree, with all below it, and neither hashed nor published.
    Ignored,
    /// Neither hashed nor copied.
    LeftOut,
    Tree,
}

/// The tree that a scratch tree began as. Only its rules count there: an item that adds or changes rules neither hides a file nor adds one
/// by it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Baseline<'b> {
    pub blobs: &'b Blobs,
    pub manifest: &'b Manifest,
}

/// The rules of one scan.
#[derive(Debug)]
pub(super) struct ScanRules<'b> {
    baseline: Option<Baseline<'b>>,
    excludes: Gitignore,
    include_ignored: Gitignore,
}

/// The rules of the folders on the way to a path, the nearest first.
pub(super) struct FolderRules {
    above: Option<Arc<FolderRules>>,
    rules: Rules,
}

impl<'b> ScanRules<'b> {
    pub(super) fn new(terms: ScanTerms<'_>, baseline: Option<Baseline<'b>>) -> Self {
        Self {
            baseline,
            excludes: matcher(terms.excludes),
            include_ignored: matcher(terms.include_ignored),
        }
    }

    /// True if an ignored folder may hold paths of the tree.
    pub(super) fn includes_ignored(&self) -> bool {
        !self.include_ignored.is_empty()
    }

    /// The rules for the entries of a folder; `open` opens a file of it by name. The root has depth 0 and no path.
    ///
    /// # Errors
    /// Rules of the tree that a scratch tree began as cannot be read.
    pub(super) fn of_folder(
        &self,
        above: Option<&Arc<FolderRules>>,
        (folder, depth): (&[u8], usize),
        open: impl FnOnce(&str) -> Option<File>,
    ) -> io::Result<Option<Arc<FolderRules>>> {
        let path = join(folder, RULE_FILE.as_bytes());
        let is_excluded = WorkPath::from_bytes(&path).is_ok_and(|path| self.excludes(&path, false));
        let file = match self.baseline {
            // No scratch tree has it: rules that its copy lacks would add files.
            _ if is_excluded => None,
            Some(baseline) => baseline.open(&path)?,
            None => open(RULE_FILE),
        };
        let file = Cell::new(file);
        let rules = Rules::read(depth, false, |name| {
            (name == RULE_FILE).then(|| file.take()).flatten()
        });
        Ok(match rules {
            Some(rules) => Some(Arc::new(FolderRules {
                above: above.cloned(),
                rules,
            })),
            None => above.cloned(),
        })
    }

    fn excludes(&self, path: &WorkPath, is_folder: bool) -> bool {
        let file = Path::new(os_str(path));
        matches!(self.excludes.matched(file, is_folder), Match::Ignore(_))
    }

    /// The part of the tree that an entry belongs to, and true if the rules ignore it. `in_ignored` is true below an ignored folder.
    pub(super) fn part(
        &self,
        path: &WorkPath,
        (name, is_folder): (&OsStr, bool),
        rules: Option<&Arc<FolderRules>>,
        in_ignored: bool,
    ) -> (Part, bool) {
        if is_left_out(name) {
            return (Part::LeftOut, in_ignored);
        }
        let file = Path::new(os_str(path));
        let has_rules = name == RULE_FILE && !is_folder;
        let below_ignored = in_ignored || !has_rules && is_ignored(rules, file, is_folder);
        let is_known = |baseline: Baseline<'_>| baseline.manifest.get(path).is_some();
        let part = if self.baseline.is_some_and(is_known) {
            Part::Tree
        } else if self.excludes(path, is_folder) {
            Part::LeftOut
        } else if below_ignored {
            let included = self
                .include_ignored
                .matched_path_or_any_parents(file, is_folder);
            match included {
                Match::Ignore(_) => Part::Tree,
                Match::None | Match::Whitelist(_) => Part::Ignored,
            }
        } else {
            Part::Tree
        };
        (part, below_ignored)
    }
}

impl Baseline<'_> {
    /// The file of that path as it was; `None` for a path that was no file of the tree.
    fn open(&self, path: &[u8]) -> io::Result<Option<File>> {
        let path = WorkPath::from_bytes(path).ok();
        let node = path.and_then(|path| self.manifest.get(&path));
        let Some(TreeNode::File { content, .. }) = node else {
            return Ok(None);
        };
        let gone = || io::Error::other("its content is not kept");
        self.blobs.open(*content)?.ok_or_else(gone).map(Some)
    }
}

/// True if two trees have the same rules.
pub(super) fn has_rules_of(a: &Manifest, b: &Manifest) -> bool {
    let is_of_rules = |(path, _): &(&WorkPath, &TreeNode)| {
        let mut names = path.as_bytes().rsplit(|byte| *byte == b'/');
        names.next() == Some(RULE_FILE.as_bytes())
    };
    a.iter()
        .filter(is_of_rules)
        .eq(b.iter().filter(is_of_rules))
}

/// A path of a name in a folder; the root has an empty path.
pub(super) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() {
        return name.to_vec();
    }
    [folder, b"/", name].concat()
}

pub(super) fn os_str(path: &WorkPath) -> &OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(path.as_bytes())
}

fn is_ignored(rules: Option<&Arc<FolderRules>>, path: &Path, is_folder: bool) -> bool {
    let mut next = rules;
    while let Some(folder) = next {
        if let Some(leaves_out) = folder.rules.leaves_out(path, is_folder) {
            return leaves_out;
        }
        next = folder.above.as_ref();
    }
    false
}

fn matcher(patterns: &[String]) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for pattern in patterns {
        // The item's file is judged by `pattern_fault`: a line that is no pattern matches nothing.
        let _pattern = builder.add_line(None, pattern);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The reason that a text is no pattern of `excludes` and `include_ignored`; `None` for a pattern.
#[must_use]
pub fn pattern_fault(text: &str) -> Option<String> {
    if text.trim().is_empty() || text.starts_with('#') {
        return Some("it names no path".to_owned());
    }
    let mut builder = GitignoreBuilder::new("");
    builder.allow_unclosed_class(false);
    let added = builder.add_line(None, text).map(drop);
    let fault = added.and_then(|()| builder.build().map(drop)).err()?;
    Some(match fault {
        ignore::Error::Glob { err, .. } => err,
        fault => fault.to_string(),
    })
}
