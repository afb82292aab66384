//! What a call that waits would change of files of the run's workspace. Changes nothing, and finds no more than the tool would.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use monolith_core::contract::ContractSpec;
use monolith_core::kernel::CallOrder;
use monolith_core::message::Scrubber;
use monolith_host::tools::{FileChange, Withheld};

/// How long reading the files may take: a person waits for the question.
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
    /// Those of a run of that file in that folder; `None` if its workspace is not there.
    pub fn of(spec: &ContractSpec, folder: &Path, withheld: Withheld) -> Option<Self> {
        let root = folder.join(spec.tools.workspace.as_deref().unwrap_or("."));
        let root = root.canonicalize().ok()?;
        Some(Self::beneath(root, withheld))
    }

    /// Those of a run whose workspace is that folder.
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

    /// What that call would change, or why that cannot be shown; none of a tool that writes no file, and of a server's question.
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
