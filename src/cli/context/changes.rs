//! What a call that waits would change of files of the run's workspace. Changes nothing, and finds no more than the tool would.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::contract::ContractSpec;
use crate::kernel::CallOrder;
use crate::tools::{FileChange, Withheld};

/// How long reading the files may take: a person waits for the question.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where changes are looked up: the workspace of a run.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Changes {
    root: PathBuf,
    withheld: Withheld,
}

impl Changes {
    /// Those of a run of that file in that folder; `None` if its workspace is not there.
    pub(in crate::cli) fn of(
        spec: &ContractSpec,
        folder: &Path,
        withheld: Withheld,
    ) -> Option<Self> {
        let root = folder.join(spec.tools.workspace.as_deref().unwrap_or("."));
        let root = root.canonicalize().ok()?;
        Some(Self { root, withheld })
    }

    /// Those of a run whose workspace is that folder.
    pub(in crate::cli) const fn beneath(root: PathBuf, withheld: Withheld) -> Self {
        Self { root, withheld }
    }

    /// What that call would change, or why that cannot be shown; none of a tool that writes no file, and of a server's question.
    pub(in crate::cli) async fn of_call(
        &self,
        order: &CallOrder,
    ) -> Option<Result<Vec<FileChange>, String>> {
        if order.input.is_some() {
            return None;
        }
        let call = &order.invocation;
        let (root, withheld) = (self.root.clone(), self.withheld.clone());
        let found = FileChange::of_call(root, withheld, &call.name, &call.arguments);
        let found = tokio::time::timeout(PATIENCE, found).await;
        found.unwrap_or_else(|_| Some(Err("reading its files takes too long".to_owned())))
    }
}
