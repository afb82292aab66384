//! Changes files of the workspace: all are judged before the first one is written. Does not know tools.

use std::io;

use super::beneath::{Beneath, OpenError};
use super::refusal::Refusal;
use super::step_fault::StepFault;
use super::workspace::Workspace;
use crate::message::amount;

/// Most bytes of a file that is written.
pub(super) const FILE_BYTES: usize = 16 * 1024 * 1024;

/// What becomes of one file.
#[derive(Debug)]
pub(super) enum FileStep {
    /// It holds this text, and nothing else.
    Put {
        /// Whether no file may be there yet.
        is_new: bool,
        path: String,
        text: Vec<u8>,
    },
    /// It is there no longer.
    Remove { path: String },
}

/// Makes every change, or none where one of them is refused, and tells what became of each file. Each file is written whole or not at all; where the
/// system fails in between, the message has what was changed before.
pub(super) async fn change(workspace: &Workspace, steps: Vec<FileStep>) -> Result<String, Refusal> {
    for step in &steps {
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
    let changed = workspace.look_at_all(paths, move |beneath| {
        for (at, step) in steps.iter().enumerate() {
            step.judge(beneath).map_err(|fault| (at, fault))?;
        }
        let mut done: Vec<String> = Vec::with_capacity(steps.len());
        for (at, step) in steps.iter().enumerate() {
            match step.perform(beneath) {
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
            Self::Put { path, .. } | Self::Remove { path } => path,
        }
    }

    fn judge(&self, beneath: &Beneath) -> Result<(), StepFault> {
        let path = self.path().as_ref();
        match self {
            Self::Put { is_new, .. } if beneath.stands(path)? && *is_new => Err(StepFault::Exists),
            Self::Put { .. } => Ok(()),
            Self::Remove { .. } if beneath.is_removable(path)? => Ok(()),
            Self::Remove { .. } => {
                Err(OpenError::from(io::Error::from(io::ErrorKind::NotFound)).into())
            }
        }
    }

    fn perform(&self, beneath: &Beneath) -> Result<String, StepFault> {
        match self {
            Self::Put { path, text, .. } => {
                let replaced = beneath.put(path.as_ref(), text)?;
                let what = if replaced { "replaced" } else { "made" };
                Ok(format!("{what} {path}, {}", amount(text.len(), "byte")))
            }
            Self::Remove { path } => {
                beneath.remove(path.as_ref())?;
                Ok(format!("removed {path}"))
            }
        }
    }
}
