//! Changes files of the workspace: all are judged before the first one is written. Does not know tools.

use std::io;
use std::path::{Component, Path};

use super::beneath::{Beneath, OpenError};
use super::change_log::{ChangeLog, FILE_BYTES, Held};
use super::workspace::{Refusal, StepFault, Workspace};
use monolith_core::message::amount;

/// A change to one file.
#[derive(Debug)]
pub(super) enum FileStep {
    /// It holds this text, and nothing else.
    Put {
        /// True if the file must not exist yet.
        is_new: bool,
        /// The file whose mode and owner a new file gets.
        like: Option<String>,
        path: String,
        text: Vec<u8>,
    },
    /// It is there no longer.
    Remove {
        /// True if another text of it gets a new name: then it must be writable, too.
        is_rewritten: bool,
        path: String,
    },
}

/// Makes every change, or none if one of them is refused, and reports what became of each file. Each file is written whole or not at all; where the
/// system fails in between, the message has what was changed before.
///
/// What each file held is kept before it is changed, and noted.
pub(super) async fn change(
    workspace: &Workspace,
    mut steps: Vec<FileStep>,
    log: &ChangeLog,
) -> Result<String, Refusal> {
    for step in &mut steps {
        let (FileStep::Put { path, .. } | FileStep::Remove { path, .. }) = &mut *step;
        *path = workspace.inside(path);
        if let FileStep::Put { path, text, .. } = step
            && text.len() > FILE_BYTES
        {
            return Err(Refusal {
                code: "TOO_LARGE",
                message: format!("{path:?} would have more than {FILE_BYTES} bytes"),
            });
        }
    }
    let paths = steps.iter().map(|step| step.path().to_owned()).collect();
    let log = log.clone();
    let changed = workspace.look_at_all(paths, move |beneath| {
        for (at, step) in steps.iter().enumerate() {
            step.judge(beneath).map_err(|fault| (at, fault))?;
        }
        let mut done: Vec<String> = Vec::with_capacity(steps.len());
        for (at, step) in steps.iter().enumerate() {
            match step.perform(beneath, &log) {
                Ok(words) => done.push(words),
                Err(fault) => return Err((at, fault.after(&done))),
            }
        }
        Ok(done.join("\n"))
    });
    changed.await
}

impl FileStep {
    fn path(&self) -> &str {
        match self {
            Self::Put { path, .. } | Self::Remove { path, .. } => path,
        }
    }

    fn judge(&self, beneath: &Beneath) -> Result<(), StepFault> {
        let path = self.path().as_ref();
        match self {
            Self::Put { is_new, .. } if *is_new && beneath.stands(path)? => Err(StepFault::Exists),
            Self::Put { .. } => beneath.is_writable(path).map(drop).map_err(StepFault::Open),
            Self::Remove { is_rewritten, .. } => {
                if *is_rewritten {
                    beneath.is_writable(path)?;
                }
                if beneath.is_removable(path)? {
                    return Ok(());
                }
                Err(OpenError::from(io::Error::from(io::ErrorKind::NotFound)).into())
            }
        }
    }

    fn perform(&self, beneath: &Beneath, log: &ChangeLog) -> Result<String, StepFault> {
        let path = self.path();
        let before = Held::of(beneath, path.as_ref())?;
        log.keep(beneath.root(), &before).map_err(OpenError::from)?;
        let (words, after) = match self {
            Self::Put { like, text, .. } => {
                let like = like.as_deref().map(Path::new);
                let replaced = beneath.put(path.as_ref(), text, like)?;
                let what = if replaced { "replaced" } else { "made" };
                let words = format!("{what} {path}, {}", amount(text.len(), "byte"));
                (words, Some(text.as_slice()))
            }
            Self::Remove { .. } => {
                beneath.remove(path.as_ref())?;
                (format!("removed {path}"), None)
            }
        };
        log.note(&plain(path), &before, after);
        Ok(words)
    }
}

/// A path without steps that lead nowhere.
fn plain(path: &str) -> String {
    let steps = Path::new(path).components();
    let steps = steps.filter(|step| *step != Component::CurDir);
    let steps: Vec<_> = steps
        .map(|step| step.as_os_str().to_string_lossy())
        .collect();
    steps.join("/")
}
