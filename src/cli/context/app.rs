//! What every command stands in: the folder, the environment, the streams and the named store. Opens nothing.

use std::path::{Path, PathBuf};

use super::accounting::AccountingArgs;
use crate::ui::command::{command, typed_word};
use crate::ui::screen::Screen;
use monolith_host::config::LayerFiles;
use monolith_host::driver::Environment;

/// What the name of every demo run begins with.
pub(crate) const DEMO_PREFIX: &str = "demo-";

/// What a command stands in: the folder, the environment, the streams, and where runs are kept.
#[derive(Clone, Debug)]
pub(crate) struct App {
    /// The file of configuration that the caller names.
    pub(crate) config: Option<PathBuf>,
    /// What is reported of a run beside its result.
    pub(crate) accounting: AccountingArgs,
    /// True if the person at the terminal is asked questions.
    pub(crate) asks: bool,
    pub(crate) cwd: PathBuf,
    pub(crate) environment: Environment,
    /// The layers of configuration that were read.
    pub(crate) layer_files: LayerFiles,
    pub(crate) screen: Screen,
    /// Whether an answer is shown while it arrives.
    pub(crate) streams: bool,
    /// The store that the caller names.
    pub(crate) store: Option<PathBuf>,
    /// Whether checkpoints are not to be signed.
    pub(crate) unsigned: bool,
}

impl App {
    /// The same for agents and steps of a run: nobody is asked, and no layer is read that was not read before the run.
    pub(crate) fn during_a_run(&self) -> Self {
        Self {
            asks: false,
            layer_files: self.layer_files.closed(),
            ..self.clone()
        }
    }

    /// The same where many runs are driven at once: nobody is asked.
    pub(crate) fn without_questions(&self) -> Self {
        Self {
            asks: false,
            ..self.clone()
        }
    }

    /// Where snapshots of a run go: into the folder that the caller names, else into `own`, that of the layers of its contract (001 §12);
    /// `None` if neither does.
    pub(crate) fn sessions_dir<'d>(&'d self, own: Option<&'d Path>) -> Option<&'d Path> {
        self.accounting.kept.sessions_dir.as_deref().or(own)
    }

    /// A command to type next; it names the store where this one did.
    pub(crate) fn hint(&self, words: &str) -> String {
        hint(self.store.as_deref(), words)
    }
}

/// A command to type next, for the store that the caller names.
pub(crate) fn hint(store: Option<&Path>, words: &str) -> String {
    command(&match store {
        Some(path) => format!(
            "monolith {words} --store {}",
            typed_word(&path.display().to_string())
        ),
        None => format!("monolith {words}"),
    })
}
