//! The tool `write_file`. Does not see outside of the workspace.

use serde::Deserialize;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::workspace::Workspace;
use crate::message::amount;

/// Most bytes of a file that is written.
pub(super) const FILE_BYTES: usize = 16 * 1024 * 1024;

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

pub(super) async fn perform(workspace: &Workspace, request: WriteFile) -> Result<String, Refusal> {
    let WriteFile { content, path } = request;
    put(workspace, path, content).await
}

/// Puts a file in its place, and tells what became of it.
pub(super) async fn put(
    workspace: &Workspace,
    path: String,
    text: String,
) -> Result<String, Refusal> {
    if text.len() > FILE_BYTES {
        return Err(Refusal {
            code: "TOO_LARGE",
            message: format!("{path:?} would have more than {FILE_BYTES} bytes"),
        });
    }
    let bytes = amount(text.len(), "byte");
    let replaced = workspace.look(&path, move |beneath, path| {
        beneath.put(path, text.as_bytes())
    });
    let what = if replaced.await? { "replaced" } else { "made" };
    Ok(format!("{what} {path}, {bytes}"))
}
