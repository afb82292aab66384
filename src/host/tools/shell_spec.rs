//! How commands of the built-in shell are started. Starts none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::ToolServerError;
use super::sandbox::{Confined, ProbeFault, ProbeReport, SandboxProfile};
use monolith_core::message::SandboxPart;

/// How commands of the built-in shell are started.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ShellSpec {
    /// Added to the few inherited variables; wins over them.
    pub env: BTreeMap<String, String>,
    pub profile: SandboxProfile,
    /// This program, which sets the sandbox up; none if the host is no monolith.
    pub program: Option<PathBuf>,
}

impl ShellSpec {
    /// The same in that workspace, a resolved path.
    pub(super) fn in_workspace(&self, workspace: &Path) -> Self {
        Self {
            profile: self.profile.in_workspace(workspace),
            ..self.clone()
        }
    }

    /// Sets the sandbox up with the files of the run and no command in it. It decides nothing: a workspace that cannot be confined is named
    /// before a model asks for a command.
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
            return Err(lacks(SandboxPart::Helper.name(), reason.to_owned()));
        };
        let profile = self.profile.clone();
        let tried = move || ProbeReport::of_profile(&program, &profile);
        let tried = tokio::task::spawn_blocking(tried).await;
        let tried = tried.map_err(|fault| ProbeFault::Untried {
            reason: fault.to_string(),
        });
        match tried.and_then(|report| report.result) {
            Ok(_) => Ok(()),
            Err(ProbeFault::Lacking { part, reason }) => Err(lacks(part.name(), reason)),
            Err(ProbeFault::Untried { reason }) => Err(lacks(SandboxPart::Helper.name(), reason)),
        }
    }
}
