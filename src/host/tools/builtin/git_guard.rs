//! Keeps commands from changing what git runs or obeys in repositories of the workspace. Runs no command and no git.
//!
//! Hooks and settings of a repository run as the next user of it. The sandbox keeps the workspace's own `.git` from being written. For
//! every other repository the guard keeps its first state, by path and by identity, until no run of the process is left. After each
//! command a known repository gets its first state back. A new one has no hooks, only harmless settings, and pointers to the workspace.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::beneath::Beneath;
use super::beneath::repositories::{GuardedItem, Identity, Repository};
use super::git_settings;
use super::refusal::Refusal;
use super::workspace::Workspace;
use monolith_core::message::char_prefix;

/// The most paths that a result names.
const MOST_NAMED: usize = 10;
/// Bytes of a result that name paths.
pub(super) const WORDS_BYTES: usize = 2_048;

/// The guard that the runs of this process share: a run must not take the change of another one's command for a first state.
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

/// A command that may change repositories, from before it starts.
#[derive(Debug)]
pub(super) struct GuardedCommand {
    guard: Arc<GitGuard>,
    is_judged: bool,
    workspace: Workspace,
}

/// The changes that a command made to entries that git runs or obeys.
#[derive(Debug, Default)]
pub(super) struct GitChanges {
    is_cut: bool,
    /// Hooks and settings of repositories that may be older than the run.
    listed: BTreeSet<PathBuf>,
    not_undone: BTreeSet<PathBuf>,
    undone: BTreeSet<PathBuf>,
    unread: BTreeSet<PathBuf>,
}

/// A repair of one entry: it is put back, or removed.
type Repair<'r> = (PathBuf, Option<Cow<'r, GuardedItem>>);

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

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Keeps the first state of every repository in a workspace that no search has seen.
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

    /// Undoes every difference from the first state, and everything that runs in a new repository.
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
    repairs.extend(has.outside.iter().map(|path| (path.clone(), None)));
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

/// The path of an entry of the repository at `at`. Joining nothing would add a separator.
fn below(at: &Path, path: &Path) -> PathBuf {
    at.components().chain(path.components()).collect()
}

impl GitChanges {
    fn repair(&mut self, beneath: &Beneath, at: &Path, repairs: Vec<Repair<'_>>) {
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

    /// The sentences that the result shows; empty if nothing changed.
    pub(super) fn words(&self) -> String {
        let mut words = String::new();
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
            let named = paths.iter().take(MOST_NAMED);
            let named: Vec<String> = named
                .map(|path| path.to_string_lossy().replace(char::is_control, "?"))
                .collect();
            let more = paths.len().saturating_sub(MOST_NAMED);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            // Writing to a String cannot fail.
            let _ = write!(words, "\n[{what}{}{more}]", named.join(", "));
        }
        if self.is_cut {
            words.push_str(
                "\n[git may run or obey something in folders that were not searched: the workspace has too many]",
            );
        }
        char_prefix(&words, WORDS_BYTES).to_owned()
    }
}

impl GuardedCommand {
    /// Keeps the first state of every repository in the workspace; then a command may start.
    ///
    /// # Errors
    /// If the workspace cannot be read.
    pub(super) async fn begin(
        guard: &Arc<GitGuard>,
        workspace: &Workspace,
    ) -> Result<Self, Refusal> {
        let known = Arc::clone(guard);
        let begun = workspace.look("", move |beneath, _| {
            Ok(known.state().keep_first(beneath)?)
        });
        begun.await.map_err(|refusal| Refusal {
            code: "SHELL_NOT_STARTED",
            message: format!(
                "the git repositories of the workspace cannot be read: {}",
                refusal.message
            ),
        })?;
        Ok(Self {
            guard: Arc::clone(guard),
            is_judged: false,
            workspace: workspace.clone(),
        })
    }

    /// Undoes the command's changes, once it has ended.
    pub(super) async fn end(mut self) -> GitChanges {
        let guard = Arc::clone(&self.guard);
        let judged = self.workspace.look("", move |beneath, _| {
            let state = guard.state();
            Ok(state.judge(beneath)?)
        });
        let judged = judged.await;
        self.is_judged = judged.is_ok();
        judged.unwrap_or_else(|_| GitChanges {
            is_cut: true,
            ..GitChanges::default()
        })
    }
}

impl Drop for GuardedCommand {
    fn drop(&mut self) {
        if self.is_judged {
            return;
        }
        // The command is killed with the call; its changes are undone all the same.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (guard, workspace) = (Arc::clone(&self.guard), self.workspace.clone());
            runtime.spawn(async move {
                let undone = workspace.look("", move |beneath, _| {
                    let state = guard.state();
                    Ok(state.judge(beneath)?)
                });
                drop(undone.await);
            });
        }
    }
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
