//! Keeps commands from changing what git runs or obeys in repositories of the workspace. Runs no command and no git.
//!
//! Hooks and settings of a repository run as the next user of it. The sandbox keeps the workspace's own `.git` from being written. For
//! every other repository the guard keeps its first state, by path and by identity, until no run of the process is left. After each
//! command a known repository gets its first state back. A new one has no hooks, only harmless settings, and pointers to the workspace.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::beneath::Beneath;
use super::beneath::repositories::{GuardedItem, Identity, Repository};
use super::git_changes::{GitChanges, Repair, below};
use super::git_settings;

/// The guard that the runs of this process share. No run may take a change by another run's command for a first state.
static LIVE: Mutex<Weak<GitGuard>> = Mutex::new(Weak::new());

/// The first state of the repositories in the workspaces of this process.
#[derive(Debug, Default)]
pub(super) struct GitGuard(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Repositories by whole path.
    first: BTreeMap<PathBuf, Repository>,
    /// Workspaces whose first state is known, each with true if some of its folders were not searched.
    searched: BTreeMap<PathBuf, bool>,
}

impl GitGuard {
    /// Returns the guard of the runs that are live in this process.
    pub(super) fn of_process() -> Arc<Self> {
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        live.upgrade().unwrap_or_else(|| {
            let guard = Arc::default();
            *live = Arc::downgrade(&guard);
            guard
        })
    }

    /// Keeps the first state of every repository in a workspace that no search has seen.
    pub(super) fn keep_first(&self, beneath: &Beneath) -> io::Result<()> {
        self.state().keep_first(beneath)
    }

    /// Undoes every difference from the first state, and everything that runs in a new repository.
    pub(super) fn judge(&self, beneath: &Beneath) -> io::Result<GitChanges> {
        self.state().judge(beneath)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn keep_first(&mut self, beneath: &Beneath) -> io::Result<()> {
        let root = beneath.root();
        if self.searched.keys().any(|known| root.starts_with(known)) {
            return Ok(());
        }
        let found = beneath.repositories(&[])?;
        for (path, repository) in found.all {
            let path = root.join(path);
            if !self.searched.keys().any(|known| path.starts_with(known)) {
                self.first.insert(path, repository);
            }
        }
        self.searched.insert(root.to_owned(), found.is_cut);
        Ok(())
    }

    fn judge(&self, beneath: &Beneath) -> io::Result<GitChanges> {
        let root = beneath.root();
        let known = self.first.keys();
        let known = known.filter_map(|path| Some(path.strip_prefix(root).ok()?.to_owned()));
        let found = beneath.repositories(&known.collect::<Vec<_>>())?;
        let ids = self.first.values();
        let ids: BTreeMap<Identity, &Repository> =
            ids.filter_map(|first| Some((first.id?, first))).collect();
        let was_cut = self
            .searched
            .iter()
            .any(|(known, is_cut)| *is_cut && (known.starts_with(root) || root.starts_with(known)));
        let mut changes = GitChanges {
            is_cut: found.is_cut,
            unread: found.unread,
            ..GitChanges::default()
        };
        for (at, has) in &found.all {
            let had = self.first.get(&root.join(at));
            let had = had.or_else(|| ids.get(&has.id?).copied());
            match had.filter(|had| had.is_folder() == has.is_folder()) {
                Some(had) => changes.repair(beneath, at, differences(had, has)),
                None if was_cut => {
                    let harmful = harmful(beneath, at, has).into_iter();
                    changes
                        .listed
                        .extend(harmful.map(|(path, _)| below(at, &path)));
                }
                None => changes.repair(beneath, at, harmful(beneath, at, has)),
            }
        }
        Ok(changes)
    }
}

/// The repairs that make a repository what it was.
fn differences<'r>(had: &'r Repository, has: &Repository) -> Vec<Repair<'r>> {
    let is_new = |path: &&PathBuf| !had.items.contains_key(*path);
    // Entries of a folder come before the folder.
    let new = has.items.keys().rev().filter(is_new);
    let mut repairs: Vec<Repair<'_>> = new.map(|path| (path.clone(), None)).collect();
    let mut outside = has
        .outside
        .difference(&had.outside)
        .collect::<BTreeSet<_>>();
    for (path, item) in &had.items {
        if has
            .items
            .get(path)
            .is_none_or(|has| !is_same(path, item, has))
        {
            outside.remove(path);
            repairs.push((path.clone(), Some(Cow::Borrowed(item))));
        }
    }
    // The same words lead to another place, by a link.
    let outside = outside.into_iter().filter(|path| !is_new(path));
    repairs.extend(outside.map(|path| (path.clone(), None)));
    repairs
}

/// True if git reads both entries in the same way.
fn is_same(path: &Path, had: &GuardedItem, has: &GuardedItem) -> bool {
    let GuardedItem::File {
        content,
        mode,
        version,
        ..
    } = had
    else {
        return had == has;
    };
    match (content, has) {
        (
            Some(had),
            GuardedItem::File {
                content: Some(has),
                mode: other,
                ..
            },
        ) => {
            let is_same = had == has || is_config(path) && git_settings::are_same(had, has);
            mode == other && is_same
        }
        (
            None,
            GuardedItem::File {
                content: None,
                mode: other,
                version: has,
                ..
            },
        ) => mode == other && version == has,
        _ => false,
    }
}

fn is_config(path: &Path) -> bool {
    let known = ["config", "config.worktree"];
    known
        .iter()
        .any(|name| path.as_os_str().eq_ignore_ascii_case(name))
}

/// The repairs that leave a new repository nothing that runs or leads outside.
fn harmful(beneath: &Beneath, at: &Path, has: &Repository) -> Vec<Repair<'static>> {
    let mut repairs: Vec<Repair<'static>> = Vec::new();
    let strays = has.outside.union(&has.missing);
    repairs.extend(strays.map(|path| (path.clone(), None)));
    for (path, item) in &has.items {
        let mut steps = path.iter();
        let name = steps.next().unwrap_or_default();
        let is_hook = name.eq_ignore_ascii_case("hooks");
        match item {
            // Git runs what is in the folder itself.
            GuardedItem::Folder => {}
            _ if is_hook && steps.count() < 2 => repairs.push((path.clone(), None)),
            GuardedItem::File {
                content: Some(text),
                mode,
                owner,
                ..
            } if is_config(path) => {
                let is_inside = |tree: &str| !beneath.leads_outside(at, Path::new(tree));
                let kept = git_settings::harmless(text, &is_inside);
                if *kept != **text {
                    let item = GuardedItem::File {
                        content: Some(kept.into_owned()),
                        mode: *mode,
                        owner: *owner,
                        version: None,
                    };
                    repairs.push((path.clone(), Some(Cow::Owned(item))));
                }
            }
            GuardedItem::File {
                content: Some(_), ..
            } => {}
            // Nobody knows where git reads on.
            _ if is_config(path) || path.as_os_str().eq_ignore_ascii_case("commondir") => {
                repairs.push((path.clone(), None));
            }
            _ => {}
        }
    }
    repairs
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tools::withheld::Withheld;

    const HARMLESS: &str = "[core]\n\tbare = false\n";

    fn beneath(folder: &Path) -> Beneath {
        let root = folder.canonicalize().unwrap();
        Beneath::open(root, Withheld::default()).unwrap()
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn make(at: &Path) {
        for name in ["HEAD", "objects/x", "refs/heads/main"] {
            write(&at.join(name), "x");
        }
        write(&at.join("config"), HARMLESS);
    }

    #[test]
    fn a_run_takes_no_change_of_another_run_for_a_first_state() {
        let folder = tempfile::tempdir().unwrap();
        make(&folder.path().join("a/sub/.git"));
        let (inner, outer) = (beneath(&folder.path().join("a")), beneath(folder.path()));
        let mut state = State::default();
        state.keep_first(&inner).unwrap();
        // A command in `a` runs while a run with more folders begins.
        let hook = folder.path().join("a/sub/.git/hooks/pre-commit");
        let new = folder.path().join("a/new/hooks/pre-commit");
        write(&hook, "evil");
        make(&folder.path().join("a/new"));
        write(&new, "evil");
        state.keep_first(&outer).unwrap();
        for beneath in [&outer, &inner] {
            state.judge(beneath).unwrap();
            assert!(!hook.exists() && !new.exists());
        }
    }

    #[test]
    fn runs_of_one_process_share_the_guard() {
        assert!(Arc::ptr_eq(
            &GitGuard::of_process(),
            &GitGuard::of_process()
        ));
    }

    #[test]
    fn a_folder_that_takes_the_number_of_a_removed_repository_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("old/.git");
        make(&old);
        write(&old.join("hooks/pre-commit"), "old");
        let beneath = beneath(folder.path());
        let mut state = State::default();
        state.keep_first(&beneath).unwrap();
        fs::remove_dir_all(&old).unwrap();
        for n in 0..32 {
            make(&folder.path().join(format!("n{n}/.git")));
        }
        let changes = state.judge(&beneath).unwrap();
        assert_eq!(changes.words(), "");
    }

    #[test]
    fn a_repository_that_no_search_before_the_run_reached_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let beneath = beneath(folder.path());
        let mut state = State::default();
        state.searched.insert(beneath.root().to_owned(), true);
        make(&folder.path().join("bare"));
        let hook = folder.path().join("bare/hooks/update");
        write(&hook, "x");
        let changes = state.judge(&beneath).unwrap();
        assert_eq!(
            changes.listed,
            BTreeSet::from([PathBuf::from("bare/hooks/update")])
        );
        assert!(hook.exists());
    }
}
