//! The place that a surface works in: folder, environment, layers of configuration and store. Opens nothing.

use std::path::{Path, PathBuf};

use monolith_host::config::LayerFiles;
use monolith_host::driver::Environment;

use crate::text::command::{command, typed_word};

/// Prefix of the names of demo runs.
pub const DEMO_PREFIX: &str = "demo-";

/// The settings that every function of this crate works with.
#[derive(Clone, Debug)]
pub struct Service {
    /// File of requests and calls that the caller names, in place of the one in the state folder.
    pub billing_file: Option<PathBuf>,
    /// File of configuration that the caller names.
    pub config: Option<PathBuf>,
    /// Folder that relative paths start from.
    pub cwd: PathBuf,
    /// Variables, programs and files of this process.
    pub environment: Environment,
    /// Layers of configuration that were read.
    pub layer_files: LayerFiles,
    /// True if a note says that the working folder is the root of tool servers.
    pub notes_default_root: bool,
    /// Folder of snapshots that the caller names.
    pub sessions_dir: Option<PathBuf>,
    /// Store that the caller names, in place of the one in the state folder.
    pub store: Option<PathBuf>,
    /// True if checkpoints are left unsigned.
    pub unsigned: bool,
}

impl Service {
    /// Returns the settings of a surface in that folder, with the store in the state folder.
    #[must_use]
    pub fn new(cwd: PathBuf, environment: Environment) -> Self {
        Self {
            billing_file: None,
            config: None,
            cwd,
            environment,
            layer_files: LayerFiles::default(),
            notes_default_root: false,
            sessions_dir: None,
            store: None,
            unsigned: false,
        }
    }

    /// Returns the settings for agents and steps of a run: no layer is read that was not read before the run.
    #[must_use]
    pub fn during_a_run(&self) -> Self {
        Self {
            layer_files: self.layer_files.closed(),
            ..self.clone()
        }
    }

    /// Returns the folder of a run's snapshots: the one that the caller names, else `own`, which the layers of its contract name
    /// (001 §12).
    #[must_use]
    pub fn sessions_dir<'d>(&'d self, own: Option<&'d Path>) -> Option<&'d Path> {
        self.sessions_dir.as_deref().or(own)
    }

    /// Returns a command to type next. It names the store where the caller did.
    #[must_use]
    pub fn hint(&self, words: &str) -> String {
        hint(self.store.as_deref(), words)
    }
}

/// Returns a command to type next, for the store that the caller names.
#[must_use]
pub fn hint(store: Option<&Path>, words: &str) -> String {
    command(&match store {
        Some(path) => format!(
            "monolith {words} --store {}",
            typed_word(&path.display().to_string())
        ),
        None => format!("monolith {words}"),
    })
}
