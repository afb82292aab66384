//! How commands of the built-in shell are started. Starts none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::ToolServerError;
use super::sandbox::{Confined, SandboxProfile, parts_of};

/// How commands of the built-in shell are started.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ShellSpec {
    /// Added to the few inherited variables; wins over them.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) profile: SandboxProfile,
    /// This program, which sets the sandbox up; none if the host is no monolith.
    pub(crate) program: Option<PathBuf>,
}

impl ShellSpec {
    /// The same in that workspace, a resolved path.
    pub(super) fn in_workspace(&self, workspace: &Path) -> Self {
        Self {
            profile: self.profile.in_workspace(workspace),
            ..self.clone()
        }
    }

    /// Whether the sandbox can be set up here: it is, once, with nothing in it.
    ///
    /// # Errors
    /// [`ToolServerError::Sandbox`] with the part that is lacking.
    pub(super) async fn check(&self) -> Result<(), ToolServerError> {
        let lacks = |part: &str, reason: String| ToolServerError::Sandbox {
            part: part.to_owned(),
            reason,
        };
        if self.profile.confined == Confined::Never {
            return Ok(());
        }
        let Some(program) = self.program.clone() else {
            let reason = "this host starts no processes of monolith itself";
            return Err(lacks("its helper", reason.to_owned()));
        };
        let profile = self.profile.clone();
        let found = tokio::task::spawn_blocking(move || parts_of(&program, &profile)).await;
        let found = found.map_err(std::io::Error::other).and_then(|found| found);
        let found = found.map_err(|fault| lacks("its helper", fault.to_string()))?;
        match found.into_iter().find(|found| !found.is_here) {
            None => Ok(()),
            Some(found) => Err(lacks(found.part.name(), found.detail)),
        }
    }
}
