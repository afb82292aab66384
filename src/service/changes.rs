//! The changes that a waiting call would make to files of the run's workspace. Changes nothing, and finds no more than the tool
//! would.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use monolith_core::contract::ContractSpec;
use monolith_core::kernel::CallOrder;
use monolith_core::message::Scrubber;
use monolith_host::tools::{FileChange, Withheld};

/// Time limit for reading the files: a person waits for the question.
const PATIENCE: Duration = Duration::from_secs(2);

/// The workspace of a run, in which changes are looked up. Secrets of the run are removed from everything shown of its files.
#[derive(Clone, Debug)]
pub struct Changes {
    root: PathBuf,
    /// Takes the secrets of the run out; `None` until they are known, and nothing of a file is shown before.
    scrub: Option<Arc<dyn Scrubber>>,
    withheld: Withheld,
}

impl Changes {
    /// Returns the changes for a run of that file in that folder; `None` if its workspace does not exist.
    pub fn of(spec: &ContractSpec, folder: &Path, withheld: Withheld) -> Option<Self> {
        let root = folder.join(spec.tools.workspace.as_deref().unwrap_or("."));
        let root = root.canonicalize().ok()?;
        Some(Self::beneath(root, withheld))
    }

    /// Returns the changes for a run with that workspace.
    pub(crate) const fn beneath(root: PathBuf, withheld: Withheld) -> Self {
        Self {
            root,
            scrub: None,
            withheld,
        }
    }

    /// The same for a run whose secrets `scrub` takes out.
    #[must_use]
    pub fn without_secrets(self, scrub: Arc<dyn Scrubber>) -> Self {
        Self {
            scrub: Some(scrub),
            ..self
        }
    }

    /// Returns the changes of that call, or why they cannot be shown; `None` for a tool that writes no file, and for a server's
    /// question.
    pub async fn of_call(&self, order: &CallOrder) -> Option<Result<Vec<FileChange>, String>> {
        let scrub = self.scrub.as_deref()?;
        if order.input.is_some() {
            return None;
        }
        let call = &order.invocation;
        let (root, withheld) = (self.root.clone(), self.withheld.clone());
        let found = FileChange::of_call(root, withheld, &call.name, &call.arguments);
        let found = tokio::time::timeout(PATIENCE, found).await;
        let found =
            found.unwrap_or_else(|_| Some(Err("reading its files takes too long".to_owned())))?;
        let shown = |text: String| scrub.owned_text(text);
        Some(match found {
            Ok(changes) => Ok(changes
                .into_iter()
                .map(|change| FileChange {
                    path: shown(change.path),
                    before: change.before.map(shown),
                    after: change.after.map(shown),
                })
                .collect()),
            Err(why) => Err(shown(why)),
        })
    }
}
