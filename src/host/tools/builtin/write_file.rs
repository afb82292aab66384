//! The tool `write_file`. Does not see outside of the workspace.

use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{FileStep, change};
use super::change_log::{ChangeLog, FILE_BYTES};
use super::workspace::{Refusal, Workspace};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFile {
    pub(super) content: String,
    pub(super) path: String,
}

pub(super) fn description() -> String {
    format!(
        "Writes a file of the workspace: makes it, or replaces all that it holds. Folders that are missing are made. At most {FILE_BYTES} bytes. Nothing \
         in .git is written."
    )
}

pub(super) fn properties() -> Value {
    json!({
        "path": {"type": "string", "description": "Path of the file, relative to the workspace."},
        "content": {"type": "string", "description": "The whole text of the file."},
    })
}

pub(super) async fn perform(
    workspace: &Workspace,
    request: WriteFile,
    log: &ChangeLog,
) -> Result<String, Refusal> {
    let WriteFile { content, path } = request;
    let step = FileStep::Put {
        is_new: false,
        like: None,
        path,
        text: content.into_bytes(),
    };
    change(workspace, vec![step], log).await
}
