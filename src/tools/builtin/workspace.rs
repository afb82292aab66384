use std::io;
use std::path::{Component, Path, PathBuf};

use super::refusal::Refusal;

/// The folder that built-in tools see, and nothing outside it.
#[derive(Debug)]
pub(super) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// `root` is a resolved path.
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Resolves a path that the model gave, following symlinks, and refuses it where it leads outside.
    pub(super) async fn resolve(&self, path: &str) -> Result<PathBuf, Refusal> {
        if !stays_inside(Path::new(path)) {
            return Err(outside(path));
        }
        let resolved = tokio::fs::canonicalize(self.root.join(path))
            .await
            .map_err(|error| refusal(path, &error))?;
        if resolved.starts_with(&self.root) {
            Ok(resolved)
        } else {
            Err(outside(path))
        }
    }
}

/// Whether the path, read as text, never climbs above where it starts. Nothing outside is even looked at.
fn stays_inside(path: &Path) -> bool {
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

fn outside(path: &str) -> Refusal {
    Refusal {
        code: "PATH_OUTSIDE_WORKSPACE",
        message: format!(
            "{path:?} leads outside the workspace; give a path relative to it that stays inside"
        ),
    }
}

/// What the system said of `path`, as a tool error.
pub(super) fn refusal(path: &str, error: &io::Error) -> Refusal {
    let (code, words) = match error.kind() {
        io::ErrorKind::NotFound => ("NOT_FOUND", "does not exist"),
        io::ErrorKind::PermissionDenied => ("PERMISSION_DENIED", "may not be read"),
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
