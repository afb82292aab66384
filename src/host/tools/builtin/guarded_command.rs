//! Commands whose changes to repositories are judged after they end, each on a separate thread: also after a dropped call, and while the
//! process ends. Does not know the rules.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::git_changes::GitChanges;
use super::git_guard::GitGuard;
use super::workspace::{Refusal, Workspace};
use crate::tools::process::Gone;

/// A command that was killed has so long to be gone before its changes are judged.
const GONE_WITHIN: Duration = Duration::from_secs(5);

static COMMANDS: Commands = Commands {
    all: Mutex::new(All {
        live: Vec::new(),
        said: Vec::new(),
    }),
    judged: Condvar::new(),
};

/// The commands of this process.
#[derive(Debug)]
struct Commands {
    all: Mutex<All>,
    judged: Condvar,
}

#[derive(Debug)]
struct All {
    /// Workspaces of commands that are not judged.
    live: Vec<PathBuf>,
    /// Words about commands whose call was given up.
    said: Vec<String>,
}

/// A command in the list of those that are not judged. Drop removes it.
#[derive(Debug)]
struct Listed(PathBuf);

/// A command that may change repositories, from before it starts. Drop judges it, too.
#[derive(Debug)]
pub(super) struct GuardedCommand {
    /// `None` once a thread judges it.
    begun: Option<Begun>,
    gone: Gone,
}

#[derive(Debug)]
struct Begun {
    guard: Arc<GitGuard>,
    listed: Listed,
    workspace: Workspace,
}

/// Waits until the changes of every command of this process are judged, at most so long. Returns notes about commands whose call was
/// given up, and about those that are not judged.
pub fn judged_commands(within: Duration) -> Vec<String> {
    let until = Instant::now().checked_add(within);
    let mut all = COMMANDS.lock();
    while !all.live.is_empty() {
        let left = until.and_then(|until| until.checked_duration_since(Instant::now()));
        let Some(left) = left else {
            break;
        };
        let waited = COMMANDS.judged.wait_timeout(all, left);
        all = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    let mut notes = std::mem::take(&mut all.said);
    let mut live: Vec<PathBuf> = all.live.clone();
    live.sort();
    live.dedup();
    notes.extend(live.iter().map(|workspace| {
        format!(
            "git repositories below {} were not compared with their first state after a command: look at their hooks and settings \
             before you use git there",
            workspace.display()
        )
    }));
    notes
}

impl Commands {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listed {
    fn add(workspace: PathBuf) -> Self {
        COMMANDS.lock().live.push(workspace.clone());
        Self(workspace)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut all = COMMANDS.lock();
        if let Some(at) = all.live.iter().position(|workspace| *workspace == self.0) {
            all.live.swap_remove(at);
        }
        COMMANDS.judged.notify_all();
    }
}

impl Begun {
    /// Judges the command. Nobody may wait for the changes any more: then the process says them at its end.
    fn judge(self, gone: &Gone, waiting: oneshot::Sender<GitChanges>) {
        let is_gone = gone.wait(GONE_WITHIN);
        let beneath = self.workspace.beneath();
        let judged = self.guard.judge(beneath);
        let mut changes = judged.unwrap_or_else(|_| GitChanges {
            is_unjudged: true,
            ..GitChanges::default()
        });
        // A command that still runs may change them again.
        changes.is_unjudged |= !is_gone;
        if let Err(changes) = waiting.send(changes) {
            let words = changes.words();
            if !words.is_empty() {
                let root = beneath.root().display();
                let note = format!("in {root}, after a command that was killed:{words}");
                COMMANDS.lock().said.push(note.replace('\n', " "));
            }
        }
        drop(self.listed);
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
        let begun = workspace.look("", move |beneath, _| Ok(known.keep_first(beneath)?));
        begun.await.map_err(|refusal| Refusal {
            code: "SHELL_NOT_STARTED",
            message: format!(
                "the git repositories of the workspace cannot be read: {}",
                refusal.message
            ),
        })?;
        Ok(Self {
            begun: Some(Begun {
                guard: Arc::clone(guard),
                listed: Listed::add(workspace.beneath().root().to_owned()),
                workspace: workspace.clone(),
            }),
            gone: Gone::default(),
        })
    }

    /// Notes the process of the command, which must be gone before its changes are judged.
    pub(super) fn started(&mut self, gone: Gone) {
        self.gone = gone;
    }

    /// Undoes the command's changes, once it has ended.
    pub(super) async fn end(mut self) -> GitChanges {
        let judged = self.judge().await;
        judged.unwrap_or_else(|_| GitChanges {
            is_unjudged: true,
            ..GitChanges::default()
        })
    }

    /// Lets a thread judge the command, or this one if there is no other.
    fn judge(&mut self) -> oneshot::Receiver<GitChanges> {
        let (waiting, judged) = oneshot::channel();
        let work = Arc::new(Mutex::new(self.begun.take().map(|begun| (begun, waiting))));
        let (shared, gone) = (Arc::clone(&work), std::mem::take(&mut self.gone));
        let judge = move || {
            let mut work = shared.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((begun, waiting)) = work.take() {
                drop(work);
                begun.judge(&gone, waiting);
            }
        };
        let thread = std::thread::Builder::new().name("git guard".to_owned());
        if thread.spawn(judge).is_err()
            && let Some((begun, waiting)) =
                work.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            begun.judge(&Gone::default(), waiting);
        }
        judged
    }
}

impl Drop for GuardedCommand {
    fn drop(&mut self) {
        if self.begun.is_some() {
            drop(self.judge());
        }
    }
}
