//! The workspace files that a command changed. Does not run commands.
//!
//! Before a command every file that ignore rules do not name is looked at, and what it holds is kept, since no one knows what the command will
//! change. A file whose stamp is the one that was seen is not read again.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use super::beneath::stamp::{Stamp, Stamps};
use super::beneath::{Beneath, OpenError};
use super::change_log::Held;
use super::run_files::{Files, RunFiles, Seen};
use super::tree::{RULE_FILES, Selection, Skipped, Tree, Walked};
use super::workspace::{Refusal, Workspace};
use monolith_core::message::{Digest, FileChange, FileChanges};

/// Bytes of files that one look reads. What is beyond is not compared.
const LOOK_BYTES: u64 = 256 * 1024 * 1024;

/// A file that was read.
struct Read {
    /// `None` if it is larger than what is kept.
    content: Option<Vec<u8>>,
    seen: Seen,
}

/// A command that may change files, from before it starts. Dropped before its changes were taken, they count as those of the next one.
#[derive(Debug)]
pub(super) struct Watched {
    files: Arc<RunFiles>,
    is_taken: bool,
}

impl RunFiles {
    /// Reads a file, and keeps what it holds. `None` if there is none that may be read.
    fn read(
        &self,
        (beneath, path): (&Beneath, &Path),
        stamp: Stamp,
        (at, left): (SystemTime, &mut u64),
    ) -> io::Result<Option<Read>> {
        let settled = Some(stamp).filter(|stamp| stamp.is_settled(at));
        let unread = Seen {
            hash: None,
            stamp: settled,
        };
        let (content, seen) = match left.checked_sub(stamp.bytes()) {
            None => (None, unread),
            Some(rest) => {
                *left = rest;
                match Held::of(beneath, path) {
                    Ok(Held::Nothing) => return Ok(None),
                    Ok(held) => {
                        let hash = held.hash();
                        if let Some(content) = held.to_keep() {
                            self.keeper.keep(beneath.root(), Some(content))?;
                        }
                        let content = match held {
                            Held::Content { bytes, .. } => Some(bytes),
                            Held::Large(_) | Held::Nothing => None,
                        };
                        let stamp = settled;
                        (content, Seen { hash, stamp })
                    }
                    Err(OpenError::Io(_)) => (None, unread),
                    // It is none of the tools' files.
                    Err(_) => return Ok(None),
                }
            }
        };
        Ok(Some(Read { content, seen }))
    }

    /// Sees every file as it is now.
    fn look(&self, beneath: &Beneath, awaited: Weak<()>, files: &mut Files) -> io::Result<()> {
        self.keeper.keep(beneath.root(), None)?;
        let (at, mut left) = (SystemTime::now(), LOOK_BYTES);
        let mut before = std::mem::take(&mut files.all);
        let mut fault = None;
        let mut stamps = Stamps::of(beneath);
        let skipped = &mut Skipped::default();
        let walked = tree(beneath, awaited).walk(Path::new(""), skipped, &mut |path| {
            let Ok(Some(stamp)) = stamps.at(path) else {
                return ControlFlow::Continue(());
            };
            let same = before.remove(path).filter(|seen| seen.stamp == Some(stamp));
            let seen = match same {
                Some(seen) => Some(seen),
                None => match self.read((beneath, path), stamp, (at, &mut left)) {
                    Ok(read) => read.map(|read| read.seen),
                    Err(because) => {
                        fault = Some(because);
                        return ControlFlow::Break(());
                    }
                },
            };
            if let Some(seen) = seen {
                files.all.insert(path.to_owned(), seen);
            }
            ControlFlow::Continue(())
        });
        let walked = walked.map_err(reason);
        files.lacks_files = !matches!(walked, Ok(Walked::All));
        fault.map_or(Ok(()), Err)?;
        walked?;
        self.keeper.settle()
    }

    /// Returns the files that differ from the last look, and remembers their new state.
    fn compare(
        &self,
        beneath: &Beneath,
        awaited: Weak<()>,
        files: &mut Files,
    ) -> io::Result<FileChanges> {
        let (at, mut left) = (SystemTime::now(), LOOK_BYTES);
        let mut stamps = Stamps::of(beneath);
        let mut now = Vec::new();
        let mut gone = std::mem::take(&mut files.all);
        let skipped = &mut Skipped::default();
        let walked = tree(beneath, awaited).walk(Path::new(""), skipped, &mut |path| {
            now.push((path.to_owned(), gone.remove(path)));
            ControlFlow::Continue(())
        });
        let mut changes = FileChanges::default();
        changes.incomplete |= files.lacks_files | !matches!(walked, Ok(Walked::All));
        // What is not found by the walk may be there all the same: ignored since, or beyond its end.
        now.extend(gone.into_iter().map(|(path, seen)| (path, Some(seen))));
        let (mut made, mut rules_changed) = (Vec::new(), Vec::new());
        for (path, before) in now {
            let stamp = match stamps.at(&path) {
                Ok(stamp) => stamp,
                Err(OpenError::Io(_)) => {
                    changes.incomplete = true;
                    files.all.extend(before.map(|seen| (path, seen)));
                    continue;
                }
                Err(_) => continue,
            };
            if let Some(seen) = before.filter(|seen| stamp.is_some() && seen.stamp == stamp) {
                files.all.insert(path, seen);
                continue;
            }
            let read = match stamp {
                Some(stamp) => self.read((beneath, &path), stamp, (at, &mut left))?,
                None => None,
            };
            let after = read.as_ref().map(|read| read.seen);
            if let Some(seen) = after {
                files.all.insert(path.clone(), seen);
            }
            let is_known = |seen: Option<Seen>| seen.is_none_or(|seen| seen.hash.is_some());
            let (had, has) = (before.and_then(|s| s.hash), after.and_then(|s| s.hash));
            if !is_known(before) || !is_known(after) {
                changes.incomplete = true;
            } else if had != has {
                if before.is_some() && RULE_FILES.iter().any(|name| path.ends_with(name)) {
                    rules_changed.extend(path.parent().map(Path::to_owned));
                }
                match self.change(&path, had, read) {
                    None => changes.incomplete = true,
                    Some(change) if before.is_none() => made.push((path, change)),
                    Some(change) => changes.files.push(change),
                }
            }
        }
        // Where fewer files are ignored than before, one that is found now may have been there: it must not count as made.
        let lacks_files = files.lacks_files;
        let is_new =
            |path: &Path| !lacks_files && !rules_changed.iter().any(|of| path.starts_with(of));
        for (path, change) in made {
            if is_new(&path) {
                changes.files.push(change);
            } else {
                changes.incomplete = true;
            }
        }
        changes.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }

    /// The change of one file. `None` if its path cannot be written.
    fn change(
        &self,
        path: &Path,
        before: Option<Digest>,
        after: Option<Read>,
    ) -> Option<FileChange> {
        let path = path.to_str()?;
        let hash = after.as_ref().and_then(|read| read.seen.hash);
        let had = before.map(|hash| self.keeper.content(hash).ok().flatten());
        let has = after.map(|read| read.content);
        // Lines are counted where both contents are at hand.
        match (had, has) {
            (Some(None), _) | (_, Some(None)) => Some(FileChange {
                after: hash,
                before,
                lines_added: 0,
                lines_removed: 0,
                path: path.to_owned(),
            }),
            (had, has) => FileChange::of(path, had.flatten().as_deref(), has.flatten().as_deref()),
        }
    }
}

impl Watched {
    /// Sees every file, and keeps what it holds; then a command may start.
    ///
    /// # Errors
    /// Where what the files hold cannot be kept.
    pub(super) async fn begin(
        files: &Arc<RunFiles>,
        workspace: &Workspace,
    ) -> Result<Self, Refusal> {
        let files = Arc::clone(files);
        let call = Arc::new(());
        let awaited = Arc::downgrade(&call);
        let begun = workspace.look("", move |beneath, _| {
            let mut seen = files.files();
            // Files that another command changes now are its changes, and not how this one finds them.
            let is_alone = files.running.load(Ordering::Relaxed) == 0;
            if is_alone && !files.unaccounted.load(Ordering::Relaxed) {
                files.look(beneath, awaited, &mut seen)?;
            }
            files.running.fetch_add(1, Ordering::Relaxed);
            drop(seen);
            Ok(Self {
                files,
                is_taken: false,
            })
        });
        begun.await.map_err(|refusal| Refusal {
            code: "SHELL_NOT_STARTED",
            message: format!(
                "what the files of the workspace hold cannot be kept: {}",
                refusal.message
            ),
        })
    }

    /// Returns the changes of the command once it has ended.
    pub(super) async fn changes(mut self, workspace: &Workspace) -> FileChanges {
        let files = Arc::clone(&self.files);
        let call = Arc::new(());
        let awaited = Arc::downgrade(&call);
        let found = workspace.look("", move |beneath, _| {
            let mut seen = files.files();
            let changes = files.compare(beneath, awaited, &mut seen)?;
            if files.running.load(Ordering::Relaxed) == 1 {
                files.unaccounted.store(false, Ordering::Relaxed);
            }
            Ok(changes)
        });
        let found = found.await;
        self.is_taken = true;
        found.unwrap_or(FileChanges {
            files: Vec::new(),
            incomplete: true,
        })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.is_taken {
            self.files.unaccounted.store(true, Ordering::Relaxed);
        }
        self.files.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the files to compare: hidden files, too, but not those that ignore rules name.
fn tree(beneath: &Beneath, awaited: Weak<()>) -> Tree<'_> {
    Tree {
        awaited,
        beneath,
        selection: Selection::NotIgnored,
    }
}

fn reason(fault: OpenError) -> io::Error {
    match fault {
        OpenError::Io(fault) => fault,
        _ => io::Error::from(io::ErrorKind::PermissionDenied),
    }
}
