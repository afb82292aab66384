//! The folder that tools see.

use std::path::{Path, PathBuf};

use crate::driver::DriverError;
use monolith_core::contract::ContractSpec;
use monolith_core::message::Digest;

/// The folder that tools see: there, and resolved.
pub(super) struct Workspace(PathBuf);

impl Workspace {
    /// Finds the folder that a file names; a relative path begins in the file's own folder.
    pub(super) async fn find(spec: &ContractSpec, base: &Path) -> Result<Self, DriverError> {
        let path = base.join(spec.tools.workspace.as_deref().unwrap_or("."));
        let refuse = |reason: String| DriverError::Workspace {
            path: path.clone(),
            reason,
        };
        let resolved = tokio::fs::canonicalize(&path)
            .await
            .map_err(|fault| refuse(fault.to_string()))?;
        let metadata = tokio::fs::metadata(&resolved)
            .await
            .map_err(|fault| refuse(fault.to_string()))?;
        if metadata.is_dir() {
            Ok(Self(resolved))
        } else {
            Err(refuse("it is not a folder".to_owned()))
        }
    }

    /// What a run commits to of it.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(self.0.as_os_str().as_encoded_bytes())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn into_path(self) -> PathBuf {
        self.0
    }
}

/// The folder that a file in `folder` names, resolved, where it is the one that a run committed to.
pub fn committed_workspace(
    spec: &ContractSpec,
    folder: &Path,
    committed: Digest,
) -> Option<PathBuf> {
    let path = folder.join(spec.tools.workspace.as_deref().unwrap_or("."));
    let workspace = Workspace(path.canonicalize().ok()?);
    (workspace.digest() == committed).then_some(workspace.0)
}
