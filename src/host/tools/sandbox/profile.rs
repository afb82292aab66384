//! The view and the rights of a confined process, with every path resolved on the host. Plain data; it crosses to the sandbox's process as JSON.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use monolith_core::message::SandboxStrength;

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
    pub cpu_s: Option<u64>,
    /// Bytes of one file.
    pub(crate) file_bytes: Option<u64>,
    /// Bytes of data of one process, and of all together where there is a control group.
    pub(crate) memory_bytes: Option<u64>,
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// Processes and threads together.
    pub processes: Option<u64>,
}

/// A folder of package runners below the home. Programs write to an overlay of it, which ends with the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cache {
    /// True if programs are installed there. Without overlays it is shown read-only; other caches are empty then.
    pub(crate) has_programs: bool,
    pub path: PathBuf,
}

/// A folder as it was when the run was brought up. Another folder at that path is not shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeldFolder {
    pub device: u64,
    pub(crate) inode: u64,
    pub path: PathBuf,
}

/// A folder of `PATH`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchFolder {
    /// True if a confined process can write it, or can make it lead elsewhere. The host looks up no program there, and mounts nothing because of it.
    pub(crate) is_writable: bool,
    pub path: PathBuf,
}

/// The view and the rights of a confined process.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SandboxProfile {
    pub(crate) caches: Vec<Cache>,
    /// Settings that are hidden where they hold credentials.
    pub checked: Vec<PathBuf>,
    pub confined: Confined,
    /// True if a process of root becomes one of no user first.
    pub(crate) drops_root: bool,
    /// Absolute paths that stay read-only within writable folders, and cannot be renamed or replaced.
    pub guarded: Vec<PathBuf>,
    /// The folders among the workspace, `read` and `write`, as they were at bring-up.
    pub held: Vec<HeldFolder>,
    /// The home folder, by its resolved path. It holds only the shown files.
    pub home: Option<PathBuf>,
    /// Folders and files that no program sees, whatever leads to them.
    pub hidden: Vec<PathBuf>,
    /// Folders and files that no program sees, unless `named` has them; a file of theirs may have another name elsewhere.
    pub(crate) hidden_folders: Vec<PathBuf>,
    /// True if the program's errors go to its output.
    pub(crate) joined_output: bool,
    pub limits: Limits,
    /// Links of the host on the way to programs, and what each holds.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Sockets of the host that are masked: those that are bound at the start, where `sockets` names any.
    pub masked: Vec<PathBuf>,
    /// Paths among `read` and `write` that pass no link. Of credentials they are shown.
    pub named: Vec<PathBuf>,
    pub network: bool,
    /// Folders below a hidden one that may be a workspace all the same.
    pub open: Vec<PathBuf>,
    /// Installations of which only the code is shown, by resolved path, read-only.
    pub(crate) prefixes: Vec<PathBuf>,
    /// Programs beside those of the system, by resolved path, read-only.
    pub programs: Vec<PathBuf>,
    /// Paths that may be read beside programs.
    pub read: Vec<PathBuf>,
    /// The folders of `PATH`, in its order.
    pub search: Vec<SearchFolder>,
    /// Settings of programs, shown read-only where they hold no credentials.
    pub settings: Vec<PathBuf>,
    /// Unix sockets that may be connected to.
    pub sockets: Vec<PathBuf>,
    /// Folder that the program is started in and may write.
    pub workspace: PathBuf,
    /// Paths that may be written beside the workspace.
    pub write: Vec<PathBuf>,
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

    /// An empty profile: the system's programs, and a workspace.
    pub(crate) fn bare(confined: Confined, workspace: PathBuf) -> Self {
        Self {
            caches: Vec::new(),
            checked: Vec::new(),
            confined,
            drops_root: false,
            guarded: Vec::new(),
            held: Vec::new(),
            home: None,
            hidden: Vec::new(),
            hidden_folders: Vec::new(),
            joined_output: true,
            limits: Limits::default(),
            links: Vec::new(),
            masked: Vec::new(),
            named: Vec::new(),
            network: false,
            open: Vec::new(),
            prefixes: Vec::new(),
            programs: Vec::new(),
            read: Vec::new(),
            search: Vec::new(),
            settings: Vec::new(),
            sockets: Vec::new(),
            workspace,
            write: Vec::new(),
        }
    }

    /// Returns the profile for that workspace, a resolved path.
    pub(in crate::tools) fn in_workspace(&self, workspace: &Path) -> Self {
        Self {
            workspace: workspace.to_owned(),
            ..self.clone()
        }
    }

    /// Masks the sockets that are bound on the host now.
    #[cfg(target_os = "linux")]
    pub(in crate::tools) fn at_start(&self) -> Self {
        let masked = if self.sockets.is_empty() {
            Vec::new()
        } else {
            super::contents::bound()
        };
        Self {
            masked,
            ..self.clone()
        }
    }

    /// True if unix sockets may be made.
    #[cfg(target_os = "linux")]
    pub(super) fn has_unix_sockets(&self) -> bool {
        self.network || !self.sockets.is_empty()
    }
}
