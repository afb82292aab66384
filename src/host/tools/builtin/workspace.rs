//! The folder that built-in tools see. Does not know which tools there are.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::beneath::{Beneath, OpenError};
use super::entry::Entry;
use crate::tools::envelope::ToolResponse;
use crate::tools::withheld::Withheld;
#[cfg(unix)]
use crate::tools::withheld_files::MOST_FILES;

/// The folder that built-in tools see, and nothing outside it.
#[derive(Clone, Debug)]
pub(super) struct Workspace(Arc<Beneath>);

impl Workspace {
    /// Opens the folder, a resolved path, and holds it open.
    pub(super) fn open(root: PathBuf, withheld: Withheld) -> io::Result<Self> {
        Ok(Self(Arc::new(Beneath::open(root, withheld)?)))
    }

    /// The path from the workspace: an absolute one that leads into its folder is given without that folder.
    pub(super) fn inside(&self, path: &str) -> String {
        let given = Path::new(path);
        let rest = given
            .is_absolute()
            .then(|| given.strip_prefix(self.0.root()).ok());
        let Some(rest) = rest.flatten().and_then(Path::to_str) else {
            return path.to_owned();
        };
        // `a/` is a folder.
        let end = if path.ends_with('/') && !rest.is_empty() {
            "/"
        } else {
            ""
        };
        format!("{rest}{end}")
    }

    /// The held folder.
    #[cfg(unix)]
    pub(super) fn beneath(&self) -> &Beneath {
        &self.0
    }

    /// Opens a regular file at a path that the model gave, following symlinks, and refuses it where it leads outside. What it is opened for
    /// is done on the same thread: each hand-over to another costs more than the reading of a small file.
    pub(super) async fn file<T: Send + 'static>(
        &self,
        path: &str,
        read: impl FnOnce(File) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let opened = |beneath: &Beneath, path: &Path| Ok(read(beneath.file(path)?));
        self.look(path, opened).await?
    }

    /// Hands on every entry of a directory.
    pub(super) async fn entries<T: Send + 'static>(
        &self,
        path: &str,
        gather: impl FnOnce(&mut dyn Iterator<Item = io::Result<Entry>>) -> io::Result<T>
        + Send
        + 'static,
    ) -> Result<T, Refusal> {
        self.look(path, |beneath, path| {
            let mut entries = beneath.entries(path)?;
            Ok(gather(&mut entries)?)
        })
        .await
    }

    /// Runs a step that may block on a separate thread.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        path: &str,
        step: impl FnOnce(&Beneath, &Path) -> Result<T, OpenError> + Send + 'static,
    ) -> Result<T, Refusal> {
        let given = PathBuf::from(self.inside(path));
        if !stays_inside(&given) {
            return Err(missed(path, OpenError::Outside));
        }
        let beneath = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || step(&beneath, &given)).await;
        let done = done.unwrap_or_else(|fault| Err(io::Error::other(fault).into()));
        done.map_err(|miss| missed(path, miss))
    }

    /// The same for several paths; where it fails, `step` says at which of them.
    pub(super) async fn look_at_all<T: Send + 'static>(
        &self,
        paths: Vec<String>,
        step: impl FnOnce(&Beneath) -> Result<T, (usize, StepFault)> + Send + 'static,
    ) -> Result<T, Refusal> {
        if let Some(path) = paths.iter().find(|path| !stays_inside(Path::new(path))) {
            return Err(missed(path, OpenError::Outside));
        }
        let beneath = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || step(&beneath)).await;
        let done = done.unwrap_or_else(|fault| {
            let fault = OpenError::from(io::Error::other(fault));
            Err((0, fault.into()))
        });
        done.map_err(|(at, fault)| {
            let path = paths.get(at).map_or("", String::as_str);
            match fault {
                StepFault::Open(miss) => missed(path, miss),
                StepFault::Exists => Refusal {
                    code: "ALREADY_EXISTS",
                    message: format!("{path:?} is there already; update it, or delete it first"),
                },
                StepFault::Partly { done, fault } => {
                    let Refusal { code, message } = missed(path, fault);
                    let message = format!("{message}; changed before: {done}");
                    Refusal { code, message }
                }
            }
        })
    }
}

/// True if the path, read as text, never climbs above its start. Does not even look at anything outside.
pub(super) fn stays_inside(path: &Path) -> bool {
    let mut depth = 0_usize;
    path.components().all(|component| match component {
        Component::Prefix(_) | Component::RootDir => false,
        Component::CurDir => true,
        Component::Normal(_) => {
            depth += 1;
            true
        }
        Component::ParentDir => match depth.checked_sub(1) {
            Some(up) => {
                depth = up;
                true
            }
            None => false,
        },
    })
}

/// Returns the tool error for a path that was not opened.
pub(super) fn missed(path: &str, miss: OpenError) -> Refusal {
    let (code, words) = match miss {
        OpenError::Outside => (
            "PATH_OUTSIDE_WORKSPACE",
            "leads outside the workspace; give a path relative to it that stays inside",
        ),
        OpenError::NotAFile => ("NOT_A_FILE", "is not a regular file"),
        #[cfg(unix)]
        OpenError::Closed(folder) => {
            let message = format!(
                "{path:?} is not written: what lies in {folder} is run by other programs, so no tool changes it"
            );
            return Refusal {
                code: "PATH_CLOSED",
                message,
            };
        }
        #[cfg(unix)]
        OpenError::Guarded => (
            "PATH_CLOSED",
            "is not written: a contract, a layer or a server's command names it, so it decides what monolith starts, and no tool of a run changes it. \
             Write another file, and leave this change to a person",
        ),
        #[cfg(unix)]
        OpenError::Withheld => (
            "PATH_WITHHELD",
            "belongs to monolith's own state, which no tool reads",
        ),
        #[cfg(unix)]
        OpenError::Uncounted(folder) => {
            let message = format!(
                "{path:?} is not read: {folder:?} of monolith's own state has more than {MOST_FILES} files, or one that cannot be \
                 looked at, so this may be one of them; the operator can correct that"
            );
            return Refusal {
                code: "PATH_WITHHELD",
                message,
            };
        }
        OpenError::Io(error) => return refusal(path, &error),
    };
    Refusal {
        code,
        message: format!("{path:?} {words}"),
    }
}

/// The system's error for `path`, as a tool error.
pub(super) fn refusal(path: &str, error: &io::Error) -> Refusal {
    let (code, words) = match error.kind() {
        io::ErrorKind::NotFound => ("NOT_FOUND", "does not exist"),
        io::ErrorKind::PermissionDenied => {
            return Refusal {
                code: "PERMISSION_DENIED",
                message: format!("{path:?}: permission denied, {error}"),
            };
        }
        io::ErrorKind::NotADirectory => ("NOT_A_DIRECTORY", "has a part that is not a directory"),
        _ => {
            return Refusal {
                code: "IO_ERROR",
                message: format!("{path:?}: {error}"),
            };
        }
    };
    Refusal {
        code,
        message: format!("{path:?} {words}"),
    }
}

/// A built-in's own failure: an error envelope, never a fault of the run.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Refusal {
    /// As what the call came to.
    pub(super) fn response(self) -> ToolResponse {
        ToolResponse::failed(self.code, self.message)
    }
}

/// An error from one step.
pub(super) enum StepFault {
    Open(OpenError),
    /// A file is where a new one is to be made.
    Exists,
    /// Steps before it were taken.
    Partly {
        done: String,
        fault: OpenError,
    },
}

impl From<OpenError> for StepFault {
    fn from(fault: OpenError) -> Self {
        Self::Open(fault)
    }
}

impl StepFault {
    pub(super) fn after(self, done: &[String]) -> Self {
        match self {
            Self::Open(fault) if !done.is_empty() => Self::Partly {
                done: done.join("; "),
                fault,
            },
            other => other,
        }
    }
}
