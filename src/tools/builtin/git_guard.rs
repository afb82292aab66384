//! Keeps commands from changing what git runs or obeys in repositories of the workspace. Runs no command and no git.
//!
//! Hooks and settings of a repository run as whoever works in it next. The sandbox keeps the workspace's own `.git` from being written;
//! repositories below it are compared before and after each command, and what the command changed there is undone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::beneath::Beneath;
use super::beneath::repositories::{Guarded, GuardedItem, Repositories};
use super::refusal::Refusal;
use super::workspace::Workspace;
use crate::message::{FileChange, char_prefix};
use crate::tools::withheld_files::FileId;

/// The most paths that a result names.
const MOST_NAMED: usize = 10;
/// Bytes of a result that name paths.
pub(super) const WORDS_BYTES: usize = 2_048;

/// The repositories of one workspace, as its commands found them.
#[derive(Debug, Default)]
pub(super) struct GitGuard(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    before: Repositories,
    /// Set once a command was given up, so that what it changed is not known yet.
    is_unjudged: bool,
    /// Repositories that commands of this run have made.
    made: BTreeSet<PathBuf>,
    running: usize,
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
    /// The files of `new`.
    pub(super) files: Vec<FileChange>,
    is_cut: bool,
    /// Hooks and settings of repositories that the run has made.
    new: BTreeSet<PathBuf>,
    not_undone: BTreeSet<PathBuf>,
    undone: BTreeSet<PathBuf>,
}

impl GitGuard {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The path that a repository had before, where its folder was renamed.
    fn moved_from(&self, repository: &Path, ids: &BTreeMap<PathBuf, FileId>) -> Option<&PathBuf> {
        let id = ids.get(repository)?;
        let mut before = self.before.ids.iter();
        let (from, _) = before.find(|(_, before)| *before == id)?;
        let is_known = self.before.all.contains_key(repository);
        (!is_known && from != repository).then_some(from)
    }

    /// Undoes what is otherwise than before, and takes what is there now as known.
    fn judge(&mut self, beneath: &Beneath) -> io::Result<GitChanges> {
        let mut now = beneath.repositories(&self.before)?;
        let mut changes = GitChanges {
            is_cut: now.is_cut || self.before.is_cut,
            ..GitChanges::default()
        };
        for (repository, has) in &mut now.all {
            let moved_from = self.moved_from(repository, &now.ids);
            let (from, had) = match moved_from {
                Some(from) => (from, self.before.all.get(from)),
                None => (repository, self.before.all.get(repository)),
            };
            match had.filter(|_| !self.made.contains(from)) {
                Some(had) if from == repository => changes.undo(beneath, had, has),
                Some(had) => {
                    let rebased = had.iter().filter_map(|(path, item)| {
                        let below = path.strip_prefix(from).ok()?;
                        // Joining nothing would add a separator.
                        let path = repository.components().chain(below.components());
                        Some((path.collect(), item.clone()))
                    });
                    changes.undo(beneath, &rebased.collect(), has);
                }
                // Where folders were missed before, this one may have been there.
                None if had.is_none() && self.before.is_cut => {}
                None => {
                    self.made.insert(repository.clone());
                    changes.list(had, has);
                }
            }
        }
        self.before = now;
        Ok(changes)
    }
}

impl GitChanges {
    /// Makes a repository what it was; `has` is then what it had, as far as that succeeds.
    fn undo(&mut self, beneath: &Beneath, had: &Guarded, has: &mut Guarded) {
        let new: Vec<PathBuf> = has
            .keys()
            .filter(|path| !had.contains_key(*path))
            .cloned()
            .collect();
        // What lies in a folder comes before the folder.
        for path in new.into_iter().rev() {
            let removed = beneath.remove_guarded(&path);
            if self.noted(&path, &removed) {
                has.remove(&path);
            }
        }
        for (path, item) in had {
            if has.get(path) == Some(item) {
                continue;
            }
            let put = match beneath.put_back(path, item) {
                // Its folder is gone: git obeys nothing there.
                Err(fault)
                    if fault.kind() == io::ErrorKind::NotFound && !has.contains_key(path) =>
                {
                    continue;
                }
                put => put,
            };
            if self.noted(path, &put) {
                has.insert(path.clone(), item.clone());
            }
        }
    }

    fn noted(&mut self, path: &Path, done: &io::Result<()>) -> bool {
        let list = if done.is_ok() {
            &mut self.undone
        } else {
            &mut self.not_undone
        };
        list.insert(path.to_owned());
        done.is_ok()
    }

    /// Lists what git runs of a repository that the run has made, where it is otherwise than before.
    fn list(&mut self, had: Option<&Guarded>, has: &Guarded) {
        for (path, item) in has {
            let before = had.and_then(|had| had.get(path));
            if before == Some(item) || !runs_something(path, item) {
                continue;
            }
            self.new.insert(path.clone());
            let (before, after) = (before.and_then(content_of), content_of(item));
            let change = path.to_str().zip(after);
            self.files
                .extend(change.and_then(|(path, after)| FileChange::of(path, before, Some(after))));
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
            (&self.new, "git runs or obeys this in a new repository: "),
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
                "\n[the workspace has too many folders to find every git repository in it]",
            );
        }
        char_prefix(&words, WORDS_BYTES).to_owned()
    }
}

fn content_of(item: &GuardedItem) -> Option<&[u8]> {
    match item {
        GuardedItem::File { content, .. } => content.as_deref(),
        GuardedItem::Folder | GuardedItem::Link(_) | GuardedItem::Other => None,
    }
}

/// True if git runs a program by it: a hook, a path of hooks, or a `.git` that stands for another folder.
fn runs_something(path: &Path, item: &GuardedItem) -> bool {
    let is_hook = path
        .components()
        .any(|step| step.as_os_str().eq_ignore_ascii_case("hooks"));
    match item {
        GuardedItem::Folder => false,
        _ if is_hook => true,
        GuardedItem::File {
            content: Some(content),
            ..
        } => {
            let is_pointer = path
                .file_name()
                .is_some_and(|name| name.eq_ignore_ascii_case(".git"));
            let text = String::from_utf8_lossy(content).to_ascii_lowercase();
            is_pointer || COMMANDS.iter().any(|key| text.contains(key))
        }
        GuardedItem::File { .. } | GuardedItem::Link(_) | GuardedItem::Other => true,
    }
}

/// Parts of keys of git's settings whose values are commands, or files of such.
const COMMANDS: [&str; 16] = [
    "alias",
    "askpass",
    "clean",
    "cmd",
    "command",
    "editor",
    "fsmonitor",
    "helper",
    "hookspath",
    "include",
    "pager",
    "process",
    "program",
    "smudge",
    "textconv",
    "driver",
];

impl GuardedCommand {
    /// Looks at every repository; then a command may start.
    ///
    /// # Errors
    /// If the workspace cannot be read.
    pub(super) async fn begin(
        guard: &Arc<GitGuard>,
        workspace: &Workspace,
    ) -> Result<Self, Refusal> {
        let known = Arc::clone(guard);
        let begun = workspace.look("", move |beneath, _| {
            let mut state = known.state();
            if state.is_unjudged && state.running == 0 {
                state.judge(beneath)?;
                state.is_unjudged = false;
            } else if state.running == 0 {
                state.before = beneath.repositories(&Repositories::default())?;
            }
            state.running = state.running.saturating_add(1);
            Ok(())
        });
        begun.await.map_err(|refusal| Refusal {
            code: "SHELL_NOT_STARTED",
            message: format!(
                "the git repositories of the workspace cannot be looked at: {}",
                refusal.message
            ),
        })?;
        Ok(Self {
            guard: Arc::clone(guard),
            is_judged: false,
            workspace: workspace.clone(),
        })
    }

    /// Undoes what the command changed, once it has ended.
    pub(super) async fn end(mut self) -> GitChanges {
        let guard = Arc::clone(&self.guard);
        let judged = self.workspace.look("", move |beneath, _| {
            let mut state = guard.state();
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
        let mut state = self.guard.state();
        state.running = state.running.saturating_sub(1);
        if self.is_judged {
            return;
        }
        state.is_unjudged = true;
        drop(state);
        // The command is killed with the call; what it changed is undone all the same.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (guard, workspace) = (Arc::clone(&self.guard), self.workspace.clone());
            runtime.spawn(async move {
                let undone = workspace.look("", move |beneath, _| {
                    let mut state = guard.state();
                    // The next command judges once more: some process may not have ended yet.
                    if state.is_unjudged {
                        state.judge(beneath)?;
                    }
                    Ok(())
                });
                drop(undone.await);
            });
        }
    }
}
