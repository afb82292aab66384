//! What every command stands in: the folder, the environment, the streams and the named store. Opens nothing.

use std::path::{Path, PathBuf};

use super::accounting::AccountingArgs;
use crate::cli::ui::command::{command, typed_word};
use crate::cli::ui::screen::Screen;
use crate::config::LayerFiles;
use crate::driver::Environment;

/// What the name of every demo run begins with.
pub(in crate::cli) const DEMO_PREFIX: &str = "demo-";

/// What a command stands in: the folder, the environment, the streams, and where runs are kept.
#[derive(Clone, Debug)]
pub(in crate::cli) struct App {
    /// The file of configuration that the caller names.
    pub(in crate::cli) config: Option<PathBuf>,
    /// What is reported of a run beside its result.
    pub(in crate::cli) accounting: AccountingArgs,
    /// True if the person at the terminal is asked questions.
    pub(in crate::cli) asks: bool,
    pub(in crate::cli) cwd: PathBuf,
    pub(in crate::cli) environment: Environment,
    /// The layers of configuration that were read.
    pub(in crate::cli) layer_files: LayerFiles,
    pub(in crate::cli) screen: Screen,
    /// Whether an answer is shown while it arrives.
    pub(in crate::cli) streams: bool,
    /// The store that the caller names.
    pub(in crate::cli) store: Option<PathBuf>,
    /// Whether checkpoints are not to be signed.
    pub(in crate::cli) unsigned: bool,
}

impl App {
    /// The same for agents and steps of a run: nobody is asked, and no layer is read that was not read before the run.
    pub(in crate::cli) fn during_a_run(&self) -> Self {
        Self {
            asks: false,
            layer_files: self.layer_files.closed(),
            ..self.clone()
        }
    }

    /// The same where many runs are driven at once: nobody is asked.
    pub(in crate::cli) fn without_questions(&self) -> Self {
        Self {
            asks: false,
            ..self.clone()
        }
    }

    /// Where snapshots of a run go: into the folder that the caller names, else into `own`, that of the layers of its contract (001 §12);
    /// `None` if neither does.
    pub(in crate::cli) fn sessions_dir<'d>(&'d self, own: Option<&'d Path>) -> Option<&'d Path> {
        self.accounting.kept.sessions_dir.as_deref().or(own)
    }

    /// A command to type next; it names the store where this one did.
    pub(in crate::cli) fn hint(&self, words: &str) -> String {
        hint(self.store.as_deref(), words)
    }
}

/// A command to type next, for the store that the caller names.
pub(in crate::cli) fn hint(store: Option<&Path>, words: &str) -> String {
    command(&match store {
        Some(path) => format!(
            "monolith {words} --store {}",
            typed_word(&path.display().to_string())
        ),
        None => format!("monolith {words}"),
    })
}
