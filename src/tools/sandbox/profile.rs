//! What a confined process may see and use, every path resolved. Plain data; it crosses to the sandbox's process as JSON.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::message::SandboxStrength;

/// What is there beside the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Base {
    /// The system's programs and their settings; empty folders for the home and temporary files.
    System,
    /// All files, read-only, but for those that hold credentials.
    Whole,
}

/// The decision on a program. It was made once for the process, by a [probe](super::SandboxProbe), and no start makes it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Confined {
    /// The program is confined at least like that, or not started.
    Always(SandboxStrength),
    /// The program is not confined.
    Never,
}

/// Limits; a field that is `None` sets none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// Seconds of processor time of one process.
    pub(crate) cpu_s: Option<u64>,
    /// Bytes of one file.
    pub(crate) file_bytes: Option<u64>,
    /// Bytes of data of one process, and of all together where there is a control group.
    pub(crate) memory_bytes: Option<u64>,
    /// Open files of one process.
    pub(crate) open_files: Option<u64>,
    /// Processes and threads together.
    pub(crate) processes: Option<u64>,
}

/// What a confined process may see and use.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SandboxProfile {
    pub(crate) base: Base,
    pub(crate) confined: Confined,
    /// Whether a process of root becomes one of no user first.
    pub(crate) drops_root: bool,
    /// The home folder, by its resolved path.
    pub(crate) home: Option<PathBuf>,
    /// Folders and files that are empty there, whatever leads to them.
    pub(crate) hidden: Vec<PathBuf>,
    /// Folders that are empty there; a file of theirs may have another name elsewhere.
    pub(crate) hidden_folders: Vec<PathBuf>,
    /// Whether the program's errors go where its output goes.
    pub(crate) joined_output: bool,
    pub(crate) limits: Limits,
    pub(crate) network: bool,
    /// Folders below a hidden one that may be a workspace all the same.
    pub(crate) open: Vec<PathBuf>,
    /// What may be read beside the base.
    pub(crate) read: Vec<PathBuf>,
    /// Where the program is started; it may write there.
    pub(crate) workspace: PathBuf,
    /// What may be written beside the workspace.
    pub(crate) write: Vec<PathBuf>,
}

impl SandboxProfile {
    /// True if the sandbox is set up with nothing in it, and no program is started.
    #[cfg(target_os = "linux")]
    pub(super) fn is_probe(&self) -> bool {
        self.workspace.as_os_str().is_empty()
    }

    /// Returns the user and the group that own the workspace; root of a probe.
    ///
    /// # Errors
    /// The workspace is not there.
    #[cfg(target_os = "linux")]
    pub(super) fn owner(&self) -> std::io::Result<(u32, u32)> {
        use std::os::unix::fs::MetadataExt as _;

        if self.is_probe() {
            return Ok((0, 0));
        }
        let owner = std::fs::metadata(&self.workspace)?;
        Ok((owner.uid(), owner.gid()))
    }

    /// The same in that workspace, a resolved path.
    pub(in crate::tools) fn in_workspace(&self, workspace: &Path) -> Self {
        Self {
            workspace: workspace.to_owned(),
            ..self.clone()
        }
    }
}
